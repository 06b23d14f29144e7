"""How good predictions are: classes confused, rows ranked, posteriors calibrated, thresholds."""

from typing import Any

import numpy as np
from matplotlib.ticker import PercentFormatter
from scipy.special import expit, logit

from suffice.core.decision.predictions import Predictions
from suffice.core.text.lists import shortened
from suffice.core.text.numbers import percent_label, weight_label
from suffice.errors import InvalidInputError
from suffice.evaluate.curves import reliability as counting
from suffice.evaluate.curves import thresholds as sweep
from suffice.present.plots.canvas import MOST_ENTRIES, NOTHING, Canvas, Entries, figure
from suffice.present.plots.inputs import (
    decided_by,
    event_of,
    log_odds,
    predictions_of,
    ranked_by,
)
from suffice.present.plots.style import mixed
from suffice.typing import Floats

MOST_NUMBERS = 20  # classes of which every cell is written
MOST_TICKS = 40


@figure(of=decided_by)
def confusion_matrix(canvas: Canvas, rows: Predictions) -> None:
    """Return axes with the confusion matrix: a row for each true class, shaded by its shares.

    Every cell holds the number of rows, and where there is room the share of the true class.

    Examples
    --------
    >>> confusion_matrix(sf.LDA().fit(X, y), X, y).get_xlabel()
    'predicted class'
    """
    counts, names = counting.confusion(rows), shortened(rows.classes.tolist(), 18)
    columns = [*names, "no decision"] if (rows.predicted < 0).any() else names
    counts = counts[:, : len(columns)]
    cell, few = min(0.62, 5 / len(columns)), len(columns) <= MOST_NUMBERS
    canvas.resize(1.7 + cell * len(columns), 0.9 + cell * len(names))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    almost_page = mixed(canvas.style.soft, canvas.style.ground, 0.06)
    shades = mixed(canvas.style.accent, almost_page, np.linspace(0, 1, 256)[:, None])
    cells = shades[np.rint(255 * shares**0.7).astype(int)]
    canvas.ax.imshow(cells, aspect="equal", interpolation="nearest")
    # thin lines of the page's colour between the cells
    for draw_line, n in zip((canvas.ax.axhline, canvas.ax.axvline), counts.shape, strict=True):
        for at in np.arange(1, n) - 0.5:
            draw_line(at, color=canvas.style.ground, linewidth=1.2 if few else 0.2)
    step, slanted = -(-len(columns) // MOST_TICKS), len(columns) * max(map(len, columns)) > 40
    turn: Any = {"rotation": 40, "ha": "right"} if slanted else {"rotation": 0, "ha": "center"}
    turn |= {"rotation_mode": "anchor", "parse_math": False}
    canvas.ax.set_xticks(range(0, len(columns), step), labels=columns[::step], **turn)
    canvas.ax.set_yticks(range(0, len(names), step), labels=names[::step], parse_math=False)
    canvas.ax.tick_params(length=0)
    canvas.name_axes("predicted class", "true class")
    if few:
        _write(canvas, counts, shares, cells)
    canvas.ax.spines[:].set_visible(False)


def _write(canvas: Canvas, counts: Floats, shares: Floats, cells: Floats) -> None:
    """Write the number of rows in every cell, and its share where there is room."""
    for (row, column), count in np.ndenumerate(counts):
        text = weight_label(count)
        if count and counts.shape[1] <= 8:
            text += f"\n{percent_label(float(shares[row, column]))}"
        colour = "#ffffff" if cells[row, column] @ (0.299, 0.587, 0.114) < 0.55 else "#1b1f24"
        middle = {"ha": "center", "va": "center", "fontsize": 8.5, "linespacing": 1.35}
        canvas.ax.text(
            column, row, text, color=colour if count else canvas.style.soft, **middle
        )


@figure("legend", of=ranked_by, size=(5.4, 3.9))
def roc(canvas: Canvas, rows: Predictions, *, label: Any = None) -> None:
    """Return axes with the ROC curve of a class, or of each of several against the rest.

    Fawcett (2006), *Pattern Recognition Letters* 27, 861–874.

    Parameters
    ----------
    legend : bool
        Whether to write classes and areas under their curves beside the axes.

    Examples
    --------
    >>> roc(sf.LDA().fit(X, y), X, y).get_legend().get_texts()[0].get_text()
    '0  1.000'
    """
    canvas.ax.plot([0, 1], [0, 1], color=canvas.style.grid, linewidth=1, zorder=0)
    drawn = []
    for k in _shown(rows, label):
        curve = sweep.roc_curve(rows.truth == k, log_odds(rows, k), rows.weights)
        line = _curve(canvas, curve.false_positive, curve.true_positive, k, "default")
        drawn.append((curve.area, k, line))
    _frame(canvas, ("false positive rate", "true positive rate"), drawn, "area under curve")


@figure("legend", of=ranked_by, size=(5.4, 3.9))
def precision_recall(canvas: Canvas, rows: Predictions, *, label: Any = None) -> None:
    """Return axes with precision against recall of a class, or of each of several.

    The thin line is the precision of guessing.
    Davis & Goadrich (2006), *ICML*, 233–240.

    Examples
    --------
    >>> precision_recall(sf.LDA().fit(X, y), X, y, label=0).get_xlabel()
    'recall'
    """
    drawn = []
    for k in _shown(rows, label):
        curve = sweep.precision_recall_curve(rows.truth == k, log_odds(rows, k), rows.weights)
        recall = np.append(0.0, curve.recall)
        precision = np.append(curve.precision[0], curve.precision)
        drawn.append((curve.average, k, _curve(canvas, recall, precision, k, "steps-pre")))
    if len(drawn) == 1:
        canvas.ax.axhline(curve.prevalence, color=canvas.style.grid, linewidth=1, zorder=0)
    _frame(canvas, ("recall", "precision"), drawn, "average precision")


def _shown(rows: Predictions, label: Any) -> list[int]:
    """Return the classes whose curves are drawn: they and their rest have rows."""
    k = event_of(rows, label)
    codes = np.unique(rows.truth[rows.weights > 0]).tolist()
    if len(codes) < 2 or (k is not None and k not in codes):
        absent = rows.classes[k] if k is not None and k not in codes else "another class"
        msg = f"no rows of {absent!r}: a ranking needs rows of a class and rows of the rest"
        raise InvalidInputError(msg)
    return codes if k is None else [k]


def _curve(canvas: Canvas, x: Any, y: Any, k: int, steps: str) -> Any:
    width = 0.8 if len(canvas.looks) > MOST_ENTRIES else 1.8
    return canvas.curve(x, y, k, "curve", linewidth=width, drawstyle=steps, clip_on=False)


def _frame(canvas: Canvas, names: tuple[str, str], drawn: list[Any], quantity: str) -> None:
    """Make a square, and write classes and what they reach; of many, those that reach least."""
    ticks = np.linspace(0, 1, 6)
    canvas.ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=ticks, yticks=ticks)
    canvas.name_axes(*names)
    few = len(drawn) <= MOST_ENTRIES
    shown = drawn if few else sorted(drawn)[: MOST_ENTRIES - 1]
    entries = [(line, f"{canvas.looks[k].name}  {value:.3f}") for value, k, line in shown]
    if not few:
        entries.append((NOTHING, f"… and {len(drawn) - len(shown)} better"))
    canvas.legend(entries, quantity)


