"""Arrays, and iterables of chunks (X, y), as frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from suffice.errors import FeatureMismatchError, InvalidInputError
from suffice.sources.columns import Roles
from suffice.sources.frames import BatchSource, as_frame, is_frame
from suffice.table.labels import as_labels
from suffice.table.matrix import as_matrix, as_weights

if TYPE_CHECKING:
    from suffice.sources.source import Source

_ROWS = 1 << 16  # of an array in one chunk


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Chunks (X, y) or (X, y, weight) as a source whose columns have known roles."""

    source: Source
    roles: Roles
    named: bool  # whether the columns have names of their own

    @classmethod
    def of(cls, chunks: Iterable[Any]) -> Pairs:
        """Return the source of some chunks, after a look at the first."""
        rest = iter(chunks)
        first = _Chunk.of(next(rest), 0)
        d = first.x.shape[1]
        names = first.names or tuple(f"x{j}" for j in range(d))
        target, weight = _unused("label", names), _unused("weight", names)
        roles = Roles(names, target, None if first.weight is None else weight)
        others = (_Chunk.of(chunk, at) for at, chunk in enumerate(rest, 1))
        frames = (chunk.frame(first, roles) for chunk in chain([first], others))
        return cls(BatchSource.of(frames, "the iterable"), roles, first.names is not None)


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    at: int
    x: Any  # (n, d)
    names: tuple[str, ...] | None
    y: Any  # (n,)
    weight: Any  # (n,) or None

    @classmethod
    def of(cls, chunk: Any, at: int) -> _Chunk:
        if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
            msg = f"chunk {at} of the iterable must be (X, y), (X, y, sample_weight) or a frame"
            raise InvalidInputError(msg)
        (x, names), y = as_matrix(chunk[0]), as_labels(chunk[1])
        if len(x) != len(y):
            msg = f"chunk {at} of the iterable: X has {len(x)} rows but y has {len(y)} labels"
            raise InvalidInputError(msg)
        return cls(at, x, names, y, as_weights(chunk[2], len(x)) if chunk[2:] else None)

    def frame(self, first: _Chunk, roles: Roles) -> pl.DataFrame:
        """Return the chunk as a frame with the columns of the first."""
        self._refuse_other(first)
        columns = dict(zip(roles.features, self.x.T, strict=True))
        labels = self.y if self.y.dtype.kind in "Ub" else self.y.astype(_wide(self.y))
        frame = pl.DataFrame({**columns, roles.target or "": labels})
        if roles.weight is None:
            return frame
        return frame.with_columns(pl.Series(roles.weight, self.weight))

    def _refuse_other(self, first: _Chunk) -> None:
        for what, ours, theirs in (
            ("features", self.x.shape[1], first.x.shape[1]),
            ("column names", self.names, first.names),
            ("kinds of labels", _kind(self.y), _kind(first.y)),
            ("weights", self.weight is not None, first.weight is not None),
        ):
            if ours != theirs:
                msg = (
                    f"chunk {self.at} of the iterable has other {what} than chunk 0 "
                    f"({ours} against {theirs}): make the chunks alike"
                )
                raise InvalidInputError(msg)


def is_chunks(source: Any) -> bool:
    """Return whether this is an iterable of chunks, rather than one table or a name."""
    if isinstance(source, (str, Path, np.ndarray)) or is_frame(source):
        return False
    if hasattr(source, "sample"):
        return False
    if isinstance(source, (list, tuple)):
        return len(source) > 0 and not isinstance(source[0], (str, Path))
    return isinstance(source, Iterable)


def opened_for_scoring(source: Any, names: Sequence[str] | None) -> BatchSource | None:
    """Return an array, or chunks (X, y) without names, as a source of named columns."""
    chunks: Iterable[Any]
    if isinstance(source, np.ndarray):
        chunks = ((source[lo : lo + _ROWS],) for lo in range(0, len(source), _ROWS))
    elif is_chunks(source):
        rest = iter(source)
        first = next(rest, None)
        chunks = chain([first], rest)
        if not isinstance(first, tuple):
            frames: BatchSource = opened_chunks(chunks)
            return frames
    else:
        return None
    matrices = (as_matrix(chunk[0]) for chunk in chunks)
    return BatchSource.of((_named(x, own or names) for x, own in matrices), "the array")


def _named(x: Any, names: Sequence[str] | None) -> pl.DataFrame:
    names = names or [f"x{j}" for j in range(x.shape[1])]
    if len(names) != x.shape[1]:
        msg = f"the model takes {len(names)} features, but the array has {x.shape[1]} columns"
        raise FeatureMismatchError(msg)
    return pl.DataFrame(dict(zip(names, x.T, strict=True)))


def opened_chunks(source: Any) -> Any:
    """Return chunks (X, y) as pairs, or frames as a source."""
    rest = iter(source)
    first = next(rest, None)
    if first is None:
        msg = "the iterable gives no chunk: nothing to learn from"
        raise InvalidInputError(msg)
    again = chain([first], rest)
    if is_frame(first):
        return BatchSource.of(map(as_frame, again), "the iterable")
    return Pairs.of(again)


def array_chunks(x: Any, y: Any, weight: Any = None) -> Iterator[Any]:
    """Yield the rows of arrays in chunks, so that none is copied as a whole."""
    matrix, names = as_matrix(x)
    labels = as_labels(y)
    if len(matrix) != len(labels):
        msg = f"X has {len(matrix)} rows but y has {len(labels)} labels"
        raise InvalidInputError(msg)
    w = as_weights(weight, len(matrix))
    for lo in range(0, len(matrix), _ROWS):
        rows = slice(lo, lo + _ROWS)
        part = matrix[rows]
        block = part if names is None else pl.DataFrame(part, schema=list(names))
        yield (block, labels[rows]) if w is None else (block, labels[rows], w[rows])


def _unused(name: str, taken: tuple[str, ...]) -> str:
    while name in taken:
        name += "_"
    return name


def _kind(labels: Any) -> str:
    return {"U": "text", "b": "true and false"}.get(labels.dtype.kind, "numbers")


def _wide(labels: Any) -> Any:
    """Return the type that every chunk of such labels fits."""
    return np.float64 if labels.dtype.kind == "f" else np.int64
