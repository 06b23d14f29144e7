"""Linear classifiers: coefficients, a hyperplane, a perceptron's steps, a regression."""

from typing import Any

import numpy as np
from matplotlib.patches import Patch

from suffice.core.model.geometry.hyperplanes_and_quadrics import Hyperplane
from suffice.core.table.matrix import as_matrix
from suffice.core.text.lists import default_names, shortened
from suffice.errors import InvalidInputError
from suffice.evaluate.curves.feature_separation import standardised_coefficients
from suffice.present.plots import marks
from suffice.present.plots.canvas import (
    MOST_ENTRIES,
    Canvas,
    documented,
    figure,
    many_axes,
    write_legend,
)
from suffice.present.plots.inputs import Fitted
from suffice.present.plots.paths import WAY
from suffice.present.plots.plane import plane_for
from suffice.present.plots.style import Theme
from suffice.typing import Floats

ACROSS = 4  # steps of a perceptron in a row


@figure("legend", of=Fitted.of)
def coefficient_importance(canvas: Canvas, fitted: Fitted, *, most: int = 15) -> None:
    """Return axes with the standardised coefficients of a linear classifier, largest on top.

    Each is the change of a log odds as its feature grows by one standard deviation of all rows.
    Of two classes a bar points to, and has the colour of, the class that the feature speaks for;
    of more, a dot for each class shows its score against the mean of all.
    Menard (2004), *The American Statistician* 58, 218–223.

    Parameters
    ----------
    estimator : fitted classifier
        Ours with tied covariance, or any with ``coef_``.
    X : array or frame (n, d), optional
        Rows whose standard deviations are taken; our Gaussian classifiers know them.
    most : int
        Features shown.

    Examples
    --------
    >>> [t.get_text() for t in coefficient_importance(sf.LDA().fit(X, y)).get_yticklabels()]
    ['x₃', 'x₄', 'x₂', 'x₁']
    """
    table = _standardised(fitted)
    size = np.abs(table).max(axis=0)
    order = np.argsort(-size, kind="stable")[:most]
    entries = min(len(canvas.looks), MOST_ENTRIES)
    canvas.resize(5.8, max(1.2 + 0.27 * len(order), 0.6 + 0.22 * entries))
    canvas.ax.axvline(0, color=canvas.style.soft, linewidth=0.8, zorder=3)
    said = (
        _bars(canvas, table[0, order]) if len(table) == 1 else _dots(canvas, table[:, order])
    )
    names = shortened([fitted.names[j] for j in order], 28)
    canvas.ax.set_yticks(range(len(order)), labels=names, parse_math=False)
    canvas.ax.tick_params(axis="y", length=0)
    canvas.ax.set_ylim(len(order) - 0.4, -0.6)
    canvas.ax.spines["left"].set_visible(False)
    rest = len(size) - len(order)
    more = f" ({rest} more not shown)" if rest else ""
    canvas.name_axes(f"log odds per standard deviation{more}")
    canvas.legend(said)


def _standardised(fitted: Fitted) -> Floats:
    """Return the coefficients of each score by standard deviations of all rows, (1 or K, d)."""
    estimator, name = fitted.estimator, type(fitted.estimator).__name__
    coefficients, moments = (getattr(estimator, each, None) for each in ("coef_", "moments_"))
    if coefficients is None:
        cure = (
            "importance is drawn for linear classifiers, such as sf.LDA or logistic regression"
        )
        raise InvalidInputError(f"{name} has no coefficients (coef_): {cure}")
    if hasattr(estimator, "dual_coef_") and len(estimator.classes_) > 2:
        cure = "draw those of LinearSVC or logistic regression"
        raise InvalidInputError(
            f"{name} has coefficients of pairs of classes, not of each: {cure}"
        )
    if moments is not None:
        return standardised_coefficients(coefficients, np.sqrt(moments.total_variances))
    if len(fitted.rows):
        return standardised_coefficients(coefficients, fitted.rows.std(axis=0))
    msg = "coefficients are comparable only in standard deviations: pass the rows X"
    raise InvalidInputError(msg)


def _bars(canvas: Canvas, values: Floats) -> list[tuple[Any, str]]:
    fills: list[Any] = [
        {"facecolor": look.colour, "hatch": look.hatch, "edgecolor": canvas.style.ground}
        for look in canvas.looks
    ]
    bars = canvas.ax.barh(range(len(values)), values, 0.66, zorder=2)
    for bar, value in zip(bars, values, strict=True):
        bar.set(**fills[int(value > 0)])
    return [(Patch(**fill), look.name) for fill, look in zip(fills, canvas.looks, strict=True)]


