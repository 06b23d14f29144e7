"""Whether posteriors are calibrated."""

from typing import Any

import numpy as np

from suffice.curves.reliability import Reliability
from suffice.curves.reliability import reliability as reliability_of
from suffice.plots.canvas import Canvas, figure
from suffice.plots.inputs import event_of, predictions_of
from suffice.text.numbers import amount
from suffice.validation.predictions import Predictions


@figure("palette", size=(4.4, 4.6))
def reliability(
    canvas: Canvas,
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    label: Any = None,
    bins: int = 10,
    equal_counts: bool = False,
    sample_weight: Any = None,
) -> None:
    """Return axes with the observed frequency of a class against the predicted probability.

    Bars are 95 % intervals of the frequency; dots grow with the rows in the bin, counted above.
    On the diagonal posteriors are calibrated; above it they are not confident enough, below it
    too confident.

    Parameters
    ----------
    label : object, optional
        The class whose posterior is judged; by default the second of two, and of several the
        most probable one of each row: how often is it the true class?
    bins : int
        Number of bins.
    equal_counts : bool
        Bins that hold equally many rows, instead of bins of equal width.

    References
    ----------
    DeGroot & Fienberg (1983), *The Statistician* 32, 12–22.

    Examples
    --------
    >>> reliability(sf.LDA().fit(X, y), X, y, label=2).get_xlabel()
    'predicted probability of 2'
    """
    rows = predictions_of(source, X, y, sample_weight)
    k = event_of(rows, label)
    looks = canvas.looks_of(rows.classes)
    table = _table(rows, k, bins, equal_counts=equal_counts)
    colour = canvas.style.accent if k is None else looks.looks[k].colour
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
    what = "the predicted class" if k is None else looks.names[k]
    canvas.name_axes(f"predicted probability of {what}", "observed frequency")
    _counts(canvas, table, colour)


def _table(rows: Predictions, k: int | None, bins: int, *, equal_counts: bool) -> Reliability:
    p = rows.posteriors
    event, stated = (rows.right, p.max(axis=1)) if k is None else (rows.truth == k, p[:, k])
    stated = np.clip(stated, 0, 1)
    return reliability_of(event, stated, rows.weights, bins=bins, equal_counts=equal_counts)


def _counts(canvas: Canvas, table: Reliability, colour: str) -> None:
    """Draw the weight of rows in each bin, above the axes."""
    above = canvas.strip_above(0.5)
    widths = table.high_edges - table.low_edges
    bars = {"color": colour, "alpha": 0.55, "edgecolor": canvas.style.ground}
    above.bar(table.low_edges, table.weights, widths, align="edge", label="_counts", **bars)
    top = float(table.weights.max())
    above.set(ylim=(0, top), yticks=[top])
    error = f"expected calibration error {table.calibration_error:.3f}"
    above.set_title(error, loc="left", fontsize=9, color=canvas.style.ink)
    above.set_yticklabels([amount(top)])
    above.tick_params(axis="x", labelbottom=False, length=0)
    above.set_ylabel("rows", color=canvas.style.ink)
    canvas.style.dress(above)
    above.tick_params(axis="x", length=0)
