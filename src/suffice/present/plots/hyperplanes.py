"""Figures of a line between two classes: its geometry, and the steps of a perceptron."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from suffice.core.model.geometry.hyperplane import Hyperplane
from suffice.core.text.lists import default_names
from suffice.errors import InvalidInputError
from suffice.present.plots.canvas import Canvas, canvas_grid, open_canvas, write_legend
from suffice.present.plots.inputs import Fitted, require_whole
from suffice.present.plots.marks import draw_points
from suffice.present.plots.plane import Plane
from suffice.present.plots.style import Theme
from suffice.typing import Floats, LabelsLike, RowsLike

if TYPE_CHECKING:
    from suffice.estimators.perceptron import Perceptron

MOST_COLUMNS = 4  # most steps in one row of axes
HYPERPLANE_SIZE = (4.6, 4.2)  # inches


def hyperplane(
    boundary: Hyperplane,
    points: npt.ArrayLike = (),
    *,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with a line wᵀx + w_0 = 0, its normal w, and distances from the line.

    A point x has the signed distance (wᵀx + w_0) / ‖w‖ from the line, and the origin has the
    distance w_0 / ‖w‖.

    Parameters
    ----------
    boundary : Hyperplane
        A hyperplane of two features.
    points : array (m, 2), optional
        Points that are drawn with their projections and distances.
    theme : {"light", "dark"}
        Colours of text and lines.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> import suffice as sf
    >>> hyperplane(sf.Hyperplane([3.0, 4.0], -10.0), [[3.0, 4.0]]).get_title()
    '3·x₁ + 4·x₂ − 10 = 0'
    """
    if boundary.n_features != 2 or not boundary.w.any():
        msg = (
            f"a hyperplane is drawn in two features, but this one has {boundary.n_features}: "
            "select two features"
        )
        raise InvalidInputError(msg)
    origin = np.zeros(2)
    x = np.array([origin, *np.asarray(points, np.float64).reshape(-1, 2)])
    feet = boundary.project(x)
    distances = boundary.signed_distance(x)
    texts = [f"{distance:.3g}" for distance in distances]
    texts[0] = f"−w₀/‖w‖ = {boundary.distance_of_origin:.3g}"
    length = 0.4 * float(np.ptp([*x, *feet]))
    with open_canvas(ax, theme, size=HYPERPLANE_SIZE) as canvas:
        style = canvas.style
        tip = _draw_normal(canvas, boundary, feet.mean(axis=0), length)
        window = _square_around(np.array([*x, *feet, tip]))
        _draw_line(canvas, boundary, window, style.ink)
        canvas.ax.annotate(
            "w", tuple(tip), (4, 4), textcoords="offset points", color=style.accent
        )
        for point, foot, text in zip(x, feet, texts, strict=True):
            canvas.ax.plot(
                [point[0], foot[0]],
                [point[1], foot[1]],
                linestyle="--",
                color=style.soft,
                linewidth=1,
            )
            canvas.ax.annotate(
                text,
                point,
                (5, -13),
                textcoords="offset points",
                color=style.ink,
                fontsize=9,
            )
        canvas.dot(x[1:, 0], x[1:, 1], style.accent)
        canvas.dot(0, 0, style.ink, marker="s")
        canvas.ax.set(xlim=window[0], ylim=window[1], aspect="equal")
        canvas.ax.set_title(boundary.equation(3), parse_math=False)
        canvas.name_axes(*(boundary.feature_names or default_names(2)))
    return canvas.ax


def _square_around(points: Floats) -> Floats:
    """Return ((left, right), (bottom, top)) of a square that contains the points (n, 2)."""
    low = points.min(axis=0)
    high = points.max(axis=0)
    middle = (low + high) / 2
    half = 0.65 * max(*(high - low), 1e-9)
    return np.stack([middle - half, middle + half], axis=1)


