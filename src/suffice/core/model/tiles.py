"""The layout of rows for compiled loops, and the size of blocks that stay in cache."""

from collections.abc import Callable
from functools import cache

import numpy as np

from suffice.core.threads import in_order
from suffice.typing import Codes, Floats

SIDE = 4  # number of rows and of columns of a block in a packed matrix
# Number of rows of a chunk. 72 doubles are 9 cache lines. With an even number of lines, the lanes
# of
# different features would map to the same few cache sets. Cached compiled code contains this
# number: clear __pycache__ after changing it.
LANES = 72
TABLE_NUMBERS = 1 << 15  # most numbers of a NumPy array that should stay in the cache


def padded(a: Floats) -> Floats:
    """Return a copy with the last axis padded with zeros to a multiple of SIDE."""
    length = a.shape[-1]
    out = np.zeros((*a.shape[:-1], _multiple_of_side(length)))
    out[..., :length] = a
    return out


def packed_blocks(w: Floats) -> Floats:
    """Return a matrix (r, c) as blocks of SIDE × SIDE numbers, (r / SIDE, c / SIDE, SIDE²)."""
    n_rows, n_columns = w.shape
    whole = np.zeros((_multiple_of_side(n_rows), _multiple_of_side(n_columns)))
    whole[:n_rows, :n_columns] = w
    r = whole.shape[0] // SIDE
    c = whole.shape[1] // SIDE
    return whole.reshape(r, SIDE, c, SIDE).swapaxes(1, 2).reshape(r, c, SIDE * SIDE)


def packed_lower(w: Floats) -> Floats:
    """Return the blocks on and below the diagonal of a matrix, row by row, (…, SIDE²)."""
    blocks = packed_blocks(w)
    return blocks[_lower_indices(len(blocks))]


@cache
def _lower_indices(n: int) -> tuple[Codes, Codes]:
    return np.tril_indices(n)


def empty_tile(n_chunks: int, width: int) -> Floats:
    """Return a tile of zeros for ``width`` features or classes, (chunks, padded width, LANES)."""
    return np.zeros((n_chunks, _multiple_of_side(width), LANES))


def in_cached_blocks(n_rows: int, width: int, run: Callable[[slice], None]) -> None:
    """Call ``run`` for blocks of rows whose tables of ``width`` columns stay in cache."""
    size = max(TABLE_NUMBERS // max(width, 1), 256)
    blocks = [slice(start, start + size) for start in range(0, n_rows, size)]
    # for fewer blocks, starting threads takes longer than it saves
    n_jobs = None if len(blocks) >= 4 else 1
    for _ in in_order(run, blocks, n_jobs):
        pass


def _multiple_of_side(n: int) -> int:
    return -(-n // SIDE) * SIDE
