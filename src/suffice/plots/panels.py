"""Grids of small axes over several features."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

from suffice.curves import separation
from suffice.moments import Moments
from suffice.plots.canvas import Canvas, plain
from suffice.plots.plane import feature_index
from suffice.plots.style import Style, Theme, style_of
from suffice.text.lists import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import FigureBase

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

    def cell(self, row: int, column: int) -> Canvas:
        """Return the axes of one pair of features."""
        return Canvas(self.axes[row, column], self.style)

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
        legend = self.figure.legend(
            [handle for handle, _ in entries],
            [plain(name) for _, name in entries],
            loc="outside right upper",
            labelcolor=self.style.ink,
            frameon=False,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)


@contextmanager
def panels(figure: FigureBase | None, theme: Theme, names: tuple[str, ...]) -> Iterator[Panels]:
    """Draw on a grid in ``figure``, or in a new one, leaving matplotlib's settings alone."""
    style, m = style_of(theme), len(names)
    with style.context():
        if figure is None:
            side = max(CELL, LARGEST / (m + 1)) * m + 0.5
            figure = plt.figure(figsize=(side + 1.2, side), layout="constrained")
        axes = figure.subplots(m, m, squeeze=False)
        grid = Panels(figure, axes, style, names)
        yield grid
        grid.finish()


def chosen_features(names: tuple[str, ...], rows: Floats, codes: Codes, features: Any) -> list[int]:
    """Return the places of the features asked for, or of those that separate classes most."""
    if features is not None:
        return [feature_index(names, feature) for feature in features]
    if len(names) <= MOST_FEATURES:
        return list(range(len(names)))
    ratio = separation(Moments.of(rows, codes, storage="diagonal"))
    return sorted(np.argsort(-ratio, kind="stable")[:MOST_FEATURES].tolist())
