"""Moments of rows as they come: of all rows, of each group, and merged in a fixed order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.core.table.foreign import on_device
from suffice.core.table.matrix import as_weights
from suffice.core.table.schema import MOST_LEVELS
from suffice.core.threads import at_most, n_threads_of, over_stream
from suffice.data import chunks
from suffice.data.chunks import Chunk, RowsRead
from suffice.data.columns import Roles
from suffice.data.source import Progress, Source, Telling
from suffice.errors import InvalidInputError, InvalidParameterError, warn
from suffice.typing import Codes

MOST_PATTERNS = 512  # of empty cells, in each class
_MOST_THREADS = 8  # more would wait for the one that loads


@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """The moments of usable rows, and how many rows were read and left out: both add up."""

    moments: Moments = field(default_factory=Moments.empty)
    left_out: RowsRead = field(default_factory=RowsRead)

    @property
    def n_rows(self) -> int:
        """Number of rows read, usable or not."""
        return self.left_out.rows

    def __add__(self, other: "Summed") -> "Summed":
        return Summed(self.moments + other.moments, self.left_out + other.left_out)


def running_sums(
    frames: Iterable[pl.DataFrame],
    roles: Roles,
    total: Summed,
    **options: Any,
) -> Iterator[Summed]:
    """Yield the sums so far after every block of rows; blocks have one size whatever the frames."""
    n_rows = chunks.rows_per_block(len(roles.features))
    n_jobs = min(n_threads_of(options.pop("n_jobs", None)), _MOST_THREADS)
    # one more than threads: a block is free again before it is loaded
    loader = chunks.Loader(
        roles, n_rows, n_jobs + 1 if n_jobs > 1 else 1, options.get("device")
    )
    loaded = (loader.load(pieces) for pieces in chunks.blocks_of(frames, n_rows))

    def summed(part: tuple[Chunk, RowsRead]) -> Summed:
        with at_most(1):
            return Summed(moments_of(part[0].table, **options), part[1])

    for part in over_stream(summed, loaded, n_jobs):
        total += part
        yield total


def moments_of(table: Table, device: Any = None, **options: Any) -> Moments:
    """Return the moments of some rows; those of no weight change nothing."""
    if not table.n_rows or (table.weight is not None and not table.weight.any()):
        return Moments.empty()
    x = table.x if device is None or table.schema else on_device(table.x, device)
    checked = replace(table, x=x, weight=as_weights(table.weight, table.n_rows))
    return Moments.of_table(checked, holes=True, max_patterns=MOST_PATTERNS, **options)


def sums_of_frames(
    frames: Iterable[pl.DataFrame],
    roles: Roles,
    told: Telling = lambda _: None,
    **options: Any,
) -> Summed:
    """Return the sums of all rows of some frames."""
    total = Summed()
    for total in running_sums(frames, roles, Summed(), **options):
        told(total.n_rows)
    return total


def pairwise_sum(parts: Sequence[Summed]) -> Summed:
    """Return ((0 + 1) + (2 + 3)) and so on: their number alone fixes the order."""
    while len(parts) > 1:
        merged = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = [*merged, *parts[2 * len(merged) :]]
    return parts[0] if parts else Summed()


def with_rest_told(total: Summed, roles: Roles) -> Summed:
    """Return the sums; say of which columns workers, whom nobody hears warn, lumped levels."""
    before, after = (s.categories if s else () for s in (roles.schema, total.moments.schema))
    for column in after:
        if column.other and not any(c.other and c.name == column.name for c in before):
            kept = f"{len(column.levels)} are kept, the rest count as one"
            warn(f"column {column.name!r} has more than {MOST_LEVELS} levels: {kept}")
    return total


def sums_by_column(
    source: Source,
    roles: Roles,
    column: str,
    progress: Progress | None,
    **options: Any,
) -> dict[Any, Moments]:
    """Return the sums of the rows of each value of a column, by value."""
    if source.summed:
        msg = f"{source.label} is summed where it lives: sum each group by a query of its own"
        raise InvalidParameterError(msg)
    rows = chunks.chunks_of(source, replace(roles, kept=(column,)), progress, tell=True)
    sums = sums_by_key(rows, lambda chunk: keys_in(chunk, column), **options)
    chunks.require_rows(len(sums), source.label)
    return sums


def sums_by_key(
    rows: Iterator[Chunk],
    keys_of: Callable[..., Any],
    n_jobs: int | None = None,
    **options: Any,
) -> dict[Any, Moments]:
    """Return the sums of the rows of each key, in the order of the keys."""
    sums: dict[Any, Moments] = {}
    with at_most(n_jobs):
        for chunk in rows:
            for key, at in by_key(chunk.table, keys_of(chunk)):
                part = moments_of(chunk.table.take(at), **options)
                sums[key] = sums.get(key, Moments.empty()) + part
    return {key: sums[key] for key in sorted(sums)}


def by_key(table: Table, keys: Any) -> Iterator[tuple[Any, Codes]]:
    """Yield each key and its rows, where they have any weight."""
    distinct, codes = np.unique(keys, return_inverse=True)
    for i, key in enumerate(distinct.tolist()):
        rows = np.flatnonzero(codes == i)
        if table.weight is None or table.weight[rows].any():
            yield key, rows


def keys_in(chunk: Chunk, column: str) -> Any:
    """Return the values of a kept column; refuse a gap."""
    values = chunk.kept.get_column(column)
    values = values.fill_nan(None) if values.dtype.is_float() else values
    if values.null_count():
        msg = f"column {column!r} has {values.null_count()} gaps: name a group for every row"
        raise InvalidInputError(msg)
    return values.to_numpy() if values.dtype.is_numeric() else np.array(values.to_list(), str)
