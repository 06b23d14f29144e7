"""Linear scores of sparse rows, computed from their non-zero cells."""

from collections.abc import Callable

import numpy as np

from suffice.core.model.posterior import Readout, read_scores
from suffice.core.model.scoring import too_far_error, unscored
from suffice.core.table.count_rows import CountRows
from suffice.core.threads import in_order
from suffice.typing import Array, Floats

# if cells × classes is smaller, SciPy is faster than loading the compiled loops
SMALL = 100_000
_BLOCK = 1 << 20  # most scores that one thread has in memory at a time


def read_sparse(
    rows: CountRows, weights: Floats, constants: Floats, readout: Readout
) -> Array:
    """Return the readout of scores c_k + Σ_j x_j w_kj, block by block."""
    n_classes = len(weights)
    values: Array = np.empty(readout.shape(rows.n_rows, n_classes), readout.dtype)
    size = max(_BLOCK // n_classes, 256)
    multiply = sparse_products(rows, weights)

    def read_block(lo: int) -> None:
        hi = min(lo + size, rows.n_rows)
        scores = multiply(lo, hi) + constants
        is_small = scores.size < SMALL
        values[lo:hi] = readout.read(scores) if is_small else read_scores(scores, readout)

    for _ in in_order(read_block, list(range(0, rows.n_rows, size))):
        pass
    bad = unscored(values)
    if len(bad):
        raise too_far_error(int(bad[0]))
    return values


def sparse_products(rows: CountRows, weights: Floats) -> Callable[[int, int], Floats]:
    """Return a function of lo and hi that returns Σ_j x_ij w_kj of rows lo … hi − 1."""
    by_feature = np.ascontiguousarray(weights.T)  # (d, K): each count reads K adjacent numbers
    if rows.n_cells * len(weights) < SMALL:
        matrix = rows.matrix()

        def by_scipy(lo: int, hi: int) -> Floats:
            return np.asarray(matrix[lo:hi] @ by_feature, np.float64)

        return by_scipy
    from suffice.core.compiled import read_only
    from suffice.core.model import count_loops

    cells = read_only(rows.values, rows.columns, rows.starts)

    def by_loops(lo: int, hi: int) -> Floats:
        products = np.empty((hi - lo, len(weights)))
        count_loops.sparse_products(*cells, lo, hi, *read_only(by_feature), products)
        return products

    return by_loops
