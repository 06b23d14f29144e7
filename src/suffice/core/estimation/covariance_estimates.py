"""Structures of covariances, and their estimates from the sums of groups of tied classes."""

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
from suffice.core.estimation.few_rows import few_rows_covariances
from suffice.core.estimation.groups import (
    GroupScatter,
    diagonal_groups,
    fourth_groups,
    full_groups,
)
from suffice.core.estimation.pooling import pooled_groups
from suffice.core.estimation.shrinkage import Regularisation, shrunk_towards
from suffice.core.linalg import inverse_lower, resolved, scaled_cholesky, unit_scale
from suffice.core.model.covariance import (
    Covariance,
    DiagonalCovariance,
    FullCovariance,
    lower_factor,
)
from suffice.core.moments import Moments
from suffice.core.moments.row_scatter import RowScatter
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.core.estimation.edda import EddaStructure


# one covariance per group, and those groups whose own was singular
Estimates: TypeAlias = tuple[list[Covariance], list[RankDeficiency]]


@dataclass(frozen=True, slots=True)
class FullStructure:
    """Any positive definite matrix."""

    is_diagonal = False

    def covariances(self, moments: Moments, group_of: Codes, how: Regularisation) -> Estimates:
        """Return one covariance per group, singular ones filled from the pooled covariance."""
        if isinstance(moments.scatter, RowScatter) and moments.scatter.has_few_rows:
            return few_rows_covariances(moments, group_of, how)
        groups = pooled_groups(full_groups(moments, group_of), how.pooling)
        sigmas = divided(groups, unbiased=how.unbiased)
        variances = np.diagonal(sigmas, axis1=1, axis2=2)
        shrunk = _shrunk(sigmas, moments, group_of, how, groups)
        return factored(shrunk, resolved_variances(variances, moments, group_of), moments)

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        return n_groups * n_features * (n_features + 1) // 2


@dataclass(frozen=True, slots=True)
class DiagonalStructure:
    """Features independent given the class; spherical: one variance, in the units of the data."""

    spherical: bool = False
    is_diagonal = True

    def covariances(self, moments: Moments, group_of: Codes, how: Regularisation) -> Estimates:
        """Return one diagonal covariance per group, empty variances filled."""
        groups = diagonal_groups(moments, group_of)
        borrowing = pooled_groups(groups, how.pooling)
        sigmas = divided(borrowing, unbiased=how.unbiased)
        shrunk = _shrunk(sigmas, moments, group_of, how, borrowing)
        variances = resolved_variances(shrunk, moments, group_of)
        totals = moments.total_variances
        pooled = divided(groups.pooled, unbiased=how.unbiased)[0]
        pooled = resolved(pooled, moments.grand_mean, totals)
        estimated = variances
        if self.spherical:
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


# a family of covariances: one for each group of classes, singular ones filled
Structure: TypeAlias = "FullStructure | DiagonalStructure | EddaStructure"


def _shrunk(
    sigmas: Floats,
    moments: Moments,
    group_of: Codes,
    how: Regularisation,
    groups: GroupScatter,
) -> Floats:
    """Return Σ_g, or their diagonals, of groups already pooled, shrunk towards the target."""
    if how.shrinkage.fixed == 0:
        return sigmas
    pooled = unit_scale(moments.scatter.pooled_diagonal() / moments.total_weight)
    variances = np.diagonal(sigmas, axis1=1, axis2=2) if sigmas.ndim == 3 else sigmas
    fourths = None
    if how.shrinkage.needs_fourth:
        fourths = pooled_groups(fourth_groups(moments, group_of), how.pooling).scatters
    scales = how.target.scales(variances, pooled)
    gammas = how.shrinkage.intensities(groups, scales, fourths)
    return shrunk_towards(how.target.variances(variances, pooled), sigmas, gammas)


def factored(sigmas: Floats, variances: Floats, moments: Moments) -> Estimates:
    """Return covariances of Σ_g (G, d, d), singular ones filled; variances are 0 where none."""
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
