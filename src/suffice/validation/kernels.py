"""Compiled losses of held-out rows for a path of shrinkage intensities γ.

The tiles are those of ``suffice.model.kernels``: LANES rows side by side, features padded to
blocks of SIDE. Sums over rows run in row order, chunk by chunk.
"""

import math

import numpy as np

from suffice.model.kernels import _in_blocks, _multiply_add, compiled, load_columns, load_rows
from suffice.model.softmax_kernels import _exponentials, _winners
from suffice.model.tiles import LANES, SIDE
from suffice.typing import Codes, Floats


@compiled
def quadratic_losses(
    tile: Floats,
    truth: Codes,
    weight: Floats,
    means: Floats,
    rotations: Floats,
    inverses: Floats,
    constants: Floats,
    betas: Floats,
    losses: Floats,
) -> None:
    """Add the losses (Γ, T, 3) of scores cₖ(γ) − ½ Σᵢ zₖᵢ² / eₖᵢ(γ),  zₖ = Rₖ (x − μₖ)."""
    blocks = _in_blocks(tile)
    n_classes, n_gammas = constants.shape
    y, z = np.empty(blocks.shape[1:]), np.empty(blocks.shape[1:])
    distances = np.empty((inverses.shape[1], SIDE * LANES))
    scores = np.empty((n_gammas, n_classes, LANES))
    for c in range(blocks.shape[0]):
        for k in range(n_classes):
            _rotate(blocks[c], means[k], rotations[k], y, z)
            for g in range(inverses.shape[1]):
                distances[g] = 0.0
                _multiply_add(inverses[k, g], 0, inverses.shape[2], z, distances[g])
            for g in range(n_gammas):
                d = distances[g // SIDE]
                at = g % SIDE * LANES
                for b in range(LANES):
                    scores[g, k, b] = constants[k, g] - 0.5 * d[at + b]
        for g in range(n_gammas):
            _add_losses(scores[g], n_classes, c * LANES, truth, weight, betas, losses[g])


@compiled
def linear_losses(
    tile: Floats,
    truth: Codes,
    weight: Floats,
    weights: Floats,
    intercepts: Floats,
    betas: Floats,
    losses: Floats,
) -> None:
    """Add the losses (Γ, T, 3) of scores wₖ(γ)ᵀ x + bₖ(γ) of tied classes."""
    blocks = _in_blocks(tile)
    n_gammas, n_classes = intercepts.shape
    scores = np.empty((weights.shape[1] * SIDE, LANES))
    rows = scores.reshape(weights.shape[1], SIDE * LANES)
    for c in range(blocks.shape[0]):
        for g in range(n_gammas):
            for i in range(weights.shape[1]):
                rows[i] = 0.0
                _multiply_add(weights[g, i], 0, weights.shape[2], blocks[c], rows[i])
            for k in range(n_classes):
                for b in range(LANES):
                    scores[k, b] += intercepts[g, k]
            _add_losses(scores, n_classes, c * LANES, truth, weight, betas, losses[g])


@compiled
def _rotate(x: Floats, mu: Floats, w: Floats, y: Floats, z: Floats) -> None:
    """Set z to the squares of W (x − μ)."""
    for i in range(x.shape[0]):
        for a in range(SIDE):
            m = mu[SIDE * i + a]
            for b in range(LANES):
                y[i, a * LANES + b] = x[i, a * LANES + b] - m
    for i in range(x.shape[0]):
        z[i] = 0.0
        _multiply_add(w[i], 0, w.shape[1], y, z[i])
        for b in range(SIDE * LANES):
            z[i, b] = z[i, b] * z[i, b]


@compiled
def _add_losses(
    a: Floats,
    n_classes: int,
    first: int,
    truth: Codes,
    weight: Floats,
    betas: Floats,
    losses: Floats,
) -> None:
    """Add Σ w of error, log-loss and Brier score of up to LANES rows, for each beta."""
    n = min(LANES, len(truth) - first)
    top, rest, code = np.empty(LANES), np.empty(LANES), np.empty(LANES, np.intp)
    e = np.empty(a.shape)
    _winners(a, n_classes, n, top, code)
    for t in range(len(betas)):
        _exponentials(a, n_classes, betas[t], top, code, e, rest)
        for b in range(n):
            k, w = truth[first + b], weight[first + b]
            p, total = e[k, b] / (1.0 + rest[b]), 1.0 / (1.0 + rest[b])
            squares = 0.0
            for j in range(n_classes):
                squares += e[j, b] * e[j, b]
            losses[t, 0] += w * (code[b] != k)
            losses[t, 1] += w * (math.log1p(rest[b]) - betas[t] * (a[k, b] - top[b]))
            # Σ_k (p_k − t_k)² = Σ_k p_k² − 2 p_true + 1
            losses[t, 2] += w * (squares * total * total - 2.0 * p + 1.0)


__all__ = ["linear_losses", "load_columns", "load_rows", "quadratic_losses"]
