"""Linear rules in the plane of the data: a hyperplane and its distances, a perceptron's steps."""

from typing import Any

import numpy as np
from matplotlib.figure import FigureBase

from suffice.errors import InvalidInputError
from suffice.model.geometry import Hyperplane
from suffice.plots import marks
from suffice.plots.canvas import Canvas
from suffice.plots.inputs import Fitted
from suffice.plots.panels import row_of
from suffice.plots.plane import plane_for
from suffice.plots.style import Palette, Theme, palette_for
from suffice.typing import Floats


def perceptron_steps(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    most: int = 8,
    palette: Palette | None = None,
    theme: Theme = "light",
    figure: FigureBase | None = None,
) -> list[Any]:
    """Return axes for each of the first steps of a perceptron, in the plane of the data.

    Each shows a row that the dashed line gets wrong, and the line after w ← w + η t x; the arrow
    is w, which points to the second class.

    Parameters
    ----------
    estimator : Perceptron
        Fitted to two classes and two features with ``record="mistakes"``.
    X, y : array or frame (n, 2) and array (n,)
        The rows of the fit and their labels.
    most : int
        Number of steps shown.
    palette, theme, figure
        As in ``pairs``.

    Examples
    --------
    >>> import suffice as sf
    >>> X, y = [[0, 1], [1, 0], [2, 3], [3, 2]], ["low", "low", "high", "high"]
    >>> p = sf.Perceptron(record="mistakes", shuffle=False).fit(X, y)
    >>> [ax.get_title() for ax in perceptron_steps(p, X, y)]
    ['step 1: row 0', 'step 2: row 2', 'step 3: row 0']
    """
    fitted, mistakes = Fitted.of(estimator, X), getattr(estimator, "mistakes_", ())[:most]
    if not mistakes or fitted.n_features != 2 or len(fitted.classes) != 2:
        msg = (
            "perceptron_steps draws a Perceptron(record='mistakes') of two classes and two "
            "features that made a mistake"
        )
        raise InvalidInputError(msg)
    codes, looks = fitted.codes(y), palette_for(fitted.classes, palette)
    lines = [Hyperplane(w[1:], w[0]) for w in estimator.path_.parameters[: len(mistakes) + 1]]
    window = _window(fitted, [line for line in lines if line.normal.any()])
    with row_of(len(mistakes), figure, theme, looks) as cells:
        for step, (cell, row) in enumerate(zip(cells, mistakes, strict=True)):
            marks.points(cell, fitted.rows, codes)
            ring = {
                "markerfacecolor": "none",
                "markeredgecolor": cell.style.ink,
                "linestyle": "none",
            }
            cell.ax.plot(
                *fitted.rows[row], "o", zorder=4, markersize=11, markeredgewidth=1.4, **ring
            )
            _line(cell, lines[step], window, linestyle="--", color=cell.style.soft)
            _line(cell, lines[step + 1], window, color=cell.style.ink)
            _normal(cell, lines[step + 1], window)
            cell.ax.set(xlim=window[0], ylim=window[1], title=f"step {step + 1}: row {row}")
            cell.name_axes(*fitted.names)
    return [cell.ax for cell in cells]


def _window(fitted: Fitted, lines: list[Hyperplane]) -> Floats:
    """Return a window around the rows and, unless they are far away, around all lines."""
    plane = plane_for(fitted, None, None, None)
    near = plane.window(fitted.rows, 0.9)
    feet = [np.clip(line.project(near.mean(axis=1))[0], *near.T) for line in lines]
    return plane.window(np.array([*fitted.rows, *feet]), 0.12)


def _line(canvas: Canvas, line: Hyperplane, window: Floats, **look: Any) -> None:
    for curve in line.curve(window) if line.normal.any() else ():
        canvas.ax.plot(*curve.T, **{"linewidth": 1.5, "label": "_boundary"} | look)


def _normal(canvas: Canvas, line: Hyperplane, window: Floats) -> None:
    """Draw w as an arrow, from the point of the line that is nearest to the middle."""
    if line.normal.any():
        foot = line.project(window.mean(axis=1))[0]
        reach = 0.2 * np.ptp(window, axis=1).min() / np.linalg.norm(line.normal)
        arrow = {"arrowstyle": "-|>", "color": canvas.style.accent, "linewidth": 1.6}
        canvas.ax.annotate("", foot + reach * line.normal, foot, arrowprops=arrow)
