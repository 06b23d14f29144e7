"""Leave-one-out: log densities of each row under the model without it, by rank-one downdates."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from suffice.core.estimation import covariance_estimates as estimates
from suffice.core.estimation.recipe import Recipe
from suffice.core.linalg import inverse_lower, scaled_cholesky
from suffice.core.model.covariance import FullCovariance
from suffice.core.model.posterior import Joint
from suffice.core.model.scoring import Scorer
from suffice.core.model.tiles import in_cached_blocks
from suffice.core.moments import Moments
from suffice.typing import Codes, Floats

LEAST_LEFT = 1e-7  # of a scatter: with less of it left, a downdate has lost half of its digits


@dataclass(frozen=True, slots=True, eq=False)
class _Removal:
    """Sums of groups of tied classes, as they are pooled, and what leaving each row out does."""

    how: estimates.Regularisation
    moments: Moments
    group_of: Codes  # (K,)
    groups: estimates.GroupScatter
    truth: Codes  # class of each row  (n,)
    w: Floats  # its weight  (n,)

    def members(self, g: int) -> Codes:
        return np.flatnonzero(self.group_of == g)

    def change(self, rows: slice) -> tuple[Floats, Floats]:
        """Return c and t of rows: a class loses c z zᵀ, z = x − μ, and x − μ becomes t z."""
        w, total = self.w[rows], self.moments.weights[self.truth[rows]]
        left = np.where(total - w > 1e-12 * total, total - w, np.nan)
        # c = w w_k / (w_k − w),  x − μ_k' = (w_k / (w_k − w)) (x − μ_k)
        return w * total / left, total / left

    def lost(self, g: int, rows: slice) -> Floats:
        """Return how much of z zᵀ group g loses: 1 for the row's own group, else λ, (n,)."""
        return np.where(self.group_of[self.truth[rows]] == g, 1.0, self.how.pooling)

    def divisors(self, g: int, rows: slice) -> Floats:
        """Return what group g's scatter is divided by once each row is left out, (n,)."""
        means = self.groups.n_means[g] if self.how.unbiased else 0.0
        weight = self.groups.weights[g]
        divisor = weight - self.lost(g, rows) * self.w[rows] - means
        return np.where(divisor > 1e-12 * weight, divisor, np.nan)


def downdated_scores(
    recipe: Recipe,
    moments: Moments,
    x: Floats,
    truth: Codes,
    w: Floats,
) -> Floats:
    """Return log p(x | k) without x, up to a term common to all classes, (n, K); NaN if none."""
    scores = np.full((len(x), moments.n_classes), np.nan)
    how, structure = recipe.regularisation, recipe.structure
    group_of = recipe.group_of(moments.classes)
    full = recipe.is_plug_in and isinstance(structure, estimates.FullStructure)
    unshrunk = how.shrinkage.fixed == 0 or how.target.keeps_variances
    if full and how.shrinkage.fixed == 0:
        groups = estimates.pooled_groups(estimates.full_groups(moments, group_of), how.pooling)
        _full(_Removal(how, moments, group_of, groups, truth, w), x, scores)
    elif structure == estimates.DiagonalStructure() and not recipe.averaged and unshrunk:
        groups = estimates.pooled_groups(
            estimates.diagonal_groups(moments, group_of), how.pooling
        )
        removal = _Removal(how, moments, group_of, groups, truth, w)
        for g in range(len(groups.scatters)):
            in_cached_blocks(len(x), x.shape[1], partial(_each_feature, removal, g, x, scores))
    return scores


def _full(removal: _Removal, x: Floats, scores: Floats) -> None:
    from scipy.spatial.distance import cdist  # slow to import, and seldom needed

    metrics, means = _metrics(removal), removal.moments.centred_means
    losers: list[tuple[int, FullCovariance, Floats]] = []
    for g, metric in enumerate(metrics):
        if metric is not None:
            # |μ_j − μ_k|² of every class j and each member k  (K, m)
            white = metric.whiten(means)
            losers.append((g, metric, cdist(white, white[removal.members(g)], "sqeuclidean")))
    turns: list[tuple[list[Any], list[Any]]] = [
        ([each], [each[1]] * len(means)) for each in losers
    ]
    # where a group loses its own rows only, each class needs one metric, that of its group
    if removal.how.pooling == 0 or len(metrics) == 1:
        turns = [(losers, [metrics[g] for g in removal.group_of])]
    for some, of_class in turns:
        squares = _squares(removal.moments, x, of_class)
        in_cached_blocks(
            len(x), len(means), partial(_rank_one, removal, some, squares, scores)
        )


