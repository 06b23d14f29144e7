"""What every place that holds rows can do; scans to frames, interruptibly; failures told."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import polars as pl

from suffice.core.text.lists import without_passwords
from suffice.errors import InvalidInputError, InvalidParameterError

if TYPE_CHECKING:
    from suffice.data.columns import Roles
    from suffice.data.row_files import File
    from suffice.data.summed import Summed

SAMPLE_ROWS = 10_000  # first rows, by which columns are judged
SAMPLE_CELLS = 4_000_000  # of a wide table
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?")
ODD = "\u200b"  # put behind a cell that breaks the format of its column, so that it fails to parse
_TICK = 0.1  # seconds; some signal handlers restart a wait, which then hears nothing by itself
_READERS: set[int] = (
    set()
)  # this process, once it has read anything, or one it was forked from
_FAILED = r"conversion from .* failed in column '(?P<column>.*?)' .*?values?: "
_ODD_VALUE = (
    r"could not parse `(?P<value>.*?)` as dtype `.*?` at column '(?P<column>.*?)'",
    _FAILED + r"\[\"(?P<value>.*?)\"[,\]]",
    _FAILED + r"\[\"?(?P<value>.*?)\"?[,\]]",
)
_KNOWN = {
    "invalid utf-8": "is not UTF-8 text: name it, such as --encoding latin-1 (encoding= in Python)",
    "found more fields": "has a line with more fields than the first: check delimiter and quotes",
    "n_extra =": "has a line with more fields than the first: check delimiter and quotes",
    "n_missing =": "has a line with fewer fields than the first: check delimiter and quotes",
    "empty CSV": "is empty: it needs a line of column names and rows",
}

Progress: TypeAlias = Callable[[int, int | None], None]  # rows done, rows in all if known
Telling: TypeAlias = Callable[[int], None]  # rows done
Result = TypeVar("Result")


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

    def __post_init__(self) -> None:
        if self.decimal is not None and self.decimal == self.thousands:
            msg = f"decimal and thousands are both {self.decimal!r}: no number could be told"
            raise InvalidParameterError(msg)

    @property
    def said(self) -> dict[str, Any]:
        said, usual = asdict(self), asdict(TextStyle())
        return {
            n: list(v) if isinstance(v, tuple) else v for n, v in said.items() if v != usual[n]
        }

    @property
    def marks(self) -> tuple[str, ...]:
        return (*MISSING, *self.missing)


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A lazy table, and what messages call it."""

    label: str
    frame: pl.LazyFrame
    careful: pl.LazyFrame | None = (
        None  # the same, read more slowly, if a number fails to parse
    )
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
    doubts: Mapping[str, str] = field(
        default_factory=dict
    )  # why columns are not read as numbers
    files: tuple[File, ...] = ()
    written: bool = False  # whether its cells are text, which tells no types
    cut: bool = False  # whether it has more rows than the sample, however few these are
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


