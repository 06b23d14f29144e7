"""Open axes with a style, draw on them, and label them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation, blended_transform_factory
from matplotlib.typing import LineStyleType

from suffice.core.text.lists import shortened
from suffice.errors import InvalidParameterError
from suffice.present.plots.style import Look, Style, Theme, looks_of, style_of
from suffice.typing import Array, LabelsLike

SIZE = (5.6, 3.9)  # inches, legend included
SIZE_3D = (6.0, 4.4)
MOST_ENTRIES = 12  # most entries of a legend
LONGEST_NAME = 52  # most letters of a name next to an axis
GAP = 0.1  # space below a strip, in inches
NO_HANDLE = Line2D([], [], linestyle="none")  # handle for a legend entry without a symbol
Entry: TypeAlias = tuple[Artist, str]  # a legend entry: handle and name


@dataclass(frozen=True, slots=True, eq=False)
class Canvas:
    """Axes with a style, and with a colour and marker for each class."""

    ax: Axes
    style: Style
    looks: tuple[Look, ...] = ()  # look (colour and marker) of each class, by class code
    is_new: bool = False  # whether the figure was created for this drawing
    has_legend: bool = True

    @property
    def ax_3d(self) -> Any:
        """The axes with the type ``Any``, because matplotlib has no types for 3-D methods."""
        return self.ax

    def resize(self, width: float, height: float) -> None:
        """Set the size of a new figure, in inches."""
        if self.is_new and isinstance(self.ax.figure, Figure):
            self.ax.figure.set_size_inches(width, height)

    def name_axes(self, x: str, y: str | None = None, z: str | None = None) -> None:
        """Set the axis labels; dollar signs are drawn as such, not as mathematics."""
        self.ax.set_xlabel(_short(x), parse_math=False)
        if y is not None:
            self.ax.set_ylabel(_short(y), parse_math=False)
        if z is not None:
            self.ax_3d.set_zlabel(_short(z), parse_math=False)

    def curve(
        self,
        x: Array,
        y: Array,
        k: int,
        quantity: str,
        *,
        linestyle: LineStyleType | None = None,
        linewidth: float = 1.8,
        drawstyle: Literal["default", "steps-pre"] = "default",
        zorder: float = 2,
        clip_on: bool = True,
    ) -> Line2D:
        """Draw a curve in the colour of class k; dashes tell more than two classes apart."""
        look = self.looks[k]
        if linestyle is None:
            linestyle = look.dashes if len(self.looks) > 2 else "-"
        (line,) = self.ax.plot(
            x,
            y,
            color=look.colour,
            linestyle=linestyle,
            linewidth=linewidth,
            drawstyle=drawstyle,
            zorder=zorder,
            clip_on=clip_on,
            label=f"_{quantity} {look.label}",
        )
        return line

    def dot(
        self,
        x: float | Array,
        y: float | Array,
        colour: str,
        size: float = 6,
        *,
        marker: str = "o",
        edgewidth: float | None = None,
        zorder: float = 3,
        alpha: float | None = None,
        label: str | None = None,
    ) -> Line2D:
        """Draw dots with edges in the colour of the page, and return their handle."""
        (dots,) = self.ax.plot(
            x,
            y,
            color=colour,
            linestyle="none",
            marker=marker,
            markersize=size,
            markeredgecolor=self.style.ground,
            markeredgewidth=edgewidth,
            zorder=zorder,
            alpha=alpha,
            label=label,
        )
        return dots

    def strip_above(self, height: float, title: str) -> Axes:
        """Return small axes above the axes, ``height`` inches high, with the same x axis."""
        inches = self.ax.figure.dpi_scale_trans + ScaledTranslation(
            0,
            1,
            self.ax.transAxes,  # type: ignore[arg-type]  # the stub is narrower than the class
        )
        transform = blended_transform_factory(self.ax.transAxes, inches)
        strip: Axes = self.ax.inset_axes(
            (0, GAP, 1, height), transform=transform, sharex=self.ax
        )
        strip.set_title(title, loc="left", fontsize=9, color=self.style.ink)
        self.style.dress(strip)
        strip.tick_params(axis="x", labelbottom=False, length=0)
        return strip

    def legend(self, entries: Sequence[Entry], title: str | None = None) -> None:
        """Draw a legend, next to the axes if there is room, unless ``legend`` is False."""
        if not self.has_legend:
            return
        has_layout = self.ax.figure.get_layout_engine() is not None
        legend = self.ax.legend(
            _handles(entries),
            _names(entries),
            title=title,
            alignment="left",
            handlelength=1.8,
            labelcolor=self.style.ink,
            loc="upper left" if has_layout else "best",
            bbox_to_anchor=(1.01, 1.0) if has_layout else None,
            borderaxespad=0.0 if has_layout else None,
            frameon=not has_layout,
            framealpha=0.8,
            edgecolor="none",
            facecolor=self.style.ground,
        )
        _write_as_is(legend)

    def entries(self, *, lines: bool = False) -> list[Entry]:
        """Return legend entries for the classes, or for some of many, as markers or lines."""
        shown = self.looks
        if len(shown) > MOST_ENTRIES:
            shown = shown[: MOST_ENTRIES - 1]
        entries: list[Entry] = []
        for look in shown:
            if lines:
                handle = Line2D([], [], color=look.colour, linestyle=look.dashes)
            else:
                handle = Line2D(
                    [],
                    [],
                    color=look.colour,
                    linestyle="none",
                    marker=look.marker,
                    markersize=6,
                    markeredgecolor=self.style.ground,
                    markeredgewidth=0.5,
                )
            entries.append((handle, look.name))
        if len(shown) < len(self.looks):
            entries.append((NO_HANDLE, f"… and {len(self.looks) - len(shown)} more"))
        return entries


def write_legend(
    where: Axes | FigureBase,
    entries: Sequence[Entry],
    style: Style,
    *,
    loc: Literal[
        "best", "outside right upper", "outside upper center"
    ] = "outside right upper",
    ncols: int = 1,
    handlelength: float = 1.8,
) -> None:
    """Write a legend on axes, or next to the axes of a figure."""
    legend = where.legend(
        _handles(entries),
        _names(entries),
        loc=loc,
        ncols=ncols,
        handlelength=handlelength,
        labelcolor=style.ink,
    )
    _write_as_is(legend)


def _handles(entries: Sequence[Entry]) -> list[Artist]:
    return [handle for handle, _ in entries]


def _names(entries: Sequence[Entry]) -> list[str]:
    # matplotlib hides names that begin with an underscore, unless a space precedes it
    return [f"\u2009{name}" if name.startswith("_") else name for _, name in entries]


def _write_as_is(legend: Legend) -> None:
    """Draw dollar signs in names as such, not as mathematics."""
    for text in legend.get_texts():
        text.set_parse_math(False)


def _short(name: str) -> str:
    return shortened([name], LONGEST_NAME)[0]


@contextmanager
def open_canvas(
    ax: Axes | None,
    theme: Theme,
    *,
    classes: LabelsLike = (),
    legend: bool = True,
    size: tuple[float, float] = SIZE,
    projection: Literal["3d"] | None = None,
) -> Iterator[Canvas]:
    """Draw on ``ax`` or on a new figure, without changing matplotlib's global settings.

    A new figure is closed if drawing fails.
    """
    style = style_of(theme)
    new_figure = None
    with style.context():
        if ax is None:
            new_figure = plt.figure(figsize=size, layout="constrained")
            ax = new_figure.add_subplot(projection=projection)
        elif projection == "3d" and not hasattr(ax, "zaxis"):
            msg = "this figure is 3-D: make the axes with projection='3d', or pass ax=None"
            raise InvalidParameterError(msg)
        canvas = Canvas(
            ax=ax,
            style=style,
            looks=looks_of(classes),
            is_new=new_figure is not None,
            has_legend=legend,
        )
        try:
            yield canvas
        except Exception:
            if new_figure is not None:
                plt.close(new_figure)
            raise
        style.dress(ax)


@contextmanager
def canvas_grid(
    theme: Theme,
    size: tuple[float, float],
    shape: tuple[int, int],
    classes: LabelsLike = (),
    *,
    sharey: bool = False,
    width_ratios: Sequence[float] | None = None,
) -> Iterator[Array]:
    """Yield an array of canvases of the given shape, in a new figure."""
    style = style_of(theme)
    looks = looks_of(classes)
    n_rows, n_columns = shape
    with style.context():
        figure = plt.figure(figsize=size, layout="constrained")
        axes = figure.subplots(
            n_rows, n_columns, squeeze=False, sharey=sharey, width_ratios=width_ratios
        )
        canvases = np.empty(shape, dtype=object)
        for place, ax in np.ndenumerate(axes):
            style.dress(ax)
            canvases[place] = Canvas(ax, style, looks)
        yield canvases
