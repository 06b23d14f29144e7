"""Which class is taken for which."""

from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from suffice.curves.confusion import Confusion, confusion
from suffice.errors import InvalidInputError
from suffice.plots.canvas import Canvas, figure
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

    Parameters
    ----------
    source : fitted classifier, Predictions or Confusion
        What was predicted; a classifier is asked about ``X``.

    Examples
    --------
    >>> confusion_matrix(sf.LDA().fit(X, y), X, y).get_xlabel()
    'predicted class'
    """
    table = _table(source, X, y, sample_weight)
    cell = min(0.62, 5 / len(table.actions))
    canvas.resize(1.7 + cell * len(table.actions), 0.9 + cell * len(table.classes))
    strength = np.linspace(0, 1, 256)[:, None]
    shades = strength * to_rgb(canvas.style.accent) + (1 - strength) * _pale(canvas)
    cells = shades[np.rint(255 * table.shares**0.7).astype(int)]
    canvas.ax.imshow(cells, aspect="equal", interpolation="nearest")
    _lines_between(canvas, table)
    _name(canvas, table)
    if len(table.actions) <= MOST_NUMBERS:
        _write(canvas, table, cells)
    for spine in canvas.ax.spines.values():
        spine.set_visible(False)


def _table(source: Any, X: Any, y: Any, sample_weight: Any) -> Confusion:
    if isinstance(source, Confusion):
        return source
    if isinstance(source, Predictions):
        return confusion(source.labels, source.predicted_labels, source.classes, source.weights)
    if X is None or y is None:
        msg = "pass a fitted classifier with rows X and labels y, or a Confusion alone"
        raise InvalidInputError(msg)
    return confusion(y, source.predict(X), source.classes_, sample_weight)


def _pale(canvas: Canvas) -> Any:
    """Return the colour of an empty cell: almost the page."""
    return 0.06 * np.array(to_rgb(canvas.style.soft)) + 0.94 * np.array(to_rgb(canvas.style.ground))


def _lines_between(canvas: Canvas, table: Confusion) -> None:
    """Separate the cells by thin lines of the page's colour."""
    K, A = table.counts.shape
    width = 1.2 if A <= MOST_NUMBERS else 0.2
    for y in np.arange(1, K) - 0.5:
        canvas.ax.axhline(y, color=canvas.style.ground, linewidth=width)
    for x in np.arange(1, A) - 0.5:
        canvas.ax.axvline(x, color=canvas.style.ground, linewidth=width)


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
