"""Losses by the number of rows learnt from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, StrMethodFormatter

from suffice.plots.palette import COLOURS, MARKERS
from suffice.plots.style import style_of

if TYPE_CHECKING:
    from suffice.evaluation.learning_curve import Curve, LearningCurve
    from suffice.plots.style import Style, Theme

SIZE = (8.2, 3.7)  # inches
MOST_TIMES = 200  # the least log-loss is shown: with very few rows posteriors can be far too bold
_PANELS = {"error": "error on test rows", "log_loss": "log-loss on test rows"}


def learning_curves(result: LearningCurve, *, theme: Theme = "light", axes: Any = None) -> Any:
    """Return two axes: error and log-loss by the number of rows, bands of one standard error.

    Generative members have full lines, discriminative ones are dashed.

    Parameters
    ----------
    result : LearningCurve
        What ``sf.learning_curve`` returned.
    theme
        As in ``decision_regions``.
    axes : pair of Axes, optional
        Where to draw; by default a new figure.
    """
    style = style_of(theme)
    with style.context():
        if axes is None:
            axes = plt.figure(figsize=SIZE, layout="constrained").subplots(1, 2)
        for ax, metric in zip(axes, _PANELS, strict=True):
            for at, curve in enumerate(result.curves):
                _draw(ax, result, curve, metric, at, style)
            _scale(ax, result, metric)
            style.dress(ax)
            ax.grid(axis="y", color=style.grid)
        _legend(axes[0], result, style)
    return np.asarray(axes)


def _draw(ax: Any, result: LearningCurve, curve: Curve, metric: str, at: int, style: Style) -> None:
    mean, se = curve.mean(metric), curve.standard_error(metric)
    look = _look(curve, at)
    ax.plot(result.sizes, mean, markersize=5, markeredgecolor=style.ground, **look)
    ax.fill_between(
        result.sizes, mean - se, mean + se, color=look["color"], alpha=0.16, linewidth=0
    )


def _look(curve: Curve, at: int) -> dict[str, Any]:
    return {
        "color": COLOURS[at % len(COLOURS)],
        "marker": MARKERS[at % len(MARKERS)],
        "linestyle": "-" if curve.generative else "--",
    }


def _scale(ax: Any, result: LearningCurve, metric: str) -> None:
    ax.set_xscale("log")
    shown = result.sizes[_spaced(np.log(result.sizes))]
    ax.set_xticks(shown, labels=[f"{size:,}" for size in shown])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xticks([], minor=True)
    ax.set(xlabel="rows learnt from", ylabel=_PANELS[metric])
    low, high = _reach(result, metric)
    if metric == "error":
        ax.set_ylim(0, 1.08 * high)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g} %"))
    else:
        ax.set_yscale("log")
        ax.set_ylim(low / 1.3, min(high, MOST_TIMES * low) * 1.3)
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())


def _spaced(places: Any) -> list[int]:
    """Return the places that are far enough apart for their numbers to be written."""
    reach = (places[-1] - places[0]) / 7
    kept = [len(places) - 1]
    for at in range(len(places) - 2, -1, -1):
        if places[kept[-1]] - places[at] >= reach:
            kept.append(at)
    return kept[::-1]


def _reach(result: LearningCurve, metric: str) -> tuple[float, float]:
    """Return the least and the greatest loss."""
    means = np.stack([curve.mean(metric) for curve in result.curves])
    known = means[np.isfinite(means) & (means > 0)]
    return (float(known.min()), float(known.max())) if len(known) else (0.1, 1.0)


def _legend(ax: Any, result: LearningCurve, style: Style) -> None:
    handles = [Line2D([], [], markersize=5, **_look(c, at)) for at, c in enumerate(result.curves)]
    names = [curve.name for curve in result.curves]
    words = {"labels": names, "labelcolor": style.ink, "handlelength": 3.0}
    if ax.figure.get_layout_engine() is None:
        ax.legend(handles=handles, loc="best", **words)
    else:
        ax.figure.legend(handles=handles, loc="outside right upper", **words)
