"""Rows over every pair of features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.moments import Moments
from suffice.plots import marks
from suffice.plots.canvas import MOST_ENTRIES, class_entries
from suffice.plots.panels import chosen_features, panels
from suffice.plots.style import palette_for
from suffice.table.labels import as_labels, encode
from suffice.table.matrix import as_matrix
from suffice.text.lists import default_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import FigureBase

    from suffice.plots.canvas import Canvas
    from suffice.plots.style import Palette, Theme
    from suffice.typing import Codes, Floats


def pairs(
    X: Any,
    y: Any,
    *,
    features: Sequence[Any] | None = None,
    coverage: Sequence[float] | None = None,
    palette: Palette | None = None,
    theme: Theme = "light",
    figure: FigureBase | None = None,
) -> Any:
    """Return an array (m, m) of axes: rows over each pair of features, with class ellipses.

    On the diagonal are the histograms of each class. Cells over the diagonal are empty.

    Parameters
    ----------
    X, y : array or frame (n, d) and array (n,)
        Rows and their labels.
    features : names or indices, optional
        The features; by default all, of more than five those that separate the classes most.
    coverage : sequence of float, optional
        Shares that the ellipses hold of a Gaussian with a class's mean and covariance.
    palette, theme
        As in ``decision_regions``.
    figure : Figure or SubFigure, optional
        Where to draw; by default a new one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> pairs(*load_iris(return_X_y=True)).shape
    (4, 4)
    """
    rows, columns = as_matrix(X)
    classes, codes = encode(as_labels(y))
    names = columns or default_names(rows.shape[1])
    chosen = chosen_features(names, rows, codes, features)
    values = np.asarray(rows[:, chosen], np.float64)
    looks = palette_for(classes, palette)
    with panels(figure, theme, tuple(names[j] for j in chosen)) as grid:
        for row, column in np.ndindex(grid.axes.shape):
            cell = grid.cell(row, column)
            if row > column:
                cut = values[:, [column, row]]
                marks.points(cell, cut, codes, looks, size=0.5)
                _ellipses(cell, cut, codes, looks, marks.shares(looks, coverage))
            elif row == column:
                histograms(cell, values[:, row], codes, looks)
            else:
                cell.ax.set_visible(False)
        grid.limit(values)
        grid.legend(class_entries(looks, grid.style))
    return grid.axes


def histograms(cell: Canvas, x: Floats, codes: Codes, palette: Palette) -> None:
    """Draw the histogram of each class, or of all together if they are many."""
    edges = np.histogram_bin_edges(x, int(np.clip(np.sqrt(len(x)) * 1.4, 8, 30)))
    if len(palette) > MOST_ENTRIES:
        cell.ax.hist(x, edges, color=cell.style.soft, alpha=0.45, label="_histogram")
        return
    for k, look in enumerate(palette.looks):
        cell.ax.hist(
            x[codes == k],
            edges,
            color=look.colour,
            alpha=0.45,
            hatch=look.hatch,
            edgecolor=cell.style.ground,
            linewidth=0.4,
            label=f"_histogram {palette.labels[k]}",
        )


def _ellipses(
    cell: Canvas, cut: Floats, codes: Codes, palette: Palette, coverage: tuple[float, ...]
) -> None:
    moments = Moments.of(cut, codes, storage="per-class", fourth=False)
    for k, scatter, mean, weight in zip(
        moments.classes, moments.scatters, moments.means, moments.weights, strict=True
    ):
        for share in coverage:
            curve = marks.ellipse(mean, scatter / weight, share)
            cell.ax.plot(
                *curve.T,
                color=palette.looks[k].colour,
                linewidth=1.1,
                zorder=3.5,
                label=f"_ellipse {palette.labels[k]}",
            )
