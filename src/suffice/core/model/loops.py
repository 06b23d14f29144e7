"""Compiled loops that compute scores from rows, and posteriors from scores, a lane per row.

A *tile* (chunks, features, LANES) holds a few chunks of ``LANES`` rows, transposed and measured
from a common origin o. All means are measured from o as well. A *score tile* (chunks, classes,
LANES) holds the scores of these rows. Features and classes are padded with zeros to a multiple of
``SIDE``, and matrices are packed in blocks of SIDE × SIDE numbers, (…, SIDE²).

Lanes never mix, and the last chunk is filled up with zeros, whose scores are ignored. So the scores
of a row depend neither on its position nor on the thread that computes them. If a row has no finite
score, its values become NaN, its class code becomes −1, and the loop returns True.
"""

import math

import numpy as np

from suffice.core.compiled import njit
from suffice.core.model.posterior import (
    ARGMAX,
    JOINT,
    LOG_DENSITY,
    LOG_POSTERIOR,
    POSTERIOR,
)
from suffice.core.model.tiles import LANES, SIDE
from suffice.typing import Array, Codes, Floats

# the compiler may round a·b + c once (FMA), but may not reorder sums
compiled = njit(nogil=True, error_model="numpy", fastmath={"contract"})
# the compiler may also reorder sums over features
summed = njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
# a pivot is the variance of a feature given the features before it; below this share of the
# feature's variance, it has lost too many digits
LOST = 1e-6
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 · 2⁵²
_ROUND_BITS = 0x4338000000000000


@compiled
def tile_rows(x: Floats, first: int, centre: Floats, tile: Floats) -> None:
    """Set a tile to rows x − o of ``x`` (n, d), starting at row ``first``."""
    for c in range(tile.shape[0]):
        start = first + c * LANES
        rows = x[start : start + LANES]
        chunk = tile[c]
        if rows.shape[0] < LANES:
            chunk[:] = 0.0
        for b in range(rows.shape[0]):
            for j in range(rows.shape[1]):
                chunk[j, b] = rows[b, j] - centre[j]


@compiled
def tile_columns(x: Floats, first: int, centre: Floats, tile: Floats) -> None:
    """Set a tile to rows x − o of a transposed ``x`` (d, n), starting at row ``first``."""
    for c in range(tile.shape[0]):
        start = first + c * LANES
        for j in range(x.shape[0]):
            column = x[j, start : start + LANES]
            lanes = tile[c, j]
            if column.shape[0] < LANES:
                lanes[:] = 0.0
            for b in range(column.shape[0]):
                lanes[b] = column[b] - centre[j]


@compiled
def full_scores(
    tile: Floats,
    scores: Floats,
    codes: Codes,
    c: Floats,
    mu: Floats,
    w: Floats,
) -> None:
    """Write cₖ − ½ |Wₖ (x − μₖ)|² for classes with separate lower triangular Wₖ."""
    blocks = _in_blocks(tile)
    y = np.empty(blocks.shape[1:])
    z = np.empty(SIDE * LANES)
    for i in range(blocks.shape[0]):
        x = blocks[i]
        for k in range(codes.shape[0]):
            out = scores[i, codes[k]]
            _squared_norm(x, mu[k], w[k], y, z, out)
            _finish(c[k], out)


@compiled
def tied_scores(
    tile: Floats,
    scores: Floats,
    codes: Codes,
    c: Floats,
    mu: Floats,
    m: Floats,
    w: Floats,
) -> None:
    """Write cₖ − ½ |W (x − μ₀) − mₖ|² for classes that share W; mₖ = W (μₖ − μ₀)."""
    blocks = _in_blocks(tile)
    y = np.empty(blocks.shape[1:])
    z = np.empty(blocks.shape[1:])
    for i in range(blocks.shape[0]):
        _whiten(blocks[i], mu[0], w, y, z)
        for k in range(codes.shape[0]):
            out = scores[i, codes[k]]
            _squared_difference(z, m[k], out)
            _finish(c[k], out)


@compiled
def diagonal_scores(
    tile: Floats,
    scores: Floats,
    codes: Codes,
    c: Floats,
    mu: Floats,
    inverse: Floats,
) -> None:
    """Write cₖ − ½ Σⱼ ((xⱼ − μₖⱼ) / σₖⱼ)²; ``inverse`` holds 1 / σ."""
    blocks = _in_blocks(tile)
    for i in range(blocks.shape[0]):
        for k in range(codes.shape[0]):
            out = scores[i, codes[k]]
            _scaled_difference(blocks[i], mu[k], inverse[k], out)
            _finish(c[k], out)