def _dots(canvas: Canvas, table: Floats) -> list[tuple[Any, str]]:
    rows = np.arange(table.shape[1])
    faint = {"color": canvas.style.grid, "linewidth": 2, "zorder": 1}
    canvas.ax.hlines(rows, table.min(axis=0), table.max(axis=0), **faint)
    for scores, look in zip(table, canvas.looks, strict=True):
        dots = {"marker": look.marker, "markeredgewidth": 0.5, "zorder": 4}
        canvas.dot(scores, rows, look.colour, 6.5, label=f"_coefficients {look.label}", **dots)
    return canvas.entries()


@figure(size=(4.6, 4.2))
def hyperplane(canvas: Canvas, boundary: Hyperplane, points: Any = ()) -> None:
    """Return axes with a line wᵀx + w_0 = 0, its w, and the distances of points and the origin.

    A point is y(x) / ‖w‖ away, with its sign; the line is −w_0 / ‖w‖ away from the origin.

    Parameters
    ----------
    boundary : Hyperplane
        Of two features.
    points : array (m, 2), optional
        Points whose projections and distances are drawn.

    Examples
    --------
    >>> hyperplane(sf.Hyperplane([3.0, 4.0], -10.0), [[3.0, 4.0]]).get_title()
    '3·x₁ + 4·x₂ − 10 = 0'
    """
    if boundary.n_features != 2 or not boundary.normal.any():
        msg = f"a hyperplane is drawn in two features, and this one has {boundary.n_features}"
        raise InvalidInputError(msg)
    style = canvas.style
    x = np.array([np.zeros(2), *np.asarray(points, np.float64).reshape(-1, 2)])
    feet, distances = boundary.project(x), boundary.signed_distance(x)
    tip = _normal(canvas, boundary, feet.mean(axis=0), 0.4 * float(np.ptp([*x, *feet])))
    shown = np.array([*x, *feet, tip])
    middle, half = (shown.min(0) + shown.max(0)) / 2, 0.65 * max(*np.ptp(shown, axis=0), 1e-9)
    window = np.stack([middle - half, middle + half], axis=1)
    _line(canvas, boundary, window, color=style.ink)
    canvas.ax.annotate("w", tip, (4, 4), textcoords="offset points", color=style.accent)
    said = [
        f"−w₀/‖w‖ = {boundary.distance_of_origin:.3g}",
        *(f"{d:.3g}" for d in distances[1:]),
    ]
    for point, foot, text in zip(x, feet, said, strict=True):
        canvas.ax.plot(*np.stack([point, foot]).T, "--", color=style.soft, linewidth=1)
        near = {"textcoords": "offset points", "color": style.ink, "fontsize": 9}
        canvas.ax.annotate(text, point, (5, -13), **near)
    canvas.dot(x[1:, 0], x[1:, 1], style.accent)
    canvas.dot(0, 0, style.ink, marker="s")
    canvas.ax.set(xlim=window[0], ylim=window[1], aspect="equal")
    canvas.ax.set_title(boundary.equation(3), parse_math=False)
    canvas.name_axes(*(boundary.feature_names or default_names(2)))


@figure("legend")
def regression_line(canvas: Canvas, estimator: Any, X: Any, y: Any) -> None:
    """Return axes with a regression line, and the Gaussians of y | x that it says stand along it.

    Parameters
    ----------
    estimator : LinearGaussianRegressor
        Fitted to one feature.
    X, y : array or frame (n, 1) and array (n,)
        Rows and their targets.

    Examples
    --------
    >>> x = X[:, 2:3]
    >>> line = sf.lectures.LinearGaussianRegressor().fit(x, X[:, 3])
    >>> regression_line(line, x, X[:, 3]).get_xlabel()
    'x₁'
    """
    (x, names), sigma = as_matrix(X), float(np.sqrt(estimator.variance_))
    if x.shape[1] != 1:
        msg = f"a regression line is drawn over one feature, and X has {x.shape[1]}"
        raise InvalidInputError(msg)
    low, high = float(x.min()), float(x.max())
    ends = np.array([[low], [high]])
    (line,) = canvas.ax.plot(ends[:, 0], estimator.predict(ends), color=canvas.style.ink)
    rows = canvas.dot(x[:, 0], y, canvas.style.accent, 4.5, alpha=0.7)
    places, z = np.linspace(low, high, 6)[1:-1], np.linspace(-3, 3, 121)
    # N(y; wᵀx + w_0, σ²), sideways: as high as a sixth of the way
    heights = (high - low) / 6 * np.exp(-0.5 * z**2)
    look = {"color": WAY, "linewidth": 1.4}
    for place, mean in zip(places, estimator.predict(places[:, None]), strict=True):
        canvas.ax.fill_betweenx(mean + sigma * z, place, place + heights, alpha=0.25, **look)
        (bell,) = canvas.ax.plot(place + heights, mean + sigma * z, label="_gaussian", **look)
    canvas.name_axes((names or default_names(1))[0], "y")
    canvas.legend([(rows, "rows"), (line, "mean of y | x"), (bell, f"y | x, σ = {sigma:.3g}")])


