"""Covariance structures: from the sums of groups of classes to covariances of full rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from suffice.estimation.degenerate import Gap, ReferenceCovariance, filled_variances
from suffice.estimation.groups import (
    diagonal_groups,
    fourth_groups,
    full_groups,
    resolved_variances,
    total_variances,
)
from suffice.estimation.shrinkage import Shrinkage, pooled_groups
from suffice.linalg import inverse_lower, resolved, scaled_cholesky, unit_scale
from suffice.model.covariance import Covariance, DiagonalCovariance, FullCovariance

if TYPE_CHECKING:
    from suffice.estimation.groups import GroupScatter
    from suffice.estimation.shrinkage import Regularisation
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


class Structure(Protocol):
    """A family of covariances."""

    def covariances(
        self, moments: Moments, group_of: Codes, how: Regularisation
    ) -> tuple[list[Covariance], list[Gap]]:
        """Return one covariance per group, and what was missing."""
        ...

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        """Return the number of free covariance parameters."""
        ...

    def storage(self, *, tied: bool) -> str:
        """Return the storage of moments that suffices."""
        ...


@dataclass(frozen=True, slots=True)
class FullStructure:
    """Any positive definite matrix."""

    def covariances(
        self, moments: Moments, group_of: Codes, how: Regularisation
    ) -> tuple[list[Covariance], list[Gap]]:
        """Return one covariance per group, singular ones filled from the pooled covariance."""
        sigmas, variances = full_sigmas(moments, group_of, how)
        return factored(sigmas, variances, moments)

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        """Return G d (d + 1) / 2."""
        return n_groups * n_features * (n_features + 1) // 2

    def storage(self, *, tied: bool) -> str:
        """Return the storage of moments that suffices."""
        return "pooled" if tied else "per-class"


@dataclass(frozen=True, slots=True)
class DiagonalStructure:
    """Features independent given the class."""

    def covariances(
        self, moments: Moments, group_of: Codes, how: Regularisation
    ) -> tuple[list[Covariance], list[Gap]]:
        """Return one diagonal covariance per group, empty variances filled."""
        variances, pooled, totals = diagonal_variances(moments, group_of, how)
        gaps = [Gap.of(g, np.zeros((0, 0)), v) for g, v in enumerate(variances) if not v.all()]
        filled = np.sqrt(filled_variances(variances, pooled, totals))
        return [DiagonalCovariance(scale) for scale in filled], gaps

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        """Return G d."""
        return n_groups * n_features

    def storage(self, *, tied: bool) -> str:  # noqa: ARG002
        """Return the storage of moments that suffices."""
        return "diagonal"


@dataclass(frozen=True, slots=True)
class SphericalStructure:
    """One variance for all features, in the units of the data."""

    def covariances(
        self, moments: Moments, group_of: Codes, how: Regularisation
    ) -> tuple[list[Covariance], list[Gap]]:
        """Return one multiple of the identity per group."""
        variances, pooled, totals = diagonal_variances(moments, group_of, how)
        variance = filled_variances(
            variances.mean(1, keepdims=True),
            pooled.mean(keepdims=True),
            totals.mean(keepdims=True),
        )
        scales = np.sqrt(np.broadcast_to(variance, variances.shape))
        gaps = [Gap.of(g, np.zeros((0, 0)), v) for g, v in enumerate(variances) if not v.any()]
        return [DiagonalCovariance(scale) for scale in scales], gaps

    def n_parameters(self, n_groups: int, n_features: int) -> int:  # noqa: ARG002
        """Return G."""
        return n_groups

    def storage(self, *, tied: bool) -> str:  # noqa: ARG002
        """Return the storage of moments that suffices."""
        return "diagonal"


def full_sigmas(moments: Moments, group_of: Codes, how: Regularisation) -> tuple[Floats, Floats]:
    """Return Σ_g (G, d, d), pooled and shrunk, and the variances before shrinkage (G, d)."""
    groups = pooled_groups(full_groups(moments, group_of), how.pooling)
    sigmas = groups.divided(unbiased=how.unbiased)
    diagonals = np.diagonal(sigmas, axis1=1, axis2=2)
    shrinkage = _shrinkage(moments, group_of, how, groups, diagonals)
    return shrinkage.apply(sigmas), resolved_variances(diagonals, moments, group_of)


def _shrinkage(
    moments: Moments, group_of: Codes, how: Regularisation, groups: GroupScatter, variances: Floats
) -> Shrinkage:
    """Return how far each of the groups, already pooled, is pulled, and towards what."""
    target = how.target
    scale = unit_scale(moments.scatter.pooled_diagonal() / moments.total_weight)

    def fourths() -> Floats:
        return pooled_groups(fourth_groups(moments, group_of), how.pooling).scatters

    intensities = how.shrinkage.intensities(groups, target.scales(variances, scale), fourths)
    return Shrinkage(intensities, target, scale)


def factored(
    sigmas: Floats, variances: Floats, moments: Moments
) -> tuple[list[Covariance], list[Gap]]:
    """Return the covariances, singular ones filled from the pooled covariance, and the gaps."""
    factors = [
        scaled_cholesky(sigma) if v.all() else None
        for sigma, v in zip(sigmas, variances, strict=True)
    ]
    gaps = [Gap.of(g, sigmas[g], variances[g]) for g, f in enumerate(factors) if f is None]
    reference = ReferenceCovariance.of(moments) if gaps else None
    covariances: list[Covariance] = []
    for sigma, factor in zip(sigmas, factors, strict=True):
        if factor is None and reference is not None:
            covariances.append(FullCovariance.of_root(reference.filled(sigma)))
        elif factor is not None:
            covariances.append(FullCovariance(factor, inverse_lower(factor)))
    return covariances, gaps


def diagonal_variances(
    moments: Moments, group_of: Codes, how: Regularisation
) -> tuple[Floats, Floats, Floats]:
    """Return group variances (G, d), pooled ones (d,) and total ones (d,); zero where none."""
    groups = diagonal_groups(moments, group_of)
    lent = pooled_groups(groups, how.pooling)
    variances = lent.divided(unbiased=how.unbiased)
    variances = _shrinkage(moments, group_of, how, lent, variances).apply_to_variances(variances)
    pooled = groups.pooled.divided(unbiased=how.unbiased)[0]
    totals = total_variances(moments)
    return (
        resolved_variances(variances, moments, group_of),
        resolved(pooled, moments.grand_mean, totals),
        totals,
    )
