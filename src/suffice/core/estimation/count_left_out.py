"""Sums of logarithms over the cells of each row, with the row left out of the sums of its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from suffice.core.model.sparse_scores import SMALL, sparse_products
from suffice.core.moments.count_sums import CountSums
from suffice.core.table.count_rows import CountRows, summed
from suffice.core.threads import in_order
from suffice.typing import Codes, Floats

_ROWS = 1 << 14  # number of rows in a task of a thread


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutRows:
    """Rows that were summed, with sums of logarithms for each of several pseudo-counts α.

    N_kj is the sum of feature j in class k, n_k the weight of class k, and y the class of a row.
    """

    rows: CountRows
    codes: Codes  # class y of each row  (n,)
    w: Floats  # weight of each row  (n,)
    totals: Floats  # |x|, the sum of each row  (n,)
    present: Mapping[float, Floats]  # α → Σ_j x_j log (N_yj − w x_j + α)  (n,)
    absent: Mapping[float, Floats]  # α → Σ_{j in row} log (n_y − N_yj − w + α)  (n,)
    products: Mapping[float, Floats]  # α → Σ_j x_j log (N_kj + α)  (n, K)

    @classmethod
    def of(
        cls,
        sums: CountSums,
        rows: CountRows,
        codes: Codes,
        w: Floats,
        alphas: Sequence[float],
        *,
        with_absences: bool,
    ) -> LeftOutRows:
        """Return the rows with their logarithms for each α; ``with_absences`` needs indicators."""
        values = np.array(alphas, np.float64)
        present = left_out_sums(rows, sums.sums, codes, w, values)
        absent = np.zeros((len(values), rows.n_rows))
        if with_absences:
            lacking = sums.weights[:, None] - sums.sums
            absent = left_out_sums(rows, lacking, codes, w, values)
        return cls(
            rows=rows,
            codes=codes,
            w=w,
            totals=rows.totals(),
            present=dict(zip(alphas, present, strict=True)),
            absent=dict(zip(alphas, absent, strict=True)),
            products={},
        )

    def with_products(self, sums: CountSums, alphas: Sequence[float]) -> LeftOutRows:
        """Return the rows with the products for these α, n × K numbers for each α."""
        return replace(self, products=_products_of_each(self.rows, sums.sums, alphas))


def log_products(rows: CountRows, logs: Floats) -> Floats:
    """Return Σ_j x_ij L_kj for each row i and class k, (n, K)."""
    products = np.empty((rows.n_rows, len(logs)))
    multiply = sparse_products(rows, logs)

    def write(lo: int) -> None:
        hi = min(lo + _ROWS, rows.n_rows)
        products[lo:hi] = multiply(lo, hi)

    for _ in in_order(write, list(range(0, rows.n_rows, _ROWS))):
        pass
    return products


def _products_of_each(
    rows: CountRows, sums: Floats, alphas: Sequence[float]
) -> dict[float, Floats]:
    """Return Σ_j x_j log (N_kj + α) (n, K) for each α, in one pass over the cells."""
    if not alphas:
        return {}
    logs = [log_of_smoothed(sums, alpha).T for alpha in alphas]
    products = log_products(rows, np.concatenate(logs, axis=1).T)
    n_classes = len(sums)
    of_each = {}
    for a, alpha in enumerate(alphas):
        of_each[alpha] = products[:, a * n_classes : (a + 1) * n_classes]
    return of_each


def log_of_smoothed(sums: Floats, alpha: float) -> Floats:
    """Return log (N + α) for sums N (K, d); the array is stored column by column."""
    if sums.size < SMALL:
        return np.asfortranarray(np.log(sums + alpha))
    from suffice.core.compiled import read_only
    from suffice.core.estimation import count_loops

    logs = np.empty(sums.shape[::-1])
    count_loops.log_of_smoothed(*read_only(sums), alpha, logs)
    return logs.T


def left_out_sums(
    rows: CountRows, sums: Floats, codes: Codes, w: Floats, alphas: Floats
) -> Floats:
    """Return Σ_j x_ij log (N_yj − w_i x_ij + α) for each α and row i of class y, (A, n)."""
    if rows.n_cells < SMALL:
        i = rows.row_of_cell
        rest = np.maximum(sums[codes[i], rows.columns] - w[i] * rows.values, 0.0)
        own = [summed(i, rows.values * np.log(rest + alpha), rows.n_rows) for alpha in alphas]
        return np.array(own).reshape(len(alphas), rows.n_rows)
    from suffice.core.compiled import read_only
    from suffice.core.estimation import count_loops

    tables = count_loops.log_tables(alphas)
    # read the rows class by class, so that the sums of a class stay in the cache
    order = np.argsort(codes, kind="stable")
    cells = read_only(rows.values, rows.columns, rows.starts, codes, w, sums)
    read = read_only(alphas, tables, order)
    by_row = np.empty((rows.n_rows, len(alphas)))

    def write(lo: int) -> None:
        count_loops.left_out_sums(*cells, *read, lo, lo + _ROWS, by_row)

    for _ in in_order(write, list(range(0, rows.n_rows, _ROWS))):
        pass
    return by_row.T


def left_out_absences(sums: CountSums, codes: Codes, w: Floats, alpha: float) -> Floats:
    """Return Σ_j log (n_y − N_yj − w_i + α) over all features, for each row i of class y, (n,)."""
    # the sum includes the features that row i has, whose terms the caller subtracts; for the other
    # features, n_y − N_yj ≥ w_i
    pairs, pair_of_row = np.unique(np.stack([codes, w]), axis=1, return_inverse=True)
    of_features = np.empty(pairs.shape[1])
    for p, (k, weight) in enumerate(pairs.T.tolist()):
        left = sums.weights[int(k)] - sums.sums[int(k)] - weight
        of_features[p] = np.log(np.maximum(left, 0.0) + alpha).sum()
    return np.asarray(of_features[pair_of_row.ravel()])


def changed_complement_sums(
    rows: CountRows, complements: Floats, codes: Codes, w: Floats, alpha: float
) -> Floats:
    """Return Σ_j x_ij log (c_kj − w_i x_ij [k ≠ y] + α) for each row i and class k, (n, K).

    y is the class of row i, and c_kj the sum of feature j over all classes except k.
    """
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