def values_of(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return one column under a plain name; its methods take some names for patterns, too."""
    return frame.get_column(name).alias("values")


def copy_of(name: str) -> str:
    """Return what a column is called while it is copied as it is written, beside its numbers."""
    return f"\0{name}"


def cast(columns: Mapping[str, Any]) -> list[Any]:
    """Return the expressions that select columns and give them their types."""
    return [
        exactly(name.lstrip("\0")).alias(name)
        if dtype is None
        else as_type(exactly(name), dtype)
        for name, dtype in columns.items()
    ]


def as_type(column: Any, dtype: Any) -> Any:
    """Return a column in the type of its first rows; nothing where a whole number would be cut."""
    if not dtype.is_integer():
        return column.cast(dtype)
    fraction = column.cast(pl.Float64) % 1 != 0  # no label, rather than another
    return pl.when(~fraction).then(column.cast(dtype))


def interruptibly(work: Callable[[], Result]) -> Result:
    """Return what ``work`` returns; it runs in a thread of its own, which Ctrl-C abandons."""
    # a compiled reader does not hear Ctrl-C, or raises it again into the cleaning up
    return _awaited(_begun(work))


def _begun(work: Callable[[], Result]) -> Future[Result]:
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome


def _awaited(outcome: Future[Result]) -> Result:
    while not wait([outcome], timeout=_TICK).done:
        pass
    return outcome.result()


def read_ahead(items: Iterable[Result]) -> Iterator[Result]:
    """Yield items while a thread of its own already fetches the next."""
    fetch: Callable[[], Result | None] = partial(next, iter(items), None)
    coming = _begun(fetch)
    while (item := _awaited(coming)) is not None:
        coming = _begun(fetch)
        yield item


def frames_of_scan(
    scan: Scan,
    skip: int = 0,
    n_rows: int | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield rows of one scan in the reader's own batches: all, or some after those skipped."""
    with reading_of(scan.label), _checked(scan):
        yield from (scan.batches or partial(_batches, scan))(skip, n_rows)


@contextmanager
def _checked(scan: Scan) -> Iterator[None]:
    """Check a scan while it is read; what the check finds is told before any other failure."""
    outcome = _begun(scan.check or (lambda: None))
    try:
        yield
    except pl.exceptions.PolarsError:
        _awaited(outcome)
        raise
    _awaited(outcome)


def _batches(scan: Scan, skip: int, n_rows: int | None) -> Iterator[pl.DataFrame]:
    """Yield the rows of a scan; where a value fails to parse, the rest is read with care."""
    done, all_rows = 0, not skip and n_rows is None
    try:
        for frame in batches_of(scan.frame if all_rows else scan.frame.slice(skip, n_rows)):
            yield frame
            done += frame.height
    except pl.exceptions.ComputeError:
        if scan.careful is None:
            raise
        yield from batches_of(scan.careful.slice(skip, n_rows).slice(done))


def batches_of(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows of a lazy table in the reader's own batches, in order; Ctrl-C is heard."""
    rest = iter(frame.collect_batches(maintain_order=True))
    while (batch := interruptibly(lambda: next(rest, None))) is not None:
        yield batch


def _refuse_after_fork() -> None:
    """Raise where threads of a compiled reader did not survive a fork: they would be awaited."""
    # a process that is forked remembers the reader that it was forked from
    _READERS.update([] if _READERS else [os.getpid()])
    if os.getpid() not in _READERS:
        cure = (
            'start workers with multiprocessing.get_context("spawn"), or fork before reading'
        )
        msg = f"this process was forked from one that had read files: its threads are gone; {cure}"
        raise InvalidInputError(msg)


@contextmanager
def reading_of(label: str) -> Iterator[None]:
    """Turn a failure to read ``label`` into an error that names it."""
    _refuse_after_fork()
    try:
        yield
    except UnicodeDecodeError as error:
        msg = f"{label} is not {error.encoding} text ({error.reason}): name another encoding"
        raise InvalidInputError(msg) from error
    except (pl.exceptions.PolarsError, OSError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        text = without_passwords(str(error))
        cause = (
            error if text == str(error) else None
        )  # its text may hold a secret of the address
        raise InvalidInputError(without_passwords(_told(text, label))) from cause


def _told(complaint: str, label: str) -> str:
    for pattern in _ODD_VALUE:
        if found := re.search(pattern, complaint):
            value, column = found["value"].rstrip(ODD), found["column"]
            cure = f"correct it, declare {value!r} as missing, or ignore the column"
            holds = (
                f"column {column!r} holds {value!r} where its first rows hold something else"
            )
            return f"{label}: {holds}: {cure}"
    for sign, meaning in _KNOWN.items():
        if sign in complaint:
            return f"{label} {meaning}"
    reason = complaint.splitlines()[0] if complaint else "no reason given"
    return f"{label} cannot be read ({reason}): is it whole, and of the format its name says?"
