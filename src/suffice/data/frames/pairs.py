"""Arrays, and chunks ``(X, y)`` or ``(X, y, sample_weight)``, as sources of rows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import polars as pl

from suffice.core.table import Table
from suffice.core.table.cells import is_empty
from suffice.core.table.matrix import as_matrix, coded_columns, is_mixed, unmasked
from suffice.core.table.mixed import are_numbers
from suffice.core.text.lists import counted
from suffice.data.columns.roles import Roles, roles_for_learning
from suffice.data.frames.tables import batch_source, collected, is_frame
from suffice.data.options import Columns
from suffice.data.source import Source
from suffice.errors import FeatureMismatchError, InvalidInputError
from suffice.typing import Array, Labels, LabelsLike, RowsLike, WeightsLike

_ROWS = 1 << 16  # number of rows of an array in one chunk

Pair: TypeAlias = tuple[Any, ...]  # (X, y) or (X, y, sample_weight)


def is_chunks(source: object) -> TypeGuard[Iterable[Any]]:
    """Return whether this is an iterable of chunks, rather than a table or a name."""
    if isinstance(source, (str, Path, np.ndarray)) or is_frame(source):
        return False
    if hasattr(source, "sample"):  # a Source, or a table of Ibis, Spark or Dask
        return False
    if isinstance(source, (list, tuple)):
        return len(source) > 0 and not isinstance(source[0], (str, Path))
    return isinstance(source, Iterable)


def chunk_source(chunks: Iterable[object], label: str = "the iterable") -> Source:
    """Return the source for an iterable of chunks (X, y) or of frames."""
    rest = iter(chunks)
    first = next(rest, None)
    if first is None:
        raise InvalidInputError(
            "the iterable yields no chunk, so there are no rows to learn from"
        )
    whole = chain([first], rest)
    if is_frame(first):
        frames = (collected(frame) for frame in whole)
        return batch_source(frames, label, coded_columns(first))
    return _pair_source(whole, label)


def _pair_source(pairs: Iterable[Any], label: str) -> Source:
    """Return the source for chunks (X, y) or (X, y, weight); their roles are fixed."""
    rest = iter(pairs)
    head = next(rest)
    numbered = enumerate(chain([head], rest))
    frames = (frame_of_pair(pair, f"chunk {at} of {label}") for at, pair in numbered)
    first = next(frames)
    X = head[0]
    n_features = np.shape(X)[1]
    mixed = is_mixed(X)
    categorical = coded_columns(X) if mixed else ()
    source = batch_source(chain([first], frames), label, categorical)
    target = first.columns[n_features]
    has_weight = first.width > n_features + 1
    weight = first.columns[n_features + 1] if has_weight else None
    if mixed:
        roles = roles_for_learning(source, target, weight, Columns(ids=()))
        return replace(source, roles=roles)
    features = tuple(first.columns[:n_features])
    roles = Roles(features, target, weight, allow_missing=True)
    return replace(source, roles=roles, named=as_matrix(X)[1] is not None)


def frame_of_pair(pair: object, label: str) -> pl.DataFrame:
    """Return a chunk as a frame: features, then labels, then weights if there are any."""
    if not isinstance(pair, tuple) or len(pair) not in (2, 3):
        msg = f"{label} must be (X, y), (X, y, sample_weight) or a frame"
        raise InvalidInputError(msg)
    try:
        table = Table.of(*pair)
    except InvalidInputError as error:
        raise InvalidInputError(f"{label}: {error}") from error
    features = as_columns(pair[0])
    labels = pl.Series(_unused("label", features.columns), _widened(table.classes))
    columns = [*features, labels.gather(table.codes)]
    if table.weight is not None:
        columns.append(pl.Series(_unused("weight", features.columns), table.weight))
    return pl.DataFrame({column.name: column for column in columns})


def _widened(classes: Labels) -> Labels:
    """Return labels with a type wide enough for the labels of every chunk."""
    kind = classes.dtype.kind
    if kind in "Ub":
        return classes
    if kind == "f":
        return classes.astype(np.float64)
    is_beyond = kind == "u" and classes.max(initial=0) > np.iinfo(np.int64).max
    return classes.astype(np.uint64 if is_beyond else np.int64)


def as_columns(X: RowsLike, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the rows of an array or frame; ``names`` are for columns without names."""
    if is_mixed(X):
        if is_frame(X):
            return collected(X)
        x = np.asarray(unmasked(X))
    else:
        x, frame_names = as_matrix(X)
        names = frame_names or names
    n_columns = x.shape[1]
    names = names or [f"x{j}" for j in range(n_columns)]
    if len(names) != n_columns:
        msg = (
            f"the model takes {counted(len(names), 'feature')}, but the array has "
            f"{counted(n_columns, 'column')}"
        )
        raise FeatureMismatchError(msg)
    are_plain = x.dtype.kind in "iuf"
    columns = {}
    for name, values in zip(names, x.T, strict=True):
        columns[name] = values if are_plain else _unboxed(values)
    return pl.DataFrame(columns)


def _unboxed(column: Array) -> list[object]:
    """Return the values of an object column; missing values become None, numbers floats."""
    values = [None if is_empty(v) else v for v in column.tolist()]
    if are_numbers(v for v in values if v is not None):  # integers are converted, too
        return [None if v is None else float(v) for v in values]
    return values


def _unused(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def array_chunks(X: RowsLike, y: LabelsLike, weight: WeightsLike = None) -> Iterator[Pair]:
    """Yield the rows of arrays in chunks, which avoids a copy of a whole array."""
    table = Table.of(X, y, weight)
    is_plain = table.schema is None
    rows = table.x if is_plain else as_columns(X)
    for start in range(0, table.n_rows, _ROWS):
        part = table.take(slice(start, start + _ROWS))
        features = rows[start : start + _ROWS]
        if is_plain and table.names is not None:
            features = pl.DataFrame(features, schema=list(table.names))
        if part.weight is None:
            yield features, part.labels
        else:
            yield features, part.labels, part.weight


def array_source(source: object, names: Sequence[str] | None) -> Source | None:
    """Return the source for an array or chunks (X, y) with named columns; None for other types."""
    if isinstance(source, np.ndarray):
        starts = range(0, len(source), _ROWS)
        frames = (as_columns(source[start : start + _ROWS], names) for start in starts)
        return batch_source(frames, "the array")
    if not is_chunks(source):
        return None
    rest = iter(source)
    first = next(rest, None)
    chunks = chain([first], rest)
    if not isinstance(first, tuple):
        return chunk_source(chunks)
    return batch_source((as_columns(chunk[0], names) for chunk in chunks), "the array")