@compiled
def linear_scores(tile: Floats, scores: Floats, intercepts: Floats, weights: Floats) -> None:
    """Write wₖᵀx + bₖ for every class."""
    blocks = _in_blocks(tile)
    out = _in_blocks(scores)
    for c in range(blocks.shape[0]):
        x = blocks[c]
        for i in range(weights.shape[0]):
            z = out[c, i]
            for a in range(SIDE):
                z[a * LANES : (a + 1) * LANES] = intercepts[i * SIDE + a]
            _multiply_add(weights[i], 0, weights.shape[1], x, z)


@compiled
def _in_blocks(tile: Floats) -> Floats:
    """Return a view of the tile with the shape (chunks, features / SIDE, SIDE · LANES)."""
    chunks, features, _ = tile.shape
    return tile.reshape(chunks, features // SIDE, SIDE * LANES)


@compiled
def _squared_norm(x: Floats, mu: Floats, w: Floats, y: Floats, z: Floats, out: Floats) -> None:
    """Set out to |W (x − μ)|², computed four rows of W at a time."""
    out[:] = 0.0
    for i in range(x.shape[0]):
        first = i * (i + 1) // 2
        _corner(x, mu, w, first + i, i, y, z)
        _multiply_add(w, first, i, y, z)
        for b in range(LANES):
            z0 = z[b]
            z1 = z[LANES + b]
            z2 = z[2 * LANES + b]
            z3 = z[3 * LANES + b]
            out[b] = out[b] + z0 * z0 + z1 * z1 + z2 * z2 + z3 * z3


@compiled
def _whiten(x: Floats, mu: Floats, w: Floats, y: Floats, z: Floats) -> None:
    """Set z to W (x − μ), computed four rows of W at a time."""
    for i in range(x.shape[0]):
        first = i * (i + 1) // 2
        _corner(x, mu, w, first + i, i, y, z[i])
        _multiply_add(w, first, i, y, z[i])


@compiled
def _corner(
    x: Floats,
    mu: Floats,
    w: Floats,
    block: int,
    i: int,
    y: Floats,
    z: Floats,
) -> None:
    """Set block i of y to x − μ, and z to the product of a triangular block of W and block i."""
    m0 = mu[4 * i]
    m1 = mu[4 * i + 1]
    m2 = mu[4 * i + 2]
    m3 = mu[4 * i + 3]
    w00 = w[block, 0]
    w10 = w[block, 4]
    w11 = w[block, 5]
    w20 = w[block, 8]
    w21 = w[block, 9]
    w22 = w[block, 10]
    w30 = w[block, 12]
    w31 = w[block, 13]
    w32 = w[block, 14]
    w33 = w[block, 15]
    for b in range(LANES):
        y0 = x[i, b] - m0
        y1 = x[i, LANES + b] - m1
        y2 = x[i, 2 * LANES + b] - m2
        y3 = x[i, 3 * LANES + b] - m3
        z[b] = w00 * y0
        z[LANES + b] = w10 * y0 + w11 * y1
        z[2 * LANES + b] = w20 * y0 + w21 * y1 + w22 * y2
        z[3 * LANES + b] = w30 * y0 + w31 * y1 + w32 * y2 + w33 * y3
        y[i, b] = y0
        y[i, LANES + b] = y1
        y[i, 2 * LANES + b] = y2
        y[i, 3 * LANES + b] = y3


@compiled
def _multiply_add(w: Floats, first: int, n: int, y: Floats, z: Floats) -> None:
    """Add to z the products of blocks first … first + n − 1 of W with blocks 0 … n − 1 of y."""
    for j in range(n):
        block = first + j
        w00 = w[block, 0]
        w01 = w[block, 1]
        w02 = w[block, 2]
        w03 = w[block, 3]
        w10 = w[block, 4]
        w11 = w[block, 5]
        w12 = w[block, 6]
        w13 = w[block, 7]
        w20 = w[block, 8]
        w21 = w[block, 9]
        w22 = w[block, 10]
        w23 = w[block, 11]
        w30 = w[block, 12]
        w31 = w[block, 13]
        w32 = w[block, 14]
        w33 = w[block, 15]
        for b in range(LANES):
            y0 = y[j, b]
            y1 = y[j, LANES + b]
            y2 = y[j, 2 * LANES + b]
            y3 = y[j, 3 * LANES + b]
            z0 = z[b]
            z1 = z[LANES + b]
            z2 = z[2 * LANES + b]
            z3 = z[3 * LANES + b]
            z[b] = z0 + w00 * y0 + w01 * y1 + w02 * y2 + w03 * y3
            z[LANES + b] = z1 + w10 * y0 + w11 * y1 + w12 * y2 + w13 * y3
            z[2 * LANES + b] = z2 + w20 * y0 + w21 * y1 + w22 * y2 + w23 * y3
            z[3 * LANES + b] = z3 + w30 * y0 + w31 * y1 + w32 * y2 + w33 * y3


@compiled
def _squared_difference(z: Floats, mu: Floats, out: Floats) -> None:
    """Set out to |z − m|²."""
    out[:] = 0.0
    for i in range(z.shape[0]):
        m0 = mu[4 * i]
        m1 = mu[4 * i + 1]
        m2 = mu[4 * i + 2]
        m3 = mu[4 * i + 3]
        for b in range(LANES):
            z0 = z[i, b] - m0
            z1 = z[i, LANES + b] - m1
            z2 = z[i, 2 * LANES + b] - m2
            z3 = z[i, 3 * LANES + b] - m3
            out[b] = out[b] + z0 * z0 + z1 * z1 + z2 * z2 + z3 * z3


@compiled
def _scaled_difference(x: Floats, mu: Floats, inverse: Floats, out: Floats) -> None:
    """Set out to |(x − μ) / σ|²."""
    out[:] = 0.0
    for i in range(x.shape[0]):
        m0 = mu[4 * i]
        m1 = mu[4 * i + 1]
        m2 = mu[4 * i + 2]
        m3 = mu[4 * i + 3]
        s0 = inverse[4 * i]
        s1 = inverse[4 * i + 1]
        s2 = inverse[4 * i + 2]
        s3 = inverse[4 * i + 3]
        for b in range(LANES):
            z0 = (x[i, b] - m0) * s0
            z1 = (x[i, LANES + b] - m1) * s1
            z2 = (x[i, 2 * LANES + b] - m2) * s2
            z3 = (x[i, 3 * LANES + b] - m3) * s3
            out[b] = out[b] + z0 * z0 + z1 * z1 + z2 * z2 + z3 * z3


@compiled
def _finish(constant: float, out: Floats) -> None:
    """Turn squared distances Δ² into scores c − ½ Δ²."""
    for b in range(LANES):
        out[b] = constant - 0.5 * out[b]


@compiled
def write(scores: Floats, n_classes: int, beta: float, what: int, out: Array) -> bool:
    """Write the values of a readout to rows (n, K) or (n, 1).

    ``what`` selects the scores a, softmax(β a), log softmax(β a), log Σₖ exp aₖ or argmax a. Return
    whether some row has no finite score.
    """
    top = np.empty(LANES)
    rest = np.empty(LANES)
    code = np.empty(LANES, np.intp)
    e = np.empty(scores.shape[1:])
    bad = False
    for c in range(scores.shape[0]):
        a = scores[c]
        rows = out[c * LANES : (c + 1) * LANES]
        n = rows.shape[0]
        bad |= _winners(a, n_classes, n, top, code)
        if what in (POSTERIOR, LOG_POSTERIOR, LOG_DENSITY):
            _exponentials(a, n_classes, beta, top, code, e, rest)
        for b in range(n):
            if what == JOINT:
                for k in range(n_classes):
                    rows[b, k] = a[k, b]
            elif what == POSTERIOR:
                # p_k = exp(β (a_k − max a)) / (1 + Σ over all classes except the best)
                share = 1.0 / (1.0 + rest[b])
                for k in range(n_classes):
                    rows[b, k] = e[k, b] * share
            elif what == LOG_POSTERIOR:
                # log p_k = β (a_k − max a) − log1p(Σ over all classes except the best)
                total = math.log1p(rest[b])
                for k in range(n_classes):
                    rows[b, k] = beta * (a[k, b] - top[b]) - total
            elif what == ARGMAX:
                rows[b, 0] = code[b]
            else:
                rows[b, 0] = top[b] + math.log1p(rest[b])
    return bad


@compiled
def _winners(a: Floats, n_classes: int, n_rows: int, top: Floats, code: Codes) -> bool:
    """Find the greatest score of each lane; return whether some lane has no finite score.

    A lane without a finite score becomes NaN.
    """
    for b in range(LANES):
        top[b] = a[0, b]
        code[b] = 0
    for k in range(1, n_classes):
        for b in range(LANES):
            better = (a[k, b] > top[b]) | math.isnan(a[k, b])  # NaN counts as the greatest
            top[b] = a[k, b] if better else top[b]
            code[b] = k if better else code[b]
    bad = False
    for b in range(n_rows):
        if not math.isfinite(top[b]):
            bad = True
            top[b] = math.nan
            code[b] = -1
            for k in range(n_classes):
                a[k, b] = math.nan
    return bad


@compiled
def _exponentials(
    a: Floats,
    n_classes: int,
    beta: float,
    top: Floats,
    code: Codes,
    e: Floats,
    rest: Floats,
) -> None:
    """Set e to exp(β (a − max a)), and ``rest`` to its sum over all classes except the best."""
    rest[:] = 0.0
    for k in range(n_classes):
        for b in range(LANES):
            e[k, b] = exp_negative(beta * (a[k, b] - top[b]))
            rest[b] = rest[b] + (0.0 if code[b] == k else e[k, b])


@compiled
def exp_negative(x: float) -> float:
    """Return eˣ for x ≤ 0, to one unit in the last place, even if the result is subnormal."""
    # x = n ln 2 + r,  |r| ≤ ½ ln 2;  adding 1.5 · 2⁵² rounds, and stores n in the low bits
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
    # eˣ = eʳ · 2^⌊n/2⌋ · 2^⌈n/2⌉, where both powers are normal numbers even if 2ⁿ is not
    power = shifted.view(np.int64) - _ROUND_BITS
    half = power >> 1
    low = np.int64((half + 1023) << 52).view(np.float64)
    high = np.int64((power - half + 1023) << 52).view(np.float64)
    return p * low * high


@compiled
def share_out(scores: Floats, n_classes: int, weight: Floats) -> float:
    """Replace scores a with w softmax(a), w (chunks, LANES); return Σ w log Σₖ exp aₖ."""
    top = np.empty(LANES)
    rest = np.empty(LANES)
    code = np.empty(LANES, np.intp)
    total = 0.0
    for c in range(scores.shape[0]):
        a = scores[c]
        w = weight[c]
        _winners(a, n_classes, LANES, top, code)
        _exponentials(a, n_classes, 1.0, top, code, a, rest)
        for b in range(LANES):
            total += w[b] * (top[b] + math.log1p(rest[b]))
            rest[b] = w[b] / (1.0 + rest[b])
        for k in range(n_classes):
            for b in range(LANES):
                a[k, b] *= rest[b]
    return total


@compiled
def full_distances(
    y: Floats,
    runs: tuple[Codes, Codes, Codes],
    sigma: Floats,
    means: Floats,
    distances: Floats,
    log_dets: Floats,
) -> None:
    """Write |L_oo⁻¹ (y_o − μ_o)|² for each mean (m, d), and log|Σ_oo|; NaN in y is missing.

    Σ_oo is a block of D Σ D + (I − D), with D = diag(observed). The factor of that matrix has the
    rows of L_oo, and unit rows for missing features. A *run* is a few rows with the same missing
    features; a lane computes the rows of a run with one factor. ``runs`` holds order, firsts and
    counts: run i has counts[i] rows, which are order[firsts[i]] and the entries after it. If Σ_oo
    is nearly singular, both results are NaN.
    """
    order, firsts, counts = runs
    d = y.shape[1]
    m = means.shape[0]
    observed = np.empty((d, LANES))
    lanes = np.empty((d, LANES))
    zeros = np.zeros((d, LANES))
    factor = np.empty((d * (d + 1) // 2, LANES))
    inverse = np.empty((d, LANES))
    z = np.empty((d, LANES))
    whitened = np.empty((m, d, LANES))
    rows = np.empty(LANES, np.int64)
    log_det = np.empty(LANES)
    total = np.empty(LANES)
    for start in range(0, len(firsts), LANES):
        first = firsts[start : start + LANES]
        count = counts[start : start + LANES]
        for i in range(count.max()):
            for b in range(LANES):
                run = min(b, len(first) - 1)
                rows[b] = order[first[run] + min(i, count[run] - 1)]
            _load(y, rows, observed, lanes)
            if i == 0:
                _factorise(sigma, observed, factor, inverse, log_det)
                for k in range(1, m):
                    _solve(zeros, means[0] - means[k], observed, factor, inverse, whitened[k])
            _solve(lanes, means[0], observed, factor, inverse, z)
            for k in range(m):
                _squared_gap(z, whitened[k] if k else zeros, total)
                for b in range(LANES):
                    distances[rows[b], k] = total[b]
            for b in range(LANES):
                log_dets[rows[b]] = log_det[b]


@summed
def scaled_distances(
    y: Floats,
    means: Floats,
    inverse: Floats,
    log_variances: Floats,
    distances: Floats,
    log_dets: Floats,
) -> None:
    """Write Σ ((y − μ) / σ)² for each mean, (n, m), and Σ log σ², over the observed features."""
    for i in range(len(y)):
        row = y[i]
        log_det = 0.0
        for j in range(len(row)):
            log_det += 0.0 if np.isnan(row[j]) else log_variances[j]
        log_dets[i] = log_det
        for k in range(len(means)):
            mu = means[k]
            total = 0.0
            for j in range(len(row)):
                z = (row[j] - mu[j]) * inverse[j]
                total += 0.0 if np.isnan(z) else z * z
            distances[i, k] = total


@compiled
def _load(y: Floats, rows: Codes, observed: Floats, lanes: Floats) -> None:
    """Set ``lanes`` to rows of y with 0 for missing values, and ``observed`` to 0 there, else 1."""
    for b in range(LANES):
        row = y[rows[b]]
        for j in range(row.shape[0]):
            missing = np.isnan(row[j])
            observed[j, b] = 0.0 if missing else 1.0
            lanes[j, b] = 0.0 if missing else row[j]


@compiled
def _factorise(
    sigma: Floats,
    observed: Floats,
    factor: Floats,
    inverse: Floats,
    log_det: Floats,
) -> None:
    """Write L without its diagonal, 1 / L_ii and log|L Lᵀ|, or NaN if a pivot loses its digits."""
    d = sigma.shape[0]
    a = np.empty(LANES)
    product = np.ones(LANES)
    log_det[:] = 0.0
    for i in range(d):
        row = i * (i + 1) // 2
        for j in range(i + 1):
            for b in range(LANES):
                a[b] = sigma[i, j] * observed[i, b] * observed[j, b]
            # L_ij L_jj = Σ_ij − Σ_{h<j} L_ih L_jh
            _subtract_products(factor, row, factor, j * (j + 1) // 2, j, a)
            if j < i:
                for b in range(LANES):
                    factor[row + j, b] = a[b] * inverse[j, b]
        for b in range(LANES):
            # the variance given the earlier features; 1 if missing
            pivot = a[b] + (1.0 - observed[i, b])
            lost = observed[i, b] > 0 and not pivot > LOST * sigma[i, i]
            pivot = np.nan if lost else pivot
            inverse[i, b] = 1 / np.sqrt(pivot)
            product[b] *= pivot / (sigma[i, i] if observed[i, b] > 0 else 1.0)
        if i % 16 == 15 or i == d - 1:  # a product of 16 pivots cannot underflow
            for b in range(LANES):
                log_det[b] += np.log(product[b])
                product[b] = 1.0
    for i in range(d):
        log_variance = np.log(sigma[i, i])
        for b in range(LANES):
            log_det[b] += observed[i, b] * log_variance


@compiled
def _solve(
    y: Floats,
    mu: Floats,
    observed: Floats,
    factor: Floats,
    inverse: Floats,
    z: Floats,
) -> None:
    """Set z to L⁻¹ (y − μ) over the observed features."""
    a = np.empty(LANES)
    for i in range(y.shape[0]):
        for b in range(LANES):
            a[b] = (y[i, b] - mu[i]) * observed[i, b]
        _subtract_products(factor, i * (i + 1) // 2, z, 0, i, a)
        for b in range(LANES):
            z[i, b] = a[b] * inverse[i, b]


@compiled
def _subtract_products(u: Floats, p: int, v: Floats, q: int, n: int, a: Floats) -> None:
    """Subtract Σ_h u[p + h] v[q + h] for h = 0 … n − 1 from a."""
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
def _squared_gap(z: Floats, m: Floats, total: Floats) -> None:
    """Set total to |z − m|²."""
    total[:] = 0.0
    for i in range(z.shape[0]):
        for b in range(LANES):
            v = z[i, b] - m[i, b]
            total[b] += v * v


@compiled
def fill_kernel(rows: Floats, landmarks: Floats, laplace: bool, out: Floats) -> None:
    """Write exp(−Σ_j |x_j − l_j|) or exp(−½ Σ_j (x_j − l_j)²) for rows (n, d), landmarks (d, m)."""
    for i in range(rows.shape[0]):
        values = out[i]
        values[:] = 0.0
        for j in range(rows.shape[1]):
            value = rows[i, j]
            if laplace:
                for m in range(values.shape[0]):
                    values[m] -= abs(value - landmarks[j, m])
            else:
                for m in range(values.shape[0]):
                    values[m] -= 0.5 * (value - landmarks[j, m]) ** 2
        for m in range(values.shape[0]):
            values[m] = exp_negative(values[m])
