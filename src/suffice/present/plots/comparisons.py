"""Figures for the ``plot`` methods of comparisons and learning curves."""

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from suffice.core.decision.error_intervals import LEVEL
from suffice.core.text.lists import counted, shortened
from suffice.core.text.tables import Row
from suffice.evaluate.comparison import Comparison
from suffice.evaluate.comparison.learning_curve import LearningCurve
from suffice.present.plots.canvas import Canvas, Entry, canvas_grid, write_legend
from suffice.present.plots.style import Theme
from suffice.typing import Array, Floats

COMPARISON_WIDTH = 7.6  # inches
MODEL_HEIGHT = 0.3  # inches for each model
LONGEST_NAME = 30  # letters
LEARNING_CURVE_SIZE = (8.2, 3.7)  # inches
# Largest log-loss shown, relative to the smallest. With few rows, some log-losses are very large.
LARGEST_RATIO = 200


def comparison_figure(result: Comparison, theme: Theme) -> Array:
    """Return two axes, with the error and its interval, and with the log-loss, of each model."""
    # Models are sorted by error. The colour shows whether a model differs significantly from the
    # recommended one.
    models = [row for row in result.rows() if not row["failure"]]
    names = shortened([row["model"] for row in models], LONGEST_NAME)
    size = (COMPARISON_WIDTH, 1.25 + MODEL_HEIGHT * len(models))
    with canvas_grid(theme, size, (1, 2), sharey=True, width_ratios=(1.2, 1)) as canvases:
        error, loss = canvases[0]
        style = error.style
        loss.ax.set_xscale("log")
        for position, row in enumerate(models):
            colour = style.soft if row["p_adjusted"] <= LEVEL else style.accent
            _draw_bar(
                error, position, row["error_low"], row["error"], row["error_high"], colour
            )
            _draw_log_loss(loss, position, row, colour)
        error.ax.set(xlim=(0, None), xlabel="error, with 95 % interval")
        error.ax.xaxis.set_major_formatter(_percent)
        _number_logs(loss.ax.xaxis)
        loss.ax.set_xlabel("log-loss ± standard error")
        error.ax.set_ylim(len(names) - 0.4, -0.6)
        error.ax.set_yticks(range(len(names)), labels=names, parse_math=False)
        for ax in (error.ax, loss.ax):
            ax.grid(axis="x", color=style.grid)
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
        if any(row["p_adjusted"] <= LEVEL for row in models):
            (reference,) = shortened([result.reference], LONGEST_NAME)
            rows = counted(result.n_rows, "row")
            _write_colours(error, f"no significant difference from {reference} ({rows})")
    return np.array([error.ax, loss.ax])


def _draw_log_loss(canvas: Canvas, position: int, row: Row, colour: str) -> None:
    loss = row["log_loss"]
    if np.isnan(loss):
        canvas.ax.text(
            0.02,
            position,
            "no posteriors",
            color=canvas.style.soft,
            transform=canvas.ax.get_yaxis_transform(),
            va="center",
            fontsize=8,
        )
        return
    standard_error = np.nan_to_num(row["log_loss_se"], posinf=0.0)
    # On a logarithmic axis, an error bar cannot reach zero. It ends at a tenth of the loss.
    low = max(loss - standard_error, loss / 10)
    _draw_bar(canvas, position, low, loss, loss + standard_error, colour)


def _draw_bar(
    canvas: Canvas,
    position: int,
    low: float,
    middle: float,
    high: float,
    colour: str,
) -> None:
    canvas.ax.plot([low, high], [position, position], color=colour, linewidth=1.4)
    canvas.dot(middle, position, colour, 6.5)


def _write_colours(canvas: Canvas, is_alike: str) -> None:
    """Write what the two colours mean above the figure."""
    style = canvas.style
    same = Line2D([], [], color=style.accent, marker="o", markersize=6)
    different = Line2D([], [], color=style.soft, marker="o", markersize=6)
    entries = [(same, is_alike), (different, f"different, p ≤ {LEVEL:g}")]
    write_legend(
        canvas.ax.figure,
        entries,
        style,
        loc="outside upper center",
        ncols=2,
        handlelength=2.0,
    )


