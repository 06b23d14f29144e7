"""Scores of held-out rows for every shrinkage γ at one pooling λ, for all folds at once.

Scores have shape (K, Γ, F, m): K classes, Γ values of γ, F folds of m rows. Sums over classes then
add long vectors.
"""

import numpy as np
from scipy.linalg import lapack

from suffice.core.linalg import inverse_lower, positive_factor, rank_tolerance, solve_factored
from suffice.selection.search.training import Training, set_diagonal
from suffice.typing import Flags, Floats

_CACHED_NUMBERS = 1 << 17  # size of the largest array of a step, which thus stays in the cache


def tied_path(
    training: Training,
    log_priors: Floats,
    gammas: Floats,
) -> tuple[Floats, Floats]:
    """Return the values of γ with full rank for a shared covariance, and the scores."""
    n_gammas = len(gammas)
    k, d = training.means.shape[1:]
    scores = np.zeros((k, n_gammas, *training.held_out.rows.shape))
    usable = np.ones(n_gammas, bool)
    weights = np.empty((d, n_gammas, k))
    bias = np.empty((n_gammas, k))
    for f in range(training.n_folds):
        sigma = training.pooled[f] / training.weights[f].sum()
        scale = np.sqrt(np.diagonal(sigma))
        sigma /= scale
        sigma /= scale[:, None]
        means = training.means[f] / scale
        for g, gamma in enumerate(gammas):
            shrunk = (1 - gamma) * sigma
            shrunk.flat[:: d + 1] = 1.0
            factor, w, info = lapack.dposv(shrunk, means.T, lower=1, overwrite_a=1)
            usable[g] &= not info and np.min(np.diagonal(factor)) ** 2 > rank_tolerance(d)
            # w_k = Σ(γ)⁻¹ μ_k,  a_k = w_kᵀ x − ½ w_kᵀ μ_k + log π_k
            bias[g] = log_priors[f] - 0.5 * np.einsum("kd,dk->k", means, w)
            weights[:, g] = w / scale[:, None]
        rows = training.rows_of(f)
        products = (rows @ weights.reshape(d, -1)).reshape(len(rows), n_gammas, k)
        scores[:, :, f, : len(rows)] = (products + bias).T
    return gammas[usable], scores[:, usable]


def class_path(
    training: Training,
    log_priors: Floats,
    pooling: float,
    gammas: Floats,
) -> tuple[Floats, Floats]:
    """Return the values of γ with full rank for a covariance per class, and the scores."""
    k, d = training.means.shape[1:]
    n_rows = training.held_out.rows.shape[1]
    scores = np.empty((k, len(gammas), training.n_folds, n_rows))
    usable = np.ones(len(gammas), bool)
    fold_step = max(1, _CACHED_NUMBERS // (k * d * max(n_rows, d)))
    class_step = max(1, _CACHED_NUMBERS // (fold_step * d * n_rows))
    for first_fold in range(0, training.n_folds, fold_step):
        folds = slice(first_fold, first_fold + fold_step)
        part = training.take(folds)
        eigenvalues, rotations, log_det = _spectra(part, pooling)
        least = float(eigenvalues[part.weights > 0].min())
        usable &= (1 - gammas) * least + gammas > rank_tolerance(d)
        if not usable.any():
            break
        # e(γ) = (1 − γ) e + γ  (F, K, d, Γ)
        e = np.where(usable, (1 - gammas) * eigenvalues[..., None] + gammas, 1.0)
        log_dets = np.log(e).sum(2) + log_det[..., None]
        constants = log_priors[folds][..., None] - 0.5 * log_dets  # (F, K, Γ)
        x = training.x[part.held_out.rows][:, None]  # (F, 1, m, d)
        for first_class in range(0, k, class_step):
            classes = slice(first_class, first_class + class_step)
            z = x @ rotations[:, classes]
            z -= part.means[:, classes, None] @ rotations[:, classes]
            # −½ (log|Σ(γ)| + Σ_i z_i² / e_i(γ)) + log π_k
            class_scores = np.square(z, out=z) @ (-0.5 / e[:, classes])
            class_scores += constants[:, classes, None]
            scores[classes, :, folds] = class_scores.transpose(1, 3, 0, 2)
    return gammas[usable], scores[:, usable]


def _spectra(training: Training, pooling: float) -> tuple[Floats, Floats, Floats]:
    """Return e, R and c with xᵀ Σ_k(λ, γ)⁻¹ x = Σ_i (R x)_i² / ((1 − γ) e_i + γ).

    The determinant is log|Σ_k| = c + Σ_i log((1 − γ) e_i + γ). e has shape (F, K, d), c has shape
    (F, K), and R has shape (F, K, d, d), with the rows of R stored as columns.
    """
    w = training.weights
    is_absent = w == 0
    # M_k(λ) = (1 − λ) M_k + λ M,   w_k(λ) = (1 − λ) w_k + λ W
    sigmas = (1 - pooling) * training.class_scatters + pooling * training.pooled[:, None]
    divisor = (1 - pooling) * w + pooling * w.sum(1, keepdims=True)
    sigmas /= np.where(divisor > 0, divisor, 1.0)[..., None, None]
    if pooling == 0:
        is_constant = ~training.varies & ~is_absent[..., None]  # (F, K, d)
    else:  # with pooling, a class also gets the variances of all other classes
        is_constant = np.zeros_like(training.varies)
    degenerate = np.argwhere(is_constant.any(2))  # pairs (f, k)
    for f, k in degenerate:
        set_diagonal(sigmas[f, k], np.flatnonzero(is_constant[f, k]), 1.0)
    sigmas[is_absent] = np.eye(sigmas.shape[-1])
    scale = np.sqrt(np.einsum("fkjj->fkj", sigmas))
    sigmas /= scale[..., None]
    sigmas /= scale[:, :, None]
    values, vectors = np.linalg.eigh(sigmas)
    vectors /= scale[..., None]
    log_det = 2 * np.log(scale).sum(2)
    for f, k in degenerate:
        pooled = training.pooled[f] / w[f].sum()
        change, added_log_det = _borrowed_variance(pooled, is_constant[f, k])
        vectors[f, k] = change @ vectors[f, k]
        log_det[f, k] += added_log_det
    return values, vectors, log_det


def _borrowed_variance(pooled: Floats, is_constant: Flags) -> tuple[Floats, float]:
    """Return a map x → y (d, d) for a class with constant features J, and log|R_JJ|.

    x_J is assumed to be N(μ_J, R_JJ), where R is the pooled covariance. The map makes the other
    features A independent of x_J: y_A = x_A − R_AJ R_JJ⁻¹ x_J, y_J = L⁻¹ x_J, R_JJ = L Lᵀ.
    """
    j = np.flatnonzero(is_constant)
    a = np.flatnonzero(~is_constant)
    factor = positive_factor(pooled[np.ix_(j, j)])
    change = np.eye(len(pooled))
    change[np.ix_(j, a)] = -solve_factored(factor, pooled[np.ix_(j, a)])
    change[np.ix_(j, j)] = inverse_lower(factor).T
    return change, 2 * float(np.log(np.diagonal(factor)).sum())
