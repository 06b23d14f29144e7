"""Colours and sizes of everything that is not a class, for light and for dark pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import matplotlib as mpl

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Style:
    """Colours of text, lines and ground; the background itself is transparent.

    Examples
    --------
    >>> with LIGHT.context():
    ...     mpl.rcParams["text.color"] == LIGHT.ink
    True
    """

    ink: str  # text, boundaries
    soft: str  # axes, ticks, secondary lines
    grid: str  # faint lines
    ground: str  # the page: edges of markers, halos
    accent: str  # shades of one quantity

    @property
    def rc(self) -> dict[str, Any]:
        """Settings of matplotlib under which figures are drawn."""
        return {
            "figure.facecolor": "none",
            "figure.max_open_warning": 0,  # a report has more than 20
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
            "grid.color": self.grid,
            "grid.linewidth": 0.7,
            "hatch.linewidth": 0.5,
            "legend.fontsize": 9,
            "legend.frameon": False,
            "lines.linewidth": 1.6,
            "lines.solid_capstyle": "round",
            "patch.linewidth": 0.8,
            "text.color": self.ink,
            "xtick.labelsize": 8.5,
            "ytick.labelsize": 8.5,
        }

    def context(self) -> AbstractContextManager[None]:
        """Return a context in which matplotlib draws in this style, and then forgets it."""
        settings: Any = self.rc
        return mpl.rc_context(settings)

    def dress(self, ax: Axes) -> None:
        """Give the frame, ticks and labels of axes this style; ticks are made only later."""
        ax.tick_params(color=self.soft, labelcolor=self.ink, labelsize=8.5)
        for side, spine in ax.spines.items():
            spine.set_color(self.soft)
            spine.set_visible(side in {"left", "bottom"} and spine.get_visible())
        for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
            text.set_color(self.ink)
        if hasattr(ax, "zaxis"):
            self._dress_box(ax)

    def _dress_box(self, ax: Any) -> None:
        """Give the box of a 3-D axes this style."""
        ax.zaxis.label.set_color(self.ink)
        ax.tick_params(axis="z", color=self.soft, labelcolor=self.ink, labelsize=8.5)
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_pane_color((0, 0, 0, 0))
            axis.line.set_color(self.soft)
            axis._axinfo["grid"].update(color=self.grid, linewidth=0.6)


LIGHT = Style("#1b1f24", "#6b7480", "#dfe3e8", "#ffffff", "#0072B2")
DARK = Style("#e8edf2", "#98a2ae", "#363d47", "#14171c", "#56B4E9")
THEMES: Mapping[str, Style] = {"light": LIGHT, "dark": DARK}
Theme: TypeAlias = Literal["light", "dark"] | Style


def style_of(theme: Theme) -> Style:
    """Return the style of a theme's name, or the style itself."""
    if isinstance(theme, Style):
        return theme
    if theme not in THEMES:
        msg = f"theme={theme!r}: expected 'light', 'dark' or a Style"
        raise InvalidParameterError(msg)
    return THEMES[theme]
