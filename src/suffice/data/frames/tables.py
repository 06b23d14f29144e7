"""Tables in memory, and tables that arrive in batches: Arrow streams and iterables of frames."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import polars as pl

from suffice.core.table.matrix import coded_columns
from suffice.data.columns.kinds import refuse_other_columns
from suffice.data.frames.pandas import from_pandas, is_pandas
from suffice.data.scanning import batches_of
from suffice.data.source import SAMPLE_ROWS, ColumnTypes, Scan, Source, cast, exactly
from suffice.errors import InvalidInputError


def frame_source(frame: object, label: str = "the lazy frame") -> Source:
    """Return the source for a pandas, polars or pyarrow frame; ``label`` names a lazy frame."""
    table = as_frame(frame)
    n_rows: int | None = None
    if isinstance(table, pl.DataFrame):
        label = "the frame"
        n_rows = table.height
    rows = table.lazy()
    return Source(
        label=label,
        sample=rows.head(SAMPLE_ROWS).collect(),
        scans=lambda columns: [Scan(label, rows.select(cast(columns)))],
        count=lambda: n_rows,
        rereads=True,
        categorical=coded_columns(frame),
    )


def batch_source(
    frames: Iterable[pl.DataFrame],
    label: str,
    categorical: tuple[str, ...] = (),
) -> Source:
    """Return the source for frames that can be read only once."""
    rest = iter(frames)
    first: list[pl.DataFrame] = []
    n_rows = 0
    for frame in rest:
        first.append(frame)
        n_rows += frame.height
        if n_rows >= SAMPLE_ROWS:
            break
    if not first:
        raise InvalidInputError(f"{label} yields no rows, so there is nothing to learn from")
    alike = _alike(first, first[0], label)
    sample = pl.concat(alike, how="vertical_relaxed").head(SAMPLE_ROWS)
    scans = partial(scans_of, chain(first, rest), sample, label)
    return Source(label=label, sample=sample, scans=scans, categorical=categorical)


def arrow_source(source: Any) -> Source:
    """Return the source for an object that exports an Arrow stream, which may be empty."""
    rows = pl.scan_arrow_c_stream(source)
    no_rows = rows.collect_schema().to_frame()
    return batch_source(chain([no_rows], batches_of(rows)), "the stream")


def is_frame(source: object) -> bool:
    """Return whether this is a table with named columns."""
    is_arrow = hasattr(source, "__arrow_c_stream__")
    return is_arrow or isinstance(source, pl.LazyFrame) or is_pandas(source)


def is_stream(source: object) -> bool:
    """Return whether this is a stream of Arrow batches, rather than a table in memory."""
    if not hasattr(source, "__arrow_c_stream__"):
        return False
    in_memory = hasattr(source, "num_rows") or isinstance(source, pl.DataFrame)
    return not in_memory and not is_pandas(source)


def as_frame(frame: Any) -> pl.DataFrame | pl.LazyFrame:
    """Return a table or Arrow stream as a polars frame; lazy tables stay lazy."""
    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        return frame
    return from_pandas(frame) if is_pandas(frame) else pl.DataFrame(frame)


def collected(frame: object) -> pl.DataFrame:
    """Return any table as a polars frame in memory."""
    return as_frame(frame).lazy().collect()


def scans_of(
    frames: Iterable[pl.DataFrame],
    sample: pl.DataFrame,
    label: str,
    columns: ColumnTypes,
) -> list[Scan]:
    """Return successive frames as one table, with only the given columns."""
    no_rows = sample.clear().lazy().select(cast(columns))
    rows = (frame.select(cast(columns)) for frame in _alike(frames, sample, label))
    return [Scan(label, no_rows, batches=lambda _start, _n_rows: rows)]


def _alike(
    frames: Iterable[pl.DataFrame],
    first: pl.DataFrame,
    label: str,
) -> Iterator[pl.DataFrame]:
    """Yield frames with their columns in the order of ``first``; raise if columns differ."""
    for at, frame in enumerate(frames):
        yield like_first(frame, first, f"batch {at} of {label}")


def like_first(frame: pl.DataFrame, first: pl.DataFrame, label: str) -> pl.DataFrame:
    """Return a frame with the columns in the order of ``first``; categoricals become text.

    The levels of a categorical may differ between frames, so that their codes would differ, too.
    """
    refuse_other_columns(first, frame, label)
    ordered = frame.select(map(exactly, first.columns))
    return ordered.with_columns(pl.selectors.by_dtype(pl.Enum).cast(pl.String))
