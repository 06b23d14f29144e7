"""Compiled distances of rows with holes, in lanes that do the same and never mix.

Where features are missing, Σ_oo is seen inside D Σ D + (I − D), with D = diag(observed): its
factor has the rows of L_oo, and unit rows in the place of missing features. A lane of
``full_distances`` is a *run*: up to a few rows of one pattern, which share a factor.
"""
# mypy: disallow-untyped-decorators=False

import numpy as np

from suffice.compiled import njit
from suffice.model.kernels import compiled
from suffice.model.tiles import LANES
from suffice.typing import Codes, Floats

# sums over features may be reordered
summed = njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
LOST = 1e-6  # of a variance given the features before it, beyond which digits are lost


@compiled
def full_distances(
    y: Floats,
    order: Codes,
    firsts: Codes,
    counts: Codes,
    sigma: Floats,
    means: Floats,
    distances: Floats,
    log_dets: Floats,
) -> None:
    """Write |L_oo⁻¹ (y_o − μ_o)|² for each mean (m, d), and log|Σ_oo|; NaN in y is a hole.

    Run i has the rows ``order[j]`` with ``counts[i]`` places j from ``firsts[i]`` on. Where Σ_oo is
    nearly singular both are NaN.
    """
    d, m = y.shape[1], means.shape[0]
    seen, lanes, zeros = np.empty((d, LANES)), np.empty((d, LANES)), np.zeros((d, LANES))
    factor, inverse = np.empty((d * (d + 1) // 2, LANES)), np.empty((d, LANES))
    z, whitened = np.empty((d, LANES)), np.empty((m, d, LANES))
    rows = np.empty(LANES, np.int64)
    log_det, total = np.empty(LANES), np.empty(LANES)
    for start in range(0, len(firsts), LANES):
        first, count = firsts[start : start + LANES], counts[start : start + LANES]
        for i in range(count.max()):
            for b in range(LANES):
                run = min(b, len(first) - 1)
                rows[b] = order[first[run] + min(i, count[run] - 1)]
            _load(y, rows, seen, lanes)
            if i == 0:
                _factorise(sigma, seen, factor, inverse, log_det)
                for k in range(1, m):
                    _solve(zeros, means[0] - means[k], seen, factor, inverse, whitened[k])
            _solve(lanes, means[0], seen, factor, inverse, z)
            for k in range(m):
                _squared_difference(z, whitened[k] if k else zeros, total)
                for b in range(LANES):
                    distances[rows[b], k] = total[b]
            for b in range(LANES):
                log_dets[rows[b]] = log_det[b]


@summed
def scaled_distances(
    y: Floats, means: Floats, inverse: Floats, logs: Floats, distances: Floats, log_dets: Floats
) -> None:
    """Write Σ ((y − μ) / σ)² for each mean, (n, m), and Σ log σ², over what was observed."""
    for i in range(len(y)):
        row, total = y[i], 0.0
        for j in range(len(row)):
            total += 0.0 if np.isnan(row[j]) else logs[j]
        log_dets[i] = total
        for k in range(len(means)):
            mu, total = means[k], 0.0
            for j in range(len(row)):
                z = (row[j] - mu[j]) * inverse[j]
                total += 0.0 if np.isnan(z) else z * z
            distances[i, k] = total


@compiled
def _load(y: Floats, rows: Codes, seen: Floats, lanes: Floats) -> None:
    """Set lanes to rows of y, 0 in holes, and to where there are none."""
    for b in range(LANES):
        row = y[rows[b]]
        for j in range(row.shape[0]):
            hole = np.isnan(row[j])
            seen[j, b] = 0.0 if hole else 1.0
            lanes[j, b] = 0.0 if hole else row[j]


@compiled
def _factorise(
    sigma: Floats, seen: Floats, factor: Floats, inverse: Floats, log_det: Floats
) -> None:
    """Write L below the diagonal, 1 / L_ii, and log|L Lᵀ|; NaN where a pivot is lost."""
    d = sigma.shape[0]
    a, product = np.empty(LANES), np.ones(LANES)
    log_det[:] = 0.0
    for i in range(d):
        row = i * (i + 1) // 2
        for j in range(i + 1):
            for b in range(LANES):
                a[b] = sigma[i, j] * seen[i, b] * seen[j, b]
            # L_ij L_jj = Σ_ij − Σ_{h<j} L_ih L_jh
            _subtract_products(factor, row, factor, j * (j + 1) // 2, j, a)
            if j < i:
                for b in range(LANES):
                    factor[row + j, b] = a[b] * inverse[j, b]
        for b in range(LANES):
            pivot = a[b] + (1.0 - seen[i, b])  # 1 is added to no small variance
            lost = seen[i, b] > 0 and not pivot > LOST * sigma[i, i]
            pivot = np.nan if lost else pivot
            inverse[i, b] = 1 / np.sqrt(pivot)
            product[b] *= pivot / (sigma[i, i] if seen[i, b] > 0 else 1.0)
        if i % 16 == 15 or i == d - 1:  # few enough for no underflow
            for b in range(LANES):
                log_det[b] += np.log(product[b])
                product[b] = 1.0
    for i in range(d):
        log_variance = np.log(sigma[i, i])
        for b in range(LANES):
            log_det[b] += seen[i, b] * log_variance


@compiled
def _solve(y: Floats, mu: Floats, seen: Floats, factor: Floats, inverse: Floats, z: Floats) -> None:
    """Set z to L⁻¹ (y − μ) over what was observed."""
    a = np.empty(LANES)
    for i in range(y.shape[0]):
        for b in range(LANES):
            a[b] = (y[i, b] - mu[i]) * seen[i, b]
        _subtract_products(factor, i * (i + 1) // 2, z, 0, i, a)
        for b in range(LANES):
            z[i, b] = a[b] * inverse[i, b]


@compiled
def _subtract_products(u: Floats, p: int, v: Floats, q: int, n: int, a: Floats) -> None:
    """Subtract from a the products of n rows of u, from p on, and of v, from q on."""
    h = 0
    while h + 4 <= n:
        for b in range(LANES):
            a[b] = (
                a[b]
                - u[p + h, b] * v[q + h, b]
                - u[p + h + 1, b] * v[q + h + 1, b]
                - u[p + h + 2, b] * v[q + h + 2, b]
                - u[p + h + 3, b] * v[q + h + 3, b]
            )
        h += 4
    for g in range(h, n):
        for b in range(LANES):
            a[b] -= u[p + g, b] * v[q + g, b]


@compiled
def _squared_difference(z: Floats, m: Floats, total: Floats) -> None:
    """Set total to |z − m|²."""
    total[:] = 0.0
    for i in range(z.shape[0]):
        for b in range(LANES):
            v = z[i, b] - m[i, b]
            total[b] += v * v
