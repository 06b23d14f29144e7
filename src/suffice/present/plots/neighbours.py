"""Figures on nearest neighbours: votes at a point, and the effect of their number k."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from matplotlib.ticker import NullFormatter, PercentFormatter, ScalarFormatter
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors

from suffice.core.table.labels import as_labels, encode
from suffice.core.table.table import Table
from suffice.core.text.lists import default_names
from suffice.errors import InvalidParameterError, require_word
from suffice.present.plots.canvas import open_canvas
from suffice.present.plots.inputs import rows_to_draw
from suffice.present.plots.marks import draw_points
from suffice.present.plots.style import Theme
from suffice.typing import Array, Codes, Floats, LabelsLike, RowsLike

Weights: TypeAlias = Literal["uniform", "distance"]

TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
BLOCK = 1024  # rows per block when votes are counted
MOST_NEIGHBOURS = 101  # by default


def effect_of_neighbours(
    X: RowsLike,
    y: LabelsLike,
    neighbours: npt.ArrayLike | None = None,
    *,
    weights: Weights = "uniform",
    folds: int = 10,
    random_state: int = 0,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the error of nearest neighbours on training and on held-out rows.

    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, figure 2.4.

    Parameters
    ----------
    X, y : array or frame (n, d) and array (n,)
        Rows and their labels. Standardise features that have different units before.
    neighbours : array of int, optional
        Numbers of neighbours k; by default odd numbers.
    weights : {"uniform", "distance"}
        Weight of a neighbour's vote: 1, or 1 / distance.
    folds, random_state : int
        Number of folds of the cross-validation, and their seed.
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
    >>> effect_of_neighbours(X, y, [1, 5, 15], folds=3).get_xlabel()
    'neighbours k'
    """
    curve = neighbour_curve(X, y, neighbours, weights, folds, random_state)
    k = curve.neighbours
    low = curve.test_error - curve.standard_error
    high = curve.test_error + curve.standard_error
    with open_canvas(ax, theme, legend=legend) as canvas:
        accent = canvas.style.accent
        canvas.ax.fill_between(k, low.clip(0), high, color=accent, alpha=0.2, linewidth=0)
        (held_out,) = canvas.ax.plot(k, curve.test_error, color=accent, label="_held out")
        (learnt_from,) = canvas.ax.plot(
            k,
            curve.training_error,
            color=canvas.style.soft,
            linestyle="--",
            label="_learnt from",
        )
        best = canvas.dot(curve.best, curve.test_error.min(), accent, label="_best")
        canvas.ax.set_xscale("log")
        canvas.ax.xaxis.set_major_formatter(ScalarFormatter())
        canvas.ax.xaxis.set_minor_formatter(NullFormatter())
        canvas.ax.set_xticks([tick for tick in TICKS if tick <= k.max()])
        canvas.ax.set_ylim(bottom=0)
        canvas.ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        canvas.name_axes("neighbours k", "error")
        canvas.legend(
            [
                (held_out, "held out ± s.e."),
                (learnt_from, "learnt from"),
                (best, f"best: k = {curve.best}"),
            ]
        )
    return canvas.ax