@figure(of=predictions_of, size=(4.4, 4.6))
def reliability(
    canvas: Canvas,
    rows: Predictions,
    *,
    label: Any = None,
    bins: int = 10,
) -> None:
    """Return axes with the observed frequency of a class against the predicted probability.

    Bars are 95 % intervals of the frequency; dots grow with the rows in the bin, counted above.
    On the diagonal posteriors are calibrated; above it they are not confident enough, below it
    too confident.
    DeGroot & Fienberg (1983), *The Statistician* 32, 12–22.

    Parameters
    ----------
    label : object, optional
        The class whose posterior is judged; by default the second of two, and of several the
        most probable one of each row: how often is it the true class?
    bins : int
        Number of bins.

    Examples
    --------
    >>> reliability(sf.LDA().fit(X, y), X, y, label=2).get_xlabel()
    'predicted probability of 2'
    """
    k, p = event_of(rows, label), rows.posteriors
    event, stated = (rows.right, p.max(axis=1)) if k is None else (rows.truth == k, p[:, k])
    table = counting.reliability(event, np.clip(stated, 0, 1), rows.weights, bins=bins)
    colour = canvas.style.accent if k is None else canvas.looks[k].colour
    canvas.ax.plot([0, 1], [0, 1], color=canvas.style.grid, linewidth=1, zorder=0)
    spread = np.stack([table.observed - table.low, table.high - table.observed])
    bar = {"linestyle": "none", "elinewidth": 1.2, "label": "_interval"}
    canvas.ax.errorbar(table.stated, table.observed, spread, color=colour, **bar)
    canvas.ax.plot(table.stated, table.observed, color=colour, linewidth=0.8, alpha=0.6)
    area = 16 + 90 * table.weights / table.weights.sum()
    dots = {"edgecolors": canvas.style.ground, "linewidths": 0.5, "label": "_reliability"}
    dots |= {"s": area, "color": colour, "zorder": 3, "clip_on": False}
    canvas.ax.scatter(table.stated, table.observed, **dots)
    canvas.ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    what = "the predicted class" if k is None else canvas.looks[k].name
    canvas.name_axes(f"predicted probability of {what}", "observed frequency")
    # above the axes, the weight of rows in each bin
    above = canvas.strip_above(
        0.5, f"expected calibration error {table.calibration_error:.3f}"
    )
    widths = table.high_edges - table.low_edges
    bars = {"color": colour, "alpha": 0.55, "edgecolor": canvas.style.ground}
    above.bar(table.low_edges, table.weights, widths, align="edge", label="_counts", **bars)
    top = float(table.weights.max())
    above.set(ylim=(0, top), yticks=[top], yticklabels=[weight_label(top)])
    above.set_ylabel("rows", color=canvas.style.ink)


