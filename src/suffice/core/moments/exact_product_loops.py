"""Compiled exact products of rows: three products of small integers, without rounding."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

import numpy as np

from suffice.core.compiled import njit
from suffice.core.moments.loops import (
    LANES,
    STRIDE,
    add_gram,
    add_sums,
    gather,
    sort_block,
    touch,
)

# A row q = 2²⁰ u + l has q qᵀ = 2⁴⁰ u uᵀ + 2²⁰ (u lᵀ + l uᵀ) + l lᵀ. The code calls u ``upper``,
# l ``lower`` and u + l ``both``; the specification calls u and l hi and lo.
#
# The specification sums u uᵀ, u lᵀ and l lᵀ. Here (u + l)(u + l)ᵀ replaces u lᵀ, because
# u lᵀ + l uᵀ = (u + l)(u + l)ᵀ − u uᵀ − l lᵀ. These three products are symmetric, so their lower
# triangles are enough; that is cheaper than computing u uᵀ, l lᵀ and all of u lᵀ.
#
# Float64 adds integers exactly up to 2⁵³. |q| < 2³⁹ bounds |u| and |l| by 2¹⁹, and the products of
# the specification by 2³⁸, so that 2¹³ rows stay below 2⁵³. But |u + l| is bounded by 2²⁰ and its
# product by 2⁴⁰. So blocks have 2¹² rows here, whose products add up to at most 2⁵².
MOST = 4096  # after this many rows, products in floats are added to the integers
# as ``MOST``, for rows times digits of weights, at most 7: 7 · 2¹⁰ · 2⁴⁰ < 2⁵³
MOST_WEIGHTED = 1024
_HALF = 1048576.0  # 2²⁰
_ROUND = 6755399441055744.0  # 1.5 · 2⁵²


# compiled form of ``exact_sums.halves``
@njit(nogil=True)
def split(tile, scales, lanes, largest, low, both):
    """Split q: replace x − origin with the upper part; write the lower part, and the sum of both.

    Return whether all values lie in the range of the grid.
    """
    # q = 2²⁰ upper + lower; adding and subtracting 1.5 · 2⁵² rounds to an integer
    n_outside = 0
    for j in range(len(scales)):
        for r in range(lanes):
            q = (tile[j, r] * scales[j] + _ROUND) - _ROUND
            n_outside += not abs(q) < largest
            upper = (q * (1.0 / _HALF) + _ROUND) - _ROUND
            lower = q - upper * _HALF
            tile[j, r] = upper
            low[j, r] = lower
            both[j, r] = upper + lower
    return n_outside == 0


@njit(nogil=True)
def weigh_exactly(tile, w, rows, lanes, out):
    """Write w_r q_r to ``out``."""
    for j in range(len(tile)):
        for r in range(len(rows)):
            out[j, r] = tile[j, r] * w[rows[r]]
        for r in range(len(rows), lanes):
            out[j, r] = 0.0


@njit(nogil=True)
def flush_sums(tile, lanes, line, integers):
    """Add the sums over the lanes of a tile to ``integers``; ``line`` is a buffer."""
    line[:] = 0.0
    add_sums(tile, lanes, line)
    for j in range(len(integers)):
        integers[j] += np.int64(line[j])


@njit(nogil=True)
def flush(floats, integers):
    """Add floats that are integers to ``integers``, and set the floats to zero."""
    for i in range(floats.shape[0]):
        for j in range(i + 4 - i % 4):  # up to the end of the 4 × 4 block on the diagonal
            integers[i, j] += np.int64(floats[i, j])
            floats[i, j] = 0.0


@njit(nogil=True)
def exact_chunk(
    x,
    codes,
    w,
    lo,
    hi,
    block,
    by_column,
    origins,
    scales,
    largest,
    is_pooled,
    sums,
    grams,
):
    """Add the upper and lower sums of rows lo … hi−1 to ``sums``, and products to ``grams``."""
    # ``sums`` is (2, K, d) and ``grams`` (3, G, D, D), where G is K, or 1 if pooled. ``w`` holds
    # digits from 0 to 7, and is empty if every weight is 1. If one block holds all rows, they are
    # read class by class, so that the products of only one class need to stay in the cache.
    is_one_block = block >= hi - lo
    most = MOST_WEIGHTED if len(w) else MOST
    n_classes = sums.shape[1]
    padded = grams.shape[2]
    upper = np.zeros((padded, STRIDE))
    lower = np.zeros((padded, STRIDE))
    both = np.zeros((padded, STRIDE))
    weighted = np.zeros((padded if len(w) else 0, STRIDE))
    n_groups = grams.shape[1]
    n_places = 1 if is_one_block else n_groups
    held = np.zeros((3, n_places, padded, padded))
    n_held = np.zeros(n_places, np.intp)
    line = np.zeros(len(origins))
    order = np.empty(block, np.intp)
    starts = np.empty(n_classes + 1, np.intp)
    is_inside = True
    touched = 0.0
    for b in range(lo, hi, block):
        if not is_one_block:
            touched += touch(x, b, min(b + block, hi), by_column)
        sort_block(codes, b, min(b + block, hi), order, starts)
        for k in range(n_classes):
            g = 0 if is_pooled else k
            place = 0 if is_one_block else g
            for s in range(starts[k], starts[k + 1], LANES):
                rows = order[s : min(s + LANES, starts[k + 1])]
                if n_held[place] + len(rows) > most:
                    for part in range(3):
                        flush(held[part, place], grams[part, g])
                    n_held[place] = 0
                n_held[place] += len(rows)
                lanes = gather(x, rows, origins, by_column, upper)
                if not split(upper, scales, lanes, largest, lower, both):
                    is_inside = False
                if len(w):
                    weigh_exactly(upper, w, rows, lanes, weighted)
                    flush_sums(weighted, lanes, line, sums[0, k])
                    add_gram(weighted, upper, lanes, False, held[0, place])
                    weigh_exactly(lower, w, rows, lanes, weighted)
                    flush_sums(weighted, lanes, line, sums[1, k])
                    add_gram(weighted, lower, lanes, False, held[1, place])
                    weigh_exactly(both, w, rows, lanes, weighted)
                    add_gram(weighted, both, lanes, False, held[2, place])
                else:
                    flush_sums(upper, lanes, line, sums[0, k])
                    flush_sums(lower, lanes, line, sums[1, k])
                    add_gram(upper, upper, lanes, False, held[0, place])
                    add_gram(lower, lower, lanes, False, held[1, place])
                    add_gram(both, both, lanes, False, held[2, place])
            if is_one_block and n_held[place]:
                for part in range(3):
                    flush(held[part, place], grams[part, g])
                n_held[place] = 0
    if not is_one_block:
        for g in range(n_groups):
            for part in range(3):
                flush(held[part, g], grams[part, g])
    return is_inside, touched