@documented
def perceptron_steps(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    most: int = 8,
    theme: Theme = "light",
) -> list[Any]:
    """Return axes for each of the first steps of a perceptron, in the plane of the data.

    Each shows a row that the dashed line gets wrong, and the line after w ← w + η t x; the arrow
    is w, which points to the second class.

    Parameters
    ----------
    estimator : Perceptron
        Fitted to two classes and two features with
        ``learning=PerceptronLearning(record="mistakes")``.
    X, y : array or frame (n, 2) and array (n,)
        The rows of the fit and their labels.
    most : int
        Number of steps shown.

    Examples
    --------
    >>> X, y = [[0, 1], [1, 0], [2, 3], [3, 2]], ["low", "low", "high", "high"]
    >>> learning = sf.lectures.PerceptronLearning(shuffle=False, record="mistakes")
    >>> p = sf.Perceptron(learning=learning).fit(X, y)
    >>> [ax.get_title() for ax in perceptron_steps(p, X, y)]
    ['step 1: row 0', 'step 2: row 2']
    """
    fitted, mistakes = Fitted.of(estimator, X), getattr(estimator, "mistakes_", ())[:most]
    if not mistakes or fitted.n_features != 2 or len(fitted.classes) != 2:
        raise InvalidInputError(
            "perceptron_steps draws a Perceptron of two classes and two features that made a "
            "mistake: fit it with learning=PerceptronLearning(record='mistakes')"
        )
    codes, n = fitted.codes(y), len(mistakes)
    lines = [Hyperplane(w[1:], w[0]) for w in estimator.path_.parameters[: len(mistakes) + 1]]
    window = _window(fitted, [line for line in lines if line.normal.any()])
    wide = min(n, ACROSS)
    high = -(-n // wide)
    with many_axes(theme, (3.1 * wide + 1, 2.9 * high), (high, wide), fitted.classes) as cells:
        for step, (cell, row) in enumerate(zip(cells.flat, mistakes, strict=False)):
            marks.draw_points(cell, fitted.rows, codes)
            ring = {"fillstyle": "none", "markersize": 11, "markeredgewidth": 1.4, "zorder": 4}
            cell.ax.plot(*fitted.rows[row], "o", color=cell.style.ink, **ring)
            _line(cell, lines[step], window, linestyle="--", color=cell.style.soft)
            _line(cell, lines[step + 1], window, color=cell.style.ink)
            if lines[step + 1].normal.any():
                foot = lines[step + 1].project(window.mean(axis=1))[0]
                _normal(cell, lines[step + 1], foot, 0.2 * np.ptp(window, axis=1).min())
            cell.ax.set(xlim=window[0], ylim=window[1], title=f"step {step + 1}: row {row}")
            cell.name_axes(*fitted.names)
        for empty in cells.flat[n:]:
            empty.ax.set_visible(False)
        write_legend(cell.ax.figure, cell.entries(), cell.style)
    return [each.ax for each in cells.flat[:n]]


def _window(fitted: Fitted, lines: list[Hyperplane]) -> Floats:
    """Return a window around the rows and, unless they are far away, around all lines."""
    plane = plane_for(fitted, None, None, None)
    near = plane.window(fitted.rows, 0.9)
    feet = [np.clip(line.project(near.mean(axis=1))[0], *near.T) for line in lines]
    return plane.window(np.array([*fitted.rows, *feet]), 0.12)


def _line(canvas: Canvas, line: Hyperplane, window: Floats, **look: Any) -> None:
    for curve in line.curve(window) if line.normal.any() else ():
        canvas.ax.plot(*curve.T, **{"linewidth": 1.5, "label": "_boundary"} | look)


def _normal(canvas: Canvas, line: Hyperplane, tail: Floats, length: float) -> Floats:
    """Draw w as an arrow of some length, from a point of the line; return its tip."""
    tip: Floats = tail + length * line.normal / np.linalg.norm(line.normal)
    arrow = {"arrowstyle": "-|>", "color": canvas.style.accent, "linewidth": 1.6}
    canvas.ax.annotate("", tip, tail, arrowprops={"shrinkA": 0, "shrinkB": 0, **arrow})
    return tip
