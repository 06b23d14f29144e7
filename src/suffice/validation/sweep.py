"""Losses of a path of (λ, γ) on one fold by compiled loops: the quick twin of ``sweep``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.estimation.groups import full_groups, resolved_variances
from suffice.estimation.shrinkage import pooled_groups
from suffice.linalg import correlation, rank_tolerance, symmetric_eigen
from suffice.model.tiles import LANES, SIDE

if TYPE_CHECKING:
    from suffice.estimation.shrinkage import Regularisation
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats
    from suffice.validation.folds import Fold


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Σ = diag(s) V diag(e) Vᵀ diag(s): a correlation matrix taken apart."""

    scale: Floats  # s  (d,)
    values: Floats  # e  (d,)
    vectors: Floats  # V  (d, d)

    @classmethod
    def of(cls, sigma: Floats) -> Spectrum:
        """Take a covariance apart."""
        corr, scale = correlation(sigma)
        return cls(scale, *symmetric_eigen(corr))

    def is_regular(self, gamma: float) -> bool:
        """Whether, shrunk by γ, no direction lacks variance."""
        least = (1 - gamma) * self.values[0] + gamma
        return bool(least > rank_tolerance(len(self.values)))

    def rotate(self, x: Floats) -> Floats:
        """Return Vᵀ diag(1/s) x for each row."""
        return (x / self.scale) @ self.vectors

    def shrunk(self, gammas: Floats) -> tuple[Floats, Floats]:
        """Return 1 / e(γ) of every γ (d, Γ), and log|Σ(γ)| (Γ,)."""
        e = (1 - gammas) * self.values[:, None] + gammas
        return 1 / e, np.log(e).sum(0) + 2 * np.log(self.scale).sum()


def spectra_of(
    train: Moments, group_of: Codes, how: Regularisation, least_gamma: float
) -> list[Spectrum] | None:
    """Return Σ_g(λ) of every group taken apart; None where some direction lacks variance."""
    sigmas = pooled_groups(full_groups(train, group_of), how.pooling).divided(unbiased=how.unbiased)
    variances = np.diagonal(sigmas, axis1=1, axis2=2)
    if not resolved_variances(variances, train, group_of).all():
        return None
    spectra = [Spectrum.of(sigma) for sigma in sigmas]
    return spectra if all(s.is_regular(least_gamma) for s in spectra) else None


def path_scores(
    spectra: list[Spectrum], group_of: Codes, train: Moments, x: Floats, gammas: Floats
) -> Floats:
    """Return log p(x | k) of every γ up to a term common to all classes, (Γ, m, K)."""
    rows, offsets = x - train.grand_mean, train.centred_means
    scores = np.empty((len(gammas), len(rows), len(offsets)))
    for g, spectrum in enumerate(spectra):
        members = np.flatnonzero(group_of == g)
        z, m = spectrum.rotate(rows), spectrum.rotate(offsets[members])
        inverse, log_det = spectrum.shrunk(gammas)
        if len(spectra) == 1:
            scores[:] = _linear(z, m, inverse)
            continue
        for k, mean in zip(members, m, strict=True):
            # −½ (log|Σ(γ)| + Σ_i (z_i − m_i)² / e_i(γ))
            scores[:, :, k] = -0.5 * (log_det + np.square(z - mean) @ inverse).T
    return scores


def _linear(z: Floats, m: Floats, inverse: Floats) -> Floats:
    """Return mᵀ E(γ)⁻¹ z − ½ mᵀ E(γ)⁻¹ m of every γ: what differs between tied classes."""
    n_gammas, n_classes = inverse.shape[1], len(m)
    # weights (d, Γ K): one product for all γ and classes
    weights = (inverse[:, :, None] * m.T[:, None, :]).reshape(len(inverse), -1)
    bias = -0.5 * np.square(m) @ inverse  # (K, Γ)
    linear = (z @ weights).reshape(len(z), n_gammas, n_classes)
    scores: Floats = linear.transpose(1, 0, 2) + bias.T[:, None, :]
    return scores


_CHUNKS = 16  # of LANES rows in a tile


def path_losses(
    spectra: list[Spectrum],
    group_of: Codes,
    fold: Fold,
    log_priors: Floats,
    gammas: Floats,
    temperatures: Floats,
) -> Floats:
    """Return mean error, log-loss and Brier score of each γ and temperature, (Γ, T, 3)."""
    from suffice.validation import kernels

    losses = np.zeros((len(gammas), len(temperatures), 3))
    build = _linear_path if len(spectra) == 1 else _quadratic
    add, parameters = build(spectra, group_of, fold.train.centred_means, log_priors, gammas)
    x, origin = fold.x, fold.train.grand_mean
    weight = np.ones(len(x)) if fold.weight is None else fold.weight
    tile = np.zeros((_CHUNKS, -(-x.shape[1] // SIDE) * SIDE, LANES))
    for lo in range(0, len(x), _CHUNKS * LANES):
        rows = slice(lo, lo + _CHUNKS * LANES)
        block = np.ascontiguousarray(x[rows], np.float64)
        used = tile[: -(-len(block) // LANES)]
        kernels.load_rows(block, 0, origin, used)
        add(used, fold.truth[rows], weight[rows], *parameters, 1 / temperatures, losses)
    means: Floats = losses / weight.sum()
    return means


def _quadratic(
    spectra: list[Spectrum],
    group_of: Codes,
    offsets: Floats,
    log_priors: Floats,
    gammas: Floats,
) -> tuple[Any, tuple[Floats, ...]]:
    from suffice.model.kernels import packed
    from suffice.validation.kernels import quadratic_losses

    shrunk = [spectrum.shrunk(gammas) for spectrum in spectra]
    # z = Vᵀ diag(1/s) (x − μ)
    rotations = [packed(np.ascontiguousarray((s.vectors / s.scale[:, None]).T)) for s in spectra]
    inverses = [packed(np.ascontiguousarray(inverse.T)) for inverse, _ in shrunk]
    constants = np.array([log_priors[k] - 0.5 * shrunk[g][1] for k, g in enumerate(group_of)])
    pick = np.stack
    return quadratic_losses, (
        _padded(offsets),
        pick([rotations[g] for g in group_of]),
        pick([inverses[g] for g in group_of]),
        constants,
    )


def _linear_path(
    spectra: list[Spectrum],
    group_of: Codes,  # noqa: ARG001
    offsets: Floats,
    log_priors: Floats,
    gammas: Floats,
) -> tuple[Any, tuple[Floats, ...]]:
    from suffice.model.kernels import packed
    from suffice.validation.kernels import linear_losses

    spectrum = spectra[0]
    m = spectrum.rotate(offsets)
    inverse, _ = spectrum.shrunk(gammas)
    back = spectrum.vectors.T / spectrum.scale
    # w_k(γ) = diag(1/s) V E(γ)⁻¹ m_k,   b_k(γ) = log π_k − ½ m_kᵀ E(γ)⁻¹ m_k
    weights = [packed(np.ascontiguousarray((m * e) @ back)) for e in inverse.T]
    intercepts = log_priors - 0.5 * (np.square(m) @ inverse).T
    return linear_losses, (np.stack(weights), np.ascontiguousarray(intercepts))


def _padded(means: Floats) -> Floats:
    width = -(-means.shape[1] // SIDE) * SIDE
    return np.pad(means, ((0, 0), (0, width - means.shape[1])))
