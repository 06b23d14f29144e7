"""Count and report unusable rows; an infinite number raises an error."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import polars as pl

from suffice.core.text.lists import counted
from suffice.errors import InvalidInputError, ReadingWarning, UnusedDataWarning, warn
from suffice.typing import Flags, Floats

_MOST_NAMED = 5  # largest number of columns named in a warning


@dataclass(frozen=True, slots=True)
class RowsRead:
    """Numbers of rows read and of unusable rows, with the columns that make rows unusable."""

    rows: int = 0
    unusable: int = 0
    by_column: Mapping[str, int] = field(default_factory=dict)
    # number of rows with a new level, by category
    new_levels: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Self) -> Self:
        return type(self)(
            rows=self.rows + other.rows,
            unusable=self.unusable + other.unusable,
            by_column=dict(Counter(self.by_column) + Counter(other.by_column)),
            new_levels=dict(Counter(self.new_levels) + Counter(other.new_levels)),
        )

    def warn(self, *, predicting: bool = False) -> None:
        """Warn about the rows that could not be used."""
        rows = counted(self.rows, "row")
        if self.unusable:
            is_one = self.unusable == 1
            outcome = "is left out" if is_one else "are left out"
            if predicting:
                outcome = f"{'has' if is_one else 'have'} no prediction"
            reason = "too far from all classes"
            if self.by_column:
                reason = f"no usable value in {_counted(self.by_column)}"
            text = f"{self.unusable:,} of {rows} {outcome}: {reason}"
            warn(UnusedDataWarning(text, rows=self.unusable))
        if self.new_levels:
            warn(
                "levels that are not in the training rows count as missing values: "
                f"{_counted(self.new_levels)} of {rows}",
                ReadingWarning,
            )


def _counted(columns: Mapping[str, int]) -> str:
    worst = sorted(columns.items(), key=lambda item: -item[1])[:_MOST_NAMED]
    more = ", …" if len(columns) > _MOST_NAMED else ""
    return ", ".join(f"{name!r} ({count:,})" for name, count in worst) + more


def require_rows(n_rows: int, label: str) -> None:
    """Raise unless a source has at least one usable row."""
    if not n_rows:
        msg = (
            f"{label} has no row that can be used: each lacks its label, a number or a weight"
        )
        raise InvalidInputError(msg)


def all_finite(x: Floats) -> bool:
    """Return whether the sum of all numbers is finite, which means that every number is."""
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(x.sum()))


def gaps_in(x: Floats, names: Sequence[str], *, allow_missing: bool) -> dict[str, int]:
    """Return the number of unusable values of each column that has any."""
    unusable = np.isinf(x) if allow_missing else ~np.isfinite(x)
    counts = unusable.sum(axis=0).tolist()
    return {name: count for name, count in zip(names, counts, strict=True) if count}


def refuse_infinite_numbers(
    is_infinite: Flags,
    names: Sequence[str],
    label: str,
    first_row: int,
) -> None:
    """Raise an error that names the first infinite cell of (n, d), if there is one."""
    rows = np.flatnonzero(is_infinite.any(axis=1))
    if len(rows):
        row = int(rows[0])
        column = names[int(is_infinite[row].argmax())]
        raise InvalidInputError(_infinity(label, first_row + row, column))


def refuse_infinite_cells(column: pl.Series, name: str, label: str, first_row: int) -> None:
    """Raise an error that names the first infinite number of a column, if there is one."""
    if not column.dtype.is_float():
        return
    rows = column.is_infinite().fill_null(value=False).arg_true()
    if len(rows):
        raise InvalidInputError(_infinity(label, first_row + rows[0], name))


def _infinity(label: str, row: int, column: str) -> str:
    return (
        f"{label} contains infinity: row {row:,} (counted from 0), column {column!r}. Correct the "
        "cell, or drop the row. In a text file, you can also declare the value as missing with "
        "--na (TextFormat(na_values=…) in Python)"
    )
