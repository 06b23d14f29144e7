"""How good predictions are: classes confused, rows ranked, posteriors calibrated."""

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from suffice.curves.confusion import Confusion, confusion
from suffice.curves.reliability import Reliability
from suffice.curves.reliability import reliability as reliability_of
from suffice.curves.thresholds import precision_recall_curve, roc_curve
from suffice.errors import InvalidInputError
from suffice.plots.canvas import MOST_ENTRIES, Canvas, class_line, figure, nothing
from suffice.plots.inputs import event_of, log_odds, predictions_of, ranked_by
from suffice.plots.style import mixed
from suffice.text.lists import shortened
from suffice.text.numbers import amount, percent_label
from suffice.validation.predictions import Predictions

MOST_NUMBERS = 20  # classes of which every cell is written
MOST_TICKS = 40


@figure()
def confusion_matrix(
    canvas: Canvas, source: Any, X: Any = None, y: Any = None, *, sample_weight: Any = None
) -> None:
    """Return axes with the confusion matrix: a row for each true class, shaded by its shares.

    Every cell holds the number of rows, and where there is room the share of the true class.

    Examples
    --------
    >>> confusion_matrix(sf.LDA().fit(X, y), X, y).get_xlabel()
    'predicted class'
    """
    table = _counted(source, X, y, sample_weight)
    cell, few = min(0.62, 5 / len(table.actions)), len(table.actions) <= MOST_NUMBERS
    canvas.resize(1.7 + cell * len(table.actions), 0.9 + cell * len(table.classes))
    strength = np.linspace(0, 1, 256)[:, None]
    almost_page = mixed(canvas.style.soft, canvas.style.ground, 0.06)
    shades = mixed(canvas.style.accent, almost_page, strength)
    cells = shades[np.rint(255 * table.shares**0.7).astype(int)]
    canvas.ax.imshow(cells, aspect="equal", interpolation="nearest")
    # thin lines of the page's colour between the cells
    thin = {"color": canvas.style.ground, "linewidth": 1.2 if few else 0.2}
    for draw_line, n in zip((canvas.ax.axhline, canvas.ax.axvline), cells.shape, strict=False):
        for at in np.arange(1, n) - 0.5:
            draw_line(at, **thin)
    _name(canvas, table)
    if few:
        _write(canvas, table, cells)
    for spine in canvas.ax.spines.values():
        spine.set_visible(False)


def _counted(source: Any, X: Any, y: Any, sample_weight: Any) -> Confusion:
    if isinstance(source, Predictions):
        return confusion(source.labels, source.predicted_labels, source.classes, source.weights)
    if X is None or y is None:
        msg = "pass a fitted classifier with rows X and labels y, or Predictions alone"
        raise InvalidInputError(msg)
    return confusion(y, source.predict(X), source.classes_, sample_weight)


