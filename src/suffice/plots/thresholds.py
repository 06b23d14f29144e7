"""What a threshold on posteriors costs and saves."""

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.ticker import PercentFormatter
from scipy.special import expit, logit

from suffice.curves.thresholds import CostCurve, RejectCurve, cost_curve, reject_curve
from suffice.plots.canvas import Canvas, class_marker, figure
from suffice.plots.inputs import event_of, predictions_of
from suffice.typing import Floats
from suffice.validation.predictions import Predictions

NEAREST = 1e-9  # to 0 and 1 that an axis shows
CONFIDENCES = (0.5, 0.9, 0.99, 0.999, 0.9999)
PROBABILITIES = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)


# maps of probabilities, and back: equal room for 0.9, 0.99, 0.999, −log₁₀(1 − p); log odds
NINES: Any = (lambda p: -np.log10(np.clip(1 - p, NEAREST, None)), lambda u: 1 - 10.0**-u)
LOG_ODDS: Any = (lambda p: logit(np.clip(p, NEAREST, 1 - NEAREST)), expit)


def _scale(ax: Any, functions: Any, ticks: tuple[float, ...], low: float, high: float) -> None:
    """Make x an axis of probabilities that is even in what the functions make of them."""
    ax.set_xscale("function", functions=functions)
    shown = [t for t in ticks if low <= t <= high]
    ax.set_xlim(low, high)
    ax.set_xticks(shown, labels=[f"{t:g}" for t in shown])


SHOWN = (5e-4, 1 - 5e-4)  # thresholds from and up to which costs are drawn
MOST_UNDECIDED = 0.9  # share of rows up to which thresholds are shown


@figure(of=predictions_of, size=(5.0, 4.2))
def error_against_threshold(canvas: Canvas, rows: Predictions) -> None:
    """Return axes with the error of rows that are decided, by the smallest posterior required.

    A row is decided if its largest posterior reaches the threshold; above is the share that is
    not. With 0–1 costs a threshold t is the best for a cost of rejecting of 1 − t.
    Chow (1970), *IEEE Transactions on Information Theory* 16, 41–46.

    Examples
    --------
    >>> error_against_threshold(sf.LDA().fit(X, y), X, y).get_ylabel()
    'error of rows decided'
    """
    curve = reject_curve(rows)
    low = 1 / len(rows.classes)
    thresholds = np.concatenate([[low], curve.thresholds, [1.0]])
    error = np.concatenate([curve.error[:1], curve.error, curve.error[-1:]])
    canvas.ax.plot(
        thresholds, error, drawstyle="steps-pre", color=canvas.style.accent, label="_error"
    )
    most = curve.thresholds[curve.rejected <= MOST_UNDECIDED].max()
    _scale(canvas.ax, NINES, CONFIDENCES, low, float(np.clip(most, 0.99, 1 - 1e-5)))
    canvas.ax.set_ylim(0, max(1.08 * float(error.max()), 1e-3))
    canvas.ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    canvas.name_axes("smallest posterior required", "error of rows decided")
    _rejected(canvas, curve, thresholds)


