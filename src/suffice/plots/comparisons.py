"""A line-up of classifiers: errors with intervals, and log-losses beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, StrMethodFormatter

from suffice.evaluation.diagnostics.words import LEVEL
from suffice.plots.style import style_of
from suffice.plots.words import shortened

if TYPE_CHECKING:
    from suffice.evaluation.compare import Comparison
    from suffice.plots.style import Style, Theme

WIDTH, LINE = 7.6, 0.3  # inches: of the figure, and for each member
LONGEST = 30  # letters of a name


def comparison(result: Comparison, *, theme: Theme = "light", axes: Any = None) -> Any:
    """Return two axes: the error of each member with its interval, and its log-loss.

    Members are sorted by error. Those that cannot be told apart from the best are in colour.

    Parameters
    ----------
    result : Comparison
        What ``sf.compare`` returned.
    theme
        As in ``decision_regions``.
    axes : pair of Axes, optional
        Where to draw; by default a new figure.
    """
    style = style_of(theme)
    members = [row for row in result.rows() if not row["failure"]]
    with style.context():
        left, right = _axes(len(members)) if axes is None else axes
        _draw_errors(left, members, style)
        _draw_log_losses(right, members, style)
        _name_members(left, right, [row["model"] for row in members])
        for ax in (left, right):
            style.dress(ax)
            ax.grid(axis="x", color=style.grid)
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
        _legend(left, style, members)
    return np.array([left, right])


def _axes(n_members: int) -> Any:
    size = (WIDTH, 1.25 + LINE * n_members)
    figure = plt.figure(figsize=size, layout="constrained")
    return figure.subplots(1, 2, sharey=True, width_ratios=(1.2, 1))


def _draw_errors(ax: Any, members: list[dict[str, Any]], style: Style) -> None:
    for at, row in enumerate(members):
        colour = _colour(row, style)
        ax.plot([row["error_low"], row["error_high"]], [at, at], color=colour, linewidth=1.4)
        _dot(ax, row["error"], at, colour, style)
    ax.set_xlim(left=0)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g} %"))
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
        _dot(ax, loss, at, colour, style)
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("log-loss ± standard error")


def _dot(ax: Any, x: float, y: float, colour: str, style: Style) -> None:
    ax.plot(x, y, "o", color=colour, markersize=6.5, markeredgecolor=style.ground, zorder=3)


def _colour(row: dict[str, Any], style: Style) -> str:
    return style.soft if row["p_adjusted"] <= LEVEL else style.accent


def _name_members(left: Any, right: Any, names: list[str]) -> None:
    left.set_ylim(len(names) - 0.4, -0.6)
    left.set_yticks(range(len(names)), labels=shortened(names, LONGEST), parse_math=False)
    if right not in left.get_shared_y_axes().get_siblings(left):
        right.set_ylim(len(names) - 0.4, -0.6)
        right.set_yticks([])
    right.tick_params(labelleft=False)


def _legend(ax: Any, style: Style, members: list[dict[str, Any]]) -> None:
    if not any(row["p_adjusted"] <= LEVEL for row in members):
        return
    said = {style.accent: "not told apart from the best", style.soft: f"worse, p ≤ {LEVEL:g}"}
    handles = [Line2D([], [], marker="o", color=colour, markersize=6) for colour in said]
    words = {"labels": list(said.values()), "labelcolor": style.ink, "ncols": 2}
    if ax.figure.get_layout_engine() is None:
        ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), **words)
    else:
        ax.figure.legend(handles=handles, loc="outside upper center", **words)
