"""Densities of the classes over two features: contours and a surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from suffice.plots import marks
from suffice.plots.canvas import drawing
from suffice.plots.fitted import Fitted
from suffice.plots.grid import mesh
from suffice.plots.marginals import Marginals
from suffice.plots.plane import feature_index
from suffice.plots.style import palette_for
from suffice.plots.surfaces import winners_surface
from suffice.text.numbers import percent_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from suffice.plots.canvas import Canvas
    from suffice.plots.style import Palette, Theme
    from suffice.typing import Floats


def density_contours(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    features: tuple[Any, Any] = (0, 1),
    coverage: Sequence[float] = (0.25, 0.5, 0.75, 0.95),
    resolution: int = 200,
    legend: bool = True,
    palette: Palette | None = None,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return axes with contours of each class's density over two features.

    Each contour bounds the smallest region that holds the given share of the class.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, with densities.
    X, y : array or frame (n, d) and array (n,), optional
        Rows and their labels.
    features : two names or indices
        The features to draw over; others are integrated out.
    coverage : sequence of float
        Shares of a class.
    resolution : int
        Points along each side.
    legend, palette, theme, ax
        As in ``decision_regions``.

    References
    ----------
    Hyndman (1996), *The American Statistician* 50, 120–126.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> density_contours(sf.QDA().fit(X, y), X, y, features=(2, 3)).get_ylabel()
    'x₄'
    """
    fitted = Fitted.of(estimator, X)
    axes = [feature_index(fitted.names, feature) for feature in features]
    marginals = Marginals.of(fitted, axes)
    looks = palette_for(fitted.classes, palette)
    window = marginals.window(0.3)
    xs, ys = (np.linspace(low, high, resolution) for low, high in window)
    densities = marginals.at(mesh(xs, ys)).reshape(resolution, resolution, -1)
    lowest = np.array([region_levels(d, coverage)[0] for d in np.moveaxis(densities, -1, 0)])
    with drawing(ax, theme) as canvas:
        for k, look in enumerate(looks.looks):
            levels = region_levels(densities[..., k], coverage)
            steps = [*levels, np.inf]
            fills = [(look.colour, a) for a in np.linspace(0.08, 0.34, len(levels))]
            canvas.ax.contourf(xs, ys, densities[..., k], levels=steps, colors=fills, zorder=1)
            canvas.ax.contour(
                xs,
                ys,
                densities[..., k],
                levels=levels,
                colors=[look.colour],
                linewidths=1.1,
                zorder=2,
            )
        if y is not None:
            marks.points(canvas, fitted.rows[:, axes], fitted.codes(y), looks)
        _frame(canvas, xs, ys, np.any(densities >= lowest, axis=-1), fitted.rows[:, axes])
        canvas.name_axes(*(fitted.names[j] for j in axes))
        if legend:
            canvas.legend_of_classes(looks, extra=[_coverage_entry(canvas, coverage)])
    return canvas.axes


def density_surface(
    estimator: Any,
    X: Any = None,
    *,
    features: tuple[Any, Any] = (0, 1),
    resolution: int = 120,
    legend: bool = True,
    palette: Palette | None = None,
    theme: Theme = "light",
    ax: Axes | None = None,
) -> Axes:
    """Return 3-D axes with the highest of the prior-weighted class densities over two features.

    Each part of the surface has the colour of the class that is highest there, and is chosen.

    Parameters
    ----------
    estimator : fitted classifier
        Ours, with densities.
    X : array or frame (n, d), optional
        Rows that set the window.
    features : two names or indices
        The features to draw over; others are integrated out.
    resolution : int
        Points along each side.
    legend, palette, theme
        As in ``decision_regions``.
    ax : Axes, optional
        3-D axes.

    Examples
    --------
    >>> import suffice as sf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> density_surface(sf.QDA().fit(X, y), X, features=(2, 3)).get_zlabel()
    'density'
    """
    fitted = Fitted.of(estimator, X)
    axes = [feature_index(fitted.names, feature) for feature in features]
    marginals = Marginals.of(fitted, axes)
    looks = palette_for(fitted.classes, palette)
    xs, ys = (np.linspace(low, high, resolution) for low, high in marginals.window(0.15))
    joint = marginals.priors * marginals.at(mesh(xs, ys))
    with drawing(ax, theme, (6.0, 4.4), solid=True) as canvas:
        winners_surface(canvas, xs, ys, joint.reshape(len(ys), len(xs), -1), looks)
        canvas.name_axes(*(fitted.names[j] for j in axes), "density")
        if legend:
            canvas.legend_of_classes(looks)
    return canvas.axes


def region_levels(density: Floats, coverage: Sequence[float]) -> Floats:
    """Return the densities, ascending, above which the given shares of a grid's mass lie."""
    falling = np.sort(density.ravel())[::-1]
    mass = np.cumsum(falling)
    levels: Floats = np.interp(sorted(coverage, reverse=True), mass / mass[-1], falling)
    return levels


def _frame(canvas: Canvas, xs: Floats, ys: Floats, inside: Any, rows: Floats) -> None:
    """Show every contour and every row."""
    ends = [xs[inside.any(axis=0)], ys[inside.any(axis=1)]]
    for set_limits, end, column in zip(
        (canvas.ax.set_xlim, canvas.ax.set_ylim), ends, rows.T, strict=True
    ):
        low, high = min([end[0], *column]), max([end[-1], *column])
        set_limits(low - 0.05 * (high - low), high + 0.05 * (high - low))


def _coverage_entry(canvas: Canvas, coverage: Sequence[float]) -> tuple[Any, str]:
    ring = Line2D([], [], color=canvas.style.soft, linewidth=1.1)
    return ring, "hold " + ", ".join(
        percent_label(c).removesuffix(" %") for c in sorted(coverage)
    ) + " %"
