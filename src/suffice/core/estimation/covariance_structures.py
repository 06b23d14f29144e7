"""Full, diagonal and spherical covariances, estimated from the sums of groups of tied classes.

``divisors.py`` computes Σ_k = M_k / w_k and the tied forms. ``edda.py`` has the 14 EDDA families.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from suffice.core.estimation.degenerate import (
    RankDeficiency,
    ReferenceCovariance,
    filled_variances,
    resolved_variances,
)
from suffice.core.estimation.divisors import divided
from suffice.core.estimation.few_rows_estimates import few_rows_covariances
from suffice.core.estimation.groups import (
    diagonal_groups,
    full_groups,
)
from suffice.core.estimation.regularisation import Regularisation, regularised
from suffice.core.linalg import inverse_lower, resolved, scaled_cholesky
from suffice.core.model.covariance import (
    Covariance,
    DiagonalCovariance,
    FullCovariance,
    lower_factor,
)
from suffice.core.moments import Moments
from suffice.core.moments.scatter_as_rows import RowScatter
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.core.estimation.edda import EddaStructure


# one covariance per group of tied classes, and the groups whose estimate is singular
Estimates: TypeAlias = tuple[list[Covariance], list[RankDeficiency]]


@dataclass(frozen=True, slots=True)
class FullStructure:
    """Full covariances, which are any positive definite matrices."""

    is_diagonal = False

    def covariances(
        self, moments: Moments, group_of: Codes, regularisation: Regularisation
    ) -> Estimates:
        """Return one covariance per group, with missing variance filled from all classes."""
        if isinstance(moments.scatter, RowScatter) and moments.scatter.has_few_rows:
            return few_rows_covariances(moments, group_of, regularisation)
        groups = full_groups(moments, group_of)
        shrunk, _ = regularised(groups, moments, group_of, regularisation)
        variances = np.diagonal(shrunk, axis1=1, axis2=2)
        return factored(shrunk, resolved_variances(variances, moments, group_of), moments)

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        return n_groups * n_features * (n_features + 1) // 2


@dataclass(frozen=True, slots=True)
class DiagonalStructure:
    """Diagonal covariances; if spherical, all features share one variance in original units."""

    spherical: bool = False
    is_diagonal = True

    def covariances(
        self, moments: Moments, group_of: Codes, regularisation: Regularisation
    ) -> Estimates:
        """Return one diagonal covariance per group; variances of zero are filled."""
        groups = diagonal_groups(moments, group_of)
        # diagonal: σ²_gj = (M_g)_jj / w_g, regularised like any Σ_g
        shrunk, _ = regularised(groups, moments, group_of, regularisation)
        variances = resolved_variances(shrunk, moments, group_of)
        totals = moments.total_variances
        pooled = divided(groups.pooled, unbiased=regularisation.unbiased)[0]
        pooled = resolved(pooled, moments.grand_mean, totals)
        estimated = variances
        if self.spherical:
            # spherical: σ²_g = Σ_j σ²_gj / d
            estimated = variances.mean(-1, keepdims=True)
            pooled = pooled.mean(-1, keepdims=True)
            totals = totals.mean(-1, keepdims=True)
        deviations = np.sqrt(filled_variances(estimated, pooled, totals))
        deviations = np.broadcast_to(deviations, variances.shape)
        singular = np.flatnonzero(~estimated.all(1))
        deficient = [RankDeficiency(int(g), variances[g]) for g in singular]
        return [DiagonalCovariance(scale) for scale in deviations], deficient

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        return n_groups if self.spherical else n_groups * n_features


# a structure estimates the covariance of each group, with missing variance filled
Structure: TypeAlias = "FullStructure | DiagonalStructure | EddaStructure"


def factored(sigmas: Floats, variances: Floats, moments: Moments) -> Estimates:
    """Return factored covariances of groups, with missing variance filled, given Σ_g (G, d, d).

    ``variances`` (G, d) is zero for features that do not vary in a group.
    """
    factors: list[Floats | None] = []
    for sigma, variance in zip(sigmas, variances, strict=True):
        factors.append(scaled_cholesky(sigma) if variance.all() else None)
    singular = [g for g, factor in enumerate(factors) if factor is None]
    if singular:
        roots = ReferenceCovariance.of(moments).filled(sigmas[singular])
        for g, factor in zip(singular, lower_factor(roots), strict=True):
            factors[g] = factor
    covariances: list[Covariance] = []
    for factor in factors:
        assert factor is not None
        covariances.append(FullCovariance(factor, inverse_lower(factor)))
    deficient = [RankDeficiency(g, variances[g], sigmas[g]) for g in singular]
    return covariances, deficient
