"""Rows that arrive in batches, once: Arrow streams, and iterables of frames or of (X, y)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from suffice.errors import InvalidInputError
from suffice.sources.columns import EMPTY, kinds_of
from suffice.sources.source import SAMPLE_ROWS, Scan, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True, slots=True, eq=False)
class FrameSource:
    """The rows of a polars frame, eager or lazy."""

    label: str
    frame: pl.LazyFrame
    sample: pl.DataFrame
    n_rows: int | None
    target: str | None = None

    @classmethod
    def of(cls, frame: Any) -> FrameSource:
        """Return the source of a pandas, polars or pyarrow frame, or an Arrow stream."""
        known = as_frame(frame)
        if isinstance(known, pl.LazyFrame):
            return cls("the lazy frame", known, known.head(SAMPLE_ROWS).collect(), None)
        return cls("the frame", known.lazy(), known.head(SAMPLE_ROWS), known.height)

    def scans(self, columns: Mapping[str, Any]) -> Iterator[Scan]:
        """Yield the frame."""
        yield Scan(self.label, self.frame.select(cast(columns)))


def is_frame(source: Any) -> bool:
    """Return whether this is a table with named columns."""
    arrow = hasattr(source, "__arrow_c_stream__")
    return arrow or isinstance(source, pl.LazyFrame) or _is_pandas(source)


def _is_pandas(source: Any) -> bool:
    return type(source).__module__.startswith("pandas") and hasattr(source, "columns")


def is_stream(source: Any) -> bool:
    """Return whether this hands out Arrow batches rather than being a table in memory."""
    in_memory = hasattr(source, "num_rows") or isinstance(source, pl.DataFrame)
    return hasattr(source, "__arrow_c_stream__") and not in_memory and not _is_pandas(source)


def arrow_batches(source: Any) -> Iterator[pl.DataFrame]:
    """Yield the batches of any object that exports an Arrow stream."""
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(source)
    yield pl.DataFrame(reader.schema.empty_table())
    for batch in reader:
        yield pl.DataFrame(batch)


def as_frame(frame: Any) -> Any:
    """Return a pandas or pyarrow table, or an Arrow stream, as a polars one; lazy ones stay so."""
    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        return frame
    return _from_pandas(frame) if _is_pandas(frame) else pl.DataFrame(frame)


def _from_pandas(frame: Any) -> pl.DataFrame:
    if not all(isinstance(name, str) for name in frame.columns):
        msg = "the columns of the frame must be named by text: df.columns = df.columns.astype(str)"
        raise InvalidInputError(msg)
    if frame.columns.has_duplicates:
        twin = frame.columns[frame.columns.duplicated()][0]
        msg = f"the frame has two columns called {twin!r}: rename one of them"
        raise InvalidInputError(msg)
    try:
        return pl.from_pandas(frame)
    except Exception as error:
        msg = f"the frame cannot be read ({error}): give each column values of one type"
        raise InvalidInputError(msg) from error


@dataclass(frozen=True, slots=True, eq=False)
class BatchSource:
    """Frames that come one after another and can be read once; all have the same columns."""

    label: str
    sample: pl.DataFrame
    frames: Iterator[pl.DataFrame]
    target: str | None = None
    n_rows: int | None = None

    @classmethod
    def of(cls, frames: Iterable[pl.DataFrame], label: str) -> BatchSource:
        """Return the source of some frames, after a look at the first of them."""
        rest, first, n_rows = iter(frames), [], 0
        for frame in rest:
            first.append(frame)
            n_rows += frame.height
            if n_rows >= SAMPLE_ROWS:
                break
        if not first:
            msg = f"{label} gives no rows: nothing to learn from"
            raise InvalidInputError(msg)
        sample = pl.concat(_alike(first, label), how="vertical_relaxed").head(SAMPLE_ROWS)
        return cls(label, sample, chain(first, rest))

    def scans(self, columns: Mapping[str, Any]) -> Iterator[Scan]:
        """Yield the batches as one table."""
        yield scan_of(self.frames, self.sample, self.label, columns)


def scan_of(
    frames: Iterable[pl.DataFrame], sample: pl.DataFrame, label: str, columns: Mapping[str, Any]
) -> Scan:
    """Return frames that come one after another as one table of some columns."""

    def batches(*_: Any) -> Iterator[pl.DataFrame]:
        for frame in _alike(frames, label, sample):
            yield frame.select(cast(columns))

    schema = sample.select(cast(columns)).schema
    return Scan(label, register_io_source(batches, schema=schema), batches=batches)


def _alike(
    frames: Iterable[pl.DataFrame], label: str, first: pl.DataFrame | None = None
) -> Iterator[pl.DataFrame]:
    """Yield frames in the order of the first one's columns; refuse other columns by name."""
    for at, frame in enumerate(frames):
        first = frame if first is None else first
        refuse_other_columns(first, frame, f"batch {at} of {label}")
        yield frame.select(pl.selectors.by_name(*first.columns))


def refuse_other_columns(expected: pl.DataFrame, frame: pl.DataFrame, label: str) -> None:
    """Raise unless a frame has the columns of another, of the same kinds, in any order."""
    ours, theirs = kinds_of(expected.schema), kinds_of(frame.schema)
    for name, kind in ours.items():
        if name not in theirs:
            msg = f"{label} lacks the column {name!r} that the first rows have"
            raise InvalidInputError(msg)
        if theirs[name] != kind and EMPTY not in (kind, theirs[name]):
            msg = (
                f"{label}: column {name!r} holds {theirs[name]} where the first rows hold {kind}: "
                "make them alike, or ignore the column"
            )
            raise InvalidInputError(msg)