@figure("legend", of=predictions_of)
def cost_against_threshold(
    canvas: Canvas,
    rows: Predictions,
    *,
    label: Any = None,
    false_alarm_cost: float = 1.0,
    miss_cost: float = 1.0,
) -> None:
    """Return axes with the mean cost of a row, by the posterior from which a class is called.

    A dot is the cheapest threshold on these rows; the dashed line is the one that is cheapest
    where posteriors are right, C_false alarm / (C_false alarm + C_miss).
    Elkan (2001), *IJCAI*, 973–978.

    Parameters
    ----------
    label : object, optional
        The class to be called; by default the second of two, or each of several against the
        rest. For one class the two parts of the cost are drawn too.
    false_alarm_cost, miss_cost : float
        Of calling a row of another class, and of not calling one of the class.

    Examples
    --------
    >>> cost_against_threshold(sf.LDA().fit(X, y), X, y, label=2, miss_cost=5).get_ylabel()
    'mean cost of a row'
    """
    k = event_of(rows, label)
    shown = range(len(canvas.palette)) if k is None else [k]
    costs = {"false_alarm_cost": false_alarm_cost, "miss_cost": miss_cost}
    curves = [cost_curve(rows, rows.classes[j], **costs) for j in shown]
    for j, curve in zip(shown, curves, strict=True):
        steps = {"drawstyle": "steps-pre", "zorder": 2.5}
        both = canvas.curve(*_up_to_one(curve, curve.cost), j, "cost", **steps)
        colour = canvas.palette.looks[j].colour
        canvas.dot(curve.best_threshold, curve.cost.min(), colour, 5.5, label="_best")
    best = curves[0].bayes_threshold
    dashes = {"color": canvas.style.soft, "linewidth": 1, "linestyle": (0, (4, 3)), "zorder": 1}
    entries = [(canvas.ax.axvline(best, **dashes), f"if calibrated: {best:.2g}")]
    if k is not None:
        entries = [(both, "both errors"), *_parts(canvas, curves[0], k), *entries]
    _frame(canvas, curves, "a class" if k is None else canvas.palette.names[k])
    if k is None:
        canvas.legend_of_classes(lines=True, extra=entries)
    else:
        canvas.legend(entries)


def _rejected(canvas: Canvas, curve: RejectCurve, thresholds: Any) -> None:
    """Draw the share of rows left undecided, above the axes."""
    above = canvas.strip_above(0.7, "share of rows left undecided")
    share = np.concatenate([[0.0], curve.rejected, [1.0]])
    soft = {"color": canvas.style.soft}
    above.fill_between(thresholds, share, step="pre", alpha=0.4, linewidth=0, **soft)
    line = {"drawstyle": "steps-pre", "linewidth": 1.2, "label": "_rejected"}
    above.plot(thresholds[:-1], share[:-1], **line, **soft)
    above.set(ylim=(0, 1), yticks=[0.5, 1])
    above.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))


def _up_to_one(curve: CostCurve, cost: Floats) -> tuple[Floats, Floats]:
    return np.append(curve.thresholds, 1.0), np.append(cost, cost[-1])


def _frame(canvas: Canvas, curves: list[CostCurve], what: str) -> None:
    """Show thresholds that decide anything, and the costs there."""
    _scale(canvas.ax, LOG_ODDS, PROBABILITIES, *SHOWN)
    inside = [(c.thresholds >= SHOWN[0]) & (c.thresholds <= SHOWN[1]) for c in curves]
    largest = max(
        float(np.interp(SHOWN, c.thresholds, c.cost).max(initial=c.cost[i].max(initial=0)))
        for c, i in zip(curves, inside, strict=True)
    )
    canvas.ax.set_ylim(0, 1.08 * largest or 1)
    canvas.name_axes(f"posterior from which {what} is called", "mean cost of a row")


def _parts(canvas: Canvas, curve: CostCurve, k: int) -> list[tuple[Any, str]]:
    """Draw what false alarms and what misses cost; return entries for the legend."""
    parts = (
        (curve.false_alarm_cost * curve.false_alarms, "--", "false alarms"),
        (curve.miss_cost * curve.misses, ":", "misses"),
    )
    entries: list[tuple[Any, str]] = []
    for cost, line, name in parts:
        soft = {"color": canvas.style.soft, "linestyle": line, "linewidth": 1.3}
        (drawn,) = canvas.ax.plot(
            *_up_to_one(curve, cost), drawstyle="steps-pre", label=f"_{name}", **soft
        )
        entries.append((drawn, name))
    dot = class_marker(replace(canvas.palette.looks[k], marker="o"), canvas.style)
    return [*entries, (dot, f"cheapest here: {curve.best_threshold:.2g}")]
