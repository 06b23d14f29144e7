"""How rows are laid out for compiled loops, and how large the blocks are that stay in cache."""

from collections.abc import Callable
from functools import cache

import numpy as np

from suffice.core.threads import in_order
from suffice.typing import Codes, Floats

SIDE = 4  # rows and columns of one block of a packed matrix
# Rows of a chunk. 72 doubles are 9 lines of cache: were their number even, lanes of different
# features would compete for the same few places. Cached kernels contain it: clear __pycache__.
LANES = 72
TABLE_NUMBERS = 1 << 15  # of a NumPy table that stays in cache


def padded(a: Floats) -> Floats:
    """Return a copy with zeros behind the last axis, its length a multiple of SIDE."""
    out = np.zeros((*a.shape[:-1], _multiple(a.shape[-1])))
    out[..., : a.shape[-1]] = a
    return out


def packed_blocks(w: Floats) -> Floats:
    """Return a matrix (r, c) in blocks, (r / SIDE, c / SIDE, SIDE²)."""
    whole = np.zeros(tuple(map(_multiple, w.shape)))
    whole[: w.shape[0], : w.shape[1]] = w
    r, c = (n // SIDE for n in whole.shape)
    return whole.reshape(r, SIDE, c, SIDE).swapaxes(1, 2).reshape(r, c, SIDE * SIDE)


def packed_lower(w: Floats) -> Floats:
    """Return the blocks on and under the diagonal of a lower triangle, row by row, (…, SIDE²)."""
    blocks = packed_blocks(w)
    return blocks[_under_diagonal(len(blocks))]


@cache
def _under_diagonal(n: int) -> tuple[Codes, Codes]:
    return np.tril_indices(n)


def empty_tile(n_chunks: int, width: int) -> Floats:
    """Return a tile for so many features or classes, (chunks, width and more, LANES)."""
    return np.zeros((n_chunks, _multiple(width), LANES))


def in_cached_blocks(n_rows: int, width: int, run: Callable[[slice], None]) -> None:
    """Call ``run`` for blocks of rows whose tables of ``width`` columns stay in cache."""
    size = max(TABLE_NUMBERS // max(width, 1), 256)
    blocks = [slice(lo, lo + size) for lo in range(0, n_rows, size)]
    n_jobs = None if len(blocks) >= 4 else 1  # starting threads for fewer does not pay
    for _ in in_order(run, blocks, n_jobs):
        pass


def _multiple(n: int) -> int:
    return -(-n // SIDE) * SIDE
