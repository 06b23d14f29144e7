"""What is left out, and how it is said: columns that are not numbers, rows that are not whole.

The Gaussian models take numbers. So: a column that holds no numbers is left out unless it is the
target, an id is left out, and a row that lacks a number, its label or its weight, or holds an
infinite number, is left out. Each time one warning says what and how many.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import SufficeWarning
from suffice.text.lists import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from suffice.typing import Floats

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many rows were read, and how many of them could not be used, by column."""

    rows: int = 0
    unusable: int = 0
    by_column: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: LeftOut) -> LeftOut:
        names = {**self.by_column, **other.by_column}
        both = {n: self.by_column.get(n, 0) + other.by_column.get(n, 0) for n in names}
        return LeftOut(self.rows + other.rows, self.unusable + other.unusable, both)

    def say(self, outcome: str = "left out") -> None:
        """Warn of rows that could not be used, if there were any."""
        if not self.unusable:
            return
        worst = sorted(self.by_column.items(), key=lambda item: -item[1])[:_MOST_NAMED]
        places = ", ".join(f"{name!r} ({count:,})" for name, count in worst)
        more = ", …" if len(self.by_column) > _MOST_NAMED else ""
        rows = "row" if self.rows == 1 else "rows"
        tell(
            f"{self.unusable:,} of {self.rows:,} {rows} {outcome}: "
            f"no usable value in {places}{more}"
        )


def usable_rows(x: Floats) -> Any:
    """Return which rows of ``x`` are finite, or None if all are."""
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(x.sum()):
            return None
    whole = np.isfinite(x).all(1)
    return None if whole.all() else whole


def say_columns(left_out: Mapping[str, Sequence[str]]) -> None:
    """Warn of columns that are not used: reason → names."""
    reasons = [
        f"{quoted(names, _MOST_NAMED)} ({reason})" for reason, names in left_out.items() if names
    ]
    if reasons:
        tell(f"columns left out: {'; '.join(reasons)}")


def tell(message: str) -> None:
    """Say something that is valid but may surprise."""
    warnings.warn(message, SufficeWarning, stacklevel=_depth_of_caller())


def _depth_of_caller() -> int:
    """Return the stack level of the first frame outside this library, for the warning's line."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("suffice."):
        frame, depth = frame.f_back, depth + 1
    return depth
