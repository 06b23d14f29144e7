"""Figures of the error and the cost for each threshold on a posterior."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter
from scipy.special import expit, logit

from suffice.core.decision.predictions import Predictions
from suffice.evaluate.curves.thresholds import CostCurve, cost_curve, reject_curve
from suffice.present.plots.canvas import Canvas, Entry, open_canvas
from suffice.present.plots.inputs import event_of, predictions_of
from suffice.present.plots.style import Theme
from suffice.typing import Floats, LabelsLike, RowsLike, SklearnClassifier, WeightsLike

NEAREST = 1e-9  # smallest distance to 0 and 1 on an axis
CONFIDENCES = (0.5, 0.9, 0.99, 0.999, 0.9999)
PROBABILITIES = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
LOWEST_THRESHOLD = 5e-4  # smallest threshold for which costs are drawn
HIGHEST_THRESHOLD = 1 - 5e-4
MOST_UNDECIDED = 0.9  # thresholds that leave a larger share of rows undecided are not shown
REJECTION_SIZE = (5.0, 4.2)  # inches


def error_against_threshold(
    source: Predictions | SklearnClassifier,
    X: RowsLike | None = None,
    y: LabelsLike | None = None,
    *,
    sample_weight: WeightsLike = None,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the error of the rows that are not rejected, against the threshold.

    A row is decided if its largest posterior reaches the threshold, and rejected otherwise. The
    strip above shows the share of rejected rows. If an error costs 1 and rejecting a row costs 1 −
    t, the threshold t is optimal. Chow (1970), *IEEE Transactions on Information Theory* 16, 41–46.

    Parameters
    ----------
    source : fitted classifier or Predictions
        The predictions to evaluate, or a classifier that predicts the rows. Rows should be held-out
        rows.
    X : array or frame (n, d)
        Rows with the features of the fit.
    y : array (n,)
        Labels of the rows.
    sample_weight : array (n,), optional
        Weights of the rows; only with a classifier.
    theme : {"light", "dark"}
        Colours of text and lines.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> error_against_threshold(sf.LDA().fit(X, y), X, y).get_ylabel()
    'error of rows decided'
    """
    predictions = predictions_of(source, X, y, sample_weight)
    curve = reject_curve(predictions)
    lowest = 1 / len(predictions.classes)
    thresholds = np.concatenate([[lowest], curve.thresholds, [1.0]])
    error = np.concatenate([curve.error[:1], curve.error, curve.error[-1:]])
    rejected = np.concatenate([[0.0], curve.rejected, [1.0]])
    highest = float(curve.thresholds[curve.rejected <= MOST_UNDECIDED].max())
    highest = float(np.clip(highest, 0.99, 1 - 1e-5))
    with open_canvas(ax, theme, size=REJECTION_SIZE) as canvas:
        canvas.ax.plot(
            thresholds,
            error,
            color=canvas.style.accent,
            drawstyle="steps-pre",
            label="_error",
        )
        # on this scale, 0.9, 0.99 and 0.999 are evenly spaced
        canvas.ax.set_xscale("function", functions=(_nines, _from_nines))
        _limit_probabilities(canvas.ax, lowest, highest, CONFIDENCES)
        canvas.ax.set_ylim(0, max(1.08 * float(error.max()), 1e-3))
        canvas.name_axes("smallest posterior required", "error of rows decided")
        strip = canvas.strip_above(0.7, "share of rows left undecided")
        soft = canvas.style.soft
        strip.fill_between(
            thresholds, rejected, step="pre", alpha=0.4, linewidth=0, color=soft
        )
        strip.plot(
            thresholds[:-1],
            rejected[:-1],
            color=soft,
            linewidth=1.2,
            drawstyle="steps-pre",
            label="_rejected",
        )
        strip.set(ylim=(0, 1), yticks=[0.5, 1])
        canvas.ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        strip.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    return canvas.ax


