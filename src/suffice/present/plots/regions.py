"""The figure of the decision regions of a classifier."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from suffice.core.text.lists import counted
from suffice.present.plots.canvas import Canvas, Entry, open_canvas
from suffice.present.plots.inputs import Fitted, require_whole
from suffice.present.plots.marks import (
    draw_ellipses,
    draw_points,
    ellipse_coverage,
    name_classes,
    sampled_rows,
)
from suffice.present.plots.plane import Feature, Plane, PredictionGrid, plane_for
from suffice.present.plots.style import Theme
from suffice.typing import Codes, Flags, Floats, LabelsLike, RowsLike, SklearnClassifier

CELLS = 2000  # number of cells along one feature
HALVINGS = 40  # number of bisections of a cell that locate a change of the prediction
MOST_NAMES = 30  # with more classes, the strips of classes have no names
TINT = 0.22  # opacity of a region


def decision_regions(
    estimator: SklearnClassifier,
    X: RowsLike,
    y: LabelsLike | None = None,
    *,
    features: Feature | Sequence[Feature] | None = None,
    at: npt.ArrayLike | None = None,
    coverage: Sequence[float] | None = None,
    resolution: int = 300,
    legend: bool = True,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the region of each class, boundaries, ellipses and rows.

    One feature is drawn as bands, with the rows of each class in a strip, and two features as a
    plane. For more features, the axes are the first discriminant coordinates, and other directions
    are held at their expectation. Boundaries of suffice's Gaussian classifiers are exact curves.
    Misclassified rows have edges in the colour of text.
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.3.

    Parameters
    ----------
    estimator : fitted classifier
        A classifier of suffice or scikit-learn.
    X : array or frame (n, d)
        Rows that set the window and are drawn if ``y`` is given.
    y : array (n,), optional
        Labels of the rows.
    features : one or two names or indices, optional
        The features on the axes; all others are fixed at ``at``.
    at : array (d,), optional
        Values of all other features; by default the means of the features.
    coverage : sequence of float, optional
        Shares of a class that its ellipses contain, for Gaussian classifiers. The default is 50 %
        and 95 %, or only 50 % for many classes. () draws no ellipses.
    resolution : int
        Number of points along each side.
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
    >>> ax = decision_regions(sf.QDA().fit(X, y), X, y)
    >>> ax.get_xlabel()
    'discriminant 1 (99 %)'
    """
    require_whole(resolution, "resolution", least=2)
    fitted = Fitted.of(estimator, X)
    plane = plane_for(fitted, y, features, at)
    codes = None if y is None else fitted.codes(y)
    with open_canvas(ax, theme, classes=fitted.classes, legend=legend) as canvas:
        extra: list[Entry] = []
        if len(plane.names) == 1:
            _draw_bands(canvas, fitted, plane)
            if codes is not None:
                extra += _draw_strips(canvas, fitted, plane, codes)
        else:
            grid = PredictionGrid.of(fitted, plane, plane.window(fitted.rows), resolution)
            rejected = _fill(canvas, grid)
            _outline(canvas, grid)
            _draw_model(canvas, grid, ellipse_coverage(coverage, len(canvas.looks)))
            canvas.ax.set(xlim=grid.window[0], ylim=grid.window[1])
            canvas.ax.set_aspect("equal" if plane.isometric else "auto")
            canvas.name_axes(*plane.names)
            if plane.n_hidden > 0:
                _say_slice(canvas, plane.n_hidden)
            if codes is not None:
                extra += _draw_rows(canvas, fitted, plane, codes)
            extra += rejected
        canvas.legend([*canvas.entries(), *extra])
    return canvas.ax


def _say_slice(canvas: Canvas, n_hidden: int) -> None:
    """Write a note that the plane is a slice through a space of more coordinates."""
    others = counted(n_hidden, "more coordinate")
    canvas.ax.text(
        0.01,
        0.01,
        f"a slice: {others} at the expected value",
        transform=canvas.ax.transAxes,
        fontsize=8,
        color=canvas.style.soft,
        va="bottom",
        label="_slice",
        zorder=5,
    )


