"""How well posteriors rank rows: ROC, precision and recall."""

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from suffice.curves.ranking import precision_recall_curve, roc_curve
from suffice.errors import InvalidInputError
from suffice.plots.canvas import MOST_ENTRIES, Canvas, class_line, figure, nothing
from suffice.plots.inputs import event_of, log_odds, ranked_by
from suffice.plots.style import Palette
from suffice.validation.predictions import Predictions


@figure("legend", "palette", size=(5.4, 3.9))
def roc(
    canvas: Canvas,
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    label: Any = None,
    sample_weight: Any = None,
) -> None:
    """Return axes with the ROC curve of a class, or of each of several against the rest.

    Parameters
    ----------
    label : object, optional
        The class to be found; by default the second of two, or each of several.
    legend : bool
        Whether to write classes and areas under their curves beside the axes.

    References
    ----------
    Fawcett (2006), *Pattern Recognition Letters* 27, 861–874.

    Examples
    --------
    >>> roc(sf.LDA().fit(X, y), X, y).get_legend().get_texts()[0].get_text()
    '0  1.000'
    """
    rows = ranked_by(source, X, y, sample_weight)
    looks = canvas.looks_of(rows.classes)
    canvas.ax.plot([0, 1], [0, 1], color=canvas.style.grid, linewidth=1, zorder=0)
    drawn = []
    for k in _shown(rows, label):
        curve = roc_curve(rows.truth == k, log_odds(rows, k), rows.weights)
        _curve(canvas, curve.false_positive, curve.true_positive, looks, k, "default")
        drawn.append((k, curve.area))
    _square(canvas, "false positive rate", "true positive rate")
    _legend(canvas, drawn, looks, "area under curve")


@figure("legend", "palette", size=(5.4, 3.9))
def precision_recall(
    canvas: Canvas,
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    label: Any = None,
    sample_weight: Any = None,
) -> None:
    """Return axes with precision against recall of a class, or of each of several.

    The thin line is the precision of guessing.

    Parameters
    ----------
    label : object, optional
        The class to be found; by default the second of two, or each of several.

    References
    ----------
    Davis & Goadrich (2006), *ICML*, 233–240.

    Examples
    --------
    >>> precision_recall(sf.LDA().fit(X, y), X, y, label=0).get_xlabel()
    'recall'
    """
    rows = ranked_by(source, X, y, sample_weight)
    looks = canvas.looks_of(rows.classes)
    drawn = []
    for k in _shown(rows, label):
        curve = precision_recall_curve(rows.truth == k, log_odds(rows, k), rows.weights)
        recall = np.append(0.0, curve.recall)
        precision = np.append(curve.precision[0], curve.precision)
        _curve(canvas, recall, precision, looks, k, "steps-pre")
        drawn.append((k, curve.average))
    if len(drawn) == 1:
        canvas.ax.axhline(curve.prevalence, color=canvas.style.grid, linewidth=1, zorder=0)
    _square(canvas, "recall", "precision")
    _legend(canvas, drawn, looks, "average precision")


def _shown(rows: Predictions, label: Any) -> list[int]:
    """Return the classes whose curves are drawn: they and their rest have rows."""
    k = event_of(rows, label)
    codes = np.unique(rows.truth[rows.weights > 0]).tolist()
    if len(codes) < 2 or (k is not None and k not in codes):
        absent = rows.classes[k] if k is not None and k not in codes else "another class"
        msg = f"no rows of {absent!r}: a ranking needs rows of a class and rows of the rest"
        raise InvalidInputError(msg)
    return codes if k is None else [k]


def _curve(canvas: Canvas, x: Any, y: Any, palette: Palette, k: int, steps: str) -> None:
    width = 0.8 if len(palette) > MOST_ENTRIES else 1.8
    drawn = {"linewidth": width, "drawstyle": steps, "clip_on": False}
    canvas.curve(x, y, palette, k, "curve", **drawn)


def _square(canvas: Canvas, x: str, y: str) -> None:
    canvas.ax.set(xlim=(0, 1), ylim=(0, 1.0), aspect="equal")
    ticks = np.linspace(0, 1, 6)
    canvas.ax.set_xticks(ticks)
    canvas.ax.set_yticks(ticks)
    canvas.name_axes(x, y)


def _legend(
    canvas: Canvas, drawn: Sequence[tuple[int, float]], palette: Palette, quantity: str
) -> None:
    """Write classes and what they reach; of many, those that reach least."""
    few = len(drawn) <= MOST_ENTRIES
    shown = list(drawn) if few else sorted(drawn, key=itemgetter(1))[: MOST_ENTRIES - 1]
    entries = []
    for k, value in shown:
        look = replace(palette.looks[k], line="-") if len(palette) == 2 else palette.looks[k]
        entries.append((class_line(look, canvas.style), f"{palette.names[k]}  {value:.3f}"))
    if not few:
        entries.append((nothing(), f"… and {len(drawn) - len(shown)} better"))
    canvas.legend(entries, quantity)
