"""Frames in memory, and streams of Arrow batches, as sources of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from suffice.errors import InvalidInputError
from suffice.sources.source import SAMPLE_ROWS, Scan, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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
