"""Scores of one held-out block for a whole grid of pooling λ and shrinkage γ.

Shrinking a covariance towards its diagonal leaves the eigenvectors of its correlation matrix
alone: C(γ) = (1 − γ) C + γ I. So each λ costs one eigen-decomposition and one rotation of the
rows per group of tied classes; every γ is then a product with d numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.estimation.groups import full_groups
from suffice.estimation.regularise import pooled_groups
from suffice.estimation.structures import resolved_variances
from suffice.linalg import correlation, rank_tolerance, symmetric_eigen

if TYPE_CHECKING:
    from suffice.estimation.groups import Divisor
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


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
    train: Moments, group_of: Codes, divisor: Divisor, pooling: float, least_gamma: float
) -> list[Spectrum] | None:
    """Return Σ_g(λ) of every group taken apart; None where some direction lacks variance."""
    sigmas = pooled_groups(full_groups(train, group_of), pooling).divided(divisor)
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
