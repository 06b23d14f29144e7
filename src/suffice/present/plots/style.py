"""Styles of figures, and a colour, marker, line and hatch for each class."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.typing import ColorType, LineStyleType

from suffice.core.text.lists import shortened
from suffice.errors import InvalidParameterError
from suffice.typing import Floats, LabelsLike


@dataclass(frozen=True, slots=True)
class Style:
    """The colours of text, lines and page of a theme; figures have transparent backgrounds."""

    ink: str  # text and boundaries
    soft: str  # axes, ticks and secondary lines
    grid: str  # faint lines
    ground: str  # colour of the page, for edges of markers and outlines of text
    accent: str  # for quantities that belong to no class

    def context(self) -> AbstractContextManager[None]:
        """Return a context in which matplotlib draws in this style."""
        return mpl.rc_context(
            {
                "figure.facecolor": "none",
                "axes.facecolor": "none",
                "axes.edgecolor": self.soft,
                "axes.labelcolor": self.ink,
                "axes.titlecolor": self.ink,
                "axes.linewidth": 0.8,
                "axes.axisbelow": True,
                "axes.grid": False,
                "axes.labelsize": 9.5,
                "axes.titlesize": 10,
                "font.size": 9.5,
                "text.color": self.ink,
                "grid.color": self.grid,
                "grid.linewidth": 0.7,
                "hatch.linewidth": 0.5,
                "legend.fontsize": 9,
                "legend.frameon": False,
                "lines.linewidth": 1.6,
                "lines.solid_capstyle": "round",
                "patch.linewidth": 0.8,
                "xtick.labelsize": 8.5,
                "ytick.labelsize": 8.5,
                # a report has more figures than the default limit
                "figure.max_open_warning": 0,
            }
        )

    def dress(self, ax: Axes) -> None:
        """Set the colours of the frame, ticks and labels of axes, which may be 3-D."""
        ax.tick_params(color=self.soft, labelcolor=self.ink, labelsize=8.5)
        for side, spine in ax.spines.items():
            spine.set_color(self.soft)
            if side not in {"left", "bottom"}:
                spine.set_visible(False)
        ax.xaxis.label.set_color(self.ink)
        ax.yaxis.label.set_color(self.ink)
        ax.title.set_color(self.ink)
        if hasattr(ax, "zaxis"):
            self._dress_3d(ax)

    def _dress_3d(self, ax: Any) -> None:
        ax.zaxis.label.set_color(self.ink)
        ax.tick_params(axis="z", color=self.soft, labelcolor=self.ink, labelsize=8.5)
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_pane_color((0, 0, 0, 0))
            axis.line.set_color(self.soft)
            axis._axinfo["grid"].update(color=self.grid, linewidth=0.6)


LIGHT = Style(
    ink="#1b1f24",
    soft="#6b7480",
    grid="#dfe3e8",
    ground="#ffffff",
    accent="#0072B2",
)
DARK = Style(
    ink="#e8edf2",
    soft="#98a2ae",
    grid="#363d47",
    ground="#14171c",
    accent="#56B4E9",
)
THEMES: Mapping[str, Style] = {"light": LIGHT, "dark": DARK}
Theme: TypeAlias = Literal["light", "dark"]


def style_of(theme: Theme) -> Style:
    """Return the style of a theme."""
    if theme not in THEMES:
        raise InvalidParameterError(f"theme={theme!r}: expected 'light' or 'dark'")
    return THEMES[theme]


def mixed(colour: ColorType, other: ColorType, share: float | Floats) -> Floats:
    """Return the mixture of two colours, (…, 3), for each share (…, 1) of the first."""
    first = np.array(to_rgb(colour))
    second = np.array(to_rgb(other))
    return np.asarray(share * first + (1 - share) * second)


# Six colours of Okabe & Ito, followed by colours that differ under all kinds of colour vision.
COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#937AF7",
    "#9F3501",
    "#B2B490",
    "#715367",
    "#2D569A",
    "#9C5A4F",
    "#6FAA62",
    "#E98DFE",
    "#8CBBBE",
    "#6647C0",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d")
DASHES: tuple[LineStyleType, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
HATCHES = ("", "//", "\\\\", "..", "xx", "--", "||", "++")


@dataclass(frozen=True, slots=True)
class Look:
    """The colour, marker, line and hatch of a class, and its name in a legend."""

    label: Any
    name: str  # label of the class, shortened for a legend
    colour: str
    marker: str
    dashes: LineStyleType
    hatch: str


def looks_of(labels: LabelsLike) -> tuple[Look, ...]:
    """Return a look for each class, by code; the first 208 differ in colour or marker."""
    # Okabe & Ito (2008), *Color Universal Design*
    plain_labels = np.asarray(labels).tolist()
    looks = []
    for k, (label, name) in enumerate(zip(plain_labels, shortened(plain_labels), strict=True)):
        look = Look(
            label=label,
            name=name,
            colour=COLOURS[k % len(COLOURS)],
            marker=MARKERS[k % len(MARKERS)],
            dashes=DASHES[k % len(DASHES)],
            hatch=HATCHES[k % len(HATCHES)],
        )
        looks.append(look)
    return tuple(looks)
