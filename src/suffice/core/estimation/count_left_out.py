"""Sums of logarithms over the cells of each row, with the row's own counts left out."""

from __future__ import annotations

import numpy as np

from suffice.core.model.counts import SMALL, sparse_products
from suffice.core.moments.count_sums import CountSums
from suffice.core.table.count_rows import CountRows, summed
from suffice.core.threads import in_order
from suffice.typing import Codes, Floats

_ROWS = 1 << 14  # rows that one thread reads at a time


def log_products(rows: CountRows, logs: Floats) -> Floats:
    """Return Σ_j x_ij L_kj of every row and class, (n, K)."""
    products = np.empty((rows.n_rows, len(logs)))
    multiply = sparse_products(rows, logs)

    def write(lo: int) -> None:
        hi = min(lo + _ROWS, rows.n_rows)
        products[lo:hi] = multiply(lo, hi)

    for _ in in_order(write, list(range(0, rows.n_rows, _ROWS))):
        pass
    return products


def left_out_sums(
    rows: CountRows, sums: Floats, codes: Codes, w: Floats, alpha: float
) -> Floats:
    """Return Σ_j x_ij log (N_yj − w_i x_ij + α) of every row, y its class, (n,)."""
    if rows.n_cells >= SMALL:
        from suffice.core.compiled import read_only
        from suffice.core.estimation import count_loops

        cells = read_only(rows.values, rows.columns, rows.starts, codes, w, sums)
        own = np.empty(rows.n_rows)

        def write(lo: int) -> None:
            count_loops.left_out_sums(*cells, alpha, lo, min(lo + _ROWS, rows.n_rows), own)

        for _ in in_order(write, list(range(0, rows.n_rows, _ROWS))):
            pass
        return own
    i = rows.row_of_cell
    rest = np.maximum(sums[codes[i], rows.columns] - w[i] * rows.values, 0.0)
    return summed(i, rows.values * np.log(rest + alpha), rows.n_rows)


def left_out_absences(
    rows: CountRows, sums: CountSums, codes: Codes, w: Floats, alpha: float
) -> Floats:
    """Return Σ_{j not in row i} log (n_y − w_i − N_yj + α) of every row, y its class, (n,)."""
    # a feature that row i lacks has n_y − N_yj ≥ w_i; for the others any common value will do,
    # since their terms are subtracted again
    i = rows.row_of_cell
    absences = np.maximum(sums.weights[codes[i]] - sums.sums[codes[i], rows.columns] - w[i], 0)
    of_cells = summed(i, np.log(absences + alpha), rows.n_rows)
    pairs, pair_of_row = np.unique(np.stack([codes, w]), axis=1, return_inverse=True)
    of_features = np.empty(pairs.shape[1])
    for p, (k, weight) in enumerate(pairs.T.tolist()):
        left = sums.weights[int(k)] - sums.sums[int(k)] - weight
        of_features[p] = np.log(np.maximum(left, 0.0) + alpha).sum()
    return np.asarray(of_features[pair_of_row.ravel()] - of_cells)


def changed_complement_sums(
    rows: CountRows, complements: Floats, codes: Codes, w: Floats, alpha: float
) -> Floats:
    """Return Σ_j x_ij log (c_kj − w_i x_ij [k ≠ y] + α) of every row and class, (n, K)."""
    n_classes = len(complements)
    if rows.n_cells * n_classes >= SMALL:
        from suffice.core.compiled import read_only
        from suffice.core.estimation import count_loops

        by_feature = np.ascontiguousarray(complements.T)
        cells = read_only(rows.values, rows.columns, rows.starts, codes, w, by_feature)
        changed = np.empty((rows.n_rows, n_classes))

        def write(lo: int) -> None:
            hi = min(lo + _ROWS, rows.n_rows)
            count_loops.changed_complement_sums(*cells, alpha, lo, hi, changed)

        for _ in in_order(write, list(range(0, rows.n_rows, _ROWS))):
            pass
        return changed
    i = rows.row_of_cell
    changed = np.empty((rows.n_rows, n_classes))
    for k in range(n_classes):
        removed = np.where(codes[i] == k, 0.0, w[i] * rows.values)
        rest = np.maximum(complements[k, rows.columns] - removed, 0.0)
        changed[:, k] = summed(i, rows.values * np.log(rest + alpha), rows.n_rows)
    return changed