def neighbourhood(
    X: RowsLike,
    y: LabelsLike,
    query: npt.ArrayLike,
    k: int = 5,
    *,
    weights: Weights = "uniform",
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the k rows nearest to a point, the circle they lie in, and their votes.

    The window is three times as wide as the circle.

    Parameters
    ----------
    X, y : array or frame (n, 2) and array (n,)
        Rows of two features and their labels.
    query : array (2,)
        The point to classify.
    k : int
        Number of neighbours.
    weights : {"uniform", "distance"}
        Weight of a neighbour's vote: 1, or 1 / distance.
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
    >>> neighbourhood(X[:, 2:], y, (4.8, 1.6), k=7).get_title()
    '1: 5, 2: 2'
    """
    table = Table.of(X, y)
    x = np.asarray(table.x, np.float64)
    point = np.asarray(query, np.float64)
    if x.shape[1] != 2 or point.shape != (2,) or not 1 <= k <= len(x):
        msg = (
            "a neighbourhood is drawn over two features: give a point of two numbers, and k from "
            f"1 to {len(x):,}"
        )
        raise InvalidParameterError(msg)
    distances = np.linalg.norm(x - point, axis=1)
    nearest = np.argsort(distances, kind="stable")[:k]
    radius = float(distances[nearest[-1]]) or 1.0
    vote_weights = neighbour_weights(distances[None, nearest], weights)[0]
    votes = np.bincount(table.codes[nearest], vote_weights, table.n_classes)
    is_nearest = np.isin(np.arange(len(x)), nearest)
    with open_canvas(ax, theme, classes=table.classes, legend=legend) as canvas:
        soft = canvas.style.soft
        draw_points(canvas, x, table.codes, is_nearest)
        for row in nearest:
            canvas.ax.plot(
                [point[0], x[row, 0]], [point[1], x[row, 1]], color=soft, linewidth=0.8
            )
        circle = Circle(
            (point[0], point[1]), radius, facecolor="none", edgecolor=soft, linestyle="--"
        )
        canvas.ax.add_patch(circle)
        winner = canvas.looks[votes.argmax()]
        star = canvas.dot(point[0], point[1], winner.colour, 13, marker="*", zorder=4)
        counted = [
            f"{canvas.looks[c].name}: {votes[c]:.3g}"
            for c in np.argsort(-votes)
            if votes[c] > 0
        ]
        canvas.ax.set_title(", ".join(counted), parse_math=False)
        left, bottom = point - 3 * radius
        right, top = point + 3 * radius
        canvas.ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        canvas.name_axes(*(table.names or default_names(2)))
        canvas.legend([*canvas.entries(), (star, f"classified as {winner.name}")])
    return canvas.ax


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourCurve:
    """Error on training rows and on held-out rows, for each number of neighbours."""

    neighbours: Codes  # k  (m,)
    training_error: Floats  # (m,)
    test_error: Floats  # mean over folds  (m,)
    standard_error: Floats  # standard error of ``test_error`` (m,)

    @property
    def best(self) -> int:
        """Number of neighbours with the lowest test error; of equals, the largest."""
        least = np.flatnonzero(self.test_error == self.test_error.min())
        return int(self.neighbours[least[-1]])


def neighbour_curve(
    X: RowsLike,
    y: LabelsLike,
    neighbours: npt.ArrayLike | None = None,
    weights: Weights = "uniform",
    folds: int = 10,
    random_state: int = 0,
) -> NeighbourCurve:
    """Return the training and cross-validated errors of nearest neighbours for every k."""
    # Neighbours are searched once per fold; for each k, the first k neighbours vote.
    # Cover & Hart (1967), *IEEE Transactions on Information Theory* 13, 21–27.
    x, _ = rows_to_draw(X)
    _, codes = encode(as_labels(y))
    largest_class = int(np.bincount(codes).max())
    if not 2 <= folds <= largest_class:
        msg = f"folds={folds!r}: expected 2 to {largest_class}, the rows of the largest class"
        raise InvalidParameterError(msg)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=random_state)
    splits = list(splitter.split(x, codes))
    ks = _numbers_of_neighbours(neighbours, min(len(train) for train, _ in splits))
    test_errors = np.array(
        [_errors(x, codes, train, test, weights, ks) for train, test in splits]
    )
    all_rows = np.arange(len(x))
    return NeighbourCurve(
        neighbours=ks,
        training_error=_errors(x, codes, all_rows, all_rows, weights, ks),
        test_error=test_errors.mean(axis=0),
        standard_error=test_errors.std(axis=0, ddof=1) / np.sqrt(folds),
    )


def _errors(
    x: Array,
    codes: Codes,
    train: Codes,
    test: Codes,
    weights: Weights,
    ks: Codes,
) -> Floats:
    """Return the error on the test rows for each k, (m,)."""
    search = NearestNeighbors(n_neighbors=int(ks.max())).fit(x[train])
    classes = np.arange(codes.max() + 1)
    wrong = np.zeros(len(ks))
    for rows in np.array_split(test, len(test) // BLOCK + 1):
        distances, nearest = search.kneighbors(x[rows])
        votes_for = codes[train][nearest][:, :, None] == classes  # (n, k, K)
        vote_weights = neighbour_weights(distances, weights)[:, :, None]
        votes = np.cumsum(votes_for * vote_weights, axis=1)
        predicted = votes[:, ks - 1].argmax(axis=2)  # (n, m)
        wrong += (predicted != codes[rows][:, None]).sum(axis=0)
    return wrong / len(test)


def neighbour_weights(distances: Floats, weights: Weights) -> Floats:
    """Return the weights of votes, (n, k); if any neighbours have distance 0, only these vote."""
    require_word(weights, ("uniform", "distance"), "weights")
    if weights == "uniform":
        return np.ones(distances.shape)
    at_zero = distances == 0
    with np.errstate(divide="ignore"):
        return np.where(at_zero.any(axis=1, keepdims=True), at_zero, 1 / distances)


def _numbers_of_neighbours(neighbours: npt.ArrayLike | None, most: int) -> Codes:
    """Return the numbers of neighbours; by default odd numbers up to a third of the rows."""
    if neighbours is None:
        largest = max(1, min(most // 3, MOST_NEIGHBOURS))
        return np.arange(1, largest + 1, 2)
    ks = np.unique(np.asarray(neighbours))
    if ks.dtype.kind not in "iu" or not ks.size or ks[0] < 1 or ks[-1] > most:
        msg = (
            f"neighbours={neighbours!r}: expected integers from 1 to {most}, the rows of a "
            "fold"
        )
        raise InvalidParameterError(msg)
    return ks