def _metrics(removal: _Removal) -> list[FullCovariance | None]:
    """Return the scatter of each group, factored; None where it is singular."""
    sigmas = estimates.divided(removal.groups, unbiased=removal.how.unbiased)
    variances = np.diagonal(sigmas, axis1=1, axis2=2)
    resolved = estimates.resolved_variances(variances, removal.moments, removal.group_of)
    pairs = zip(removal.groups.scatters, resolved, strict=True)
    factors = [scaled_cholesky(scatter) if v.all() else None for scatter, v in pairs]
    return [None if f is None else FullCovariance(f, inverse_lower(f)) for f in factors]


def _squares(moments: Moments, x: Floats, metrics: list[Any]) -> Floats:
    """Return |x − μ_k|² in the metric of each class, (n, K); NaN where it has none."""
    known = np.array([k for k, metric in enumerate(metrics) if metric is not None], np.intp)
    squares = np.full((len(x), len(metrics)), np.nan)
    if len(known):
        means, zeros = moments.centred_means[known], np.zeros(len(known))
        scorer = Scorer.of(
            zeros, means, [metrics[k] for k in known], origin=moments.grand_mean
        )
        squares[:, known] = -2 * scorer.score(x, Joint())
    return squares


def _rank_one(
    removal: _Removal,
    losers: list[Any],
    squares: Floats,
    scores: Floats,
    rows: slice,
) -> None:
    """Write the scores of groups' classes, whose scatter A becomes A' = A − c v vᵀ."""
    # v is the row about its own class, u about each class of a group, without itself
    truth, (loss, t) = removal.truth[rows], removal.change(rows)
    own_squares = squares[rows][np.arange(len(truth)), truth]
    for g, metric, gaps in losers:
        members, lost = removal.members(g), removal.lost(g, rows)
        c, inside = lost * loss, squares[rows, members]
        # |A'| = |A| (1 − c a),  a = vᵀ A⁻¹ v
        a = np.where(lost > 0, own_squares, 0.0)
        left = 1 - c * a
        left = np.where(left > LEAST_LEFT, left, np.nan)
        # uᵀ A⁻¹ v = ½ (|u|² + |v|² − |u − v|²)
        across = 0.5 * (inside + a[:, None] - gaps[truth])
        own = np.searchsorted(members, truth) % len(members)
        mine = np.flatnonzero(members[own] == truth)
        inside[mine, own[mine]] = (t**2 * a)[mine]
        across[mine, own[mine]] = (t * a)[mine]
        # uᵀ A'⁻¹ u = |u|² + c (uᵀ A⁻¹ v)² / (1 − c a)
        distances = inside + (c / left)[:, None] * across**2
        divisor = removal.divisors(g, rows)
        constant = metric.log_det + np.log(left) - len(metric.factor) * np.log(divisor)
        scores[rows, members] = -0.5 * (constant[:, None] + divisor[:, None] * distances)


def _each_feature(removal: _Removal, g: int, x: Floats, scores: Floats, rows: slice) -> None:
    """Write the scores of group g's classes, each feature's sum of squares less the row's."""
    means, squares, truth = (
        removal.moments.centred_means,
        removal.groups.scatters[g],
        removal.truth,
    )
    z, (loss, t) = x[rows] - removal.moments.grand_mean, removal.change(rows)
    own = z - means[truth[rows]]
    left = squares - (removal.lost(g, rows) * loss)[:, None] * own**2
    left = np.where(left > LEAST_LEFT * squares, left, np.nan)
    variances = left / removal.divisors(g, rows)[:, None]
    constant = np.log(variances).sum(1)
    for k in removal.members(g):
        u = np.where((truth[rows] == k)[:, None], t[:, None] * own, z - means[k])
        scores[rows, k] = -0.5 * (constant + (u**2 / variances).sum(1))
