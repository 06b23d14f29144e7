"""Covariance structures: from the sums of groups of classes to covariances of full rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from suffice.estimation.auto import Auto
from suffice.estimation.degenerate import (
    Gap,
    filled_variances,
    full_metric,
    resolved,
    total_variances,
)
from suffice.estimation.groups import diagonal_groups, fourth_groups, full_groups
from suffice.estimation.shrinkage import TARGETS, Shrinkage, pooled_groups
from suffice.linalg import inverse_lower, scaled_cholesky, unit_scale
from suffice.model.covariance import Covariance, DiagonalCovariance, FullCovariance

if TYPE_CHECKING:
    from suffice.estimation.groups import Divisor, GroupScatter
    from suffice.estimation.shrinkage import Intensity, Target
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Dials:
    """How sums are turned into covariances: divisor, pooling λ and shrinkage γ."""

    divisor: Divisor
    pooling: float
    shrinkage: Intensity
    target: Target

    @property
    def is_resolved(self) -> bool:
        """Whether every dial is chosen."""
        return not any(isinstance(dial, Auto) for dial in (self.pooling, self.shrinkage))


class Structure(Protocol):
    """A family of covariances."""

    def covariances(
        self, moments: Moments, group_of: Codes, dials: Dials
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
        self, moments: Moments, group_of: Codes, dials: Dials
    ) -> tuple[list[Covariance], list[Gap]]:
        """Return one covariance per group, singular ones filled from the pooled covariance."""
        sigmas, variances = full_sigmas(moments, group_of, dials)
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
        self, moments: Moments, group_of: Codes, dials: Dials
    ) -> tuple[list[Covariance], list[Gap]]:
        """Return one diagonal covariance per group, empty variances filled."""
        variances, pooled, totals = diagonal_variances(moments, group_of, dials)
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
        self, moments: Moments, group_of: Codes, dials: Dials
    ) -> tuple[list[Covariance], list[Gap]]:
        """Return one multiple of the identity per group."""
        variances, pooled, totals = diagonal_variances(moments, group_of, dials)
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


def full_sigmas(moments: Moments, group_of: Codes, dials: Dials) -> tuple[Floats, Floats]:
    """Return Σ_g (G, d, d), pooled and shrunk, and the variances before shrinkage (G, d)."""
    groups = pooled_groups(full_groups(moments, group_of), dials.pooling)
    sigmas = groups.divided(dials.divisor)
    diagonals = np.diagonal(sigmas, axis1=1, axis2=2)
    shrinkage = _shrinkage(moments, group_of, dials, groups, diagonals)
    return shrinkage.apply(sigmas), resolved_variances(diagonals, moments, group_of)


def _shrinkage(
    moments: Moments, group_of: Codes, dials: Dials, groups: GroupScatter, variances: Floats
) -> Shrinkage:
    """Return how far each of the groups, already pooled, is pulled, and towards what."""
    target = TARGETS[dials.target]
    scale = unit_scale(moments.scatter.pooled_diagonal() / moments.total_weight)

    def fourths() -> Floats:
        return pooled_groups(fourth_groups(moments, group_of), dials.pooling).scatters

    intensities = dials.shrinkage.intensities(groups, target.scales(variances, scale), fourths)
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
    metric = full_metric(moments) if gaps else None
    covariances: list[Covariance] = []
    for sigma, factor in zip(sigmas, factors, strict=True):
        if factor is None and metric is not None:
            covariances.append(FullCovariance.of_root(metric.filled(sigma)))
        elif factor is not None:
            covariances.append(FullCovariance(factor, inverse_lower(factor)))
    return covariances, gaps


def diagonal_variances(
    moments: Moments, group_of: Codes, dials: Dials
) -> tuple[Floats, Floats, Floats]:
    """Return group variances (G, d), pooled ones (d,) and total ones (d,); zero where none."""
    groups = diagonal_groups(moments, group_of)
    lent = pooled_groups(groups, dials.pooling)
    variances = lent.divided(dials.divisor)
    variances = _shrinkage(moments, group_of, dials, lent, variances).apply_to_variances(variances)
    pooled = groups.pooled.divided(dials.divisor)[0]
    totals = total_variances(moments)
    return (
        resolved_variances(variances, moments, group_of),
        resolved(pooled, moments.grand_mean, totals),
        totals,
    )


def resolved_variances(variances: Floats, moments: Moments, group_of: Codes) -> Floats:
    """Return the variances of groups (G, d), exactly zero where they are only rounding."""
    largest = np.zeros_like(variances)
    np.maximum.at(largest, group_of, np.abs(moments.means))
    return resolved(variances, largest, total_variances(moments))