def cost_against_threshold(
    source: Predictions | SklearnClassifier,
    X: RowsLike | None = None,
    y: LabelsLike | None = None,
    *,
    sample_weight: WeightsLike = None,
    label: object = None,
    false_alarm_cost: float = 1.0,
    miss_cost: float = 1.0,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the mean cost of a row against the threshold on the posterior of a class.

    A dot marks the threshold with the lowest cost on these rows. The dashed line is the threshold
    with the lowest cost if posteriors are calibrated, C_false alarm / (C_false alarm + C_miss).
    Elkan (2001), *IJCAI*, 973–978.

    Parameters
    ----------
    source : fitted classifier or Predictions
        The predictions to evaluate, or a classifier that predicts the rows. Rows should be held-out
        rows.
    X : array or frame (n, d)
        Rows with the features of the fit.
    y : array (n,)
        Labels of the rows.
    sample_weight : array (n,), optional
        Weights of the rows; only with a classifier.
    label : object, optional
        The class whose posterior is compared with the threshold. By default, it is the second of
        two classes; with more classes, each class has a curve. For one class, the costs of false
        alarms and of misses are drawn, too.
    false_alarm_cost, miss_cost : float
        Cost of predicting the class for a row of another class, and cost of missing a row of the
        class.
    legend : bool
        Whether to draw a legend next to the axes.
    theme : {"light", "dark"}
        Colours of text and lines.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> cost_against_threshold(sf.LDA().fit(X, y), X, y, label=2, miss_cost=5).get_ylabel()
    'mean cost of a row'
    """
    predictions = predictions_of(source, X, y, sample_weight)
    k = event_of(predictions, label)
    shown = range(len(predictions.classes)) if k is None else [k]
    curves = {}
    for j in shown:
        curves[j] = cost_curve(
            predictions,
            predictions.classes[j],
            false_alarm_cost=false_alarm_cost,
            miss_cost=miss_cost,
        )
    with open_canvas(ax, theme, classes=predictions.classes, legend=legend) as canvas:
        entries: list[Entry] = []
        for j, curve in curves.items():
            line, dot = _draw_cost(canvas, curve, j)
            if k is not None:
                entries.append((line, "both errors"))
                entries += _draw_parts(canvas, curve)
                entries.append((dot, f"cheapest here: {curve.best_threshold:.2g}"))
        if k is None:
            entries += canvas.entries(lines=True)
        bayes_threshold = curves[shown[0]].bayes_threshold  # the same for all classes
        dashed = canvas.ax.axvline(
            bayes_threshold,
            color=canvas.style.soft,
            linewidth=1,
            linestyle=(0, (4, 3)),
            zorder=1,
        )
        entries.append((dashed, f"if calibrated: {bayes_threshold:.2g}"))
        canvas.ax.set_xscale("function", functions=(_log_odds, expit))
        _limit_probabilities(canvas.ax, LOWEST_THRESHOLD, HIGHEST_THRESHOLD, PROBABILITIES)
        highest = max(_highest_shown_cost(curve) for curve in curves.values())
        canvas.ax.set_ylim(0, 1.08 * highest or 1)
        class_name = "a class" if k is None else canvas.looks[k].name
        canvas.name_axes(f"posterior from which {class_name} is called", "mean cost of a row")
        canvas.legend(entries)
    return canvas.ax


def _draw_cost(canvas: Canvas, curve: CostCurve, k: int) -> tuple[Line2D, Line2D]:
    """Draw the cost of predicting class k, and a dot at the minimum; return both handles."""
    line = canvas.curve(
        np.append(curve.thresholds, 1.0),
        _extended(curve.cost),
        k,
        "cost",
        zorder=2.5,
        drawstyle="steps-pre",
    )
    dot = canvas.dot(
        curve.best_threshold,
        curve.cost.min(),
        canvas.looks[k].colour,
        5.5,
        label="_best",
    )
    return line, dot


def _draw_parts(canvas: Canvas, curve: CostCurve) -> list[Entry]:
    """Draw the costs of false alarms and misses; return legend entries."""
    thresholds = np.append(curve.thresholds, 1.0)
    (alarms,) = canvas.ax.plot(
        thresholds,
        _extended(curve.false_alarm_cost * curve.false_alarms),
        color=canvas.style.soft,
        linestyle="--",
        linewidth=1.3,
        drawstyle="steps-pre",
        label="_false alarms",
    )
    (misses,) = canvas.ax.plot(
        thresholds,
        _extended(curve.miss_cost * curve.misses),
        color=canvas.style.soft,
        linestyle=":",
        linewidth=1.3,
        drawstyle="steps-pre",
        label="_misses",
    )
    return [(alarms, "false alarms"), (misses, "misses")]


def _extended(cost: Floats) -> Floats:
    """Return the costs, with the last cost repeated at threshold 1."""
    return np.append(cost, cost[-1])


def _highest_shown_cost(curve: CostCurve) -> float:
    """Return the largest cost over the range of thresholds that is shown."""
    ends = np.interp((LOWEST_THRESHOLD, HIGHEST_THRESHOLD), curve.thresholds, curve.cost)
    inside = curve.thresholds >= LOWEST_THRESHOLD
    inside &= curve.thresholds <= HIGHEST_THRESHOLD
    return float(np.concatenate([curve.cost[inside], ends]).max())


def _limit_probabilities(
    ax: Axes,
    low: float,
    high: float,
    ticks: tuple[float, ...],
) -> None:
    shown = [tick for tick in ticks if low <= tick <= high]
    ax.set_xlim(low, high)
    ax.set_xticks(shown, labels=[f"{tick:g}" for tick in shown])


def _nines(p: Floats) -> Floats:
    """Return −log₁₀(1 − p): 1, 2 and 3 for 0.9, 0.99 and 0.999."""
    return np.asarray(-np.log10(np.clip(1 - p, NEAREST, None)))


def _from_nines(nines: Floats) -> Floats:
    return 1 - 10.0**-nines


def _log_odds(p: Floats) -> Floats:
    return np.asarray(logit(np.clip(p, NEAREST, 1 - NEAREST)))
