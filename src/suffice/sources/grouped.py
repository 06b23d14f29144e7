"""Sums of each group of rows, such as sites, days or folds, in one pass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.moments import Moments
from suffice.sources.chunks import Loader, blocks_of, rows_per_block
from suffice.sources.left_out import LeftOut
from suffice.sources.reading import expected_rows, frames_of
from suffice.sources.source import Summing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from suffice.sources.chunks import Chunk
    from suffice.sources.columns import Roles
    from suffice.sources.source import Progress, Source
    from suffice.typing import Codes


def sums_by_column(
    source: Any, roles: Roles, column: str, progress: Progress | None, **options: Any
) -> dict[Any, Moments]:
    """Return the sums of the rows of each value of a column, by value."""
    if isinstance(source, Summing):
        msg = f"{source.label} is summed where it lives: sum each group by a query of its own"
        raise InvalidParameterError(msg)
    chunks = chunks_of(source, replace(roles, kept=(column,)), progress, tell=True)
    sums = sums_by_key(chunks, lambda chunk: keys_in(chunk, column), **options)
    if not sums:
        msg = f"{source.label} has no row that can be used: each lacks its label or a number"
        raise InvalidInputError(msg)
    return sums


def sums_by_key(
    chunks: Iterator[Chunk], keys_of: Callable[[Chunk], Any], **options: Any
) -> dict[Any, Moments]:
    """Return the sums of the rows of each key, in the order of the keys."""
    sums: dict[Any, Moments] = {}
    for chunk in chunks:
        for key, rows in by_key(chunk, keys_of(chunk)):
            sums[key] = sums.get(key, Moments.empty()) + chunk.at(rows).moments(**options)
    return {key: sums[key] for key in sorted(sums)}


def by_key(chunk: Chunk, keys: Any) -> Iterator[tuple[Any, Codes]]:
    """Yield each key and its rows, where they have any weight."""
    distinct, codes = np.unique(keys, return_inverse=True)
    for i, key in enumerate(distinct.tolist()):
        rows = np.flatnonzero(codes == i)
        if chunk.weight is None or chunk.weight[rows].any():
            yield key, rows


def keys_in(chunk: Chunk, column: str) -> Any:
    """Return the values of a kept column; refuse a gap."""
    values = chunk.kept.get_column(column)
    if values.null_count():
        msg = f"column {column!r} has {values.null_count()} gaps: name a group for every row"
        raise InvalidInputError(msg)
    return values.to_numpy() if values.dtype.is_numeric() else np.array(values.to_list(), str)


def chunks_of(
    source: Source, roles: Roles, progress: Progress | None = None, *, tell: bool
) -> Iterator[Chunk]:
    """Yield the usable rows of a source in blocks; each is overwritten by the next.

    With ``tell``, say at the end which rows were left out.
    """
    n_rows, total = rows_per_block(len(roles.features)), LeftOut()
    loader, expected = Loader(roles, n_rows), expected_rows(source) if progress else None
    for pieces in blocks_of(frames_of(source, roles), n_rows):
        chunk, lacking = loader.load(pieces)
        total = total + lacking
        if len(chunk.codes):
            yield chunk
        if progress:
            progress(total.rows, expected)
    if tell:
        total.say()
