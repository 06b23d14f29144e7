"""From the sums of classes to covariances: ties, divisors, pooling, shrinkage, structures.

With w_k the weight of class k and S_k its scatter, by maximum likelihood or without bias,

    Σ_k = S_k / w_k  or  S_k / (w_k − 1)      tied  Σ = Σ_k S_k / w  or  Σ_k S_k / (w − K)

and tied as the average of unbiased ones, Σ = Σ_k w_k / w · S_k / (w_k − 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from suffice import errors
from suffice.core.estimation.degenerate import (
    RankDeficiency,
    ReferenceCovariance,
    filled_variances,
)
from suffice.core.linalg import EPS, inverse_lower, resolved, scaled_cholesky, unit_scale
from suffice.core.model.covariance import (
    Covariance,
    DiagonalCovariance,
    FullCovariance,
    lower_factor,
)
from suffice.core.moments import Moments
from suffice.core.moments.collect import SMALLEST
from suffice.core.table.matrix import column_name
from suffice.errors import InvalidParameterError, UnknownLabelError
from suffice.typing import Codes, Floats, Labels

if TYPE_CHECKING:
    from suffice.core.estimation.edda import EddaStructure

Tied: TypeAlias = bool | tuple[tuple[Any, ...], ...]  # all classes, none, or groups of labels


def group_codes(tied: Tied, classes: Labels) -> Codes:
    """Return the group of each class (K,): one group, one each, or groups of labels."""
    if isinstance(tied, bool):
        return np.zeros(len(classes), np.intp) if tied else np.arange(len(classes))
    position = {label: k for k, label in enumerate(classes.tolist())}
    group_of = np.full(len(classes), -1, np.intp)
    for g, labels in enumerate(tied):
        for label in labels:
            if label not in position:
                raise UnknownLabelError(
                    f"tied names {label!r}; the classes are {classes.tolist()}"
                )
            if group_of[position[label]] >= 0:
                raise InvalidParameterError(
                    f"tied puts {label!r} into two groups: name it once"
                )
            group_of[position[label]] = g
    left_out = np.flatnonzero(group_of < 0)
    # a class that is not named has a covariance of its own
    group_of[left_out] = len(tied) + np.arange(len(left_out))
    # renumber groups so that class 0 is in group 0 and no number is skipped
    _, first, inverse = np.unique(group_of, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


class GroupScatter(NamedTuple):
    """What covariances are estimated from: sums per group of tied classes."""

    scatters: Floats  # Σ_{k∈g} S_k: (G, d, d), or the diagonals (G, d)
    weights: Floats  # Σ_{k∈g} w_k  (G,)
    n_means: Floats  # K_g: classes with any weight in the group  (G,)

    @property
    def pooled(self) -> GroupScatter:
        return GroupScatter(*(each.sum(0, keepdims=True) for each in self))


def full_groups(moments: Moments, group_of: Codes) -> GroupScatter:
    """Return the sums of scatter matrices of each group."""
    tied = group_of.max(initial=0) == 0
    return _grouped(
        moments, group_of, moments.pooled_scatter[None] if tied else moments.scatters
    )


def diagonal_groups(moments: Moments, group_of: Codes) -> GroupScatter:
    """Return the sums of squares of each group."""
    tied = group_of.max(initial=0) == 0
    squares = moments.scatter.pooled_diagonal()[None] if tied else moments.diagonals
    return _grouped(moments, group_of, squares)


def fourth_groups(moments: Moments, group_of: Codes) -> GroupScatter:
    """Return the sums of fourth moments Σ w z_i² z_j² about the class means, of each group."""
    fourths = moments.required_fourth().fourths
    quartic = np.diagonal(fourths, axis1=1, axis2=2)
    small = (quartic < SMALLEST) & (moments.diagonals > 0)
    for j in np.flatnonzero((~np.isfinite(quartic) | small).any(0))[:1]:
        raise errors.InvalidInputError(
            f"the fourth powers of numbers overflow or vanish in column "
            f"{column_name(moments.feature_names, int(j))}: rescale it, or use shrinkage='oas'"
        )
    return _grouped(moments, group_of, fourths)


def _grouped(moments: Moments, group_of: Codes, scatters: Floats) -> GroupScatter:
    """Return the sums of each group, from those of each class or already of each group."""
    n_groups = int(group_of.max(initial=0)) + 1
    weights: Floats = np.bincount(group_of, moments.weights, n_groups).astype(np.float64)
    n_means: Floats = np.bincount(group_of, moments.weights > 0, n_groups).astype(np.float64)
    if n_groups < len(scatters):
        merged = np.zeros((n_groups, *scatters.shape[1:]))
        np.add.at(merged, group_of, scatters)
        scatters = merged
    return GroupScatter(scatters, weights, n_means)


def pooled_groups(groups: GroupScatter, pooling: float) -> GroupScatter:
    """Return groups that borrow from all of them (Friedman 1989, eq. 14–16)."""
    if pooling == 0:
        return groups
    # S_g(λ) = (1 − λ) S_g + λ S,   w_g(λ) = (1 − λ) w_g + λ W
    both = zip(groups, groups.pooled, strict=True)
    return GroupScatter(*((1 - pooling) * own + pooling * whole for own, whole in both))


def divisors(weights: Floats, n_means: Floats, *, unbiased: bool) -> Floats:
    """Return the divisor of the scatter of each group, (G,); zero where nothing is left of it."""
    # w, or w − K with Bessel's correction: one for each mean
    w = weights - (n_means if unbiased else 0.0)
    return np.where(w > EPS * weights, w, 0.0)


def divided(groups: GroupScatter, *, unbiased: bool) -> Floats:
    """Return Σ_g = S_g / w_g, or S_g / (w_g − K_g) with Bessel's correction; zero if w_g is."""
    w = divisors(groups.weights, groups.n_means, unbiased=unbiased)
    w = w.reshape(-1, *[1] * (groups.scatters.ndim - 1))
    return np.where(w > 0, groups.scatters / np.where(w > 0, w, 1.0), 0.0)