NEAREST = 1e-9  # to 0 and 1 that an axis shows
CONFIDENCES = (0.5, 0.9, 0.99, 0.999, 0.9999)
PROBABILITIES = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
SHOWN = (5e-4, 1 - 5e-4)  # thresholds from and up to which costs are drawn
MOST_UNDECIDED = 0.9  # share of rows up to which thresholds are shown
STEPS: Any = {"drawstyle": "steps-pre"}
# maps of probabilities, and back: equal room for 0.9, 0.99, 0.999, −log₁₀(1 − p); log odds
NINES: Any = (lambda p: -np.log10(np.clip(1 - p, NEAREST, None)), lambda u: 1 - 10.0**-u)
LOG_ODDS: Any = (lambda p: logit(np.clip(p, NEAREST, 1 - NEAREST)), expit)


def _scale(ax: Any, functions: Any, ticks: tuple[float, ...], low: float, high: float) -> None:
    """Make x an axis of probabilities that is even in what the functions make of them."""
    ax.set_xscale("function", functions=functions)
    shown = [t for t in ticks if low <= t <= high]
    ax.set_xlim(low, high)
    ax.set_xticks(shown, labels=[f"{t:g}" for t in shown])


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
    curve = sweep.reject_curve(rows)
    low = 1 / len(rows.classes)
    thresholds = np.concatenate([[low], curve.thresholds, [1.0]])
    error = np.concatenate([curve.error[:1], curve.error, curve.error[-1:]])
    canvas.ax.plot(thresholds, error, color=canvas.style.accent, label="_error", **STEPS)
    most = curve.thresholds[curve.rejected <= MOST_UNDECIDED].max()
    _scale(canvas.ax, NINES, CONFIDENCES, low, float(np.clip(most, 0.99, 1 - 1e-5)))
    canvas.ax.set_ylim(0, max(1.08 * float(error.max()), 1e-3))
    canvas.name_axes("smallest posterior required", "error of rows decided")
    # above the axes, the share of rows left undecided
    above = canvas.strip_above(0.7, "share of rows left undecided")
    share = np.concatenate([[0.0], curve.rejected, [1.0]])
    soft = canvas.style.soft
    above.fill_between(thresholds, share, step="pre", alpha=0.4, linewidth=0, color=soft)
    line = {"color": soft, "linewidth": 1.2, "label": "_rejected", **STEPS}
    above.plot(thresholds[:-1], share[:-1], **line)
    above.set(ylim=(0, 1), yticks=[0.5, 1])
    for ax in (canvas.ax, above):
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))


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
    shown = range(len(canvas.looks)) if k is None else [k]
    costs = {"false_alarm_cost": false_alarm_cost, "miss_cost": miss_cost}
    curves = [sweep.cost_curve(rows, rows.classes[j], **costs) for j in shown]
    for j, curve in zip(shown, curves, strict=True):
        both = canvas.curve(*_up_to_one(curve, curve.cost), j, "cost", zorder=2.5, **STEPS)
        least = (curve.best_threshold, curve.cost.min())
        dot = canvas.dot(*least, canvas.looks[j].colour, 5.5, label="_best")
    entries = [] if k is None else [(both, "both errors"), *_parts(canvas, curves[0], dot)]
    best = curves[0].bayes_threshold
    dashes = {
        "color": canvas.style.soft,
        "linewidth": 1,
        "linestyle": (0, (4, 3)),
        "zorder": 1,
    }
    entries.append((canvas.ax.axvline(best, **dashes), f"if calibrated: {best:.2g}"))
    # thresholds that decide anything, and the costs there
    _scale(canvas.ax, LOG_ODDS, PROBABILITIES, *SHOWN)
    tops = [c.cost[(c.thresholds >= SHOWN[0]) & (c.thresholds <= SHOWN[1])] for c in curves]
    ends = [np.interp(SHOWN, c.thresholds, c.cost) for c in curves]
    canvas.ax.set_ylim(0, 1.08 * np.concatenate([*tops, *ends]).max() or 1)
    what = "a class" if k is None else canvas.looks[k].name
    canvas.name_axes(f"posterior from which {what} is called", "mean cost of a row")
    canvas.legend(entries if k is not None else [*canvas.entries(lines=True), *entries])


def _up_to_one(curve: sweep.CostCurve, cost: Floats) -> tuple[Floats, Floats]:
    return np.append(curve.thresholds, 1.0), np.append(cost, cost[-1])


def _parts(canvas: Canvas, curve: sweep.CostCurve, dot: Any) -> Entries:
    """Draw what false alarms and what misses cost; return entries for the legend."""
    alarms, misses = (
        curve.false_alarm_cost * curve.false_alarms,
        curve.miss_cost * curve.misses,
    )
    entries = []
    for cost, line, name in ((alarms, "--", "false alarms"), (misses, ":", "misses")):
        soft = {"color": canvas.style.soft, "linestyle": line, "label": f"_{name}", **STEPS}
        entries += [(*canvas.ax.plot(*_up_to_one(curve, cost), linewidth=1.3, **soft), name)]
    return [*entries, (dot, f"cheapest here: {curve.best_threshold:.2g}")]
