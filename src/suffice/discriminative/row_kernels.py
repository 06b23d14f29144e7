"""Compiled sums of two-class logistic regression where rows lie one after another in memory.

One score a row leaves so little arithmetic that a tile of transposed rows costs more than it
saves: rows are read where they are, once for the scores of a group and once, from the cache, for
the gradient.
"""
# mypy: disallow-untyped-decorators=False

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from suffice.discriminative.kernels import to_probabilities
from suffice.moments.kernels import LANES

_FAST = {"contract", "reassoc", "nsz"}


@njit(nogil=True, cache=True)
def chunk_gradient(
    x: Any,
    codes: Any,
    weight: Any,
    lo: int,
    hi: int,
    centre: Any,
    inverse: Any,
    phi: Any,
    gradient: Any,
) -> float:
    """Add the gradient (1, 1 + d) of rows lo … hi−1; return their negative log-likelihood.

    ``weight`` is empty where every weight is one.
    """
    slopes, slope_gradient = phi[0, 1:] * inverse, np.zeros(len(inverse))
    a, p, w = np.zeros((1, LANES)), np.zeros((1, LANES)), np.ones(LANES)
    top, total = np.empty(LANES), np.empty(LANES)
    loss = 0.0
    for first in range(lo, hi, LANES):
        n = min(LANES, hi - first)
        if len(weight):
            w[:n] = weight[first : first + n]
        write_scores(x, first, n, centre, phi[0, 0], slopes, a[0])
        loss += to_probabilities(a, codes[first : first + n], w, n, p, top, total)
        add_products(x, first, n, centre, a[0], slope_gradient)
        gradient[0, 0] += a[0, :n].sum()
    gradient[0, 1:] += slope_gradient * inverse
    return loss


@njit(nogil=True, cache=True, fastmath=_FAST)
def write_scores(
    x: Any, first: int, n: int, centre: Any, intercept: float, slopes: Any, a: Any
) -> None:
    """Write intercept + slopesᵀ (x − m) of n rows."""
    for r in range(n):
        row = x[first + r]
        score = 0.0
        for j in range(len(slopes)):
            score += slopes[j] * (row[j] - centre[j])
        a[r] = intercept + score


@njit(nogil=True, cache=True, fastmath=_FAST)
def add_products(x: Any, first: int, n: int, centre: Any, residual: Any, gradient: Any) -> None:
    """Add Σ_r residual[r] (x_r − m) to the gradient, four rows at a time."""
    full = n // 4 * 4
    for r in range(0, full, 4):
        i = first + r
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        e0, e1, e2, e3 = residual[r], residual[r + 1], residual[r + 2], residual[r + 3]
        for j in range(len(gradient)):
            c = centre[j]
            gradient[j] += e0 * (x0[j] - c) + e1 * (x1[j] - c) + e2 * (x2[j] - c) + e3 * (x3[j] - c)
    for r in range(full, n):
        row = x[first + r]
        for j in range(len(gradient)):
            gradient[j] += residual[r] * (row[j] - centre[j])