def unbiased_by_class(moments: Moments) -> Moments:
    """Return the sums with S_k w_k / (w_k − 1); zero for a class of one row."""
    if moments.storage == "pooled":
        raise errors.MissingStatisticsError(
            "divisor='averaged' needs the scatter of each class, and these moments hold their sum: "
            "collect them with storage='per-class'"
        )
    w = moments.weights
    less, values = divisors(w, np.ones(len(w)), unbiased=True), moments.scatter.values
    factors = np.divide(w, less, out=np.zeros(len(w)), where=less > 0)
    scaled = values * factors.reshape(-1, *[1] * (values.ndim - 1))
    return replace(moments, scatter=replace(moments.scatter, values=scaled))


def resolved_variances(variances: Floats, moments: Moments, group_of: Codes) -> Floats:
    """Return the variances of groups (G, d), exactly zero where they are only rounding."""
    largest = np.zeros_like(variances)
    np.maximum.at(largest, group_of, np.abs(moments.means))
    return resolved(variances, largest, moments.total_variances)


@dataclass(frozen=True, slots=True)
class ShrinkageTarget:
    """A diagonal matrix T made of Σ: diag Σ, or the sphere of equal trace, in some units."""

    keeps_variances: bool = False  # T = diag Σ: correlations go, variances stay
    pooled_units: bool = (
        False  # pooled standard deviations, not those of the features (Friedman's)
    )

    def scales(self, variances: Floats, pooled: Floats) -> Floats:
        """Return the units in which T is a multiple of the identity, (G, d)."""
        if self.keeps_variances:
            return unit_scale(variances)
        return np.broadcast_to(pooled if self.pooled_units else 1.0, variances.shape)

    def variances(self, variances: Floats, pooled: Floats) -> Floats:
        """Return the diagonal of T, from those of Σ (G, d) and pooled standard deviations (d,)."""
        if self.keeps_variances:
            return variances
        # T = (tr(D⁻¹ Σ D⁻¹) / d) D²,  D = diag(units)
        squares = np.square(self.scales(variances, pooled))
        return np.asarray((variances / squares).mean(1, keepdims=True) * squares)


def oas_intensity(weight: float, scatter: Floats, scale: Floats | None = None) -> float:
    """Return the shrinkage OAS of scaled rows: Chen et al. (2010), IEEE Trans. Signal Proc. 58."""
    r, _ = _scaled(weight, scatter, scale)
    if len(r) == 1 or not weight > 0:
        return 0.0
    # ρ = (tr R² + tr² R) / ((n + 1)(tr R² − tr² R / d))
    of_square, square = float(np.square(r).sum()), float(np.trace(r)) ** 2
    spread = (weight + 1) * (of_square - square / len(r))
    return (of_square + square) / spread if of_square + square < spread else 1.0


