"""Tables in memory, and tables that arrive in batches: streams, iterables of frames or (X, y)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from suffice.core.table import Table
from suffice.core.table.labels import is_empty
from suffice.core.table.matrix import as_matrix, coded_columns, is_mixed
from suffice.core.table.mixed import are_numbers
from suffice.data.columns import ColumnOptions, Roles, refuse_other_columns, roles_for_learning
from suffice.data.source import SAMPLE_ROWS, Scan, Source, batches_of, cast, exactly
from suffice.errors import FeatureMismatchError, InvalidInputError
from suffice.typing import Labels

_ROWS = 1 << 16  # of an array in one chunk


def frame_source(frame: Any, label: str = "") -> Source:
    """Return the source of a pandas, polars or pyarrow frame."""
    known, levels = as_frame(frame), coded_columns(frame)
    rows, lazy = known.lazy(), isinstance(known, pl.LazyFrame)
    label, n_rows = (label or "the lazy frame", None) if lazy else ("the frame", known.height)
    sample = rows.head(SAMPLE_ROWS).collect()

    def scans(columns: Mapping[str, Any]) -> list[Scan]:
        return [Scan(label, rows.select(cast(columns)))]

    return Source(label, sample, scans, lambda: n_rows, categorical=levels)


def batch_source(
    frames: Iterable[pl.DataFrame],
    label: str,
    levels: tuple[str, ...] = (),
) -> Source:
    """Return the source of frames that can be read once, after a look at the first of them."""
    rest, first, n_rows = iter(frames), [], 0
    for frame in rest:
        first.append(frame)
        n_rows += frame.height
        if n_rows >= SAMPLE_ROWS:
            break
    if not first:
        raise InvalidInputError(f"{label} gives no rows: nothing to learn from")
    sample = pl.concat(_alike(first, label), how="vertical_relaxed").head(SAMPLE_ROWS)
    scans = partial(scans_of, chain(first, rest), sample, label)
    return Source(label, sample, scans, categorical=levels)


def arrow_source(source: Any) -> Source:
    """Return the source of any object that exports an Arrow stream, even one of no batch."""
    lazily = pl.scan_arrow_c_stream(source)
    none = lazily.collect_schema().to_frame()
    return batch_source(chain([none], batches_of(lazily)), "the stream")


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


def as_frame(frame: Any) -> Any:
    """Return a pandas or pyarrow table, or an Arrow stream, as a polars one; lazy ones stay so."""
    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        return frame
    return _from_pandas(frame) if _is_pandas(frame) else pl.DataFrame(frame)


def collected(frame: Any) -> pl.DataFrame:
    """Return any table as one in memory."""
    return as_frame(frame).lazy().collect()  # type: ignore[no-any-return]


def _from_pandas(frame: Any) -> pl.DataFrame:
    if not all(isinstance(name, str) for name in frame.columns):
        msg = "the columns of the frame must be named by text: df.columns = df.columns.astype(str)"
        raise InvalidInputError(msg)
    if frame.columns.has_duplicates:
        twin = frame.columns[frame.columns.duplicated()][0]
        raise InvalidInputError(
            f"the frame has two columns called {twin!r}: rename one of them"
        )
    try:
        return pl.DataFrame(
            [_pandas_values(frame[name]).alias(name) for name in frame.columns]
        )
    except Exception as error:
        msg = f"the frame cannot be read ({error}): give each column values of one type"
        raise InvalidInputError(msg) from error


def _pandas_values(column: Any) -> pl.Series:
    """Return a pandas column; without pyarrow, which the plain install does not have."""
    dtype = column.dtype
    if "pyarrow" in (
        getattr(dtype, "storage", ""),
        type(column.array).__module__.split(".")[0],
    ):
        return pl.Series(column)
    if hasattr(dtype, "categories") and hasattr(column, "cat"):
        codes, levels = pl.Series(column.cat.codes.to_numpy()), column.cat.categories
        levels = levels.astype(str) if levels.dtype.kind == "O" else levels
        return _pandas_values(levels.to_series()).gather(codes.replace(-1, None))
    if hasattr(dtype, "numpy_dtype"):  # numbers with a mask
        values = pl.Series(column.to_numpy(dtype.numpy_dtype, na_value=dtype.type(0)))
        return values.set(pl.Series(column.isna().to_numpy()), None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iufbmM":
        wide = {"datetime64[s]": "datetime64[us]", "timedelta64[s]": "timedelta64[us]"}
        return pl.Series(column.to_numpy(wide.get(str(dtype))), nan_to_null=True)
    return pl.Series(column.astype(object).where(column.notna(), None).tolist())


def scans_of(
    frames: Iterable[pl.DataFrame],
    sample: pl.DataFrame,
    label: str,
    columns: Mapping[str, Any],
) -> list[Scan]:
    """Return frames that come one after another as one table of some columns."""
    none = sample.clear().lazy().select(cast(columns))
    rows = (frame.select(cast(columns)) for frame in _alike(frames, label, sample))
    return [Scan(label, none, batches=lambda *_: rows)]


def _alike(
    frames: Iterable[pl.DataFrame],
    label: str,
    first: pl.DataFrame | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield frames in the order of the first one's columns; refuse other columns by name."""
    for at, frame in enumerate(frames):
        first = frame if first is None else first
        yield like_first(frame, first, f"batch {at} of {label}")


