"""What every source of rows can do: show its first rows, and scan all of them as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from suffice.core.table.notation import Notation
    from suffice.data.columns.roles import Roles
    from suffice.data.formats.file_source import File
    from suffice.data.options import SumSettings
    from suffice.data.rows.left_out import RowsRead
    from suffice.data.sums.running import Summed

# Put behind a cell that breaks the format of its column, so that it fails to parse.
MALFORMED = "\u200b"
SAMPLE_ROWS = 10_000  # first rows, from which the types and roles of columns are decided
SAMPLE_CELLS = 4_000_000  # limit on the first rows of a wide table

ColumnType: TypeAlias = pl.DataType | type[pl.DataType]
# The type to read each column as. None copies the cells as they are written.
ColumnTypes: TypeAlias = Mapping[str, ColumnType | None]
Progress: TypeAlias = Callable[[int, int | None], None]  # rows done, rows in all if known
RowsDone: TypeAlias = Callable[[int], None]
# Batches of a scan, from a first row on, all or that many.
Batches: TypeAlias = Callable[[int, int | None], Iterator[pl.DataFrame]]
ScoredRows: TypeAlias = (
    "tuple[pl.DataFrame, RowsRead]"  # predictions, and the rows without any
)


class RowScorer(Protocol):
    """Turns rows into predictions. ``label`` and ``first_row`` are for messages."""

    def __call__(self, frame: pl.DataFrame, label: str, first_row: int) -> ScoredRows: ...


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A lazy table, and its name in messages."""

    label: str
    frame: pl.LazyFrame
    # The rows, for sources that arrive in batches; ``frame`` then holds their types only.
    batches: Batches | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Rows somewhere, in one or more parts that have the same columns."""

    label: str  # its name in messages
    sample: pl.DataFrame  # the first rows, each column typed
    scans: Callable[[ColumnTypes], Iterable[Scan]]  # each part as a lazy table of some columns
    # Number of rows, known or estimated without reading them; None where it is neither.
    count: Callable[[], int | None] = lambda: None
    target: str | None = None  # the label column, where the source itself names it
    categorical: tuple[str, ...] = ()  # numbers that the frame itself declares as categories
    doubts: Mapping[str, str] = field(
        default_factory=dict
    )  # why columns are not read as numbers
    files: tuple[File, ...] = ()
    is_text: bool = False  # whether cells are text, so that types are guessed
    # whether there are more rows than the sample, however few these are
    has_more: bool = False
    # How text writes the numbers and dates of its columns, by name.
    notations: Mapping[str, Notation] = field(default_factory=dict)
    # The same rows with one more column read as text, where they can be read again.
    with_text: Callable[[str], Source] | None = None
    # Columns that later rows show to repeat their values, though the first rows do not, or to have
    # more levels than these show.
    repeating: frozenset[str] = frozenset()
    rereads: bool = False  # whether the rows can be scanned a second time
    roles: Roles | None = None  # of the columns, where rows come as (X, y)
    named: bool = True  # whether the user named the columns
    # Sums of every usable row, computed by a database or a cluster.
    summed: Callable[[Roles, SumSettings, RowsDone], Summed] | None = None
    # Predictions for all rows, in order, computed by a cluster.
    scored: Callable[[RowScorer, Roles], Iterator[ScoredRows]] | None = None

    def report_to(self, progress: Progress | None) -> RowsDone:
        """Return a function that reports the rows done to ``progress``, with those expected."""
        if progress is None:
            return lambda _: None
        expected = self.count()
        return lambda n_rows: progress(n_rows, expected)


def exactly(name: str) -> pl.Expr:
    """Return the column of this very name; ``pl.col`` would take some names for patterns."""
    is_pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return pl.selectors.by_name(name) if is_pattern else pl.col(name)


def values_of(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return one column under a plain name; methods of a series take some names for patterns."""
    return frame.get_column(name).alias("values")


def copy_of(name: str) -> str:
    """Return the name of the copy of a column as it is written, next to its numbers."""
    return f"\0{name}"


def original_of(name: str) -> str:
    """Return the name of the column that a copy was made of."""
    return name.lstrip("\0")


def cast(columns: ColumnTypes) -> list[pl.Expr]:
    """Return the expressions that select columns and give them their types."""
    expressions = []
    for name, dtype in columns.items():
        if dtype is None:
            expressions.append(exactly(original_of(name)).alias(name))
        else:
            expressions.append(as_type(exactly(name), dtype))
    return expressions


def as_type(column: pl.Expr, dtype: ColumnType) -> pl.Expr:
    """Return a column in the type of its first rows; a fraction fails where these are whole."""
    if not dtype.is_integer():
        return column.cast(dtype)
    # The cast itself would cut a label of 2.5 among integers to 2.
    number = column.cast(pl.Float64).fill_nan(None)
    has_fraction = (number % 1 != 0).fill_null(value=False)
    whole = pl.when(~has_fraction & number.is_not_null()).then(column).cast(dtype)
    fraction = pl.when(has_fraction).then(column.cast(pl.String) + MALFORMED)
    return pl.coalesce(whole, fraction.cast(dtype))
