"""Nearest neighbours: their votes at a point, and what their number does."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.patches import Circle
from matplotlib.ticker import NullFormatter, PercentFormatter, ScalarFormatter
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors

from suffice.core.estimation.settings import parse_word
from suffice.core.table.labels import as_labels, encode
from suffice.core.table.table import Table
from suffice.core.text.lists import default_names
from suffice.errors import InvalidParameterError
from suffice.present.plots import marks
from suffice.present.plots.canvas import Canvas, figure
from suffice.present.plots.inputs import rows_to_draw
from suffice.present.plots.style import looks_of
from suffice.typing import Codes, Floats

TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
BLOCK = 1024  # rows whose votes are counted at once


@figure("legend")
def effect_of_neighbours(
    canvas: Canvas,
    X: Any,
    y: Any,
    neighbours: Any = None,
    *,
    weights: str = "uniform",
    folds: int = 10,
    random_state: int = 0,
) -> None:
    """Return axes with the error of nearest neighbours on rows learnt from and rows held out.

    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, figure 2.4.

    Parameters
    ----------
    X, y : array or frame (n, d) and array (n,)
        Rows and their labels; standardise features first where units differ.
    neighbours : array of int, optional
        Numbers of neighbours k; by default odd ones.
    weights : {"uniform", "distance"}
        Whether all neighbours have one vote, or each 1 / distance.
    folds, random_state : int
        Of cross-validation.

    Examples
    --------
    >>> effect_of_neighbours(X, y, [1, 5, 15], folds=3).get_xlabel()
    'neighbours k'
    """
    curve = neighbour_curve(X, y, neighbours, weights, folds, random_state)
    k, soft, accent = curve.neighbours, canvas.style.soft, canvas.style.accent
    low, high = (
        curve.test_error - curve.standard_error,
        curve.test_error + curve.standard_error,
    )
    canvas.ax.fill_between(k, low.clip(0), high, color=accent, alpha=0.2, linewidth=0)
    (held,) = canvas.ax.plot(k, curve.test_error, color=accent, label="_held out")
    dashed = {"color": soft, "linestyle": "--", "label": "_learnt from"}
    (learnt,) = canvas.ax.plot(k, curve.training_error, **dashed)
    best = canvas.dot(curve.best, curve.test_error.min(), accent, label="_best")
    canvas.ax.set_xscale("log")
    canvas.ax.xaxis.set_major_formatter(ScalarFormatter())
    canvas.ax.xaxis.set_minor_formatter(NullFormatter())
    canvas.ax.set_xticks([t for t in TICKS if t <= k.max()])
    canvas.ax.set_ylim(bottom=0)
    canvas.ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    canvas.name_axes("neighbours k", "error")
    said = (
        (held, "held out ± s.e."),
        (learnt, "learnt from"),
        (best, f"best: k = {curve.best}"),
    )
    canvas.legend(said)


@figure("legend")
def neighbourhood(
    canvas: Canvas,
    X: Any,
    y: Any,
    query: Any,
    k: int = 5,
    *,
    weights: str = "uniform",
) -> None:
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
        Whether all neighbours have one vote, or each 1 / distance.

    Examples
    --------
    >>> neighbourhood(X[:, 2:], y, (4.8, 1.6), k=7).get_title()
    '1: 5, 2: 2'
    """
    table = Table.of(X, y)
    x, point = np.asarray(table.x, np.float64), np.asarray(query, np.float64)
    if x.shape[1] != 2 or point.shape != (2,) or not 1 <= k <= len(x):
        msg = f"a neighbourhood has two features, a point of two numbers and k from 1 to {len(x)}"
        raise InvalidParameterError(msg)
    canvas = replace(canvas, looks=looks_of(table.classes))
    distances = np.linalg.norm(x - point, axis=1)
    near = np.argsort(distances, kind="stable")[:k]
    voice = voices(distances[None, near], weights)[0]
    votes = np.bincount(table.codes[near], voice, table.n_classes)
    marks.draw_points(canvas, x, table.codes, np.isin(np.arange(len(x)), near))
    for row in near:
        canvas.ax.plot(*np.stack([point, x[row]]).T, color=canvas.style.soft, linewidth=0.8)
    circle: Any = {"facecolor": "none", "edgecolor": canvas.style.soft, "linestyle": "--"}
    radius = float(distances[near[-1]]) or 1.0
    canvas.ax.add_patch(Circle(tuple(point), radius, **circle))
    look, order = canvas.looks[votes.argmax()], np.argsort(-votes)
    here = canvas.dot(point[0], point[1], look.colour, 13, marker="*", zorder=4)
    said = ", ".join(f"{canvas.looks[c].name}: {votes[c]:.3g}" for c in order if votes[c] > 0)
    canvas.ax.set_title(said, parse_math=False)
    (left, low), (right, high) = point - 3 * radius, point + 3 * radius
    canvas.ax.set(xlim=(left, right), ylim=(low, high), aspect="equal")
    canvas.name_axes(*(table.names or default_names(2)))
    canvas.legend([*canvas.entries(), (here, f"classified as {look.name}")])


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourCurve:
    """Error on the rows learnt from and on rows held out, for each number of neighbours."""

    neighbours: Codes  # k  (m,)
    training_error: Floats  # (m,)
    test_error: Floats  # mean over folds  (m,)
    standard_error: Floats  # of that mean  (m,)

    @property
    def best(self) -> int:
        """Number of neighbours of least test error; of equal ones, the largest."""
        return int(
            self.neighbours[np.flatnonzero(self.test_error == self.test_error.min())[-1]]
        )