def like_first(frame: pl.DataFrame, first: pl.DataFrame, label: str) -> pl.DataFrame:
    """Return the columns of a first frame; each part may have its own levels, so these are text."""
    refuse_other_columns(first, frame, label)
    own = frame.select(map(exactly, first.columns))
    return own.with_columns(pl.selectors.by_dtype(pl.Enum).cast(pl.String))


def pair_source(chunks: Iterable[Any]) -> Source:
    """Return the source of chunks (X, y) or (X, y, weight), whose columns have known roles."""
    rest = iter(chunks)
    head = next(rest)
    frames = (framed(chunk, at) for at, chunk in enumerate(chain([head], rest)))
    first = next(frames)
    d, mixed = np.shape(head[0])[1], is_mixed(head[0])
    names, (target, *weights) = first.columns[:d], first.columns[d:]
    weight = weights[0] if weights else None
    levels = coded_columns(head[0]) if mixed else ()
    source = batch_source(chain([first], frames), "the iterable", levels)
    said, plain = (
        ColumnOptions(target, weight=weight, ids=()),
        Roles(tuple(names), target, weight),
    )
    roles = roles_for_learning(source, said) if mixed else replace(plain, holes=True)
    return replace(source, roles=roles, named=mixed or as_matrix(head[0])[1] is not None)


def framed(chunk: Any, at: int) -> pl.DataFrame:
    """Return the columns of a chunk, then its labels, then its weights if it has any."""
    if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
        msg = f"chunk {at} of the iterable must be (X, y), (X, y, sample_weight) or a frame"
        raise InvalidInputError(msg)
    try:
        table = Table.of(*chunk)
    except InvalidInputError as error:
        raise InvalidInputError(f"chunk {at} of the iterable: {error}") from error
    x, classes = as_columns(chunk[0]), _widened(table.classes)
    columns = [*x, pl.Series(_unused("label", x.columns), classes).gather(table.codes)]
    if table.weight is not None:
        columns.append(pl.Series(_unused("weight", x.columns), table.weight))
    return pl.DataFrame(columns)


def _widened(classes: Labels) -> Labels:
    """Return labels in a type that every chunk of such labels fits."""
    kind = classes.dtype.kind
    if kind in "Ub":
        return classes
    beyond = kind == "u" and classes.max(initial=0) > np.iinfo(np.int64).max
    return classes.astype(np.float64 if kind == "f" else np.uint64 if beyond else np.int64)


def as_columns(X: Any, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the rows of an array or frame; columns without names are called by those given."""
    if is_mixed(X) and is_frame(X):
        return collected(X)
    x, own = (np.asarray(X), None) if is_mixed(X) else as_matrix(X)
    names = own or names or [f"x{j}" for j in range(x.shape[1])]
    if len(names) != x.shape[1]:
        msg = f"the model takes {len(names)} features, but the array has {x.shape[1]} columns"
        raise FeatureMismatchError(msg)
    columns: Any = x.T if x.dtype.kind in "iuf" else [_boxed_values(column) for column in x.T]
    return pl.DataFrame(dict(zip(names, columns, strict=True)))


def _boxed_values(column: Any) -> list[Any]:
    values = [None if is_empty(v) else v for v in column.tolist()]
    if are_numbers(v for v in values if v is not None):  # of which some may be whole
        return [None if v is None else float(v) for v in values]
    return values


def _unused(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def is_chunks(source: Any) -> bool:
    """Return whether this is an iterable of chunks, rather than one table or a name."""
    if (
        isinstance(source, (str, Path, np.ndarray))
        or hasattr(source, "sample")
        or is_frame(source)
    ):
        return False
    if isinstance(source, (list, tuple)):
        return len(source) > 0 and not isinstance(source[0], (str, Path))
    return isinstance(source, Iterable)


def opened_chunks(source: Any) -> Source:
    """Return the source of chunks (X, y), or of frames."""
    rest = iter(source)
    first = next(rest, None)
    if first is None:
        raise InvalidInputError("the iterable gives no chunk: nothing to learn from")
    again = chain([first], rest)
    if is_frame(first):
        return batch_source(map(as_frame, again), "the iterable", coded_columns(first))
    return pair_source(again)


def array_chunks(x: Any, y: Any, weight: Any = None) -> Iterator[Any]:
    """Yield the rows of arrays in chunks, so that none is copied as a whole."""
    table = Table.of(x, y, weight)
    named = table.names if table.schema is None else None
    whole: Any = table.x if table.schema is None else as_columns(x)
    for lo in range(0, table.n_rows, _ROWS):
        part, rows = table.take(slice(lo, lo + _ROWS)), whole[lo : lo + _ROWS]
        rows = rows if named is None else pl.DataFrame(rows, schema=list(named))
        yield (rows, part.labels) if part.weight is None else (rows, part.labels, part.weight)


def opened_for_scoring(source: Any, names: Sequence[str] | None) -> Source | None:
    """Return an array, or chunks (X, y) without names, as a source of named columns, or None."""
    array = isinstance(source, np.ndarray)
    if not (array or is_chunks(source)):
        return None
    parts = (
        ((source[lo : lo + _ROWS],) for lo in range(0, len(source), _ROWS))
        if array
        else source
    )
    rest = iter(parts)
    first = next(rest, None)
    chunks = chain([first], rest)
    if not isinstance(first, tuple):
        return opened_chunks(chunks)
    return batch_source((as_columns(chunk[0], names) for chunk in chunks), "the array")
