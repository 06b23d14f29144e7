"""Where a classifier decides for which class."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from suffice.present.plots import marks
from suffice.present.plots.canvas import Canvas, Entries, figure
from suffice.present.plots.inputs import Fitted, classifier_with
from suffice.present.plots.plane import Plane, PredictionGrid, plane_for
from suffice.typing import Codes, Floats

CELLS = 2000
HALVINGS = 40  # of a cell, towards the point where the prediction changes
MOST_NAMES = 30  # classes written beside their strips
TINT = 0.22  # opacity of a region


@figure("legend", of=classifier_with)
def decision_regions(
    canvas: Canvas,
    fitted: Fitted,
    y: Any = None,
    *,
    features: Any = None,
    at: Any = None,
    coverage: Sequence[float] | None = None,
    resolution: int = 300,
) -> None:
    """Return axes with the region of each class, boundaries, ellipses and rows.

    One feature is drawn as bands, with the rows of each class in a strip; two as a plane; more
    in the first discriminant coordinates, other directions held at their expectation.
    Boundaries of our Gaussian classifiers are their exact curves. Rows with an ink edge are
    predicted wrongly.
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.3.

    Parameters
    ----------
    X : array or frame (n, d)
        Rows that set the window and are drawn if ``y`` is given.
    features : one or two names or indices, optional
        The features to draw over, the others held at ``at``.
    coverage : sequence of float, optional
        Shares of each class that its ellipses hold, for Gaussian classifiers; by default a half
        and 95 %, of many classes a half only; () for none.

    Examples
    --------
    >>> ax = decision_regions(sf.QDA().fit(X, y), X, y)
    >>> ax.get_xlabel()
    'discriminant 1 (99 %)'
    """
    plane = plane_for(fitted, y, features, at)
    codes = None if y is None else fitted.codes(y)
    refused: Entries = []
    if len(plane.names) == 1:
        _draw_bands(canvas, fitted, plane)
    else:
        grid = PredictionGrid.of(fitted, plane, plane.window(fitted.rows), resolution)
        refused = _fill(canvas, grid)
        _outline(canvas, grid)
        _ellipses(canvas, grid, marks.shares(canvas, coverage))
        canvas.ax.set(xlim=grid.window[0], ylim=grid.window[1])
        canvas.ax.set_aspect("equal" if plane.isometric else "auto")
        canvas.name_axes(*plane.names)
    wrong = [] if codes is None else _rows(canvas, fitted, plane, codes)
    canvas.legend([*canvas.entries(), *wrong, *refused])


def _draw_bands(canvas: Canvas, fitted: Fitted, line: Plane) -> None:
    """Draw bands, the thresholds between them, and the names of the strips."""
    low, high = line.window(fitted.rows)[0]
    cuts, answers = bands(fitted, line, low, high)
    for (left, right), k in zip(pairwise([low, *cuts, high]), answers, strict=True):
        if k >= 0:
            fill = {"color": canvas.looks[k].colour, "alpha": TINT, "linewidth": 0}
            canvas.ax.axvspan(left, right, zorder=0, **fill)
    for cut in cuts:
        canvas.ax.axvline(cut, color=canvas.style.ink, linewidth=1.5, label="_boundary")
    canvas.ax.set_xlim(low, high)
    canvas.name_axes(line.names[0])
    # classes along the vertical axis, the first on top
    K, names = len(canvas.looks), [look.name for look in canvas.looks]
    step = -(-K // MOST_NAMES)
    canvas.ax.set_ylim(K - 0.5, -0.5)
    canvas.ax.set_yticks(range(0, K, step), labels=names[::step], parse_math=False)
    canvas.ax.tick_params(axis="y", length=0)


def bands(fitted: Fitted, plane: Plane, low: float, high: float) -> tuple[list[float], Codes]:
    """Return the points where the prediction changes, and the prediction between them."""
    edges = np.linspace(low, high, CELLS)
    codes = fitted.predict(plane.lift(edges[:, None]))
    change = np.flatnonzero(codes[1:] != codes[:-1])
    left, right = edges[change], edges[change + 1]
    for _ in range(HALVINGS if len(change) else 0):
        middle = (left + right) / 2
        same = fitted.predict(plane.lift(middle[:, None])) == codes[change]
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    return ((left + right) / 2).tolist(), np.append(codes[change], codes[-1])


def jitter(n: int, width: float = 0.6) -> Floats:
    """Return offsets that spread n rows evenly over a strip, in an order that looks random."""
    # multiples of the golden ratio, modulo one
    golden = np.arange(1, n + 1, dtype=np.float64) * 0.6180339887498949 % 1
    return np.asarray((golden - 0.5) * width)


def _fill(canvas: Canvas, grid: PredictionGrid) -> Entries:
    """Tint cells by class, hatch those where the classifier refuses; return what to say of them."""
    colours = np.array([*(to_rgba(look.colour, TINT) for look in canvas.looks), (0, 0, 0, 0)])
    image = {"extent": grid.window.ravel(), "origin": "lower", "aspect": "auto"}
    canvas.ax.imshow(colours[grid.codes], interpolation="nearest", zorder=0, **image)
    refused = grid.codes < 0
    if not np.any(refused):
        return []
    hatch = {"levels": [0.5, 1.5], "colors": "none", "hatches": ["////"], "zorder": 1}
    canvas.ax.contourf(grid.xs, grid.ys, refused, **hatch).set_edgecolor(canvas.style.soft)
    patch = Patch(facecolor="none", edgecolor=canvas.style.soft, hatch="////", linewidth=0)
    return [(patch, "no decision")]


def _ellipses(canvas: Canvas, grid: PredictionGrid, coverage: Sequence[float]) -> None:
    """Draw ellipses that hold the given shares of Gaussian classes, or of their components."""
    fitted: Any = grid.fitted.classifier.model
    model, plane = getattr(fitted, "components", fitted), grid.plane
    class_of = getattr(fitted, "class_of", range(len(canvas.looks)))
    for r, k in enumerate(class_of if hasattr(model, "covariance_of") else ()):
        mean = plane.coordinates(model.means[r : r + 1])[0]
        # the covariance of the coordinates, RᵀΣR
        sigma = plane.reader.T @ model.covariance_of(r).dense() @ plane.reader
        marks.ellipses(canvas, mean, sigma, int(k), coverage)


def _outline(canvas: Canvas, grid: PredictionGrid) -> None:
    """Draw every boundary once: the exact curve where there is one, else a contour."""
    line = {"linewidth": 1.5, "zorder": 2.5}
    for a, b in grid.neighbours:
        curves = grid.exact_curves(a, b)
        names = " | ".join("none" if k < 0 else str(canvas.looks[k].label) for k in (a, b))
        for curve in curves or ():
            canvas.ax.plot(
                *curve.T, color=canvas.style.ink, label=f"_boundary {names}", **line
            )
        if curves is None:
            ink = {"colors": canvas.style.ink, "linewidths": 1.5, "zorder": 2.5}
            canvas.ax.contour(grid.xs, grid.ys, grid.margin(a, b), levels=[0.0], **ink)


def _rows(canvas: Canvas, fitted: Fitted, plane: Plane, codes: Codes) -> Entries:
    """Draw rows, on a line each class in its strip; return what to say of those judged wrongly."""
    shown = marks.chosen_rows(len(codes))
    rows, codes = fitted.rows[shown], codes[shown]
    predicted, z = fitted.predict(rows), plane.coordinates(rows)
    wrong = (predicted != codes) & (predicted >= 0)
    if len(plane.names) == 1:
        marks.draw_points(
            canvas, np.column_stack([z, codes + jitter(len(codes))]), codes, wrong
        )
    else:
        marks.draw_points(canvas, z, codes, wrong)
        marks.name_classes(canvas, z, codes)
    ring = Line2D([], [], linestyle="none", marker="o", markersize=6, markeredgewidth=1.1)
    ring.set(markerfacecolor="none", markeredgecolor=canvas.style.ink)
    return [(ring, "predicted wrongly")] if np.any(wrong) else []
