"""Axes in a style: made where none are given, dressed when the drawing is done."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from suffice.errors import InvalidParameterError
from suffice.plots.style import Palette, Style, Theme, style_of
from suffice.text.lists import shortened

SIZE = (5.6, 3.9)  # inches, legend included
MOST_ENTRIES = 12  # of a legend
WIDEST_NAME = 52  # letters beside an axis
GAP = 0.1  # inches under a strip


@dataclass(frozen=True, slots=True, eq=False)
class Canvas:
    """Axes and the style they are drawn in."""

    ax: Any  # Axes, 3-D or not: matplotlib's stubs know less than it does
    style: Style

    @property
    def axes(self) -> Axes:
        """The axes, as callers get them."""
        axes: Axes = self.ax
        return axes

    def name_axes(self, *names: str) -> None:
        """Write what each axis measures, dollar signs and all."""
        for axis, name in zip("xyz", names, strict=False):
            (short,) = shortened([name], WIDEST_NAME)
            getattr(self.ax, f"set_{axis}label")(short, parse_math=False)

    def curve(self, x: Any, y: Any, palette: Palette, k: int, what: str, **options: Any) -> None:
        """Draw a curve of class k in its colour and, of more than two classes, its dashes."""
        look = palette.looks[k]
        dashes = look.line if len(palette) > 2 else "-"
        drawn = {"color": look.colour, "linestyle": dashes, "linewidth": 1.8} | options
        self.ax.plot(x, y, label=f"_{what} {palette.labels[k]}", **drawn)

    def dot(self, x: Any, y: Any, colour: str, size: float = 6, **options: Any) -> Any:
        """Draw one or several dots, edged in the colour of the page; return their handle."""
        drawn = {"linestyle": "none", "marker": "o", "zorder": 3} | options
        edge: Any = {"markeredgecolor": self.style.ground, "markersize": size, "color": colour}
        return self.ax.plot(x, y, **(edge | drawn))[0]

    def horizontal(self, *levels: float) -> None:
        """Draw faint lines at some heights, behind all else."""
        for level in levels:
            self.ax.axhline(level, color=self.style.grid, linewidth=0.9, zorder=0)

    def strip_above(self, height: float) -> Any:
        """Return small axes above these, ``height`` inches high, that share their x axis."""
        top = ScaledTranslation(0, 1, self.ax.transAxes)
        inches = self.ax.figure.dpi_scale_trans + top
        place = blended_transform_factory(self.ax.transAxes, inches)
        return self.ax.inset_axes((0, GAP, 1, height), transform=place, sharex=self.ax)

    def legend(self, entries: Sequence[tuple[Any, str]], title: str | None = None) -> None:
        """Write a legend beside the axes, or inside where the figure would not make room."""
        beside = self.ax.figure.get_layout_engine() is not None
        place: dict[str, Any] = (
            {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
            if beside
            else {"loc": "best", "frameon": True, "framealpha": 0.8, "edgecolor": "none"}
        )
        inks = {"facecolor": self.style.ground, "labelcolor": self.style.ink}
        write_legend(self.ax, entries, title=title, alignment="left", **inks, **place)

    def legend_of_classes(
        self, palette: Palette, *, extra: Sequence[tuple[Any, str]] = (), lines: bool = False
    ) -> None:
        """Write a legend of the classes, the first few of many, and of anything else drawn."""
        entries = [*class_entries(palette, self.style, lines=lines), *extra]
        self.legend(entries)


@contextmanager
def drawing(
    ax: Axes | None,
    theme: Theme,
    size: tuple[float, float] = SIZE,
    *,
    projection: Literal["3d"] | None = None,
) -> Iterator[Canvas]:
    """Draw on ``ax``, or on new axes, leaving matplotlib's settings alone."""
    style = style_of(theme)
    with style.context():
        if ax is None:
            figure = plt.figure(figsize=size, layout="constrained")
            ax = figure.add_subplot(projection=projection)
        if projection and not hasattr(ax, "zaxis"):
            msg = "this figure is 3-D: make the axes with projection='3d', or pass ax=None"
            raise InvalidParameterError(msg)
        yield Canvas(ax, style)
        style.dress(ax)


def new_axes(ax: Any) -> Any:
    """Return ``ax``, or new axes in matplotlib's own style."""
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def class_entries(palette: Palette, style: Style, *, lines: bool = False) -> list[tuple[Any, str]]:
    """Return handles and names of the classes, the first few of many."""
    make = class_line if lines else class_marker
    shown = len(palette) if len(palette) <= MOST_ENTRIES else MOST_ENTRIES - 1
    entries: list[tuple[Any, str]] = [
        (make(look, style), name)
        for look, name in zip(palette.looks[:shown], palette.names, strict=False)
    ]
    if shown < len(palette):
        entries.append((nothing(), f"… and {len(palette) - shown} more"))
    return entries


def class_marker(look: Any, style: Style) -> Line2D:
    """Return the handle of a class drawn as points."""
    edge: Any = {"markeredgecolor": style.ground, "markeredgewidth": 0.5, "markersize": 6}
    return Line2D([], [], linestyle="none", marker=look.marker, markerfacecolor=look.colour, **edge)


def class_line(look: Any, style: Style) -> Line2D:  # noqa: ARG001  one signature with class_marker
    """Return the handle of a class drawn as a curve."""
    return Line2D([], [], color=look.colour, linestyle=look.line)


def class_patch(look: Any, style: Style) -> Patch:
    """Return the handle of a class drawn as bars."""
    return Patch(facecolor=look.colour, hatch=look.hatch, edgecolor=style.ground)


def write_legend(where: Any, entries: Sequence[tuple[Any, str]], **options: Any) -> None:
    """Write a legend on axes or a figure, names as they are: underscores, dollar signs and all."""
    # a name that starts with an underscore would be left out: a thin space stands before it
    names = [f"\u2009{name}" if name.startswith("_") else name for _, name in entries]
    handles = [handle for handle, _ in entries]
    for text in where.legend(handles, names, handlelength=1.8, **options).get_texts():
        text.set_parse_math(False)


def nothing() -> Line2D:
    """Return the handle of what is not drawn."""
    return Line2D([], [], linestyle="none")
