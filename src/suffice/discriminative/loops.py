"""Compiled sums of logistic regression over chunks of rows, and a compiled perceptron pass."""

import math

import numpy as np

from suffice.core.compiled import njit
from suffice.core.model.loops import exp_negative
from suffice.core.moments.loops import LANES, STRIDE, add_gram
from suffice.typing import Array, Codes, Floats

_FAST = {"contract", "reassoc", "nsz"}
# rows whose logarithms are computed as one: the product of 16 numbers up to K is finite
_FACTORS = 16


@njit(nogil=True)
def load_tile(x: Array, first: int, n: int, centre: Floats, inverse: Floats, z: Floats) -> int:
    """Write a line of ones, then (x − m) / s of n rows, with zeros up to a multiple of 8 lanes."""
    lanes = (n + 7) // 8 * 8
    d = x.shape[1]
    for r in range(n):
        z[0, r] = 1.0
        for j in range(d):
            z[j + 1, r] = (x[first + r, j] - centre[j]) * inverse[j]
    for j in range(d + 1):
        z[j, n:lanes] = 0.0
    return lanes


@njit(nogil=True, fastmath=_FAST)
def add_scores(phi: Floats, z: Floats, lanes: int, a: Floats) -> None:
    """Write the scores a_k = φ_kᵀ z of every lane."""
    a[:, :lanes] = 0.0
    for j in range(phi.shape[1]):
        for k in range(phi.shape[0]):
            slope = phi[k, j]
            for r in range(lanes):
                a[k, r] += slope * z[j, r]


@njit(nogil=True, fastmath={"contract"})
def to_probabilities(
    a: Floats,
    codes: Codes,
    w: Floats,
    n: int,
    p: Floats,
    top: Floats,
    total: Floats,
) -> float:
    """Write p_k to ``p``, replace ``a`` with w (p_k − t_k), and return Σ −w log p(y | x)."""
    # the first class, which is not in ``a``, has the score 0
    for r in range(n):
        top[r] = max(a[0, r], 0.0)
    for k in range(1, len(a)):
        for r in range(n):
            top[r] = max(top[r], a[k, r])
    for r in range(n):
        total[r] = exp_negative(-top[r])
    for k in range(len(a)):
        for r in range(n):
            p[k, r] = exp_negative(a[k, r] - top[r])
            total[r] += p[k, r]
    loss: float = negative_log_likelihood(a, codes, w, n, top, total)
    for r in range(n):
        total[r] = 1.0 / total[r]
    for k in range(len(a)):
        for r in range(n):
            p[k, r] *= total[r]
            a[k, r] = w[r] * p[k, r]
    for r in range(n):
        if codes[r]:
            a[codes[r] - 1, r] = w[r] * (p[codes[r] - 1, r] - 1.0)
    return loss


@njit(nogil=True, fastmath={"contract"})
def negative_log_likelihood(
    a: Floats, codes: Codes, w: Floats, n: int, top: Floats, total: Floats
) -> float:
    """Return Σ w (log Σ_k exp(a_k − top) + top − a_y), where ``total`` holds the inner sums."""
    loss = 0.0
    for first in range(0, n, _FACTORS):
        last = min(first + _FACTORS, n)
        product = 1.0
        equal_weights = True
        for r in range(first, last):
            score = a[codes[r] - 1, r] if codes[r] else 0.0
            loss += w[r] * (top[r] - score)
            product *= total[r]
            equal_weights &= w[r] == w[first]
        if equal_weights:
            # Σ log t = log Π t, where every t is between 1 and K
            loss += w[first] * math.log(product)
        else:
            for r in range(first, last):
                loss += w[r] * math.log(total[r])
    return loss


@njit(nogil=True, fastmath=_FAST)
def add_gradient(residual: Floats, z: Floats, lanes: int, gradient: Floats) -> None:
    """Add Σ_r residual[k, r] z[j, r] to gradient[k, j]."""
    for j in range(gradient.shape[1]):
        for k in range(gradient.shape[0]):
            total = 0.0
            for r in range(lanes):
                total += residual[k, r] * z[j, r]
            gradient[k, j] += total


@njit(nogil=True, fastmath=_FAST)
def add_blocks(
    p: Floats, w: Floats, z: Floats, lanes: int, vz: Floats, blocks: Floats
) -> None:
    """Add Σ_r w p_k (δ_kl − p_l) z zᵀ to the lower triangle of the block of every pair k ≥ l."""
    v = np.empty(lanes)
    pair = 0
    for k in range(len(p)):
        for l in range(k + 1):  # noqa: E741
            for r in range(lanes):
                v[r] = w[r] * p[k, r] * ((1.0 if k == l else 0.0) - p[l, r])
            for j in range(len(z)):
                for r in range(lanes):
                    vz[j, r] = v[r] * z[j, r]
            add_gram(vz, z, lanes, False, blocks[pair])
            pair += 1


