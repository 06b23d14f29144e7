"""Friedman's regularised covariances (RDA): pooling λ, then shrinkage γ towards a target T.

    Σ_g(λ, γ) = (1 − γ) M_g(λ) / w_g(λ) + γ T_g
    M_g(λ) = (1 − λ) M_g + λ M      w_g(λ) = (1 − λ) w_g + λ w

M_g and w_g are the scatter and the weight of a group of tied classes, M and w those of all classes.
With Bessel's correction, K_g(λ) = (1 − λ) K_g + λ K is subtracted from w_g(λ), where K_g is the
number of means in the group, and K the number of all means. With Σ_g = Σ_g(λ, 0), and D the
diagonal matrix of the pooled standard deviations of the features, the target is one of

    T_g = diag Σ_g                     "diagonal"
    T_g = (tr(D⁻¹ Σ_g D⁻¹) / d) D²     "sphere"
    T_g = (tr(Σ_g) / d) I              "identity"

``shrinkage.py`` computes the targets, shrinks towards a target, and holds the closed forms of γ.

Friedman (1989), *JASA* 84, 165–175.
"""

from dataclasses import dataclass

import numpy as np

from suffice.core.estimation.divisors import divided
from suffice.core.estimation.groups import GroupScatter, fourth_groups
from suffice.core.estimation.shrinkage import Intensity, ShrinkageTarget, shrunk_towards
from suffice.core.linalg import unit_scale
from suffice.core.moments import Moments
from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Regularisation:
    """Settings that turn sums into covariances: divisor, pooling λ, shrinkage γ and its target."""

    unbiased: bool  # Bessel's correction instead of the maximum-likelihood divisor
    pooling: float  # λ
    shrinkage: Intensity
    target: ShrinkageTarget


def pooled_groups(groups: GroupScatter, pooling: float) -> GroupScatter:
    """Return the sums of each group, mixed with those of all classes (Friedman 1989, eq. 14–16)."""
    if pooling == 0:
        return groups
    whole = groups.pooled
    # M_g(λ) = (1 − λ) M_g + λ M,   w_g(λ) = (1 − λ) w_g + λ w,   K_g(λ) = (1 − λ) K_g + λ K
    return GroupScatter(
        scatters=(1 - pooling) * groups.scatters + pooling * whole.scatters,
        weights=(1 - pooling) * groups.weights + pooling * whole.weights,
        n_means=(1 - pooling) * groups.n_means + pooling * whole.n_means,
    )


def regularised(
    groups: GroupScatter,
    moments: Moments,
    group_of: Codes,
    regularisation: Regularisation,
) -> tuple[Floats, Floats]:
    """Return Σ_g(λ, γ) and Σ_g(λ, 0), each (G, d, d), or their diagonals (G, d)."""
    borrowing = pooled_groups(groups, regularisation.pooling)
    sigmas = divided(borrowing, unbiased=regularisation.unbiased)
    shrinkage = regularisation.shrinkage
    if shrinkage.fixed == 0:
        return sigmas, sigmas
    pooled_deviations = unit_scale(moments.scatter.pooled_diagonal() / moments.total_weight)
    variances = np.diagonal(sigmas, axis1=1, axis2=2) if sigmas.ndim == 3 else sigmas
    fourths = None
    if shrinkage.needs_fourth:
        # fourth moments are pooled in the same way as scatters
        fourth = fourth_groups(moments, group_of)
        fourths = pooled_groups(fourth, regularisation.pooling).scatters
    target = regularisation.target
    scales = target.scales(variances, pooled_deviations)
    gammas = shrinkage.intensities(borrowing, scales, fourths)
    targets = target.variances(variances, pooled_deviations)
    return shrunk_towards(targets, sigmas, gammas), sigmas