def ledoit_wolf_intensity(
    weight: float,
    scatter: Floats,
    fourth_moments: Floats,
    scale: Floats | None = None,
) -> float:
    """Return the shrinkage of Ledoit & Wolf (2004), J. Multivariate Analysis 88, of scaled rows."""
    n, d, (r, reciprocals) = weight, len(scatter), _scaled(weight, scatter, scale)
    if d == 1 or not n > 0:
        return 0.0
    # Σ_i ‖z_i/σ‖⁴ = σ⁻²ᵀ Q σ⁻²
    precisions = np.square(reciprocals)
    # b² = (Σ_i ‖z_i/σ‖⁴ / n − ‖R‖²) / (d n),   δ² = ‖R − (tr R / d) I‖² / d
    b2 = (precisions @ fourth_moments @ precisions / n - np.square(r).sum()) / (d * n)
    delta2 = np.square(r - np.trace(r) / d * np.eye(d)).sum() / d
    return float(max(b2, 0.0) / delta2) if b2 < delta2 else float(b2 > 0)


def _scaled(weight: float, scatter: Floats, scale: Floats | None) -> tuple[Floats, Floats]:
    """Return R = S / n of scaled features (d, d), and 1 / σ, zero where there is no spread."""
    squares, n = np.diagonal(scatter), max(weight, np.finfo(float).tiny)
    s = (squares > 0) / (unit_scale(squares / n) if scale is None else scale)
    return s[:, None] * scatter * s / n, s


@dataclass(frozen=True, slots=True)
class Intensity:
    """γ of each group: a number, or that of least expected error, of Gaussian rows or of any."""

    fixed: float | None = None  # γ, where it is the same for every group
    needs_fourth: bool = False  # Ledoit–Wolf

    def intensities(
        self,
        groups: GroupScatter,
        scales: Floats,
        fourths: Floats | None,
    ) -> Floats:
        """Return γ (G,), from sums, the target's units (G, d) and Σ w z_i² z_j², where needed."""
        if self.fixed is not None:
            return np.full(len(groups.weights), self.fixed)
        sums = zip(groups.weights.tolist(), groups.scatters, scales, strict=True)
        if fourths is None:
            return np.array([oas_intensity(*each) for each in sums])
        quartic = zip(sums, fourths, strict=True)
        return np.array(
            [ledoit_wolf_intensity(w, s, q, scale) for (w, s, scale), q in quartic]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Regularisation:
    """How sums are turned into covariances: divisor, pooling λ, shrinkage γ and its target."""

    unbiased: bool  # Bessel's correction, rather than the divisor of maximum likelihood
    pooling: float  # λ
    shrinkage: Intensity
    target: ShrinkageTarget


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
        filled = np.broadcast_to(
            np.sqrt(filled_variances(own, pooled, totals)), variances.shape
        )
        deficient = [RankDeficiency(int(g), variances[g]) for g in np.flatnonzero(~own.all(1))]
        return [DiagonalCovariance(scale) for scale in filled], deficient

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
    """Return Σ_g, or their diagonals, of groups already pooled, pulled towards the target."""
    if how.shrinkage.fixed == 0:
        return sigmas
    scale = unit_scale(moments.scatter.pooled_diagonal() / moments.total_weight)
    variances = np.diagonal(sigmas, axis1=1, axis2=2) if sigmas.ndim == 3 else sigmas
    fourths = None
    if how.shrinkage.needs_fourth:
        fourths = pooled_groups(fourth_groups(moments, group_of), how.pooling).scatters
    gammas = how.shrinkage.intensities(groups, how.target.scales(variances, scale), fourths)
    gamma, target = gammas.reshape(-1, *[1] * (sigmas.ndim - 1)), how.target
    towards = target.variances(variances, scale)
    towards = towards[:, :, None] * np.eye(towards.shape[1]) if sigmas.ndim == 3 else towards
    # (1 − γ) Σ + γ T
    return np.asarray((1 - gamma) * sigmas + gamma * towards)


def factored(sigmas: Floats, variances: Floats, moments: Moments) -> Estimates:
    """Return covariances of Σ_g (G, d, d), singular ones filled; variances are 0 where none."""
    # Σ_g = Σ_{k∈g} S_k / (w_g − K_g)
    pairs = zip(sigmas, variances, strict=True)
    factors = [scaled_cholesky(sigma) if v.all() else None for sigma, v in pairs]
    singular = [g for g, factor in enumerate(factors) if factor is None]
    if singular:
        roots = ReferenceCovariance.of(moments).filled(sigmas[singular])
        found = dict(zip(singular, lower_factor(roots), strict=True))
        factors = [found.get(g, factor) for g, factor in enumerate(factors)]
    whole = [FullCovariance(f, inverse_lower(f)) for f in factors if f is not None]
    return [*whole], [RankDeficiency(g, variances[g], sigmas[g]) for g in singular]
