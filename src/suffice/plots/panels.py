"""Grids of small axes over several features, and rows over every pair of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import FigureBase

from suffice.curves.importance import separation
from suffice.moments import Moments
from suffice.plots import marks
from suffice.plots.canvas import MOST_ENTRIES, Canvas, class_entries, documented, write_legend
from suffice.plots.plane import feature_index
from suffice.plots.style import Palette, Style, Theme, palette_for, style_of
from suffice.table.table import Table
from suffice.text.lists import default_names, shortened
from suffice.typing import Codes, Floats

MOST_FEATURES = 5  # where none are chosen
CELL, LARGEST = 1.45, 6.0  # inches of a cell: at least, and by the number of cells


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """A square grid of axes, a row and a column for each feature."""

    figure: Any
    axes: Any  # (m, m) of Axes
    style: Style
    names: tuple[str, ...]  # (m,)
    palette: Palette

    def cell(self, row: int, column: int) -> Canvas:
        """Return the axes of one pair of features."""
        return Canvas(self.axes[row, column], self.style, palette=self.palette)

    def limit(self, values: Floats) -> None:
        """Give every cell the range of its two features, (n, m)."""
        low, high = values.min(axis=0), values.max(axis=0)
        reach = 0.1 * np.where(high > low, high - low, 1.0)
        for row, column in np.ndindex(self.axes.shape):
            ax = self.axes[row, column]
            ax.set_xlim(low[column] - reach[column], high[column] + reach[column])
            if row != column:
                ax.set_ylim(low[row] - reach[row], high[row] + reach[row])

    def finish(self) -> None:
        """Write names and numbers on the outer edges only."""
        m = len(self.axes)
        names = shortened(self.names, 20)
        for row, column in np.ndindex(self.axes.shape):
            ax = self.axes[row, column]
            self.style.dress(ax)
            ax.tick_params(labelsize=7.5, length=2.5)
            ax.locator_params(nbins=3)
            bottom, left = row == m - 1, column == 0
            ax.tick_params(labelbottom=bottom, labelleft=left and row > 0)
            if bottom:
                ax.set_xlabel(names[column], parse_math=False, color=self.style.ink, fontsize=8.5)
            if left and row > 0:
                ax.set_ylabel(names[row], parse_math=False, color=self.style.ink, fontsize=8.5)
            if row == column:
                ax.spines["left"].set_visible(False)
                ax.tick_params(axis="y", left=False, labelleft=False)
        self.figure.align_ylabels(self.axes[:, 0])

    def legend(self, entries: list[tuple[Any, str]]) -> None:
        """Write what is drawn beside the grid."""
        place = {"loc": "outside right upper", "frameon": False}
        write_legend(self.figure, entries, labelcolor=self.style.ink, **place)


@contextmanager
def panels(
    figure: FigureBase | None, theme: Theme, names: tuple[str, ...], palette: Palette
) -> Iterator[Panels]:
    """Draw on a grid in ``figure``, or in a new one, leaving matplotlib's settings alone."""
    style, m = style_of(theme), len(names)
    with style.context():
        if figure is None:
            side = max(CELL, LARGEST / (m + 1)) * m + 0.5
            figure = plt.figure(figsize=(side + 1.2, side), layout="constrained")
        axes = figure.subplots(m, m, squeeze=False)
        grid = Panels(figure, axes, style, names, palette)
        yield grid
        grid.finish()


@contextmanager
def row_of(
    n: int, figure: FigureBase | None, theme: Theme, palette: Palette, columns: int = 4
) -> Iterator[list[Canvas]]:
    """Draw on n axes side by side in ``figure``, or in a new one, with one legend for all."""
    style, wide = style_of(theme), min(n, columns)
    with style.context():
        high = -(-n // wide)
        if figure is None:
            figure = plt.figure(figsize=(3.1 * wide + 1, 2.9 * high), layout="constrained")
        axes = figure.subplots(high, wide, squeeze=False).ravel()
        yield [Canvas(ax, style, has_legend=False, palette=palette) for ax in axes[:n]]
        for at, ax in enumerate(axes):
            style.dress(ax)
            ax.set_visible(at < n)
        place = {"loc": "outside right upper", "labelcolor": style.ink}
        write_legend(figure, class_entries(palette, style), **place)


def chosen_features(names: tuple[str, ...], rows: Floats, codes: Codes, features: Any) -> list[int]:
    """Return the places of the features asked for, or of those that separate classes most."""
    if features is not None:
        return [feature_index(names, feature) for feature in features]
    if len(names) <= MOST_FEATURES:
        return list(range(len(names)))
    ratio = separation(Moments.of(rows, codes, storage="diagonal"))
    return sorted(np.argsort(-ratio, kind="stable")[:MOST_FEATURES].tolist())


@documented
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
    features : names or indices, optional
        The features; by default all, of more than five those that separate the classes most.
    coverage : sequence of float, optional
        Shares that the ellipses hold of a Gaussian with a class's mean and covariance.

    Examples
    --------
    >>> pairs(X, y).shape
    (4, 4)
    """
    table = Table.of(X, y)
    names, codes = table.names or default_names(table.n_features), table.codes
    chosen = chosen_features(names, table.x, codes, features)
    values = np.asarray(table.x[:, chosen], np.float64)
    looks = palette_for(table.classes, palette)
    with panels(figure, theme, tuple(names[j] for j in chosen), looks) as grid:
        for row, column in np.ndindex(grid.axes.shape):
            cell = grid.cell(row, column)
            if row > column:
                cut = values[:, [column, row]]
                marks.points(cell, cut, codes, size=0.5)
                _ellipses(cell, cut, codes, marks.shares(cell, coverage))
            elif row == column:
                histograms(cell, values[:, row], codes)
            else:
                cell.ax.set_visible(False)
        grid.limit(values)
        grid.legend(class_entries(looks, grid.style))
    return grid.axes


def histograms(cell: Canvas, x: Floats, codes: Codes) -> None:
    """Draw the histogram of each class, or of all together if they are many."""
    edges = np.histogram_bin_edges(x, int(np.clip(np.sqrt(len(x)) * 1.4, 8, 30)))
    if len(cell.palette) > MOST_ENTRIES:
        cell.ax.hist(x, edges, color=cell.style.soft, alpha=0.45, label="_histogram")
        return
    for k, look in enumerate(cell.palette.looks):
        fill = {"color": look.colour, "hatch": look.hatch, "edgecolor": cell.style.ground}
        label = f"_histogram {cell.palette.labels[k]}"
        cell.ax.hist(x[codes == k], edges, alpha=0.45, linewidth=0.4, label=label, **fill)


def _ellipses(cell: Canvas, cut: Floats, codes: Codes, coverage: tuple[float, ...]) -> None:
    moments = Moments.of(cut, codes, storage="per-class", fourth=False)
    for k in moments.classes:
        sigma = moments.scatters[k] / moments.weights[k]
        marks.ellipses(cell, moments.means[k], sigma, k, coverage)
