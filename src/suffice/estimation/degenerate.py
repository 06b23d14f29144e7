"""Directions without variance: found, named, and filled so that a usable model remains.

A covariance is judged after the scale of each feature is taken out. Where a group of classes
does not vary, it borrows: first the covariance pooled over all classes; where that does not vary
either but the class means do, a small share of the total variance, so that the direction
separates; where nothing varies at all, one unit for everyone, so that it cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.linalg import EPS, rank_tolerance, symmetric_eigen, unit_scale

if TYPE_CHECKING:
    from suffice.moments import Moments
    from suffice.typing import Floats

SEPARATING_SHARE = 1e-9  # of the total variance, where classes differ but do not vary


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A reference covariance of full rank, R = F Fᵀ, to fill gaps with."""

    factor: Floats  # F  (d, d)
    inverse: Floats  # F⁻¹  (d, d)
    scale: Floats  # standard deviation of each feature over all rows  (d,)

    def filled(self, sigma: Floats) -> Floats:
        """Return a root A of Σ = A Aᵀ, with the variance of R where Σ has none."""
        # A = F⁻¹ Σ F⁻ᵀ = V diag(a) Vᵀ;  a ≈ 0 becomes 1
        a, v = symmetric_eigen(self.inverse @ sigma @ self.inverse.T)
        # along u = F⁻ᵀ v, rounding alone leaves a variance of about ε Σ_j (u_j s_j)²
        u = self.inverse.T @ v
        noise = rank_tolerance(len(a)) * np.square(u * self.scale[:, None]).sum(0)
        root: Floats = self.factor @ (v * np.sqrt(np.where(a > noise, a, 1.0)))
        return root


def resolved(variances: Floats, means: Floats, totals: Floats) -> Floats:
    """Return the variances, exactly zero where they are no more than rounding of the data."""
    # a variance below (16 ε)² of the squared size of the numbers cannot be told from zero
    noise = (16 * EPS) ** 2 * (np.square(means) + totals)
    return np.where(variances > noise, variances, 0.0)


def total_variances(moments: Moments) -> Floats:
    """Return the variance of each feature over all rows, shape (d,); zero where constant."""
    weight = max(moments.total_weight, np.finfo(float).tiny)
    between = (moments.weights[:, None] * moments.centred_means**2).sum(0)
    total = (moments.scatter.pooled_diagonal() + between) / weight
    return resolved(total, moments.grand_mean, total)


def full_metric(moments: Moments) -> Metric:
    """Return the pooled within-class covariance, filled where it has no variance."""
    scale = unit_scale(total_variances(moments))
    units = moments.total_weight * scale[:, None] * scale
    within, between = moments.pooled_scatter / units, moments.between_scatter / units
    tol = rank_tolerance(len(scale))
    e, v = symmetric_eigen(within)
    inside, empty = v[:, e > tol], v[:, e <= tol]
    # directions without variance inside classes: do the classes differ there?
    t, q = symmetric_eigen(empty.T @ between @ empty)
    variances = np.concatenate([e[e > tol], np.where(t > tol, SEPARATING_SHARE, 1.0)])
    # R = F Fᵀ,  F = diag(s) V diag(√e)
    directions, root = np.hstack([inside, empty @ q]), np.sqrt(variances)
    factor = scale[:, None] * directions * root
    return Metric(factor, (directions / root).T / scale, scale)


def filled_variances(variances: Floats, pooled: Floats, totals: Floats) -> Floats:
    """Return variances (G, d) with the gaps filled from pooled, then total variances (d,)."""
    reference = np.where(pooled > 0, pooled, SEPARATING_SHARE * totals)
    reference = np.where(reference > 0, reference, 1.0)
    return np.where(variances > 0, variances, reference)


__all__ = ["Metric", "filled_variances", "full_metric", "resolved", "total_variances"]
