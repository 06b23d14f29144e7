"""Results that draw themselves: comparisons, cross-validation, learning curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from suffice.plots.canvas import Canvas, new_axes, write_legend
from suffice.plots.style import Look, Palette, Style, Theme, style_of
from suffice.text.lists import shortened
from suffice.typing import Floats
from suffice.validation.significance import LEVEL

if TYPE_CHECKING:
    from suffice.comparison import Comparison
    from suffice.comparison.learning_curve import Curve, LearningCurve
    from suffice.validation.cross_validation import CrossValidation

WIDTH, LINE = 7.6, 0.3  # inches: of the figure, and for each member
LONGEST = 30  # letters of a name


def comparison(result: Comparison, theme: Theme) -> Any:
    """Return two axes: the error of each member with its interval, and its log-loss.

    Members are sorted by error. Those not significantly different from the best are in colour.
    """
    style = style_of(theme)
    members = [row for row in result.rows() if not row["failure"]]
    names = shortened([row["model"] for row in members], LONGEST)
    with style.context():
        size = (WIDTH, 1.25 + LINE * len(members))
        figure = plt.figure(figsize=size, layout="constrained")
        axes = figure.subplots(1, 2, sharey=True, width_ratios=(1.2, 1))
        _draw_errors(axes[0], members, style)
        _draw_log_losses(axes[1], members, style)
        axes[0].set_ylim(len(names) - 0.4, -0.6)
        axes[0].set_yticks(range(len(names)), labels=names, parse_math=False)
        for ax in axes:
            style.dress(ax)
            ax.grid(axis="x", color=style.grid)
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
        if any(row["p_adjusted"] <= LEVEL for row in members):
            same, worse = "no significant difference from the best", f"worse, p ≤ {LEVEL:g}"
            said = ((style.accent, same), (style.soft, worse))
            dot: Any = {"marker": "o", "markersize": 6}
            entries = [(Line2D([], [], color=colour, **dot), words) for colour, words in said]
            above = {"loc": "outside upper center", "ncols": 2, "handlelength": 2.0}
            write_legend(figure, entries, labelcolor=style.ink, **above)
    return axes


def _draw_errors(ax: Any, members: list[dict[str, Any]], style: Style) -> None:
    for at, row in enumerate(members):
        colour = _colour(row, style)
        ax.plot([row["error_low"], row["error_high"]], [at, at], color=colour, linewidth=1.4)
        Canvas(ax, style).dot(row["error"], at, colour, 6.5)
    ax.set_xlim(left=0)
    ax.xaxis.set_major_formatter(_percent)
    ax.set_xlabel("error, with 95 % interval")


def _draw_log_losses(ax: Any, members: list[dict[str, Any]], style: Style) -> None:
    ax.set_xscale("log")
    for at, row in enumerate(members):
        loss, se, colour = row["log_loss"], row["log_loss_se"], _colour(row, style)
        if np.isnan(loss):
            place = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": 8}
            ax.text(0.02, at, "no posteriors", color=style.soft, **place)
            continue
        if np.isfinite(se):
            # a bar cannot reach below zero on this scale: it stops at a tenth of the loss
            ax.plot([max(loss - se, loss / 10), loss + se], [at, at], color=colour, linewidth=1.4)
        Canvas(ax, style).dot(loss, at, colour, 6.5)
    _number_logs(ax.xaxis)
    ax.set_xlabel("log-loss ± standard error")


def _percent(share: float, _: Any) -> str:
    return f"{100 * share:.3g} %"


def _number_logs(axis: Any) -> None:
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def _colour(row: dict[str, Any], style: Style) -> str:
    return style.soft if row["p_adjusted"] <= LEVEL else style.accent


# in the order of the columns of fold_losses
NAMES = {"error": "error rate", "log_loss": "log-loss", "brier": "Brier score"}
SYMBOLS = {"pooling": "pooling λ", "shrinkage": "shrinkage γ"}
INK, BEST, ONE_SE = "#2b5c8a", "#c8553d", "#3f7f5f"
MOST_BARS = 30


def cross_validation(result: CrossValidation, ax: Any = None) -> Any:
    """Draw the criterion over the grid, mark the choices, and return the axes."""
    ax = new_axes(ax)
    varied = _varied(result)
    numeric = [name for name in varied if _is_numeric(result, name)]
    if len(varied) == len(numeric) == 1:
        _path(result, varied[0], ax)
    elif len(varied) == len(numeric) == 2:
        _map(result, varied[0], varied[1], ax)
    else:
        _ranking(result, varied, ax)
    return ax


def _varied(result: CrossValidation) -> list[str]:
    names = list(dict.fromkeys(name for params in result.params for name in params))
    return [name for name in names if len({repr(p.get(name)) for p in result.params}) > 1]


def _is_numeric(result: CrossValidation, name: str) -> bool:
    return all(
        isinstance(p.get(name), (int, float, np.number)) and not isinstance(p[name], bool)
        for p in result.params
    )


def _losses(result: CrossValidation) -> tuple[Floats, Floats]:
    column = list(NAMES).index(result.criterion)
    return result.means[:, column], result.standard_errors[:, column]


def _path(result: CrossValidation, name: str, ax: Any) -> None:
    values = np.array([float(p[name]) for p in result.params])
    order = np.argsort(values, kind="stable")
    means, errors = _losses(result)
    x, mean, error = values[order], means[order], errors[order]
    ax.fill_between(x, mean - error, mean + error, color=INK, alpha=0.18, linewidth=0)
    ax.plot(x, mean, "o-", color=INK, markersize=3.5, label="mean ± one standard error")
    ax.axvline(float(result.best_params[name]), color=BEST, label="best")
    ax.axvline(
        float(result.one_se_params[name]), color=ONE_SE, linestyle="--", label="one standard error"
    )
    positive = x[x > 0]
    if len(positive) > 2 and x.min() >= 0 and positive.max() > 1e3 * positive.min():
        ax.set_xscale("symlog", linthresh=positive.min())
    ax.set_xlabel(SYMBOLS.get(name, name))
    ax.set_ylabel(f"held-out {NAMES[result.criterion]}")
    ax.legend(frameon=False)


def _map(result: CrossValidation, across: str, up: str, ax: Any) -> None:
    xs = sorted({float(p[across]) for p in result.params})
    ys = sorted({float(p[up]) for p in result.params})
    table = np.full((len(ys), len(xs)), np.nan)
    means, _ = _losses(result)
    for params, mean in zip(result.params, means, strict=True):
        table[ys.index(float(params[up])), xs.index(float(params[across]))] = mean
    image = ax.imshow(table, origin="lower", aspect="auto", cmap="cividis_r")
    ax.figure.colorbar(image, ax=ax, label=f"held-out {NAMES[result.criterion]}")
    for params, marker, colour, label in (
        (result.best_params, "o", BEST, "best"),
        (result.one_se_params, "s", ONE_SE, "one standard error"),
    ):
        at = (xs.index(float(params[across])), ys.index(float(params[up])))
        size = 12 if marker == "s" else 8
        ax.plot(*at, marker, color=colour, markersize=size, fillstyle="none", mew=2, label=label)
    ax.set_xticks(range(len(xs)), [f"{x:g}" for x in xs])
    ax.set_yticks(range(len(ys)), [f"{y:g}" for y in ys])
    ax.set_xlabel(SYMBOLS.get(across, across))
    ax.set_ylabel(SYMBOLS.get(up, up))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)


def _ranking(result: CrossValidation, varied: list[str], ax: Any) -> None:
    means, errors = _losses(result)
    order = np.argsort(means, kind="stable")[:MOST_BARS]
    colours = [BEST if i == result.best_index else INK for i in order]
    places = np.arange(len(order))
    ax.errorbar(means[order], places, xerr=errors[order], fmt="none", ecolor=INK, alpha=0.5)
    ax.scatter(means[order], places, c=colours, zorder=3)
    texts = [", ".join(f"{n}={result.params[i].get(n)!r}" for n in varied) for i in order]
    ax.set_yticks(places, texts if varied else ["the estimator"])
    ax.invert_yaxis()
    ax.set_xlabel(f"held-out {NAMES[result.criterion]}, ± one standard error")


SIZE = (8.2, 3.7)  # inches
MOST_TIMES = 200  # the smallest log-loss is shown: few rows can make posteriors far too confident
_PANELS = {"error": "error on test rows", "log_loss": "log-loss on test rows"}


def learning_curves(result: LearningCurve, theme: Theme) -> Any:
    """Return two axes: error and log-loss by the number of rows, bands of one standard error.

    Generative members have full lines, discriminative ones are dashed.
    """
    style, looks = style_of(theme), Palette.of([curve.name for curve in result.curves]).looks
    drawn = [_drawn(*each) for each in zip(looks, result.curves, strict=True)]
    with style.context():
        figure = plt.figure(figsize=SIZE, layout="constrained")
        axes = figure.subplots(1, 2)
        for ax, metric in zip(axes, _PANELS, strict=True):
            for curve, look in zip(result.curves, drawn, strict=True):
                mean, se = curve.mean(metric), curve.standard_error(metric)
                ax.plot(result.sizes, mean, markersize=5, markeredgecolor=style.ground, **look)
                band = {"color": look["color"], "alpha": 0.16, "linewidth": 0}
                ax.fill_between(result.sizes, mean - se, mean + se, **band)
            _scale(ax, result, metric)
            style.dress(ax)
            ax.grid(axis="y", color=style.grid)
        named = zip(drawn, result.curves, strict=True)
        entries = [(Line2D([], [], markersize=5, **look), curve.name) for look, curve in named]
        beside = {"loc": "outside right upper", "handlelength": 3.0}
        write_legend(figure, entries, labelcolor=style.ink, **beside)
    return axes


def _drawn(look: Look, curve: Curve) -> dict[str, Any]:
    dashes = "-" if curve.generative else "--"
    return {"color": look.colour, "marker": look.marker, "linestyle": dashes}


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
        ax.yaxis.set_major_formatter(_percent)
    else:
        ax.set_yscale("log")
        ax.set_ylim(low / 1.3, min(high, MOST_TIMES * low) * 1.3)
        _number_logs(ax.yaxis)


def _spaced(places: Any) -> list[int]:
    """Return the places that are far enough apart for their numbers to be written."""
    reach = (places[-1] - places[0]) / 7
    kept = [len(places) - 1]
    for at in range(len(places) - 2, -1, -1):
        if places[kept[-1]] - places[at] >= reach:
            kept.append(at)
    return kept[::-1]


def _reach(result: LearningCurve, metric: str) -> tuple[float, float]:
    """Return the smallest and the largest loss."""
    means = np.stack([curve.mean(metric) for curve in result.curves])
    known = means[np.isfinite(means) & (means > 0)]
    return (float(known.min()), float(known.max())) if len(known) else (0.1, 1.0)
