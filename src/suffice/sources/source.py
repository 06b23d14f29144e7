"""What every place that holds rows can do, however it holds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from suffice.sources.columns import Roles
    from suffice.sources.files import File
    from suffice.sources.summed import Summed

SAMPLE_ROWS = 10_000  # first rows, by which columns are judged
SAMPLE_CELLS = 4_000_000  # of a wide table
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?")

Progress: TypeAlias = Callable[[int, int | None], None]  # rows done, rows in all if known
Telling: TypeAlias = Callable[[int], None]  # rows done


@dataclass(frozen=True, slots=True)
class TextStyle:
    """What a person may say about how rows are written; whatever is None is found out."""

    delimiter: str | None = None
    missing: tuple[str, ...] = ()  # marks beside the usual ones
    decimal: str | None = None
    thousands: str | None = None
    header: bool | None = None
    skip_rows: int = 0  # lines before the table
    comment: str | None = None  # how lines begin that are no rows
    encoding: str | None = None
    table: str | None = None  # of a database
    query: str | None = None  # whose rows to take, in place of a table
    method: str = "auto"  # how a database is summed

    @property
    def said(self) -> dict[str, Any]:
        """What was said, by its name, as JSON keeps it."""
        plain = ((f.name, getattr(self, f.name), f.default) for f in fields(self))
        told = ((name, value) for name, value, usual in plain if value != usual)
        return {n: list(v) if isinstance(v, tuple) else v for n, v in told}

    @property
    def marks(self) -> tuple[str, ...]:
        """What stands for a missing value."""
        return (*MISSING, *self.missing)


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A lazy table, and what messages call it."""

    label: str
    frame: pl.LazyFrame
    careful: pl.LazyFrame | None = None  # the same, read more slowly, if a number fails to parse
    # the rows, where they come so and the table above has none: from a start on, and how many
    batches: Callable[[int, int | None], Iterator[pl.DataFrame]] | None = None
    check: Callable[[], None] | None = None  # raises where rows would be lost in silence


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Rows somewhere, in one or more parts that have the same columns."""

    label: str  # what messages call it
    sample: pl.DataFrame  # the first rows, each column typed as it was found
    # each part as a lazy table of some columns; a type of None: as it is written
    scans: Callable[[Mapping[str, Any]], Iterable[Scan]]
    # number of rows, known or guessed without reading them; None where it is neither
    count: Callable[[], int | None] = lambda: None
    target: str | None = None  # the label column, where the source itself knows
    categorical: tuple[str, ...] = ()  # numbers that are levels, says whoever made the frame
    doubts: Mapping[str, str] = field(default_factory=dict)  # why columns are not read as numbers
    files: tuple[File, ...] = ()
    roles: Roles | None = None  # of the columns, where rows come as (X, y)
    named: bool = True  # whether the columns have names of their own
    # the sums of every usable row, of roles, whom to tell and options, by a database or a cluster
    summed: Callable[..., Summed] | None = None
    # the answers of a scorer for all rows, in order, by a cluster
    scored: Callable[..., Iterator[Any]] | None = None

    def telling(self, progress: Progress | None) -> Telling:
        """Return what tells whoever waits how many rows are done, of how many that are expected."""
        if progress is None:
            return lambda _: None
        expected = self.count()
        return lambda n_rows: progress(n_rows, expected)


def exactly(name: str) -> Any:
    """Return the column of this very name; ``pl.col`` would take some names for patterns."""
    plain = name != "*" and not (name.startswith("^") and name.endswith("$"))
    return pl.col(name) if plain else pl.selectors.by_name(name)


def picked(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return the columns of these very names; ``select`` would take some for patterns."""
    return pl.DataFrame([frame.get_column(name) for name in names])


def values_of(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return one column under a plain name; its methods take some names for patterns, too."""
    return frame.get_column(name).alias("values")


def copy_of(name: str) -> str:
    """Return what a column is called while it is copied as it is written, beside its numbers."""
    return f"\0{name}"


def cast(columns: Mapping[str, Any]) -> list[Any]:
    """Return the expressions that select columns and give them their types."""
    return [
        exactly(name.lstrip("\0")).alias(name) if dtype is None else exactly(name).cast(dtype)
        for name, dtype in columns.items()
    ]
