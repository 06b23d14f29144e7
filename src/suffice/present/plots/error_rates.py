"""Figures on the quality of predictions: confusion matrix, ROC, precision, calibration."""

from typing import Literal, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from suffice.core.decision.predictions import Predictions
from suffice.core.text.lists import shortened
from suffice.core.text.numbers import percent_label, weight_label
from suffice.errors import InvalidInputError
from suffice.evaluate.curves.reliability import Reliability, confusion
from suffice.evaluate.curves.reliability import reliability as reliability_of
from suffice.evaluate.curves.thresholds import precision_recall_curve, roc_curve
from suffice.present.plots.canvas import (
    MOST_ENTRIES,
    NO_HANDLE,
    Canvas,
    Entry,
    open_canvas,
)
from suffice.present.plots.inputs import (
    decided_by,
    event_of,
    log_odds,
    predictions_of,
    ranked_by,
)
from suffice.present.plots.style import Theme, mixed
from suffice.typing import Floats, LabelsLike, RowsLike, SklearnClassifier, WeightsLike

MOST_NUMBERS = 20  # with more classes, cells show no numbers
MOST_SHARES = 8  # with more classes, cells show no shares
MOST_TICKS = 40
SQUARE_SIZE = (5.4, 3.9)  # inches; square axes with a legend
RELIABILITY_SIZE = (4.4, 4.6)
DrawnCurve: TypeAlias = tuple[
    float, int, Line2D
]  # area or average precision, class code, and line


