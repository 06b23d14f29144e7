"""Count the distinct values of a column in bounded memory, whatever the order of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Self

import polars as pl

from suffice.core.table.mixed import is_free_text
from suffice.data.source import values_of
from suffice.errors import InvalidInputError

if TYPE_CHECKING:
    from suffice.data.columns.roles import Roles

_KEPT = 1 << 18  # number of hashes kept: 4 MB with their counts
_HASHES = 2.0**64
MOST_VALUES = 200_000  # a column with more distinct levels is left out


class LateValuesError(InvalidInputError):
    """Later values of a column contradict what its first rows suggested."""

    def __init__(self, label: str, column: str, reason: str) -> None:
        self.label = label
        self.column = column
        self.reason = reason
        super().__init__(
            f"{label}: column {column!r} {reason}, and the rows cannot be read again: save them "
            "to a file, or say how to use the column with --feature, --id or --ignore (Columns in "
            "Python)"
        )

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str]]:
        return type(self), (self.label, self.column, self.reason)


class DistinctValues:
    """Numbers of rows by value, for the values with the smallest hashes."""

    def __init__(self, n_kept: int = _KEPT) -> None:
        self._n_kept = n_kept
        self._counts = pl.DataFrame(schema={"hash": pl.UInt64, "rows": pl.UInt32})
        self._new: list[pl.Series] = []
        self._n_new = 0
        self._largest: int | None = None  # largest hash kept, once some hashes were dropped
        self.n_rows = 0
        self.n_empty = 0

    def add(self, column: pl.Series) -> None:
        """Count the values of more rows; all missing values count as one value."""
        self.n_rows += len(column)
        self.n_empty += column.null_count()
        hashes = column.hash(seed=0)
        if self._largest is not None:
            hashes = hashes.filter(hashes <= self._largest)
        self._new.append(hashes)
        self._n_new += len(hashes)
        if self._n_new >= self._n_kept:
            self._merge()

    def _merge(self) -> None:
        """Add the new hashes to the counts, and keep the smallest ones."""
        new = pl.concat(self._new).alias("hash").value_counts(name="rows")
        both = pl.concat([self._counts, new]).group_by("hash").agg(pl.col("rows").sum())
        self._counts = both.sort("hash").head(self._n_kept)
        if both.height > self._n_kept:
            self._largest = int(self._counts["hash"][-1])
        self._new = []
        self._n_new = 0

    @property
    def repeats(self) -> bool:
        """Whether any value occurs in two rows."""
        if self._counts.is_empty() and self._new:
            hashes = pl.concat(self._new)
            return hashes.n_unique() < len(hashes)
        if self._new:
            self._merge()
        return bool((self._counts["rows"] > 1).any())

    @property
    def n_distinct(self) -> float:
        """Number of distinct values; an estimate if there are more than ``_KEPT``."""
        if self._counts.is_empty() and self._new:
            return pl.concat(self._new).n_unique() - (self.n_empty > 0)
        if self._new:
            self._merge()
        if self._largest is None:
            return self._counts.height - (self.n_empty > 0)
        # The k-th smallest of n uniform numbers in [0, 1] is close to k / n.
        return (self._n_kept - 1) / (self._largest / _HASHES)


def checked_frames(
    frames: Iterable[pl.DataFrame],
    roles: Roles,
    label: str,
    added: Sequence[str],
) -> Iterator[pl.DataFrame]:
    """Yield frames without the ``added`` columns, after counting their values.

    At the end, raise if a column was left out because its first values are all distinct, but later
    values repeat.
    """
    ids = {name: DistinctValues() for name in roles.guessed_ids}
    texts = {name: DistinctValues() for name in roles.free_texts}
    for frame in frames:
        for name, values in (ids | texts).items():
            values.add(values_of(frame, name))
        yield frame[[name for name in frame.columns if name not in added]]
    for name, values in ids.items():
        if values.repeats:
            raise LateValuesError(
                label, name, "looks like an id in its first rows, but later rows repeat values"
            )
    for name, values in texts.items():
        if not is_free_text(round(values.n_distinct), values.n_rows - values.n_empty):
            raise LateValuesError(
                label,
                name,
                "holds texts that nearly all differ in its first rows, but not later",
            )


def counted_values(
    frames: Iterable[pl.DataFrame],
    names: Sequence[str],
) -> dict[str, pl.DataFrame]:
    """Return the values of some columns with their counts; columns with too many are missing."""
    counts: dict[str, pl.DataFrame] = {}
    too_many: set[str] = set()
    for frame in frames:
        for name in names:
            if name in too_many:
                continue
            merged = values_of(frame, name).value_counts(name="rows")
            if name in counts:
                both = pl.concat([counts[name], merged])
                merged = both.group_by("values").agg(pl.col("rows").sum())
            counts[name] = merged
            if merged.height > MOST_VALUES:
                too_many.add(name)
                del counts[name]
    return counts
