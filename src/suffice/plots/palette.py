"""One colour, marker, line and hatch for each class, the same in every figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from suffice.evaluation.curves.predictions import code_of
from suffice.plots.words import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

Dashes: TypeAlias = "str | tuple[int, tuple[int, ...]]"

# Six of Okabe & Ito, then those that stay furthest apart for every kind of colour vision
COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#937AF7", "#9F3501",
    "#B2B490", "#715367", "#2D569A", "#9C5A4F", "#6FAA62", "#E98DFE", "#8CBBBE", "#6647C0",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d")
LINES: tuple[Dashes, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
HATCHES = ("", "//", "\\\\", "..", "xx", "--", "||", "++")


@dataclass(frozen=True, slots=True)
class Look:
    """How one class is drawn."""

    colour: str
    marker: str
    line: Dashes
    hatch: str


@dataclass(frozen=True, slots=True, eq=False)
class Palette:
    """The look of each class, by its place among the classes.

    Colours are told apart with any colour vision; markers, lines and hatches in grey print.
    The first 208 classes differ in colour or marker.

    References
    ----------
    Okabe & Ito (2008), *Color Universal Design*.

    Examples
    --------
    >>> palette = Palette.of(["setosa", "virginica"])
    >>> palette["virginica"].colour, palette["virginica"].marker
    ('#E69F00', 's')
    """

    labels: tuple[Any, ...]
    looks: tuple[Look, ...]

    @classmethod
    def of(cls, labels: Iterable[Any]) -> Palette:
        """Return the palette of classes in this order."""
        plain = tuple(np.asarray(labels).tolist())
        return cls(plain, tuple(_look(k) for k in range(len(plain))))

    def __getitem__(self, label: Any) -> Look:
        return self.looks[code_of(label, self.labels)]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """Labels as text, short enough for a legend and still all different."""
        return shortened(self.labels)

    def ordered(self, labels: Iterable[Any]) -> Palette:
        """Return the same looks in another order of labels."""
        plain = tuple(np.asarray(labels).tolist())
        return Palette(plain, tuple(self[label] for label in plain))


def _look(k: int) -> Look:
    return Look(
        COLOURS[k % len(COLOURS)],
        MARKERS[k % len(MARKERS)],
        LINES[k % len(LINES)],
        HATCHES[k % len(HATCHES)],
    )


def palette_for(classes: Any, palette: Palette | None) -> Palette:
    """Return the given palette in the order of the classes, or theirs by default."""
    return Palette.of(classes) if palette is None else palette.ordered(classes)
