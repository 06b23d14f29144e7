"""One colour, marker, line and hatch for each class, the same in every figure."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb

from suffice.core.text.lists import shortened
from suffice.errors import InvalidParameterError


@dataclass(frozen=True, slots=True)
class Style:
    """Colours of text, lines and ground; the background itself is transparent."""

    ink: str  # text, boundaries
    soft: str  # axes, ticks, secondary lines
    grid: str  # faint lines
    ground: str  # the page: edges of markers, halos
    accent: str  # shades of one quantity

    def context(self) -> AbstractContextManager[None]:
        """Return a context in which matplotlib draws in this style, and then forgets it."""
        settings: Any = {
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
            "figure.max_open_warning": 0,  # a report has more than 20
        }
        return mpl.rc_context(settings)

    def dress(self, ax: Any) -> None:
        """Give the frame, ticks and labels of axes this style; ticks are made only later."""
        ax.tick_params(color=self.soft, labelcolor=self.ink, labelsize=8.5)
        for side, spine in ax.spines.items():
            spine.set_color(self.soft)
            spine.set_visible(side in {"left", "bottom"} and spine.get_visible())
        for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
            text.set_color(self.ink)
        if hasattr(ax, "zaxis"):
            ax.zaxis.label.set_color(self.ink)
            ax.tick_params(axis="z", color=self.soft, labelcolor=self.ink, labelsize=8.5)
            for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
                axis.set_pane_color((0, 0, 0, 0))
                axis.line.set_color(self.soft)
                axis._axinfo["grid"].update(color=self.grid, linewidth=0.6)


LIGHT = Style("#1b1f24", "#6b7480", "#dfe3e8", "#ffffff", "#0072B2")
DARK = Style("#e8edf2", "#98a2ae", "#363d47", "#14171c", "#56B4E9")
THEMES: Mapping[str, Style] = {"light": LIGHT, "dark": DARK}
Theme: TypeAlias = Literal["light", "dark"]


def style_of(theme: Theme) -> Style:
    """Return the style of a theme's name."""
    if theme not in THEMES:
        raise InvalidParameterError(f"theme={theme!r}: expected 'light' or 'dark'")
    return THEMES[theme]


def mixed(colour: Any, other: Any, share: Any) -> Any:
    """Return colours (…, 3): a share (…, 1) of one, the rest of another."""
    return share * np.array(to_rgb(colour)) + (1 - share) * np.array(to_rgb(other))


# Six of Okabe & Ito, then those that stay furthest apart for every kind of colour vision
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
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
HATCHES = ("", "//", "\\\\", "..", "xx", "--", "||", "++")


@dataclass(frozen=True, slots=True)
class Look:
    """How one class is drawn, and what it is called."""

    label: Any
    name: str  # short enough for a legend
    colour: str
    marker: str
    line: Any  # dashes, as matplotlib takes them
    hatch: str


def looks_of(labels: Iterable[Any]) -> tuple[Look, ...]:
    """Return the look of each class, by its place; the first 208 differ in colour or marker."""
    # Okabe & Ito (2008), *Color Universal Design*
    parts: Any = (COLOURS, MARKERS, LINES, HATCHES)
    plain = np.asarray(labels).tolist()
    return tuple(
        Look(label, name, *(part[k % len(part)] for part in parts))
        for k, (label, name) in enumerate(zip(plain, shortened(plain), strict=True))
    )
