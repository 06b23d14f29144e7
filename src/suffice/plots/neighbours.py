"""Nearest neighbours: their votes at a point, and what their number does."""

from typing import Any

import numpy as np
from matplotlib.patches import Circle
from matplotlib.ticker import NullFormatter, PercentFormatter, ScalarFormatter

from suffice.curves.neighbours import neighbour_curve, voices
from suffice.errors import InvalidParameterError
from suffice.plots import marks
from suffice.plots.canvas import Canvas, figure
from suffice.table.table import Table
from suffice.text.lists import default_names

TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


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
    how: Any = {"weights": weights, "folds": folds, "random_state": random_state}
    curve = neighbour_curve(X, y, neighbours, **how)
    k, soft, accent = curve.neighbours, canvas.style.soft, canvas.style.accent
    low, high = curve.test_error - curve.standard_error, curve.test_error + curve.standard_error
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
    said = (held, "held out ± s.e."), (learnt, "learnt from"), (best, f"best: k = {curve.best}")
    canvas.legend(said)


@figure("legend")
def neighbourhood(
    canvas: Canvas, X: Any, y: Any, query: Any, k: int = 5, *, weights: str = "uniform"
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
        raise InvalidParameterError(
            f"a neighbourhood is drawn of two features, a point of two numbers and 1 to {len(x)} k"
        )
    canvas = canvas.with_looks(table.classes)
    distances = np.linalg.norm(x - point, axis=1)
    near = np.argsort(distances, kind="stable")[:k]
    votes = np.bincount(
        table.codes[near], voices(distances[None, near], weights)[0], table.n_classes
    )
    marks.points(canvas, x, table.codes, np.isin(np.arange(len(x)), near))
    for row in near:
        canvas.ax.plot(*np.stack([point, x[row]]).T, color=canvas.style.soft, linewidth=0.8)
    circle: Any = {"facecolor": "none", "edgecolor": canvas.style.soft, "linestyle": "--"}
    radius = float(distances[near[-1]]) or 1.0
    canvas.ax.add_patch(Circle(tuple(point), radius, **circle))
    here = canvas.dot(
        point[0], point[1], canvas.palette.looks[votes.argmax()].colour, 13, marker="*", zorder=4
    )
    names = canvas.palette.names
    said = ", ".join(f"{names[c]}: {votes[c]:.3g}" for c in np.argsort(-votes) if votes[c] > 0)
    canvas.ax.set_title(said, parse_math=False)
    (left, low), (right, high) = point - 3 * radius, point + 3 * radius
    canvas.ax.set(xlim=(left, right), ylim=(low, high), aspect="equal")
    canvas.name_axes(*(table.names or default_names(2)))
    canvas.legend_of_classes(extra=[(here, f"classified as {names[votes.argmax()]}")])
