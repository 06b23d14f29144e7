"""Compiled distances of rows with holes: one lane per row, each with a factor of its own.

Where entries of a row are missing, Σ_oo is seen inside D Σ D + (I − D), with D = diag(observed):
its factor has the rows of L_oo, and unit rows in the place of missing features. So all lanes do
the same, and no lane's result depends on its neighbours.
"""

import numpy as np

from suffice.model.kernels import compiled
from suffice.model.tiles import LANES
from suffice.typing import Floats


@compiled
def full_distances(
    x: Floats, sigma: Floats, means: Floats, distances: Floats, log_dets: Floats
) -> None:
    """Write |L_oo⁻¹ (x_o − μ_o)|² for each mean (m, d), and log|Σ_oo|; NaN in x is a hole.

    Where Σ_oo is singular up to rounding both are NaN.
    """
    n, d = x.shape
    seen, y, z = np.empty((d, LANES)), np.empty((d, LANES)), np.empty((d, LANES))
    factor, inverse = np.empty((d * (d + 1) // 2, LANES)), np.empty((d, LANES))
    total = np.empty(LANES)
    for start in range(0, n, LANES):
        rows = x[start : start + LANES]
        _load(rows, seen, y)
        _factorise(sigma, seen, factor, inverse, total)
        for b in range(rows.shape[0]):
            log_dets[start + b] = total[b]
        for k in range(means.shape[0]):
            _solve(y, means[k], seen, factor, inverse, z, total)
            for b in range(rows.shape[0]):
                distances[start + b, k] = total[b]


@compiled
def scaled_distances(
    x: Floats,
    inverse_scale: Floats,
    log_variance: Floats,
    means: Floats,
    distances: Floats,
    log_dets: Floats,
) -> None:
    """Write Σ ((x − μ) / σ)² for each mean (m, d), and Σ log σ², over what was observed."""
    n, d = x.shape
    for i in range(n):
        distances[i] = 0.0
        log_dets[i] = 0.0
        for j in range(d):
            v = x[i, j]
            if not np.isnan(v):
                log_dets[i] += log_variance[j]
                for k in range(means.shape[0]):
                    z = (v - means[k, j]) * inverse_scale[j]
                    distances[i, k] += z * z


@compiled
def _load(rows: Floats, seen: Floats, y: Floats) -> None:
    """Set lanes to the rows, 0 in holes, and to where there are none."""
    for b in range(LANES):
        row = rows[min(b, rows.shape[0] - 1)]
        for j in range(row.shape[0]):
            hole = np.isnan(row[j])
            seen[j, b] = 0.0 if hole else 1.0
            y[j, b] = 0.0 if hole else row[j]


@compiled
def _factorise(sigma: Floats, seen: Floats, factor: Floats, inverse: Floats, total: Floats) -> None:
    """Write L below the diagonal, 1 / L_ii, and log|L Lᵀ|; NaN where a pivot is lost."""
    d = sigma.shape[0]
    tolerance = 64 * d * np.finfo(np.float64).eps
    a, product = np.empty(LANES), np.ones(LANES)
    total[:] = 0.0
    for i in range(d):
        row = i * (i + 1) // 2
        for j in range(i + 1):
            column = j * (j + 1) // 2
            for b in range(LANES):
                a[b] = sigma[i, j] * seen[i, b] * seen[j, b]
            # L_ij L_jj = Σ_ij − Σ_{h<j} L_ih L_jh
            _subtract_products(factor, row, column, j, a)
            if j < i:
                for b in range(LANES):
                    factor[row + j, b] = a[b] * inverse[j, b]
        for b in range(LANES):
            pivot = a[b] + 1.0 - seen[i, b]
            lost = seen[i, b] > 0 and not pivot > tolerance * sigma[i, i]
            pivot = np.nan if lost else pivot
            inverse[i, b] = 1 / np.sqrt(pivot)
            product[b] *= pivot
        if i % 16 == 15 or i == d - 1:  # few enough for no underflow
            for b in range(LANES):
                total[b] += np.log(product[b])
                product[b] = 1.0


@compiled
def _subtract_products(factor: Floats, row: int, column: int, n: int, a: Floats) -> None:
    """Subtract from a the products of n entries of two rows of L."""
    h = 0
    while h + 4 <= n:
        for b in range(LANES):
            a[b] = (
                a[b]
                - factor[row + h, b] * factor[column + h, b]
                - factor[row + h + 1, b] * factor[column + h + 1, b]
                - factor[row + h + 2, b] * factor[column + h + 2, b]
                - factor[row + h + 3, b] * factor[column + h + 3, b]
            )
        h += 4
    for g in range(h, n):
        for b in range(LANES):
            a[b] -= factor[row + g, b] * factor[column + g, b]


@compiled
def _solve(
    y: Floats, mu: Floats, seen: Floats, factor: Floats, inverse: Floats, z: Floats, total: Floats
) -> None:
    """Set z to L⁻¹ (y − μ) over what was observed, and total to |z|²."""
    total[:] = 0.0
    a = np.empty(LANES)
    for i in range(y.shape[0]):
        row = i * (i + 1) // 2
        for b in range(LANES):
            a[b] = (y[i, b] - mu[i]) * seen[i, b]
        h = 0
        while h + 4 <= i:
            for b in range(LANES):
                a[b] = (
                    a[b]
                    - factor[row + h, b] * z[h, b]
                    - factor[row + h + 1, b] * z[h + 1, b]
                    - factor[row + h + 2, b] * z[h + 2, b]
                    - factor[row + h + 3, b] * z[h + 3, b]
                )
            h += 4
        for g in range(h, i):
            for b in range(LANES):
                a[b] -= factor[row + g, b] * z[g, b]
        for b in range(LANES):
            z[i, b] = a[b] * inverse[i, b]
            total[b] += z[i, b] * z[i, b]