def perceptron_steps(
    estimator: "Perceptron",
    X: RowsLike,
    y: LabelsLike,
    *,
    most: int = 8,
    theme: Theme = "light",
) -> list[Axes]:
    """Return axes for each of the first steps of a perceptron, in the plane of the data.

    Each step shows a row that the dashed line misclassifies, and the solid line after w ← w + η t
    x. The arrow is w, which points to the second class.

    Parameters
    ----------
    estimator : Perceptron
        A perceptron fitted to two classes and two features with
        ``learning=PerceptronLearning(record="mistakes")``.
    X, y : array or frame (n, 2) and array (n,)
        The rows of the fit and their labels.
    most : int
        Number of steps to draw.
    theme : {"light", "dark"}
        Colours of text and lines.

    Examples
    --------
    >>> import suffice as sf
    >>> X, y = [[0, 1], [1, 0], [2, 3], [3, 2]], ["low", "low", "high", "high"]
    >>> learning = sf.lectures.PerceptronLearning(shuffle=False, record="mistakes")
    >>> p = sf.Perceptron(learning=learning).fit(X, y)
    >>> [ax.get_title() for ax in perceptron_steps(p, X, y)]
    ['step 1: row 0', 'step 2: row 2']
    """
    require_whole(most, "most", least=1)
    fitted = Fitted.of(estimator, X)
    mistakes = getattr(estimator, "mistakes_", ())[:most]
    n_steps = len(mistakes)
    if n_steps == 0 or fitted.n_features != 2 or len(fitted.classes) != 2:
        raise InvalidInputError(
            "perceptron_steps draws a Perceptron of two classes and two features that made a "
            "mistake: fit it with learning=PerceptronLearning(record='mistakes')"
        )
    codes = fitted.codes(y)
    path = estimator.path_
    assert path is not None  # ``record="mistakes"`` records the path, too
    weights = path.parameters[: n_steps + 1]
    lines = [Hyperplane(w[1:], w[0]) for w in weights]
    window = _window_around(fitted, lines)
    n_columns = min(n_steps, MOST_COLUMNS)
    n_rows = -(-n_steps // n_columns)
    size = (3.1 * n_columns + 1, 2.9 * n_rows)
    with canvas_grid(theme, size, (n_rows, n_columns), fitted.classes) as canvases:
        cells: list[Canvas] = list(canvases.flat)
        for step, (cell, row) in enumerate(zip(cells, mistakes, strict=False)):
            draw_points(cell, fitted.rows, codes)
            _ring(cell, fitted.rows[row])
            _draw_line(cell, lines[step], window, cell.style.soft, linestyle="--")
            _draw_line(cell, lines[step + 1], window, cell.style.ink)
            if lines[step + 1].w.any():
                foot = lines[step + 1].project(window.mean(axis=1))[0]
                length = 0.2 * float(np.ptp(window, axis=1).min())
                _draw_normal(cell, lines[step + 1], foot, length)
            cell.ax.set(xlim=window[0], ylim=window[1], title=f"step {step + 1}: row {row}")
            cell.name_axes(*fitted.names)
        for empty in cells[n_steps:]:
            empty.ax.set_visible(False)
        write_legend(cells[0].ax.figure, cells[0].entries(), cells[0].style)
    return [cell.ax for cell in cells[:n_steps]]


def _window_around(fitted: Fitted, lines: list[Hyperplane]) -> Floats:
    """Return a window around the rows and those lines that are not far away."""
    plane = Plane.of_features(fitted, (0, 1))
    largest = plane.window(fitted.rows, 0.9)
    points = [*fitted.rows]
    for line in lines:
        if line.w.any():
            foot = line.project(largest.mean(axis=1))[0]
            points.append(np.clip(foot, largest[:, 0], largest[:, 1]))
    return plane.window(np.array(points), 0.12)


def _ring(canvas: Canvas, point: Floats) -> None:
    canvas.ax.plot(
        point[0],
        point[1],
        "o",
        color=canvas.style.ink,
        fillstyle="none",
        markersize=11,
        markeredgewidth=1.4,
        zorder=4,
    )


def _draw_line(
    canvas: Canvas,
    line: Hyperplane,
    window: Floats,
    colour: str,
    *,
    linestyle: str = "-",
) -> None:
    if not line.w.any():  # w = 0, for example before the first step, is no line
        return
    for curve in line.curve(window):
        x, y = curve.T
        canvas.ax.plot(
            x, y, color=colour, linestyle=linestyle, linewidth=1.5, label="_boundary"
        )


def _draw_normal(canvas: Canvas, line: Hyperplane, tail: Floats, length: float) -> Floats:
    """Draw w as an arrow of a given length that starts on the line; return the tip."""
    tip: Floats = tail + length * line.w / np.linalg.norm(line.w)
    arrow = {
        "shrinkA": 0,
        "shrinkB": 0,
        "arrowstyle": "-|>",
        "color": canvas.style.accent,
        "linewidth": 1.6,
    }
    canvas.ax.annotate("", tuple(tip), tuple(tail), arrowprops=arrow)
    return tip