def confusion_matrix(
    source: Predictions | SklearnClassifier,
    X: RowsLike | None = None,
    y: LabelsLike | None = None,
    *,
    sample_weight: WeightsLike = None,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the confusion matrix, with a row for each true class.

    Each cell shows the number of rows and, if there is room, their share of the true class. The
    shares also determine the shading.

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
    >>> confusion_matrix(sf.LDA().fit(X, y), X, y).get_xlabel()
    'predicted class'
    """
    predictions = decided_by(source, X, y, sample_weight)
    names = shortened(predictions.classes.tolist(), 18)
    has_rejected = (predictions.predicted < 0).any()
    columns = (*names, "no decision") if has_rejected else names
    counts = confusion(predictions)[:, : len(columns)]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    few = len(columns) <= MOST_NUMBERS
    with open_canvas(ax, theme, classes=predictions.classes) as canvas:
        cell_size = min(0.62, 5 / len(columns))
        canvas.resize(1.7 + cell_size * len(columns), 0.9 + cell_size * len(names))
        cells = _shaded(canvas, shares)
        canvas.ax.imshow(cells, aspect="equal", interpolation="nearest")
        _separate_cells(canvas, len(names), len(columns), 1.2 if few else 0.2)
        _name_cells(canvas, names, columns)
        if few:
            _number_cells(canvas, counts, shares, cells)
        canvas.ax.spines[:].set_visible(False)
    return canvas.ax


def _shaded(canvas: Canvas, shares: Floats) -> Floats:
    """Return the colours of the cells, (K, m, 3)."""
    almost_page = mixed(canvas.style.soft, canvas.style.ground, 0.06)
    levels = np.linspace(0, 1, 256)[:, None]
    shades = mixed(canvas.style.accent, tuple(almost_page), levels)
    return np.asarray(shades[np.rint(255 * shares**0.7).astype(int)])


def _separate_cells(canvas: Canvas, n_rows: int, n_columns: int, linewidth: float) -> None:
    """Draw lines in the page's colour between the cells."""
    for height in np.arange(1, n_rows) - 0.5:
        canvas.ax.axhline(height, color=canvas.style.ground, linewidth=linewidth)
    for place in np.arange(1, n_columns) - 0.5:
        canvas.ax.axvline(place, color=canvas.style.ground, linewidth=linewidth)


def _name_cells(canvas: Canvas, names: tuple[str, ...], columns: tuple[str, ...]) -> None:
    step = -(-len(columns) // MOST_TICKS)
    slanted = len(columns) * max(len(name) for name in columns) > 40
    canvas.ax.set_xticks(
        range(0, len(columns), step),
        labels=columns[::step],
        rotation=40 if slanted else 0,
        ha="right" if slanted else "center",
        rotation_mode="anchor",
        parse_math=False,
    )
    canvas.ax.set_yticks(range(0, len(names), step), labels=names[::step], parse_math=False)
    canvas.ax.tick_params(length=0)
    canvas.name_axes("predicted class", "true class")


def _number_cells(canvas: Canvas, counts: Floats, shares: Floats, cells: Floats) -> None:
    """Write the number of rows in each cell, with its share if there is room."""
    has_room = counts.shape[1] <= MOST_SHARES
    for (row, column), count in np.ndenumerate(counts):
        text = weight_label(count)
        if count and has_room:
            text += f"\n{percent_label(float(shares[row, column]))}"
        luminance = cells[row, column] @ (0.299, 0.587, 0.114)
        if not count:
            colour = canvas.style.soft
        elif luminance < 0.55:
            colour = "#ffffff"
        else:
            colour = "#1b1f24"
        canvas.ax.text(
            column,
            row,
            text,
            color=colour,
            ha="center",
            va="center",
            fontsize=8.5,
            linespacing=1.35,
        )


def roc(
    source: Predictions | SklearnClassifier,
    X: RowsLike | None = None,
    y: LabelsLike | None = None,
    *,
    sample_weight: WeightsLike = None,
    label: object = None,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the ROC curve of a class, or of each of several classes against the rest.

    Fawcett (2006), *Pattern Recognition Letters* 27, 861–874.

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
        The positive class. By default, it is the second of two classes; with more classes, each
        class has a curve.
    legend : bool
        Whether to draw a legend with the areas under the curves.
    theme : {"light", "dark"}
        Colours of text and lines.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> roc(sf.LDA().fit(X, y), X, y).get_legend().get_texts()[0].get_text()
    '0  1.000'
    """
    predictions = ranked_by(source, X, y, sample_weight)
    shown = _ranked_classes(predictions, label)
    with open_canvas(
        ax, theme, classes=predictions.classes, legend=legend, size=SQUARE_SIZE
    ) as canvas:
        canvas.ax.plot([0, 1], [0, 1], color=canvas.style.grid, linewidth=1, zorder=0)
        drawn = []
        for k in shown:
            curve = roc_curve(
                predictions.truth == k, log_odds(predictions, k), predictions.weights
            )
            line = _draw_ranking(
                canvas, curve.false_positive, curve.true_positive, k, "default"
            )
            drawn.append((curve.area, k, line))
        _frame_square(canvas)
        canvas.name_axes("false positive rate", "true positive rate")
        canvas.legend(_ranking_entries(canvas, drawn), "area under curve")
    return canvas.ax


def precision_recall(
    source: Predictions | SklearnClassifier,
    X: RowsLike | None = None,
    y: LabelsLike | None = None,
    *,
    sample_weight: WeightsLike = None,
    label: object = None,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with precision against recall of a class, or of each of several classes.

    The thin line is the precision of random guesses.
    Davis & Goadrich (2006), *ICML*, 233–240.

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
        The positive class. By default, it is the second of two classes; with more classes, each
        class has a curve.
    legend : bool
        Whether to draw a legend with the average precisions.
    theme : {"light", "dark"}
        Colours of text and lines.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> precision_recall(sf.LDA().fit(X, y), X, y, label=0).get_xlabel()
    'recall'
    """
    predictions = ranked_by(source, X, y, sample_weight)
    shown = _ranked_classes(predictions, label)
    with open_canvas(
        ax, theme, classes=predictions.classes, legend=legend, size=SQUARE_SIZE
    ) as canvas:
        drawn = []
        for k in shown:
            curve = precision_recall_curve(
                predictions.truth == k, log_odds(predictions, k), predictions.weights
            )
            recall = np.append(0.0, curve.recall)
            precision = np.append(curve.precision[0], curve.precision)
            line = _draw_ranking(canvas, recall, precision, k, "steps-pre")
            drawn.append((curve.average, k, line))
        if len(shown) == 1:
            canvas.ax.axhline(curve.prevalence, color=canvas.style.grid, linewidth=1, zorder=0)
        _frame_square(canvas)
        canvas.name_axes("recall", "precision")
        canvas.legend(_ranking_entries(canvas, drawn), "average precision")
    return canvas.ax


def _ranked_classes(predictions: Predictions, label: object) -> list[int]:
    """Return the classes with a curve, which have rows and are not the only class with rows."""
    k = event_of(predictions, label)
    codes: list[int] = np.unique(predictions.truth[predictions.weights > 0]).tolist()
    if k is not None and k not in codes:
        absent = predictions.classes[k]
        msg = (
            f"there are no rows of {absent!r}, but a ranking needs rows of a class and rows of "
            "other classes"
        )
        raise InvalidInputError(msg)
    if len(codes) < 2:
        msg = (
            "there are no rows of another class, but a ranking needs rows of a class and rows of "
            "other classes"
        )
        raise InvalidInputError(msg)
    return codes if k is None else [k]


def _draw_ranking(
    canvas: Canvas,
    x: Floats,
    y: Floats,
    k: int,
    drawstyle: Literal["default", "steps-pre"],
) -> Line2D:
    linewidth = 0.8 if len(canvas.looks) > MOST_ENTRIES else 1.8
    return canvas.curve(
        x, y, k, "curve", linewidth=linewidth, drawstyle=drawstyle, clip_on=False
    )


def _frame_square(canvas: Canvas) -> None:
    ticks = np.linspace(0, 1, 6)
    canvas.ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=ticks, yticks=ticks)


def _ranking_entries(canvas: Canvas, drawn: list[DrawnCurve]) -> list[Entry]:
    """Return a legend entry for each curve; with many curves, only for the lowest."""
    shown = drawn
    if len(drawn) > MOST_ENTRIES:
        by_value = sorted(drawn, key=lambda curve: curve[:2])
        shown = by_value[: MOST_ENTRIES - 1]
    entries: list[Entry] = []
    for value, k, line in shown:
        entries.append((line, f"{canvas.looks[k].name}  {value:.3f}"))
    if len(shown) < len(drawn):
        entries.append((NO_HANDLE, f"… and {len(drawn) - len(shown)} better"))
    return entries


def reliability(
    source: Predictions | SklearnClassifier,
    X: RowsLike | None = None,
    y: LabelsLike | None = None,
    *,
    sample_weight: WeightsLike = None,
    label: object = None,
    bins: int = 10,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the observed frequency of a class against the predicted probability.

    Bars are 95 % intervals of the frequency. Larger dots have more rows in their bin; the strip
    above shows the numbers. On the diagonal, posteriors are calibrated. Above the diagonal they are
    underconfident, and below it overconfident.
    DeGroot & Fienberg (1983), *The Statistician* 32, 12–22.

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
        The class whose posterior is evaluated. By default, it is the second of two classes. With
        more classes, the posterior of the most probable class is compared with how often that class
        is the true one.
    bins : int
        Number of bins.
    theme : {"light", "dark"}
        Colours of text and lines.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> reliability(sf.LDA().fit(X, y), X, y, label=2).get_xlabel()
    'predicted probability of 2'
    """
    predictions = predictions_of(source, X, y, sample_weight)
    k = event_of(predictions, label)
    if k is None:
        event = predictions.right
        stated = predictions.posteriors.max(axis=1)
    else:
        event = predictions.truth == k
        stated = predictions.posteriors[:, k]
    table = reliability_of(event, np.clip(stated, 0, 1), predictions.weights, bins=bins)
    with open_canvas(ax, theme, classes=predictions.classes, size=RELIABILITY_SIZE) as canvas:
        colour = canvas.style.accent if k is None else canvas.looks[k].colour
        canvas.ax.plot([0, 1], [0, 1], color=canvas.style.grid, linewidth=1, zorder=0)
        _draw_frequencies(canvas, table, colour)
        canvas.ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        class_name = "the predicted class" if k is None else canvas.looks[k].name
        canvas.name_axes(f"predicted probability of {class_name}", "observed frequency")
        _draw_bin_weights(canvas, table, colour)
    return canvas.ax


def _draw_frequencies(canvas: Canvas, table: Reliability, colour: str) -> None:
    """Draw the observed frequency in each bin with its interval."""
    intervals = np.stack([table.observed - table.low, table.high - table.observed])
    canvas.ax.errorbar(
        table.stated,
        table.observed,
        intervals,
        color=colour,
        linestyle="none",
        elinewidth=1.2,
        label="_interval",
    )
    canvas.ax.plot(table.stated, table.observed, color=colour, linewidth=0.8, alpha=0.6)
    canvas.ax.scatter(
        table.stated,
        table.observed,
        s=16 + 90 * table.weights / table.weights.sum(),
        color=colour,
        edgecolors=canvas.style.ground,
        linewidths=0.5,
        zorder=3,
        clip_on=False,
        label="_reliability",
    )


def _draw_bin_weights(canvas: Canvas, table: Reliability, colour: str) -> None:
    """Draw the weight of the rows in each bin in a strip above the axes."""
    title = f"expected calibration error {table.calibration_error:.3f}"
    strip = canvas.strip_above(0.5, title)
    strip.bar(
        table.low_edges,
        table.weights,
        table.high_edges - table.low_edges,
        align="edge",
        color=colour,
        alpha=0.55,
        edgecolor=canvas.style.ground,
        label="_counts",
    )
    top = float(table.weights.max())
    strip.set(ylim=(0, top), yticks=[top], yticklabels=[weight_label(top)])
    strip.set_ylabel("rows", color=canvas.style.ink)