def neighbour_curve(
    X: Any,
    y: Any,
    neighbours: Any = None,
    weights: str = "uniform",
    folds: int = 10,
    random_state: int = 0,
) -> NeighbourCurve:
    """Return the error of k-nearest-neighbour voting for every k, by cross-validation."""
    # neighbours are searched once for each fold, and every k votes with the first k of them. Cover
    # & Hart (1967), *IEEE Transactions on Information Theory* 13, 21–27.
    (x, _), (_, codes) = rows_to_draw(X), encode(as_labels(y))
    most = int(np.bincount(codes).max())
    if not 2 <= folds <= most:
        msg = f"folds={folds!r}: expected 2 to {most}, the rows of the largest class"
        raise InvalidParameterError(msg)
    pairs = list(
        StratifiedKFold(folds, shuffle=True, random_state=random_state).split(x, codes)
    )
    ks = _checked(neighbours, min(len(train) for train, _ in pairs))
    judged = partial(_errors, x, codes, weights=weights, ks=ks)
    tested = np.array([judged(train, test) for train, test in pairs])
    everyone, se = np.arange(len(x)), tested.std(axis=0, ddof=1) / np.sqrt(folds)
    return NeighbourCurve(ks, judged(everyone, everyone), tested.mean(axis=0), se)


def _errors(
    x: Any,
    codes: Codes,
    train: Codes,
    test: Codes,
    *,
    weights: str,
    ks: Codes,
) -> Floats:
    """Return the error on the test rows for each k, (m,)."""
    search = NearestNeighbors(n_neighbors=int(ks.max())).fit(x[train])
    wrong = np.zeros(len(ks))
    for rows in np.array_split(test, len(test) // BLOCK + 1):
        distances, near = search.kneighbors(x[rows])
        own = codes[train][near][:, :, None] == np.arange(codes.max() + 1)
        votes = np.cumsum(own * voices(distances, weights)[:, :, None], axis=1)  # (n, k, K)
        wrong += (votes[:, ks - 1].argmax(axis=2) != codes[rows][:, None]).sum(axis=0)
    return wrong / len(test)


def voices(distances: Floats, weights: str) -> Floats:
    """Return 1, or 1 / distance, of neighbours (n, k); those at distance 0 vote alone."""
    if not parse_word(weights, {"uniform": False, "distance": True}, "weights"):
        return np.ones(distances.shape)
    at_zero = distances == 0
    with np.errstate(divide="ignore"):
        return np.where(at_zero.any(axis=1, keepdims=True), at_zero, 1 / distances)


def _checked(neighbours: Any, most: int) -> Codes:
    """Return the numbers of neighbours, by default odd ones up to a third of the rows."""
    if neighbours is None:
        most = max(1, min(most, most // 3, 101))
        return np.arange(1, most + 1, 2)
    ks = np.unique(np.asarray(neighbours))
    if ks.dtype.kind not in "iu" or not ks.size or ks[0] < 1 or ks[-1] > most:
        wanted = f"whole numbers from 1 to {most}, the rows of a fold"
        raise InvalidParameterError(f"neighbours={neighbours!r}: expected {wanted}")
    return ks
