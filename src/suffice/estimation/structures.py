"""Covariance structures: from the sums of groups of classes to covariances of full rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from suffice.estimation.degenerate import RankDeficiency, ReferenceCovariance, filled_variances
from suffice.estimation.divisors_and_tied_covariances import (
    GroupScatter,
    diagonal_groups,
    divided,
    fourth_groups,
    full_groups,
    resolved_variances,
)
from suffice.estimation.regularisation import Regularisation, pooled_groups, shrunk
from suffice.linalg import inverse_lower, resolved, scaled_cholesky, unit_scale
from suffice.model.covariance import Covariance, DiagonalCovariance, FullCovariance, lower_factor
from suffice.moments import Moments
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.estimation.edda import EddaStructure

# one covariance per group, and those groups whose own was singular
Estimates: TypeAlias = tuple[list[Covariance], list[RankDeficiency]]


@dataclass(frozen=True, slots=True)
class FullStructure:
    """Any positive definite matrix."""

    is_diagonal = False

    def covariances(self, moments: Moments, group_of: Codes, how: Regularisation) -> Estimates:
        """Return one covariance per group, singular ones filled from the pooled covariance."""
        groups = pooled_groups(full_groups(moments, group_of), how.pooling)
        sigmas = divided(groups, unbiased=how.unbiased)
        variances = np.diagonal(sigmas, axis1=1, axis2=2)
        pulled = _shrunk(sigmas, moments, group_of, how, groups)
        return factored(pulled, resolved_variances(variances, moments, group_of), moments)

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        """Return G d (d + 1) / 2."""
        return n_groups * n_features * (n_features + 1) // 2


@dataclass(frozen=True, slots=True)
class DiagonalStructure:
    """Features independent given the class; spherical: one variance, in the units of the data."""

    spherical: bool = False
    is_diagonal = True

    def covariances(self, moments: Moments, group_of: Codes, how: Regularisation) -> Estimates:
        """Return one diagonal covariance per group, empty variances filled."""
        groups, totals = diagonal_groups(moments, group_of), moments.total_variances
        lent = pooled_groups(groups, how.pooling)
        variances = _shrunk(divided(lent, unbiased=how.unbiased), moments, group_of, how, lent)
        variances = own = resolved_variances(variances, moments, group_of)
        pooled = divided(groups.pooled, unbiased=how.unbiased)[0]
        pooled = resolved(pooled, moments.grand_mean, totals)
        if self.spherical:
            own, pooled, totals = (v.mean(-1, keepdims=True) for v in (own, pooled, totals))
        filled = np.broadcast_to(np.sqrt(filled_variances(own, pooled, totals)), variances.shape)
        deficient = [RankDeficiency(int(g), variances[g]) for g in np.flatnonzero(~own.all(1))]
        return [DiagonalCovariance(scale) for scale in filled], deficient

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        """Return G d, or G."""
        return n_groups if self.spherical else n_groups * n_features


# a family of covariances: one for each group of classes, singular ones filled
Structure: TypeAlias = "FullStructure | DiagonalStructure | EddaStructure"


def _shrunk(
    sigmas: Floats, moments: Moments, group_of: Codes, how: Regularisation, groups: GroupScatter
) -> Floats:
    """Return Σ_g, or their diagonals, of groups already pooled, pulled towards the target."""
    if how.shrinkage.fixed == 0:
        return sigmas
    scale = unit_scale(moments.scatter.pooled_diagonal() / moments.total_weight)
    variances = np.diagonal(sigmas, axis1=1, axis2=2) if sigmas.ndim == 3 else sigmas

    def fourths() -> Floats:
        return pooled_groups(fourth_groups(moments, group_of), how.pooling).scatters

    gammas = how.shrinkage.intensities(groups, how.target.scales(variances, scale), fourths)
    return shrunk(sigmas, how.target.variances(variances, scale), gammas)


def factored(sigmas: Floats, variances: Floats, moments: Moments) -> Estimates:
    """Return covariances of Σ_g (G, d, d), singular ones filled; variances are 0 where none."""
    factors = [
        scaled_cholesky(sigma) if v.all() else None
        for sigma, v in zip(sigmas, variances, strict=True)
    ]
    singular = [g for g, factor in enumerate(factors) if factor is None]
    if singular:
        roots = ReferenceCovariance.of(moments).filled(sigmas[singular])
        found = dict(zip(singular, lower_factor(roots), strict=True))
        factors = [found.get(g, factor) for g, factor in enumerate(factors)]
    whole = [FullCovariance(f, inverse_lower(f)) for f in factors if f is not None]
    return [*whole], [RankDeficiency(g, variances[g], sigmas[g]) for g in singular]
