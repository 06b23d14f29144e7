"""How well posteriors rank rows: ROC, precision and recall."""

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from suffice.curves.ranking import precision_recall_curve, roc_curve
from suffice.errors import InvalidInputError
from suffice.plots.canvas import MOST_ENTRIES, Canvas, class_line, drawing, nothing
from suffice.plots.inputs import event_of, log_odds, ranked_by
from suffice.plots.style import Palette, Theme, palette_for
from suffice.validation.predictions import Predictions


def roc(
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    label: Any = None,
    sample_weight: Any = None,
    legend: bool = True,
    palette: Palette | None = None,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the ROC curve of a class, or of each of several against the rest.

    Parameters
    ----------
    source : fitted classifier or Predictions
        What is judged; a classifier is asked about ``X``.
    X, y : array or frame (n, d) and array (n,), optional
        Rows and their labels, with a classifier.
    label : object, optional
        The class to be found; by default the second of two, or each of several.
    sample_weight : array (n,), optional
        Weights of the rows, with a classifier.
    legend : bool
        Whether to write classes and areas under their curves beside the axes.
    palette, theme, ax
        As in ``decision_regions``.

    References
    ----------
    Fawcett (2006), *Pattern Recognition Letters* 27, 861–874.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> roc(sf.LDA().fit(X, y), X, y).get_legend().get_texts()[0].get_text()
    '0  1.000'
    """
    rows = ranked_by(source, X, y, sample_weight)
    looks = palette_for(rows.classes, palette)
    with drawing(ax, theme, (5.4, 3.9)) as canvas:
        canvas.ax.plot([0, 1], [0, 1], color=canvas.style.grid, linewidth=1, zorder=0)
        drawn = []
        for k in _shown(rows, label):
            curve = roc_curve(rows.truth == k, log_odds(rows, k), rows.weights)
            _curve(canvas, curve.false_positive, curve.true_positive, looks, k, "default")
            drawn.append((k, curve.area))
        _square(canvas, "false positive rate", "true positive rate")
        if legend:
            _legend(canvas, drawn, looks, "area under curve")
    return canvas.axes


def precision_recall(
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    label: Any = None,
    sample_weight: Any = None,
    legend: bool = True,
    palette: Palette | None = None,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with precision against recall of a class, or of each of several.

    Parameters
    ----------
    source, X, y, label, sample_weight, legend, palette, theme, ax
        As in ``roc``. The thin line is the precision of guessing.

    References
    ----------
    Davis & Goadrich (2006), *ICML*, 233–240.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> precision_recall(sf.LDA().fit(X, y), X, y, label=0).get_xlabel()
    'recall'
    """
    rows = ranked_by(source, X, y, sample_weight)
    looks = palette_for(rows.classes, palette)
    with drawing(ax, theme, (5.4, 3.9)) as canvas:
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
        if legend:
            _legend(canvas, drawn, looks, "average precision")
    return canvas.axes


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
