"""Losses of held-out rows at every pooling λ, shrinkage γ and temperature, all folds at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from scipy.linalg import lapack

from suffice.core.decision.predictions import ABSENT_LOSS
from suffice.core.linalg import inverse_lower, positive_factor, rank_tolerance, solve_factored
from suffice.selection.search.training import HeldOut, Training, set_diagonal
from suffice.typing import Codes, Floats

#: Each is half of another, up to two of them: exponentials are squared rather than computed.
TEMPERATURES = np.sort(np.outer([1.0, np.sqrt(0.5)], 2.0 ** np.arange(4)).ravel())

SPREAD = 0.5  # of the logarithm of a temperature, before rows are seen
# scores are (K, Γ, F, m): what is summed over classes is then a sum of long vectors
_NUMBERS = 1 << 17  # in the largest array of a step: it stays in the cache


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """What held-out rows say of settings that were judged, one entry each."""

    pooling: Floats  # λ  (S,)
    shrinkage: Floats  # γ  (S,)
    temperature: Floats  # (S,)
    error: Floats  # (S,)
    log_loss: Floats  # (S,)
    log_loss_se: Floats  # (S,)
    true_log: Floats  # log p(true class) of each row  (S, n)

    def take(self, chosen: Any) -> Self:
        return type(self)(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def best(self, n: int) -> Self:
        return self.take(np.argsort(self.log_loss, kind="stable")[:n])


def judged_grid(
    training: Training,
    log_priors: Floats,
    points: Sequence[tuple[float, Floats]],
) -> Verdicts | None:
    """Return the verdicts on points (λ, several γ) of full rank in all folds, if there are any."""
    found = []
    for pooling, gammas in points:
        path = tied_path if pooling == 1 else class_path
        usable, scores = path(training, log_priors, pooling, gammas)
        if len(usable):
            figures = judged_scores(scores, training.held_out, TEMPERATURES)
            found.append((np.full(len(usable), pooling), usable, *figures))
    return Verdicts(*map(np.concatenate, zip(*found, strict=True))) if found else None


def tied_path(
    training: Training,
    log_priors: Floats,
    _pooling: float,
    gammas: Floats,
) -> tuple[Floats, Floats]:
    """Return the usable γ of one covariance for all classes, and scores (K, Γ, F, m)."""
    held, (k, d) = training.held_out, training.means.shape[1:]
    scores, usable = np.zeros((k, len(gammas), *held.rows.shape)), np.ones(len(gammas), bool)
    weights, bias = np.empty((d, len(gammas), k)), np.empty((len(gammas), k))
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
        found = (rows @ weights.reshape(d, -1)).reshape(len(rows), *bias.shape) + bias
        scores[:, :, f, : len(rows)] = found.T
    return gammas[usable], scores[:, usable]


def class_path(
    training: Training,
    log_priors: Floats,
    pooling: float,
    gammas: Floats,
) -> tuple[Floats, Floats]:
    """Return the usable γ of a covariance for each class, and scores (K, Γ, F, m)."""
    held, (k, d) = training.held_out, training.means.shape[1:]
    scores, usable = np.empty((k, len(gammas), *held.rows.shape)), np.ones(len(gammas), bool)
    step = max(1, _NUMBERS // (k * d * max(held.rows.shape[1], d)))
    classes = max(1, _NUMBERS // (step * d * held.rows.shape[1]))
    for lo in range(0, training.n_folds, step):
        part = slice(lo, lo + step)
        taken = training.take(part)
        e, rotations, log_det = _spectra(taken, pooling)
        usable &= (1 - gammas) * float(e[taken.weights > 0].min()) + gammas > rank_tolerance(d)
        if not usable.any():
            break
        e = np.where(usable, (1 - gammas) * e[..., None] + gammas, 1.0)  # (F, K, d, Γ)
        constant = log_priors[part][..., None] - 0.5 * (np.log(e).sum(2) + log_det[..., None])
        x = training.x[taken.held_out.rows][:, None]  # (F, 1, m, d)
        for first in range(0, k, classes):
            some = slice(first, first + classes)
            z = x @ rotations[:, some]
            z -= taken.means[:, some, None] @ rotations[:, some]
            # −½ (log|Σ(γ)| + Σ_i z_i² / e_i(γ)) + log π_k
            found = np.square(z, out=z) @ (-0.5 / e[:, some])
            found += constant[:, some, None]
            scores[some, :, part] = found.transpose(1, 3, 0, 2)
    return gammas[usable], scores[:, usable]


def _spectra(training: Training, pooling: float) -> tuple[Floats, Floats, Floats]:
    """Return e, R and c with xᵀ Σ_k(λ, γ)⁻¹ x = Σ_i (R x)_i² / ((1 − γ) e_i + γ).

    Shapes are (F, K, d), (F, K, d, d) with columns for R's rows, and (F, K); log|Σ_k| is the sum
    of log((1 − γ) e_i + γ) and c.
    """
    w, absent = training.weights, training.weights == 0
    # S_k(λ) = (1 − λ) S_k + λ S,   w_k(λ) = (1 − λ) w_k + λ W
    sums = (1 - pooling) * training.scatters + pooling * training.pooled[:, None]  # type: ignore[operator]
    n = (1 - pooling) * w + pooling * w.sum(1, keepdims=True)
    sums /= np.where(n > 0, n, 1.0)[..., None, None]
    lacking = (
        ~training.varies & ~absent[..., None] if pooling == 0 else np.zeros((1, 1, 1), bool)
    )
    empty = np.argwhere(lacking.any(2))
    for f, k in empty:
        set_diagonal(sums[f, k], np.flatnonzero(lacking[f, k]), 1.0)
    sums[absent] = np.eye(sums.shape[-1])
    scale = np.sqrt(np.einsum("fkjj->fkj", sums))
    sums /= scale[..., None]
    sums /= scale[:, :, None]
    values, vectors = np.linalg.eigh(sums)
    vectors /= scale[..., None]
    log_det = 2 * np.log(scale).sum(2)
    for f, k in empty:
        borrowed, more = _borrowing(training.pooled[f] / w[f].sum(), lacking[f, k])
        vectors[f, k] = borrowed @ vectors[f, k]
        log_det[f, k] += more
    return values, vectors, log_det


def _borrowing(pooled: Floats, lacking: Any) -> tuple[Floats, float]:
    """Return the map (d, d) of rows of a class that lacks variance in features J, and log|R_JJ|.

    There x_J ~ N(μ_J, R_JJ) is lent by the pooled covariance R, and the others are left as they
    are given x_J: y_A = x_A − R_AJ R_JJ⁻¹ x_J,  y_J = L⁻¹ x_J,  R_JJ = L Lᵀ.
    """
    change = np.eye(len(pooled))
    j, a = np.flatnonzero(lacking), np.flatnonzero(~lacking)
    factor = positive_factor(pooled[np.ix_(j, j)])
    change[np.ix_(j, a)] = -solve_factored(factor, pooled[np.ix_(j, a)])
    change[np.ix_(j, j)] = inverse_lower(factor).T
    return change, 2 * float(np.log(np.diagonal(factor)).sum())


def judged_scores(scores: Floats, held: HeldOut, temperatures: Floats) -> tuple[Floats, ...]:
    """Return temperature, error, log-loss, its standard error and log p of each γ; eats scores."""
    n_folds, wrong = len(held.rows), scores.argmax(0) != held.truth
    share = held.weight / held.weight.sum(1, keepdims=True)
    error = np.einsum("gfm,fm->gf", wrong, share).mean(1)
    scores -= scores.max(0)
    own = np.take_along_axis(scores, held.truth[None, None], 0)[0]  # (Γ, F, m)
    losses = np.empty((scores.shape[1], n_folds, len(temperatures)))
    for t, powers in _exponentials(scores, temperatures):
        rows = np.log(powers.sum(0)) - own / temperatures[t]
        rows[~np.isfinite(rows)] = ABSENT_LOSS  # of a class without rows in training
        losses[:, :, t] = np.einsum("gfm,fm->gf", rows, share)
    n = int(np.count_nonzero(held.weight))
    chosen, temperature = best_temperature(losses.mean(1), temperatures, n)
    at = losses[np.arange(len(losses)), :, chosen]
    scores /= temperature[:, None, None]
    true_log = own / temperature[:, None, None] - np.log(np.exp(scores).sum(0))
    se = at.std(1) / np.sqrt(max(n_folds - 1, 1))
    return (
        temperature,
        error,
        at.mean(1),
        se,
        np.fmax(true_log[:, held.weight > 0], -ABSENT_LOSS),
    )


def _exponentials(scores: Floats, temperatures: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield exp(a / T) of each temperature; those of T / 2 are the squares of those of T."""
    left = list(np.argsort(-temperatures))
    while left:
        t = left.pop(0)
        powers = np.exp(scores / temperatures[t])
        yield t, powers
        while half := [u for u in left if temperatures[u] * 2 == temperatures[t]]:
            t = half[0]
            left.remove(t)
            yield t, np.square(powers, out=powers)


def best_temperature(losses: Floats, temperatures: Floats, n: int) -> tuple[Codes, Floats]:
    """Return where the losses (S, T) are least, and the temperatures refined by a parabola."""
    # log t ~ N(0, ½²): few rows without an error must not make a model arbitrarily confident
    judged = losses + np.square(np.log(temperatures) / SPREAD) / (2 * n)
    at = judged.argmin(1)
    if len(temperatures) < 3:
        return at, temperatures[at]
    inner = np.clip(at, 1, len(temperatures) - 2)
    below, y, above = np.take_along_axis(judged, inner[:, None] + np.arange(-1, 2), 1).T
    # the vertex of the parabola through three points, evenly spaced in log t
    with np.errstate(divide="ignore", invalid="ignore"):
        step = 0.5 * (below - above) / (below - 2 * y + above)
    inside = (inner == at) & (np.abs(step) < 1)
    return at, temperatures[at] * (temperatures[1] / temperatures[0]) ** np.where(
        inside, step, 0.0
    )
