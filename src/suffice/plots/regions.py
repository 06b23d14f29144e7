"""Where a classifier decides for which class."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch

from suffice.plots import marks
from suffice.plots import regions as strips
from suffice.plots.canvas import drawing
from suffice.plots.fitted import Fitted
from suffice.plots.grid import Field
from suffice.plots.plane import plane_for
from suffice.plots.style import palette_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from suffice.plots.canvas import Canvas
    from suffice.plots.plane import Plane
    from suffice.plots.style import Palette, Theme
    from suffice.typing import Codes, Floats

CELLS = 2000
HALVINGS = 40  # of a cell, towards the point where the prediction changes
MOST_NAMES = 30  # classes named beside their strips


def draw(
    canvas: Canvas, fitted: Fitted, plane: Plane, codes: Codes | None, palette: Palette
) -> list[tuple[Any, str]]:
    """Draw bands, thresholds and strips; return what the legend must say beside the classes."""
    low, high = plane.window(fitted.rows)[0]
    cuts, answers = bands(fitted, plane, low, high)
    for (left, right), k in zip(pairwise([low, *cuts, high]), answers, strict=True):
        if k >= 0:
            canvas.ax.axvspan(
                left, right, color=palette.looks[k].colour, alpha=0.22, linewidth=0, zorder=0
            )
    for cut in cuts:
        canvas.ax.axvline(cut, color=canvas.style.ink, linewidth=1.5, label="_boundary")
    canvas.ax.set_xlim(low, high)
    canvas.name_axes(plane.names[0])
    _classes_up(canvas, palette)
    if codes is None:
        return []
    shown = marks.chosen_rows(len(codes))
    rows, codes = fitted.rows[shown], codes[shown]
    predicted = fitted.predict(rows)
    wrong = (predicted != codes) & (predicted >= 0)
    heights = codes + jitter(len(codes))
    z = np.stack([plane.coordinates(rows)[:, 0], heights], axis=1)
    marks.points(canvas, z, codes, palette, wrong)
    return marks.wrong_entry(canvas, wrong)


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
    golden: Floats = np.arange(1, n + 1, dtype=np.float64) * 0.6180339887498949 % 1
    offsets: Floats = (golden - 0.5) * width
    return offsets


def _classes_up(canvas: Canvas, palette: Palette) -> None:
    """Make the vertical axis one of classes, the first on top."""
    K = len(palette)
    canvas.ax.set_ylim(K - 0.5, -0.5)
    step = -(-K // MOST_NAMES)
    canvas.ax.set_yticks(range(0, K, step), labels=palette.names[::step], parse_math=False)
    canvas.ax.tick_params(axis="y", length=0)


TINT = 0.22  # opacity of a region


def decision_regions(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    features: Any = None,
    at: Any = None,
    coverage: Sequence[float] | None = None,
    resolution: int = 300,
    legend: bool = True,
    palette: Palette | None = None,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with the region of each class, boundaries, ellipses and rows.

    One feature is drawn as bands, with the rows of each class in a strip; two as a plane; more
    in the first discriminant coordinates, other directions held at their expectation.
    Boundaries of our Gaussian classifiers are their exact curves. Rows with an ink edge are
    predicted wrongly.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, or any of scikit-learn.
    X : array or frame (n, d)
        Rows that set the window and are drawn if ``y`` is given.
    y : array (n,), optional
        Their labels.
    features : one or two names or indices, optional
        The features to draw over, the others held at ``at``.
    at : array (d,), optional
        Where features that are not drawn are held; by default at the mean of ``X``.
    coverage : sequence of float, optional
        Shares of each class that its ellipses hold, for Gaussian classifiers; by default a half
        and 95 %, of many classes a half only; () for none.
    resolution : int
        Cells along each side.
    legend : bool
        Whether to write the classes beside the axes.
    palette : Palette, optional
        Looks of the classes, where they are a part of more.
    theme : {"light", "dark"} or Style
        Colours of text and lines.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.3.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = decision_regions(sf.QDA().fit(X, y), X, y)
    >>> ax.get_xlabel()
    'discriminant 1 (99 %)'
    """
    fitted = Fitted.of(estimator, X)
    looks = palette_for(fitted.classes, palette)
    plane = plane_for(fitted, y, features, at)
    codes = None if y is None else fitted.codes(y)
    with drawing(ax, theme) as canvas:
        if plane.n_coordinates == 1:
            extra = strips.draw(canvas, fitted, plane, codes, looks)
        else:
            field = Field.of(fitted, plane, plane.window(fitted.rows), resolution)
            _fill(canvas, field, looks)
            _outline(canvas, field, looks)
            if fitted.model is not None:
                marks.ellipses(canvas, plane, fitted.model, looks, marks.shares(looks, coverage))
            extra = _rows(canvas, field, codes, looks)
            _frame(canvas, field)
        if legend:
            canvas.legend_of_classes(looks, extra=extra)
    return canvas.axes


def _fill(canvas: Canvas, field: Field, palette: Palette) -> None:
    """Tint each cell by its class; cells where the classifier refuses are left, and hatched."""
    colours = np.array([to_rgba(look.colour, TINT) for look in palette.looks] + [(0, 0, 0, 0)])
    canvas.ax.imshow(
        colours[field.codes],
        extent=field.window.ravel(),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        zorder=0,
    )
    if np.any(field.codes < 0):
        hatched = canvas.ax.contourf(
            field.xs,
            field.ys,
            field.codes < 0,
            levels=[0.5, 1.5],
            colors="none",
            hatches=["////"],
            zorder=1,
        )
        hatched.set_edgecolor(canvas.style.soft)


def _outline(canvas: Canvas, field: Field, palette: Palette) -> None:
    """Draw every boundary once: the exact curve where there is one, else a contour."""
    margin = None
    line = {"linewidth": 1.5, "zorder": 2.5}
    for a, b in field.neighbours:
        curves = field.exact_curves(a, b)
        names = " | ".join("none" if k < 0 else str(palette.labels[k]) for k in (a, b))
        for curve in curves or ():
            canvas.ax.plot(*curve.T, color=canvas.style.ink, label=f"_boundary {names}", **line)
        if curves is None:
            margin = margin or field.margins()
            canvas.ax.contour(
                field.xs,
                field.ys,
                margin(a, b),
                levels=[0.0],
                colors=[canvas.style.ink],
                linewidths=line["linewidth"],
                zorder=line["zorder"],
            )


def _rows(canvas: Canvas, field: Field, codes: Any, palette: Palette) -> list[tuple[Any, str]]:
    """Draw the rows and return what the legend must say beside the classes."""
    extra: list[tuple[Any, str]] = []
    if codes is not None:
        shown = marks.chosen_rows(len(codes))
        rows, codes = field.fitted.rows[shown], codes[shown]
        predicted = field.fitted.predict(rows)
        wrong = (predicted != codes) & (predicted >= 0)
        z = field.plane.coordinates(rows)
        marks.points(canvas, z, codes, palette, wrong)
        marks.name_classes(canvas, z, codes, palette)
        extra = marks.wrong_entry(canvas, wrong)
    if np.any(field.codes < 0):
        patch = Patch(facecolor="none", edgecolor=canvas.style.soft, hatch="////", linewidth=0)
        extra.append((patch, "no decision"))
    return extra


def _frame(canvas: Canvas, field: Field) -> None:
    (x_low, x_high), (y_low, y_high) = field.window
    canvas.ax.set(xlim=(x_low, x_high), ylim=(y_low, y_high))
    canvas.ax.set_aspect("equal" if field.plane.isometric else "auto")
    canvas.name_axes(*field.plane.names)