def _draw_bands(canvas: Canvas, fitted: Fitted, line: Plane) -> None:
    """Draw the bands, the thresholds between them, and the names of the strips."""
    low, high = line.window(fitted.rows)[0]
    cuts, codes = bands(fitted, line, low, high)
    for (left, right), k in zip(pairwise([low, *cuts, high]), codes, strict=True):
        if k >= 0:
            colour = canvas.looks[k].colour
            canvas.ax.axvspan(left, right, color=colour, alpha=TINT, linewidth=0, zorder=0)
    for cut in cuts:
        canvas.ax.axvline(cut, color=canvas.style.ink, linewidth=1.5, label="_boundary")
    canvas.ax.set_xlim(low, high)
    canvas.name_axes(line.names[0])
    # the strips are stacked along the vertical axis, with the first class at the top
    n_classes = len(canvas.looks)
    names = [look.name for look in canvas.looks]
    step = -(-n_classes // MOST_NAMES)
    canvas.ax.set_ylim(n_classes - 0.5, -0.5)
    canvas.ax.set_yticks(range(0, n_classes, step), labels=names[::step], parse_math=False)
    canvas.ax.tick_params(axis="y", length=0)


def bands(fitted: Fitted, plane: Plane, low: float, high: float) -> tuple[list[float], Codes]:
    """Return the points where the prediction changes, and the predictions between these points."""
    edges = np.linspace(low, high, CELLS)
    codes = fitted.predict(plane.lift(edges[:, None]))
    change = np.flatnonzero(codes[1:] != codes[:-1])
    left = edges[change]
    right = edges[change + 1]
    if len(change):
        for _ in range(HALVINGS):
            middle = (left + right) / 2
            same = fitted.predict(plane.lift(middle[:, None])) == codes[change]
            left = np.where(same, middle, left)
            right = np.where(same, right, middle)
    cuts = (left + right) / 2
    return cuts.tolist(), np.append(codes[change], codes[-1])


def jitter(n: int, width: float = 0.6) -> Floats:
    """Return offsets that spread n rows evenly over a strip, in an order that looks random."""
    # multiples of the golden ratio, modulo one
    golden = np.arange(1, n + 1, dtype=np.float64) * 0.6180339887498949 % 1
    return np.asarray((golden - 0.5) * width)


def _fill(canvas: Canvas, grid: PredictionGrid) -> list[Entry]:
    """Tint cells by class and hatch rejected cells; return the legend entry of the hatches."""
    tints = [to_rgba(look.colour, TINT) for look in canvas.looks]
    transparent = (0, 0, 0, 0)  # colour of code −1, which selects the last entry
    colours = np.array([*tints, transparent])
    (left, right), (bottom, top) = grid.window
    canvas.ax.imshow(
        colours[grid.codes],
        extent=(left, right, bottom, top),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        zorder=0,
    )
    rejected = grid.codes < 0
    if not np.any(rejected):
        return []
    hatched = canvas.ax.contourf(
        grid.xs,
        grid.ys,
        rejected,
        levels=[0.5, 1.5],
        colors="none",
        hatches=["////"],
        zorder=1,
    )
    hatched.set_edgecolor(canvas.style.soft)
    patch = Patch(facecolor="none", edgecolor=canvas.style.soft, hatch="////", linewidth=0)
    return [(patch, "no decision")]


def _draw_model(canvas: Canvas, grid: PredictionGrid, coverage: Sequence[float]) -> None:
    """Draw ellipses that contain given shares of Gaussian classes, or of the components."""
    density: Any = grid.fitted.classifier.model
    gaussians = getattr(density, "components", density)
    if not hasattr(gaussians, "covariance_of"):
        return
    class_of = getattr(density, "class_of", range(len(canvas.looks)))
    projection = grid.plane.projection
    for r, k in enumerate(class_of):
        mean = grid.plane.coordinates(gaussians.means[r : r + 1])[0]
        # the covariance of the coordinates, RᵀΣR
        sigma = projection.T @ gaussians.covariance_of(r).dense() @ projection
        draw_ellipses(canvas, mean, sigma, int(k), coverage)


def _outline(canvas: Canvas, grid: PredictionGrid) -> None:
    """Draw every boundary once: as an exact curve if it has an equation, else as a contour."""
    ink = canvas.style.ink
    for a, b in grid.neighbours:
        curves = grid.exact_curves(a, b)
        if curves is None:
            canvas.ax.contour(
                grid.xs,
                grid.ys,
                grid.margin(a, b),
                levels=[0.0],
                colors=ink,
                linewidths=1.5,
                zorder=2.5,
            )
            continue
        label = f"_boundary {_class_name(canvas, a)} | {_class_name(canvas, b)}"
        for curve in curves:
            x, y = curve.T
            canvas.ax.plot(x, y, color=ink, linewidth=1.5, zorder=2.5, label=label)


def _class_name(canvas: Canvas, k: int) -> str:
    return "none" if k < 0 else str(canvas.looks[k].label)


def _draw_strips(canvas: Canvas, fitted: Fitted, line: Plane, codes: Codes) -> list[Entry]:
    """Draw the rows of each class in its strip; return legend entries for misclassified rows."""
    shown = sampled_rows(len(codes))
    rows = fitted.rows[shown]
    codes = codes[shown]
    wrong = _predicted_wrongly(fitted, rows, codes)
    heights = codes + jitter(len(codes))
    z = np.column_stack([line.coordinates(rows), heights])
    draw_points(canvas, z, codes, wrong)
    return _wrong_entries(canvas, wrong)


def _draw_rows(canvas: Canvas, fitted: Fitted, plane: Plane, codes: Codes) -> list[Entry]:
    """Draw rows in the plane; return legend entries for misclassified rows."""
    shown = sampled_rows(len(codes))
    rows = fitted.rows[shown]
    codes = codes[shown]
    wrong = _predicted_wrongly(fitted, rows, codes)
    z = plane.coordinates(rows)
    draw_points(canvas, z, codes, wrong)
    name_classes(canvas, z, codes)
    return _wrong_entries(canvas, wrong)


def _predicted_wrongly(fitted: Fitted, rows: Floats, codes: Codes) -> Flags:
    """Return whether each row is misclassified; rejected rows count as not misclassified."""
    predicted = fitted.predict(rows)
    wrong: Flags = (predicted != codes) & (predicted >= 0)
    return wrong


def _wrong_entries(canvas: Canvas, wrong: Flags) -> list[Entry]:
    if not np.any(wrong):
        return []
    ring = Line2D(
        [],
        [],
        linestyle="none",
        marker="o",
        markersize=6,
        markerfacecolor="none",
        markeredgecolor=canvas.style.ink,
        markeredgewidth=1.1,
    )
    return [(ring, "predicted wrongly")]
