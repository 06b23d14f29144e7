"""Sums by group: for each value of a column, or for each key."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace

import numpy as np

from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.core.threads import at_most
from suffice.data.columns.roles import Roles
from suffice.data.options import SumSettings
from suffice.data.rows import loading
from suffice.data.rows.left_out import require_rows
from suffice.data.rows.loading import Chunk
from suffice.data.source import Progress, Source
from suffice.data.sums.running import moments_of
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Array, Codes


def sums_by_column(
    source: Source,
    roles: Roles,
    column: str,
    settings: SumSettings,
    progress: Progress | None,
) -> dict[Hashable, Moments]:
    """Return the sums of rows for each value of a column in ``roles.kept``."""
    if source.summed is not None:
        msg = (
            f"{source.label} is summed by the database or the cluster: sum each group with a "
            "separate query"
        )
        raise InvalidParameterError(msg)
    chunks = loading.chunks_of(source, roles, progress, warns=True)
    sums = sums_by_key(chunks, lambda chunk: keys_in(chunk, column), settings)
    require_rows(len(sums), source.label)
    notations = loading.notations_of(source, roles)
    return {key: replace(part, notations=notations) for key, part in sums.items()}


def sums_by_key(
    chunks: Iterator[Chunk],
    keys_of: Callable[[Chunk], Array],
    settings: SumSettings,
) -> dict[Hashable, Moments]:
    """Return the sums of rows for each key, in the order of the keys."""
    sums: dict[Hashable, Moments] = {}
    with at_most(settings.n_jobs):
        for chunk in chunks:
            for key, rows in by_key(chunk.table, keys_of(chunk)):
                part = moments_of(chunk.table.take(rows), settings)
                sums[key] = sums.get(key, Moments.empty()) + part
    return {key: sums[key] for key in sorted(sums)}  # type: ignore[type-var]


def by_key(table: Table, keys: Array) -> Iterator[tuple[Hashable, Codes]]:
    """Yield each key with the indices of its rows of positive weight, if there are any."""
    distinct, codes = np.unique(keys, return_inverse=True)
    for i, key in enumerate(distinct.tolist()):
        rows = np.flatnonzero(codes == i)
        if table.weight is None or table.weight[rows].any():
            yield key, rows


def keys_in(chunk: Chunk, column: str) -> Array:
    """Return the values of a kept column; raise for a missing value."""
    values = chunk.kept.get_column(column)
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if values.null_count():
        raise InvalidInputError(
            f"column {column!r} is empty in {values.null_count()} rows: give every row a group"
        )
    return values.to_numpy() if values.dtype.is_numeric() else np.array(values.to_list(), str)