def _percent(share: float, _: float) -> str:
    return f"{100 * share:.3g} %"


def _number_logs(axis: Axis) -> None:
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def learning_curve_figure(result: LearningCurve, theme: Theme) -> Array:
    """Return two axes, with error and log-loss over the number of rows, ± a standard error."""
    names = [curve.name for curve in result.curves]
    with canvas_grid(theme, LEARNING_CURVE_SIZE, (1, 2), names) as canvases:
        error, loss = canvases[0]
        _draw_curves(error, result, "error")
        _draw_curves(loss, result, "log_loss")
        _scale_sizes(error.ax, result)
        _scale_sizes(loss.ax, result)
        error.ax.set_ylabel("error on test rows")
        loss.ax.set_ylabel("log-loss on test rows")
        _scale_errors(error.ax, result)
        _scale_log_losses(loss.ax, result)
        entries = _curve_entries(error, result)
        write_legend(error.ax.figure, entries, error.style, handlelength=3.0)
    return np.array([error.ax, loss.ax])


def _draw_curves(canvas: Canvas, result: LearningCurve, metric: str) -> None:
    for curve, look in zip(result.curves, canvas.looks, strict=True):
        mean = curve.mean(metric)
        standard_error = curve.standard_error(metric)
        canvas.ax.plot(
            result.sizes,
            mean,
            color=look.colour,
            linestyle=_dashes(generative=curve.generative),
            marker=look.marker,
            markersize=5,
            markeredgecolor=canvas.style.ground,
        )
        canvas.ax.fill_between(
            result.sizes,
            mean - standard_error,
            mean + standard_error,
            color=look.colour,
            alpha=0.16,
            linewidth=0,
        )
    canvas.ax.grid(axis="y", color=canvas.style.grid)


def _curve_entries(canvas: Canvas, result: LearningCurve) -> list[Entry]:
    entries: list[Entry] = []
    for curve, look in zip(result.curves, canvas.looks, strict=True):
        handle = Line2D(
            [],
            [],
            color=look.colour,
            linestyle=_dashes(generative=curve.generative),
            marker=look.marker,
            markersize=5,
        )
        entries.append((handle, curve.name))
    return entries


def _dashes(*, generative: bool) -> Literal["-", "--"]:
    """Return the line style: solid for generative models, dashed for discriminative models."""
    return "-" if generative else "--"


def _scale_sizes(ax: Axes, result: LearningCurve) -> None:
    numbered = result.sizes[_spaced(np.log(result.sizes))]
    ax.set_xscale("log")
    ax.set_xlabel("rows learnt from")
    ax.set_xticks(numbered, labels=[f"{size:,}" for size in numbered])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xticks([], minor=True)


def _scale_errors(ax: Axes, result: LearningCurve) -> None:
    _, high = _range_of_means(result, "error")
    ax.set_ylim(0, 1.08 * high)
    ax.yaxis.set_major_formatter(_percent)


def _scale_log_losses(ax: Axes, result: LearningCurve) -> None:
    low, high = _range_of_means(result, "log_loss")
    ax.set_yscale("log")
    ax.set_ylim(low / 1.3, min(high, LARGEST_RATIO * low) * 1.3)
    _number_logs(ax.yaxis)


def _range_of_means(result: LearningCurve, metric: str) -> tuple[float, float]:
    means = np.stack([curve.mean(metric) for curve in result.curves])
    positive = means[np.isfinite(means) & (means > 0)]
    if not len(positive):
        return 0.1, 1.0
    return float(positive.min()), float(positive.max())


def _spaced(positions: Floats) -> list[int]:
    """Return the last position and others with enough space for their numbers."""
    least = (positions[-1] - positions[0]) / 7
    kept = [len(positions) - 1]
    for i in range(len(positions) - 2, -1, -1):
        if positions[kept[-1]] - positions[i] >= least:
            kept.append(i)
    kept.reverse()
    return kept