@njit(nogil=True)
def chunk_sums(
    x: Array,
    codes: Codes,
    weight: Floats,
    lo: int,
    hi: int,
    centre: Floats,
    inverse: Floats,
    phi: Floats,
    gradient: Floats,
    blocks: Floats,
) -> float:
    """Add the gradient (C, 1 + d) and the Hessian of rows lo … hi−1; return −log-likelihood."""
    # ``weight`` is empty if every row counts once. ``blocks`` is empty if no Hessian is requested;
    # otherwise it has shape (C (C + 1) / 2, D, D), D = 1 + d rounded up to a multiple of 4.
    n_scores, n_terms = phi.shape
    padded = (n_terms + 3) // 4 * 4
    z = np.zeros((padded, STRIDE))
    vz = np.zeros((padded if len(blocks) else 0, STRIDE))
    a = np.zeros((n_scores, STRIDE))
    p = np.zeros((n_scores, STRIDE))
    w = np.ones(STRIDE)
    top = np.empty(STRIDE)
    total = np.empty(STRIDE)
    loss = 0.0
    for first in range(lo, hi, LANES):
        n = min(LANES, hi - first)
        lanes = load_tile(x, first, n, centre, inverse, z)
        if len(weight):
            w[:n] = weight[first : first + n]
        add_scores(phi, z, lanes, a)
        loss += to_probabilities(a, codes[first : first + n], w, n, p, top, total)
        a[:, n:lanes] = 0.0
        add_gradient(a, z, lanes, gradient)
        if len(blocks):
            add_blocks(p, w, z, lanes, vz, blocks)
    return loss


@njit(nogil=True, fastmath=_FAST)
def show_rows(
    x: Array,
    codes: Codes,
    centre: Floats,
    inverse: Floats,
    lead: float,
    order: Codes,
    rate: float,
    seen: int,
    is_direct: bool,
    weights: Floats,
    drift: Floats,
) -> int:
    """Show the rows in ``order`` to a perceptron, update weights and drift; return the mistakes."""
    n_scores, n_terms = weights.shape
    z = np.full(n_terms, lead)
    scores = np.empty(n_scores)
    c = np.empty(n_scores)
    wrong = 0
    for place in range(len(order)):
        row = order[place]
        for j in range(n_terms - 1):
            z[j + 1] = (x[row, j] - centre[j]) * inverse[j]
        for k in range(n_scores):
            total = 0.0
            for j in range(n_terms):
                total += weights[k, j] * z[j]
            scores[k] = total
        if not _correct(scores, codes[row], is_direct, c):
            continue
        wrong += 1
        for k in range(n_scores):
            for j in range(n_terms):
                weights[k, j] += rate * c[k] * z[j]
                drift[k, j] += (seen + place) * rate * c[k] * z[j]
    return wrong


@njit(nogil=True)
def _correct(scores: Floats, code: int, is_direct: bool, c: Floats) -> bool:
    """Write the correction c for one row; return whether the row is a mistake."""
    c[:] = 0.0
    if is_direct:
        rival = -1
        for k in range(len(scores)):
            if k != code and (rival < 0 or scores[k] > scores[rival]):
                rival = k
        if scores[code] > scores[rival]:
            return False
        c[code] = 1.0
        c[rival] = -1.0
        return True
    wrong = False
    for k in range(len(scores)):
        positive_class = 1 if len(scores) == 1 else k
        t = 1.0 if code == positive_class else -1.0
        if t * scores[k] <= 0:
            c[k] = t
            wrong = True
    return wrong


@njit(nogil=True)
def chunk_gradient(
    x: Array,
    codes: Codes,
    weight: Floats,
    lo: int,
    hi: int,
    centre: Floats,
    inverse: Floats,
    phi: Floats,
    gradient: Floats,
) -> float:
    """Add the gradient (1, 1 + d) of rows lo … hi−1; return their negative log-likelihood."""
    # a single score needs so little arithmetic that reading rows in place is twice as fast as tiles
    slopes = phi[0, 1:] * inverse
    slope_gradient = np.zeros(len(inverse))
    a = np.zeros((1, LANES))
    p = np.zeros((1, LANES))
    w = np.ones(LANES)
    top = np.empty(LANES)
    total = np.empty(LANES)
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


@njit(nogil=True, fastmath=_FAST)
def write_scores(
    x: Array,
    first: int,
    n: int,
    centre: Floats,
    intercept: float,
    slopes: Floats,
    a: Floats,
) -> None:
    """Write the scores intercept + slopesᵀ (x − m) of n rows."""
    for r in range(n):
        row = x[first + r]
        score = 0.0
        for j in range(len(slopes)):
            score += slopes[j] * (row[j] - centre[j])
        a[r] = intercept + score


@njit(nogil=True, fastmath=_FAST)
def add_products(
    x: Array,
    first: int,
    n: int,
    centre: Floats,
    residual: Floats,
    gradient: Floats,
) -> None:
    """Add Σ_r residual[r] (x_r − m) to the gradient, computed four rows at a time."""
    full = n // 4 * 4
    for r in range(0, full, 4):
        i = first + r
        x0 = x[i]
        x1 = x[i + 1]
        x2 = x[i + 2]
        x3 = x[i + 3]
        e0 = residual[r]
        e1 = residual[r + 1]
        e2 = residual[r + 2]
        e3 = residual[r + 3]
        for j in range(len(gradient)):
            c = centre[j]
            gradient[j] += (
                e0 * (x0[j] - c) + e1 * (x1[j] - c) + e2 * (x2[j] - c) + e3 * (x3[j] - c)
            )
    for r in range(full, n):
        row = x[first + r]
        for j in range(len(gradient)):
            gradient[j] += residual[r] * (row[j] - centre[j])
