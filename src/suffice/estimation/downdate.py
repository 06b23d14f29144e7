"""Log densities of each row under the model without it, by rank-one downdates.

NaN marks rows for which no closed form holds: a class that would be left empty, a covariance
that would be left singular, or a recipe whose covariance is not linear in the scatters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.estimation.groups import GroupScatter, diagonal_groups, full_groups
from suffice.estimation.intensity import FixedIntensity
from suffice.estimation.regularise import pooled_groups
from suffice.estimation.structures import DiagonalStructure, FullStructure, resolved_variances
from suffice.estimation.tying import parse_tied
from suffice.linalg import inverse_lower, rank_tolerance, scaled_cholesky

if TYPE_CHECKING:
    from suffice.estimation.recipe import Recipe
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Removal:
    """What leaving each row out does to the sums."""

    own: Floats  # z = x − μ of its own class  (n, d)
    loss: Floats  # c: its class loses c z zᵀ  (n,)
    stretch: Floats  # x − μ without x = stretch · z  (n,)
    w: Floats  # weight of the row  (n,)

    @classmethod
    def of(cls, rows: Floats, moments: Moments, truth: Codes, w: Floats) -> _Removal:
        """Describe the removal of each of the rows, measured from the grand mean."""
        total = moments.weights[truth]
        left = np.where(total - w > 1e-12 * total, total - w, np.nan)
        # c = w w_k / (w_k − w),  x − μ_k' = (w_k / (w_k − w)) (x − μ_k)
        own = rows - moments.centred_means[truth]
        return cls(own, w * total / left, total / left, w)


def downdated_scores(
    recipe: Recipe, moments: Moments, x: Floats, truth: Codes, w: Floats
) -> Floats:
    """Return log p(x | k) without x, up to a term common to all classes, (n, K); NaN if none."""
    scores = np.full((len(x), moments.n_classes), np.nan)
    plain = isinstance(recipe.dials.shrinkage, FixedIntensity)
    gamma = recipe.dials.shrinkage.gamma if plain else None  # type: ignore[attr-defined]
    if isinstance(recipe.structure, FullStructure) and gamma == 0:
        write = _full
    elif isinstance(recipe.structure, DiagonalStructure) and (
        gamma == 0 or recipe.dials.target == "diagonal"
    ):
        write = _diagonal
    else:
        return scores
    group_of = parse_tied(recipe.tied, moments.classes)
    rows = x - moments.grand_mean
    removal = _Removal.of(rows, moments, truth, w)
    write(recipe, moments, group_of, rows, truth, removal, scores)
    return scores


def _divisors(recipe: Recipe, groups: GroupScatter, g: int, lost: Floats, w: Floats) -> Floats:
    """Return what group g's scatter is divided by once rows of weight w are left out, (n,)."""
    means = groups.n_means[g] if recipe.dials.divisor == "unbiased" else 0.0
    divisor: Floats = groups.weights[g] - lost * w - means
    return np.where(divisor > 1e-12 * groups.weights[g], divisor, np.nan)


def _lost(recipe: Recipe, group_of: Codes, g: int, truth: Codes) -> Floats:
    """Return how much of z zᵀ group g loses: 1 for the row's own group, else λ."""
    return np.where(group_of[truth] == g, 1.0, recipe.dials.pooling)


def _full(
    recipe: Recipe,
    moments: Moments,
    group_of: Codes,
    rows: Floats,
    truth: Codes,
    removal: _Removal,
    scores: Floats,
) -> None:
    groups = pooled_groups(full_groups(moments, group_of), recipe.dials.pooling)
    sigmas = groups.divided(recipe.dials.divisor)
    variances = np.diagonal(sigmas, axis1=1, axis2=2)
    regular = np.all(resolved_variances(variances, moments, group_of) > 0, axis=1)
    for g, scatter in enumerate(groups.scatters):
        factor = scaled_cholesky(scatter) if regular[g] else None
        if factor is not None:
            lost = _lost(recipe, group_of, g, truth)
            divisor = _divisors(recipe, groups, g, lost, removal.w)
            members = np.flatnonzero(group_of == g)
            whitened = rows @ (whitening := inverse_lower(factor)).T
            means = moments.centred_means @ whitening.T
            log_det = 2 * np.log(np.diagonal(factor)).sum()
            log_dets, distances = _rank_one(whitened, means, members, truth, removal, lost)
            constant = log_det + log_dets - rows.shape[1] * np.log(divisor)
            scores[:, members] = -0.5 * (constant[:, None] + divisor[:, None] * distances)


def _rank_one(
    z: Floats, means: Floats, members: Codes, truth: Codes, removal: _Removal, lost: Floats
) -> tuple[Floats, Floats]:
    """Return the change of log|A| (n,) and uᵀ A'⁻¹ u of each member (n, m), A' = A − c y yᵀ.

    Everything is whitened by A: z the rows, v the part y of each row about its own class, u the
    row about each class, without itself.
    """
    first = means[members[0]]
    z0, means0 = z - first, means[members] - first
    # |u_k|² = |z − m_k|², expanded about the first member of the group
    distances = np.einsum("nd,nd->n", z0, z0)[:, None] - 2 * (z0 @ means0.T)
    distances += np.square(means0).sum(1)
    log_dets = np.zeros(len(z))
    rows = np.flatnonzero(lost)
    v, c, t = z[rows] - means[truth[rows]], (lost * removal.loss)[rows], removal.stretch[rows]
    a = np.einsum("nd,nd->n", v, v)
    # |A'| = |A| (1 − c a),  a = vᵀ v
    left = 1 - c * a
    left = np.where(left > rank_tolerance(z.shape[1]), left, np.nan)
    log_dets[rows] = np.log(left)
    across = np.einsum("nd,nd->n", v, z0[rows])[:, None] - v @ means0.T
    near = truth[rows][:, None] == members
    across = np.where(near, (t * a)[:, None], across)
    inside = np.where(near, (t**2 * a)[:, None], distances[rows])
    # uᵀ A'⁻¹ u = |u|² + c (uᵀ v)² / (1 − c a)
    distances[rows] = inside + (c / left)[:, None] * across**2
    return log_dets, distances


def _diagonal(
    recipe: Recipe,
    moments: Moments,
    group_of: Codes,
    rows: Floats,
    truth: Codes,
    removal: _Removal,
    scores: Floats,
) -> None:
    groups = pooled_groups(diagonal_groups(moments, group_of), recipe.dials.pooling)
    for g, squares in enumerate(groups.scatters):
        lost = _lost(recipe, group_of, g, truth)
        divisor = _divisors(recipe, groups, g, lost, removal.w)
        left = squares - (lost * removal.loss)[:, None] * removal.own**2
        left = np.where(left > rank_tolerance(1) * squares, left, np.nan)
        variances = left / divisor[:, None]
        constant = np.log(variances).sum(1)
        for k in np.flatnonzero(group_of == g):
            u = rows - moments.centred_means[k]
            u = np.where((truth == k)[:, None], removal.stretch[:, None] * removal.own, u)
            scores[:, k] = -0.5 * (constant + (u**2 / variances).sum(1))
