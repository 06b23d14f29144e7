"""Compute moments of rows block by block while reading, and merge them in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.core.table.foreign import on_device
from suffice.core.table.matrix import as_weights
from suffice.core.table.schema import MOST_LEVELS
from suffice.core.threads import at_most, n_threads_of, over_stream
from suffice.data.columns.roles import Roles
from suffice.data.options import SumSettings
from suffice.data.rows import loading
from suffice.data.rows.left_out import RowsRead
from suffice.data.rows.loading import Chunk, Part
from suffice.data.source import RowsDone
from suffice.errors import LostDetailWarning, warn

if TYPE_CHECKING:
    import polars as pl

MOST_PATTERNS = 512  # limit on the patterns of missing values per class
_MOST_THREADS = 8  # with more threads, threads would wait for the one that reads


@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """The moments of usable rows, and the numbers of rows read and left out; can be added."""

    moments: Moments = field(default_factory=Moments.empty)
    left_out: RowsRead = field(default_factory=RowsRead)

    @property
    def n_rows(self) -> int:
        """Number of rows read, usable or not."""
        return self.left_out.rows

    def __add__(self, other: Summed) -> Summed:
        return Summed(self.moments + other.moments, self.left_out + other.left_out)


def running_sums(
    frames: Iterable[pl.DataFrame],
    roles: Roles,
    settings: SumSettings,
    label: str,
    *,
    total: Summed | None = None,
    first_row: int = 0,
) -> Iterator[Summed]:
    """Yield ``total`` plus the sums so far, after every block of rows.

    All blocks have the same size, whatever the size of the frames. Messages use ``label`` and
    ``first_row``.
    """
    n_rows = loading.rows_per_block(len(roles.features))
    n_threads = min(n_threads_of(settings.n_jobs), _MOST_THREADS)
    loader = loading.Loader(
        roles,
        n_rows,
        label,
        # One block more than threads: while all threads sum, the next rows can be loaded.
        n_blocks=n_threads + 1 if n_threads > 1 else 1,
        device=settings.device,
        first_row=first_row,
    )
    parts = (loader.part(pieces) for pieces in loading.blocks_of(frames, n_rows))

    def summed(loaded: tuple[Chunk, RowsRead]) -> Summed:
        chunk, left_out = loaded
        with at_most(1):
            return Summed(moments_of(chunk.table, settings), left_out)

    def loaded_and_summed(part: Part) -> Summed:
        return summed(loader.load(part))

    if roles.schema is None:
        sums = over_stream(loaded_and_summed, parts, n_threads)
    else:  # one thread, because levels are numbered in the order of the rows
        sums = over_stream(summed, map(loader.load, parts), n_threads)
    if total is None:
        total = Summed()
    for more in sums:
        total += more
        yield total


def moments_of(table: Table, settings: SumSettings) -> Moments:
    """Return the moments of some rows; rows with weight zero are ignored."""
    if not table.n_rows or (table.weight is not None and not table.weight.any()):
        return Moments.empty()
    x = table.x
    if settings.device is not None and table.schema is None:
        x = on_device(x, settings.device)
    assert not isinstance(settings.exact, str)  # the grid was already made from the first rows
    weighted = replace(table, x=x, weight=as_weights(table.weight, table.n_rows))
    return Moments.of_table(
        weighted,
        storage=settings.storage,
        fourth=settings.fourth,
        power=settings.power,
        holes=True,
        max_patterns=MOST_PATTERNS,
        exact=settings.exact,
    )


def _ignore_progress(n_rows: int) -> None:
    pass


def sums_of_frames(
    frames: Iterable[pl.DataFrame],
    roles: Roles,
    settings: SumSettings,
    label: str,
    *,
    report: RowsDone = _ignore_progress,
    first_row: int = 0,
) -> Summed:
    """Return the sums of all rows of a series of frames."""
    total = Summed()
    for total in running_sums(frames, roles, settings, label, first_row=first_row):
        report(total.n_rows)
    return total


def pairwise_sum(parts: Sequence[Summed]) -> Summed:
    """Return ((0 + 1) + (2 + 3)) + …, in an order that depends only on the number of parts."""
    while len(parts) > 1:
        merged = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = [*merged, *parts[2 * len(merged) :]]
    return parts[0] if parts else Summed()


def warn_of_merged_levels(total: Summed, roles: Roles) -> None:
    """Warn about levels that were merged on workers, because warnings of workers are lost."""
    if total.moments.schema is None:
        return
    before = roles.schema.categories if roles.schema else ()
    merged_before = {category.name for category in before if category.other}
    for category in total.moments.schema.categories:
        if category.other and category.name not in merged_before:
            warn(
                f"column {category.name!r} has more than {MOST_LEVELS} levels: "
                f"{len(category.levels)} are kept, and all others are merged into one",
                LostDetailWarning,
            )
