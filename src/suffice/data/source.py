"""The interface of all sources of rows: their first rows, and scans of all rows."""

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

# Appended to a cell that breaks the format of its column, which makes parsing fail.
MALFORMED = "\u200b"
SAMPLE_ROWS = 10_000  # number of first rows from which column types and roles are decided
SAMPLE_CELLS = 4_000_000  # limit on the number of cells in the first rows of wide tables

ColumnType: TypeAlias = pl.DataType | type[pl.DataType]
# The type that each column is read as; None means the original spelling of cells.
ColumnTypes: TypeAlias = Mapping[str, ColumnType | None]
# called with the number of rows done, and the total if it is known
Progress: TypeAlias = Callable[[int, int | None], None]
RowsDone: TypeAlias = Callable[[int], None]
# Returns the batches of a scan from a first row on, for a number of rows; None means all rows.
Batches: TypeAlias = Callable[[int, int | None], Iterator[pl.DataFrame]]
# predictions, and counts of the rows without a prediction
ScoredRows: TypeAlias = "tuple[pl.DataFrame, RowsRead]"


class RowScorer(Protocol):
    """Turns rows into predictions; messages use ``label`` and ``first_row``."""

    def __call__(self, frame: pl.DataFrame, label: str, first_row: int) -> ScoredRows: ...


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A lazy table with a name for messages."""

    label: str
    frame: pl.LazyFrame
    # The rows, if the source arrives in batches; ``frame`` then has only their types.
    batches: Batches | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A source of rows, in one or more parts with the same columns."""

    label: str  # name of the source in messages
    sample: pl.DataFrame  # the first rows, with column types
    # Returns each part as a lazy table with the given columns.
    scans: Callable[[ColumnTypes], Iterable[Scan]]
    # Returns the number of rows, exact or estimated without reading them; None if unknown.
    count: Callable[[], int | None] = lambda: None
    target: str | None = None  # the label column, if the source names it
    categorical: tuple[str, ...] = ()  # numeric columns that the frame declares as categories
    doubts: Mapping[str, str] = field(
        default_factory=dict
    )  # by column, why it is not read as numbers although it may be numeric
    files: tuple[File, ...] = ()
    is_text: bool = False  # whether cells are text, so that types were guessed
    # whether there are more rows than the sample, even if the sample is small
    has_more: bool = False
    # Notation of numbers and dates in text files, by column.
    notations: Mapping[str, Notation] = field(default_factory=dict)
    # Returns the same source with one more column read as text; None if rows can be read only once.
    with_text: Callable[[str], Source] | None = None
    # Columns whose later rows contradict the first rows, because values repeat or there are more
    # levels.
    repeating: frozenset[str] = frozenset()
    rereads: bool = False  # whether the rows can be scanned again
    roles: Roles | None = None  # roles of the columns, if rows come as (X, y)
    named: bool = True  # whether the user named the columns
    # Computes the sums of all usable rows in a database or on a cluster.
    summed: Callable[[Roles, SumSettings, RowsDone], Summed] | None = None
    # Computes the predictions for all rows, in order, on a cluster.
    scored: Callable[[RowScorer, Roles], Iterator[ScoredRows]] | None = None

    def report_to(self, progress: Progress | None) -> RowsDone:
        """Return a function that reports the rows done and the expected total to ``progress``."""
        if progress is None:
            return lambda _: None
        expected = self.count()
        return lambda n_rows: progress(n_rows, expected)


def exactly(name: str) -> pl.Expr:
    """Return the column with exactly this name; ``pl.col`` treats some names as patterns."""
    is_pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return pl.selectors.by_name(name) if is_pattern else pl.col(name)


def values_of(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return a column renamed to "values"; Series methods treat some names as patterns."""
    return frame.get_column(name).alias("values")


def copy_of(name: str) -> str:
    """Return the name for the copy of a column in its original spelling."""
    return f"\0{name}"


def original_of(name: str) -> str:
    """Return the name of the column that was copied."""
    return name.lstrip("\0")


def cast(columns: ColumnTypes) -> list[pl.Expr]:
    """Return expressions that select the columns and cast them to their types."""
    expressions = []
    for name, dtype in columns.items():
        if dtype is None:
            expressions.append(exactly(original_of(name)).alias(name))
        else:
            expressions.append(as_type(exactly(name), dtype))
    return expressions


def as_type(column: pl.Expr, dtype: ColumnType) -> pl.Expr:
    """Return a column cast to the type of its first rows; the cast of 2.5 to integer fails."""
    if not dtype.is_integer():
        return column.cast(dtype)
    # polars alone would truncate a label of 2.5 among integers to 2.
    number = column.cast(pl.Float64).fill_nan(None)
    has_fraction = (number % 1 != 0).fill_null(value=False)
    whole = pl.when(~has_fraction & number.is_not_null()).then(column).cast(dtype)
    fraction = pl.when(has_fraction).then(column.cast(pl.String) + MALFORMED)
    return pl.coalesce(whole, fraction.cast(dtype))
