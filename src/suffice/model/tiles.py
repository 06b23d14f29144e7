"""The pass over rows in blocks that fit the cache, shared out to threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.model.parts import SIDE
from suffice.threads import in_order, n_threads_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from suffice.model.parts import Stage
    from suffice.model.readout import Readout
    from suffice.typing import Floats

# Rows of a chunk. 72 doubles are 9 lines of cache: were their number even, lanes of different
# features would compete for the same few places. Cached kernels contain it: clear __pycache__.
LANES = 72
TILE_BYTES = 1 << 19  # half of a common second-level cache
MOST_CHUNKS = 64
TABLE_NUMBERS = 1 << 15  # of a NumPy table that stays in cache
PARALLEL = 1_000_000  # n·d·K under which starting threads does not pay


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """Rows of x → tile → stages → score tile → readout → rows of values."""

    x: npt.NDArray[Any]  # (n, d)
    origin: Floats  # o  (d,)
    stages: Sequence[Stage]
    n_classes: int
    readout: Readout
    values: npt.NDArray[Any]  # (n, K) or (n,), written

    @property
    def n_chunks(self) -> int:
        """Chunks of a block: as many as keep its tiles in cache."""
        chunk_bytes: int = 8 * LANES * (self.x.shape[1] + self.n_classes)
        return min(max(TILE_BYTES // chunk_bytes, 1), MOST_CHUNKS)

    @property
    def n_products(self) -> int:
        """Size of the work, n·d·K."""
        return self.x.size * self.n_classes

    def run(self, n_jobs: int | None = None) -> bool:
        """Write all rows; return whether some row has no finite score.

        Threads take the next block until none is left. What a block yields depends on its rows
        alone, so the number of threads changes no bit.
        """
        starts = range(0, len(self.values), self.n_chunks * LANES)
        blocks = iter(starts)
        wanted = n_threads_of(n_jobs) if self.n_products > PARALLEL else 1
        shares = [blocks] * min(wanted, len(starts))  # one iterator: whoever is free takes the next
        return any(list(in_order(self._work, shares, wanted)))

    def _work(self, blocks: Iterator[int]) -> bool:
        """Write the blocks that begin at these rows."""
        load, bad = _loader(self.x, self.origin), False
        tile = _tile(self.n_chunks, self.x.shape[1])
        scores = _tile(self.n_chunks, self.n_classes)
        for start in blocks:
            rows = self.values[start : start + self.n_chunks * LANES]
            used = -(-len(rows) // LANES)
            t, s = tile[:used], scores[:used]
            load(start, t)
            for stage in self.stages:
                stage(t, s)
            bad |= self.readout.write(s, self.n_classes, rows)
        return bad


def in_blocks(n_rows: int, width: int, run: Callable[[slice], None]) -> None:
    """Call ``run`` for blocks of rows whose tables of ``width`` columns stay in cache."""
    size = max(TABLE_NUMBERS // max(width, 1), 256)
    blocks = [slice(lo, lo + size) for lo in range(0, n_rows, size)]
    n_jobs = None if len(blocks) >= 4 else 1  # starting threads for fewer does not pay
    for _ in in_order(run, blocks, n_jobs):
        pass


def _tile(n_chunks: int, width: int) -> Floats:
    return np.zeros((n_chunks, -(-width // SIDE) * SIDE, LANES))


def _loader(x: npt.NDArray[Any], origin: Floats) -> Callable[[int, Floats], None]:
    """Return the loop that brings x − o to a tile: along rows, along columns, or converted."""
    from suffice.model.kernels import load_columns, load_rows

    if x.dtype not in (np.float64, np.float32):
        return lambda start, t: load_rows(_converted(x, start, len(t)), 0, origin, t)
    if abs(x.strides[0]) < abs(x.strides[1]):
        columns = x.T
        return lambda start, t: load_columns(columns, start, origin, t)
    return lambda start, t: load_rows(x, start, origin, t)


def _converted(x: npt.NDArray[Any], start: int, n_chunks: int) -> Floats:
    return np.array(x[start : start + n_chunks * LANES], np.float64, order="C")
