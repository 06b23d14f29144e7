"""What one setting does: the number of neighbours, the temperature of posteriors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.patches import Circle
from matplotlib.ticker import NullFormatter, PercentFormatter, ScalarFormatter

from suffice.curves.effects import NeighbourCurve, distance_weights, neighbour_curve, tempered
from suffice.errors import InvalidParameterError
from suffice.plots import marks
from suffice.plots.canvas import Canvas, figure
from suffice.plots.inputs import Fitted, classifier_with
from suffice.plots.plane import line_for
from suffice.plots.style import mixed
from suffice.table.labels import code_of
from suffice.table.table import Table
from suffice.text.lists import default_names


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

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, figure 2.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> ax = effect_of_neighbours(*load_iris(return_X_y=True), [1, 5, 15], folds=3)
    >>> ax.get_xlabel()
    'neighbours k'
    """
    how: Any = {"weights": weights, "folds": folds, "random_state": random_state}
    curve = neighbour_curve(X, y, neighbours, **how)
    handles = _neighbour_curves(canvas, curve)
    _neighbour_axes(canvas, curve)
    names = ("held out ± s.e.", "learnt from", f"best: k = {curve.best}")
    canvas.legend(list(zip(handles, names, strict=True)))


def _neighbour_curves(canvas: Canvas, curve: NeighbourCurve) -> list[Any]:
    k, style = curve.neighbours, canvas.style
    low, high = curve.test_error - curve.standard_error, curve.test_error + curve.standard_error
    canvas.ax.fill_between(k, low.clip(0), high, color=style.accent, alpha=0.2, linewidth=0)
    (held,) = canvas.ax.plot(k, curve.test_error, color=style.accent, label="_held out")
    (learnt,) = canvas.ax.plot(
        k, curve.training_error, color=style.soft, linestyle="--", label="_learnt from"
    )
    best = canvas.dot(curve.best, curve.test_error.min(), style.accent, label="_best")
    return [held, learnt, best]


def _neighbour_axes(canvas: Canvas, curve: NeighbourCurve) -> None:
    canvas.ax.set_xscale("log")
    canvas.ax.xaxis.set_major_formatter(ScalarFormatter())
    canvas.ax.xaxis.set_minor_formatter(NullFormatter())
    ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if t <= curve.neighbours.max()]
    canvas.ax.set_xticks(ticks)
    canvas.ax.set_ylim(bottom=0)
    canvas.ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    canvas.name_axes("neighbours k", "error")


@figure("legend", of=classifier_with)
def effect_of_temperature(
    canvas: Canvas,
    fitted: Fitted,
    y: Any = None,
    *,
    label: Any = None,
    temperatures: Sequence[float] = (4.0, 2.0, 1.0, 0.5, 0.125),
    feature: Any = None,
    at: Any = None,
) -> None:
    """Return axes with the posterior of a class along a line, softmax(log p / T), by T.

    Large temperatures T soften the posterior, T = 1 is Bayes, and as T falls to 0 the curves
    become the hard choice of the most probable class, drawn dashed.
    Guo, Pleiss, Sun & Weinberger (2017), *ICML*, 1321–1330.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, or any of scikit-learn with ``predict_proba``.
    label : object, optional
        The class; by default the last.
    temperatures : sequence of float
        Positive T; base b instead of e is T = 1 / ln b.

    Examples
    --------
    >>> effect_of_temperature(sf.LDA().fit(X, y), X, label=1, feature=3).get_ylabel()
    'p(1 | x)'
    """
    k = len(canvas.palette) - 1 if label is None else code_of(label, fitted.classes)
    way = line_for(fitted, y, feature, at)
    xs = way.stretch(fitted.rows)
    with np.errstate(divide="ignore"):
        logs = np.log(fitted.posteriors(way.lift(xs[:, None])))
    hard = (logs.argmax(axis=1) == k).astype(float)
    dashed = {"color": canvas.style.soft, "linestyle": "--", "linewidth": 1.1}
    (step,) = canvas.ax.plot(xs, hard, label="_hard", zorder=1, **dashed)
    strong, entries = mixed(canvas.palette.looks[k].colour, canvas.style.ink, 0.7), []
    shades = mixed(strong, canvas.style.ground, np.linspace(0.35, 1, len(temperatures))[:, None])
    for t, shade in zip(temperatures, shades, strict=True):
        p, width = np.exp(tempered(logs, t))[:, k], 2.6 if t == 1 else 1.6
        line = {"color": shade, "linewidth": width, "label": f"_temperature {t:g}"}
        entries.append((canvas.ax.plot(xs, p, **line)[0], f"T = {t:g}"))
    canvas.ax.set(xlim=(xs[0], xs[-1]), ylim=(-0.02, 1.02), yticks=[0, 0.25, 0.5, 0.75, 1])
    canvas.name_axes(way.names[0], f"p({canvas.palette.names[k]} | x)")
    canvas.legend([*entries, (step, "T → 0")])


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
    voices = distance_weights(distances[None, near])[0] if weights == "distance" else np.ones(k)
    votes = np.bincount(table.codes[near], voices, table.n_classes)
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
