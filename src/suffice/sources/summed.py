"""Sums of some rows together with what was left out of them: what travels and adds up."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from suffice.moments import Moments
from suffice.sources.chunks import Loader, blocks_of, rows_per_block
from suffice.sources.left_out import LeftOut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future

    import polars as pl

    from suffice.sources.chunks import Chunk
    from suffice.sources.columns import Roles

_MOST_THREADS = 8  # more would wait for the one that loads


@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """The sums of usable rows, and how many rows were read and left out."""

    moments: Moments = field(default_factory=Moments.empty)
    left_out: LeftOut = field(default_factory=LeftOut)

    @property
    def n_rows(self) -> int:
        """Number of rows read, usable or not."""
        return self.left_out.rows

    def __add__(self, other: Summed) -> Summed:
        return Summed(self.moments + other.moments, self.left_out + other.left_out)


def running_sums(
    frames: Iterable[pl.DataFrame], roles: Roles, start: Summed | None = None, **options: Any
) -> Iterator[Summed]:
    """Yield the sums so far after every block of rows; blocks have one size whatever the frames."""
    n_rows, total = rows_per_block(len(roles.features)), start or Summed()
    n_jobs = min(options.pop("n_jobs", None) or os.cpu_count() or 1, _MOST_THREADS)
    n_blocks = n_jobs + 1 if n_jobs > 1 else 1
    loader = Loader(roles, n_rows, n_blocks)
    loaded = (loader.load(pieces) for pieces in blocks_of(frames, n_rows))
    for part in _in_order(loaded, n_jobs, **options):
        total += part
        yield total


def _in_order(
    loaded: Iterable[tuple[Chunk, LeftOut]], n_jobs: int, **options: Any
) -> Iterator[Summed]:
    """Yield the sums of each chunk; threads sum some while the next is loaded."""

    def part(chunk: Chunk, left_out: LeftOut) -> Summed:
        usable = len(chunk.codes) > 0
        sums = chunk.moments(n_jobs=1, **options) if usable else Moments.empty()
        return Summed(sums, left_out)

    if n_jobs == 1:
        yield from (part(*chunk) for chunk in loaded)
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        waiting: deque[Future[Summed]] = deque()
        for chunk in loaded:
            waiting.append(pool.submit(part, *chunk))
            if len(waiting) > n_jobs:  # so its block is free before it is loaded again
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def sums_of(frames: Iterable[pl.DataFrame], roles: Roles, **options: Any) -> Summed:
    """Return the sums of all rows of some frames."""
    total = Summed()
    for total in running_sums(frames, roles, **options):  # noqa: B007
        pass
    return total


def pairwise_sum(parts: Sequence[Summed]) -> Summed:
    """Return ((0 + 1) + (2 + 3)) and so on: their number alone fixes the order."""
    while len(parts) > 1:
        merged = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = [*merged, *parts[2 * len(merged) :]]
    return parts[0] if parts else Summed()