def _name(canvas: Canvas, table: Confusion) -> None:
    actions = ["no decision" if a is None else a for a in table.actions.tolist()]
    columns, rows = shortened(actions, 18), shortened(table.classes.tolist(), 18)
    step = -(-len(columns) // MOST_TICKS)
    slanted = len(columns) * max(map(len, columns)) > 40
    canvas.ax.set_xticks(
        range(0, len(columns), step),
        labels=columns[::step],
        rotation=40 if slanted else 0,
        ha="right" if slanted else "center",
        rotation_mode="anchor",
        parse_math=False,
    )
    canvas.ax.set_yticks(range(0, len(rows), step), labels=rows[::step], parse_math=False)
    canvas.ax.tick_params(length=0)
    canvas.name_axes("predicted class", "true class")


def _write(canvas: Canvas, table: Confusion, cells: Any) -> None:
    """Write the number of rows in every cell, and its share where there is room."""
    roomy = len(table.actions) <= 8
    for (row, column), count in np.ndenumerate(table.counts):
        share = float(table.shares[row, column])
        text = amount(count) + (f"\n{percent_label(share)}" if roomy and count else "")
        dark = cells[row, column] @ (0.299, 0.587, 0.114) < 0.55
        colour = "#ffffff" if dark else "#1b1f24"
        middle = {"ha": "center", "va": "center", "fontsize": 8.5, "linespacing": 1.35}
        canvas.ax.text(column, row, text, color=colour if count else canvas.style.soft, **middle)


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
        curve = roc_curve(rows.truth == k, log_odds(rows, k), rows.weights)
        _curve(canvas, curve.false_positive, curve.true_positive, k, "default")
        drawn.append((k, curve.area))
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
        curve = precision_recall_curve(rows.truth == k, log_odds(rows, k), rows.weights)
        recall = np.append(0.0, curve.recall)
        precision = np.append(curve.precision[0], curve.precision)
        _curve(canvas, recall, precision, k, "steps-pre")
        drawn.append((k, curve.average))
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


def _curve(canvas: Canvas, x: Any, y: Any, k: int, steps: str) -> None:
    width = 0.8 if len(canvas.palette) > MOST_ENTRIES else 1.8
    drawn = {"linewidth": width, "drawstyle": steps, "clip_on": False}
    canvas.curve(x, y, k, "curve", **drawn)


def _frame(
    canvas: Canvas, names: tuple[str, str], drawn: Sequence[tuple[int, float]], quantity: str
) -> None:
    """Make a square, and write classes and what they reach; of many, those that reach least."""
    ticks = np.linspace(0, 1, 6)
    canvas.ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=ticks, yticks=ticks)
    canvas.name_axes(*names)
    palette, few = canvas.palette, len(drawn) <= MOST_ENTRIES
    shown = list(drawn) if few else sorted(drawn, key=itemgetter(1))[: MOST_ENTRIES - 1]
    entries = []
    for k, value in shown:
        look = palette.looks[k] if len(palette) > 2 else replace(palette.looks[k], line="-")
        entries.append((class_line(look, canvas.style), f"{palette.names[k]}  {value:.3f}"))
    if not few:
        entries.append((nothing(), f"… and {len(drawn) - len(shown)} better"))
    canvas.legend(entries, quantity)


@figure(of=predictions_of, size=(4.4, 4.6))
def reliability(
    canvas: Canvas,
    rows: Predictions,
    *,
    label: Any = None,
    bins: int = 10,
    equal_counts: bool = False,
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
    equal_counts : bool
        Bins that hold equally many rows, instead of bins of equal width.

    Examples
    --------
    >>> reliability(sf.LDA().fit(X, y), X, y, label=2).get_xlabel()
    'predicted probability of 2'
    """
    k = event_of(rows, label)
    p = rows.posteriors
    event, stated = (rows.right, p.max(axis=1)) if k is None else (rows.truth == k, p[:, k])
    how: Any = {"bins": bins, "equal_counts": equal_counts}
    table = reliability_of(event, np.clip(stated, 0, 1), rows.weights, **how)
    colour = canvas.style.accent if k is None else canvas.palette.looks[k].colour
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
    what = "the predicted class" if k is None else canvas.palette.names[k]
    canvas.name_axes(f"predicted probability of {what}", "observed frequency")
    _counts(canvas, table, colour)


def _counts(canvas: Canvas, table: Reliability, colour: str) -> None:
    """Draw the weight of rows in each bin, above the axes."""
    error = f"expected calibration error {table.calibration_error:.3f}"
    above = canvas.strip_above(0.5, error)
    widths = table.high_edges - table.low_edges
    bars = {"color": colour, "alpha": 0.55, "edgecolor": canvas.style.ground}
    above.bar(table.low_edges, table.weights, widths, align="edge", label="_counts", **bars)
    top = float(table.weights.max())
    above.set(ylim=(0, top), yticks=[top])
    above.set_yticklabels([amount(top)])
    above.set_ylabel("rows", color=canvas.style.ink)
