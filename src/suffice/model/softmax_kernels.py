"""Compiled loops from a score tile to the caller's rows: softmax, its logarithm, argmax.

A score tile is (chunks, classes, LANES), see ``kernels``. Whether some row has no finite score at
all is told; such a row becomes NaN, its code −1.
"""
# mypy: disallow-untyped-decorators=False

import math

import numpy as np

from suffice.model.kernels import compiled
from suffice.model.tiles import LANES
from suffice.typing import Array, Codes, Floats

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUND, _ROUND_BITS = 6755399441055744.0, 0x4338000000000000  # 1.5 · 2⁵²


# what is written of each row: a value for each class, or one
JOINT, POSTERIOR, LOG_POSTERIOR, LOG_DENSITY, ARGMAX = range(5)


@compiled
def write(scores: Floats, n_classes: int, beta: float, what: int, out: Array) -> bool:
    """Write a, softmax(β a), its logarithm, log Σₖ exp aₖ, or argmax a, to rows (n, K) or (n, 1).

    β = 1 / T is 1 for densities; of equal classes the first is the greatest.
    """
    top, rest, code = np.empty(LANES), np.empty(LANES), np.empty(LANES, np.intp)
    e, bad = np.empty(scores.shape[1:]), False
    for c in range(scores.shape[0]):
        a, rows = scores[c], out[c * LANES : (c + 1) * LANES]
        n = rows.shape[0]
        bad |= _winners(a, n_classes, n, top, code)
        if what in (POSTERIOR, LOG_POSTERIOR, LOG_DENSITY):
            _exponentials(a, n_classes, beta, top, code, e, rest)
        for b in range(n):
            if what == JOINT:
                for k in range(n_classes):
                    rows[b, k] = a[k, b]
            elif what == POSTERIOR:
                # p_k = exp(β (a_k − max a)) / (1 + Σ over the losers)
                share = 1.0 / (1.0 + rest[b])
                for k in range(n_classes):
                    rows[b, k] = e[k, b] * share
            elif what == LOG_POSTERIOR:
                # log p_k = β (a_k − max a) − log1p(Σ over the losers)
                total = math.log1p(rest[b])
                for k in range(n_classes):
                    rows[b, k] = beta * (a[k, b] - top[b]) - total
            else:
                rows[b, 0] = code[b] if what == ARGMAX else top[b] + math.log1p(rest[b])
    return bad


@compiled
def _winners(a: Floats, n_classes: int, n_rows: int, top: Floats, code: Codes) -> bool:
    """Find the greatest score of each lane; make lanes that have none NaN, and tell."""
    for b in range(LANES):
        top[b], code[b] = a[0, b], 0
    for k in range(1, n_classes):
        for b in range(LANES):
            better = (a[k, b] > top[b]) | math.isnan(a[k, b])  # so that a NaN stays on top
            top[b] = a[k, b] if better else top[b]
            code[b] = k if better else code[b]
    bad = False
    for b in range(n_rows):
        if not math.isfinite(top[b]):
            bad, top[b], code[b] = True, math.nan, -1
            for k in range(n_classes):
                a[k, b] = math.nan
    return bad


@compiled
def _exponentials(
    a: Floats, n_classes: int, beta: float, top: Floats, code: Codes, e: Floats, rest: Floats
) -> None:
    """Set e to exp(β (a − max a)) and ``rest`` to its sum over all classes but the winner."""
    rest[:] = 0.0
    for k in range(n_classes):
        for b in range(LANES):
            e[k, b] = exp_negative(beta * (a[k, b] - top[b]))
            rest[b] = rest[b] + (0.0 if code[b] == k else e[k, b])


@compiled
def exp_negative(x: float) -> float:
    """Return eˣ for x ≤ 0, to an ulp, subnormal results included."""
    # x = n ln 2 + r,  |r| ≤ ½ ln 2;  adding 1.5 · 2⁵² rounds, and leaves n in the low bits
    x = -750.0 if x < -750.0 else x
    shifted = np.float64(x * _LOG2_E + _ROUND)
    n = shifted - _ROUND
    r = x - n * _LN2_HIGH - n * _LN2_LOW
    # eʳ = 1 + r + r² (1/2! + r/3! + … + r¹¹/13!)
    p = 1 / 39916800 + r * (1 / 479001600 + r * (1 / 6227020800))
    p = 1 / 40320 + r * (1 / 362880 + r * (1 / 3628800 + r * p))
    p = 1 / 120 + r * (1 / 720 + r * (1 / 5040 + r * p))
    p = 1 / 2 + r * (1 / 6 + r * (1 / 24 + r * p))
    p = 1 + (r + r * r * p)
    # eˣ = eʳ · 2^⌊n/2⌋ · 2^⌈n/2⌉: each power of two is normal where 2ⁿ may not be
    power = shifted.view(np.int64) - _ROUND_BITS
    half = power >> 1
    low, high = (half + 1023) << 52, (power - half + 1023) << 52
    return p * np.int64(low).view(np.float64) * np.int64(high).view(np.float64)


@compiled
def share_out(scores: Floats, n_classes: int, weight: Floats) -> float:
    """Turn scores to w softmax(a) in place, w (chunks, LANES); return Σ w log Σₖ exp aₖ."""
    top, rest, code = np.empty(LANES), np.empty(LANES), np.empty(LANES, np.intp)
    total = 0.0
    for c in range(scores.shape[0]):
        a, w = scores[c], weight[c]
        _winners(a, n_classes, LANES, top, code)
        _exponentials(a, n_classes, 1.0, top, code, a, rest)
        for b in range(LANES):
            total += w[b] * (top[b] + math.log1p(rest[b]))
            rest[b] = w[b] / (1.0 + rest[b])
        for k in range(n_classes):
            for b in range(LANES):
                a[k, b] *= rest[b]
    return total
