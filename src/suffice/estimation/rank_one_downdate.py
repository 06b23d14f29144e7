"""Leave-one-out: log densities of each row under the model without it, by rank-one downdates.

NaN marks rows for which no closed form holds: a class that would be left empty, a covariance
that would be left singular or nearly so, or a recipe whose covariance is not linear in the
scatters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.estimation.regularisation import Regularisation, pooled_groups
from suffice.estimation.structures import DiagonalStructure, FullStructure
from suffice.estimation.tied_covariance import (
    GroupScatter,
    diagonal_groups,
    divided,
    full_groups,
    resolved_variances,
)
from suffice.linalg import inverse_lower, scaled_cholesky
from suffice.model.covariance import FullCovariance
from suffice.model.posterior import Joint
from suffice.model.scoring import Scorer
from suffice.model.tiles import in_blocks
from suffice.moments import Moments
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.estimation.recipe import Recipe


LEAST_LEFT = 1e-7  # of a scatter: with less of it left, a downdate has lost half of its digits


@dataclass(frozen=True, slots=True, eq=False)
class _Removal:
    """What leaving each row out does to the sums."""

    truth: Codes  # class of the row  (n,)
    loss: Floats  # c: its class loses c z zᵀ, z = x − μ  (n,)
    stretch: Floats  # x − μ without x = stretch · z  (n,)
    w: Floats  # weight of the row  (n,)

    @classmethod
    def of(cls, moments: Moments, truth: Codes, w: Floats) -> _Removal:
        """Describe the removal of each of the rows."""
        total = moments.weights[truth]
        left = np.where(total - w > 1e-12 * total, total - w, np.nan)
        # c = w w_k / (w_k − w),  x − μ_k' = (w_k / (w_k − w)) (x − μ_k)
        return cls(truth, w * total / left, total / left, w)

    def at(self, rows: slice) -> _Removal:
        """Return the removal of some of the rows."""
        return _Removal(self.truth[rows], self.loss[rows], self.stretch[rows], self.w[rows])


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Scatters of groups of tied classes, as they are pooled."""

    how: Regularisation
    moments: Moments
    group_of: Codes  # (K,)
    groups: GroupScatter

    def members(self, g: int) -> Codes:
        """Return the classes of group g."""
        return np.flatnonzero(self.group_of == g)

    def lost(self, g: int, truth: Codes) -> Floats:
        """Return how much of z zᵀ group g loses: 1 for the row's own group, else λ, (n,)."""
        return np.where(self.group_of[truth] == g, 1.0, self.how.pooling)

    def divisors(self, g: int, removal: _Removal) -> Floats:
        """Return what group g's scatter is divided by once each row is left out, (n,)."""
        means = self.groups.n_means[g] if self.how.unbiased else 0.0
        weight = self.groups.weights[g]
        divisor = weight - self.lost(g, removal.truth) * removal.w - means
        return np.where(divisor > 1e-12 * weight, divisor, np.nan)


def downdated_scores(
    recipe: Recipe, moments: Moments, x: Floats, truth: Codes, w: Floats
) -> Floats:
    """Return log p(x | k) without x, up to a term common to all classes, (n, K); NaN if none."""
    scores = np.full((len(x), moments.n_classes), np.nan)
    how, structure = recipe.regularisation, recipe.structure
    group_of = recipe.group_of(moments.classes)
    removal = _Removal.of(moments, truth, w)
    if recipe.is_plug_in and isinstance(structure, FullStructure) and how.shrinkage.fixed == 0:
        groups = pooled_groups(full_groups(moments, group_of), how.pooling)
        _full(_Sums(how, moments, group_of, groups), x, removal, scores)
    elif (
        structure == DiagonalStructure()
        and not recipe.averaged
        and (how.shrinkage.fixed == 0 or how.target.keeps_variances)
    ):
        groups = pooled_groups(diagonal_groups(moments, group_of), how.pooling)
        sums = _Sums(how, moments, group_of, groups)
        for g, squares in enumerate(groups.scatters):
            _in_blocks(partial(_each_feature, sums, g, squares), (x, scores), removal)
    return scores


def _full(sums: _Sums, x: Floats, removal: _Removal, scores: Floats) -> None:
    metrics = _metrics(sums)
    losers = [_Loser.of(sums, g, metric) for g, metric in enumerate(metrics) if metric is not None]
    # where a group loses its own rows only, each class needs one metric, that of its group
    if sums.how.pooling == 0 or len(metrics) == 1:
        turns = [(losers, [metrics[g] for g in sums.group_of])]
    else:
        turns = [([each], [each.metric] * sums.moments.n_classes) for each in losers]
    for some, metric in turns:
        squares = _squares(sums.moments, x, metric)
        _in_blocks(partial(_rank_one, sums, some), (squares, scores), removal)


def _metrics(sums: _Sums) -> list[FullCovariance | None]:
    """Return the scatter of each group, factored; None where it is singular."""
    sigmas = divided(sums.groups, unbiased=sums.how.unbiased)
    variances = np.diagonal(sigmas, axis1=1, axis2=2)
    resolved = resolved_variances(variances, sums.moments, sums.group_of)
    regular = np.all(resolved > 0, axis=1)
    factors = [
        scaled_cholesky(scatter) if fine else None
        for scatter, fine in zip(sums.groups.scatters, regular, strict=True)
    ]
    return [None if f is None else FullCovariance(f, inverse_lower(f)) for f in factors]


def _squares(moments: Moments, x: Floats, metrics: list[FullCovariance | None]) -> Floats:
    """Return |x − μ_k|² in the metric of each class, (n, K); NaN where it has none."""
    known = np.array([k for k, metric in enumerate(metrics) if metric is not None], np.intp)
    squares = np.full((len(x), len(metrics)), np.nan)
    if len(known):
        means, zeros = moments.centred_means[known], np.zeros(len(known))
        covariances: list[Any] = [metrics[k] for k in known]
        scorer = Scorer.of(zeros, means, covariances, origin=moments.grand_mean)
        squares[:, known] = -2 * scorer.score(x, Joint())
    return squares


@dataclass(frozen=True, slots=True, eq=False)
class _Loser:
    """A group whose scatter A loses a part of every row that is left out."""

    g: int
    metric: FullCovariance  # A
    members: Codes  # its classes  (m,)
    gaps: Floats  # |μ_j − μ_k|² of every class j and each member k  (K, m)

    @classmethod
    def of(cls, sums: _Sums, g: int, metric: FullCovariance) -> _Loser:
        """Return group g and the distances between means in its metric."""
        means, members = metric.whiten(sums.moments.centred_means), sums.members(g)
        gaps = np.square(means[:, None] - means[members]).sum(2)
        return cls(g, metric, members, gaps)


def _rank_one(
    sums: _Sums, losers: list[_Loser], squares: Floats, scores: Floats, removal: _Removal
) -> None:
    """Write the scores of the classes of some groups."""
    own = squares[np.arange(len(scores)), removal.truth]
    for loser in losers:
        scores[:, loser.members] = _scores(sums, loser, squares[:, loser.members], own, removal)


def _scores(
    sums: _Sums, loser: _Loser, inside: Floats, own_squares: Floats, removal: _Removal
) -> Floats:
    """Return the scores of a group's classes, whose scatter A becomes A' = A − c v vᵀ."""
    # v is the row about its own class, u about each class of the group, without itself
    metric, members = loser.metric, loser.members
    lost = sums.lost(loser.g, removal.truth)
    c, t = lost * removal.loss, removal.stretch
    # |A'| = |A| (1 − c a),  a = vᵀ A⁻¹ v
    a = np.where(lost > 0, own_squares, 0.0)
    left = 1 - c * a
    left = np.where(left > LEAST_LEFT, left, np.nan)
    # uᵀ A⁻¹ v = ½ (|u|² + |v|² − |u − v|²)
    across = 0.5 * (inside + a[:, None] - loser.gaps[removal.truth])
    own = np.searchsorted(members, removal.truth) % len(members)
    mine = np.flatnonzero(members[own] == removal.truth)
    inside[mine, own[mine]] = (t**2 * a)[mine]
    across[mine, own[mine]] = (t * a)[mine]
    # uᵀ A'⁻¹ u = |u|² + c (uᵀ A⁻¹ v)² / (1 − c a)
    distances = inside + (c / left)[:, None] * across**2
    divisor = sums.divisors(loser.g, removal)
    constant = metric.log_det + np.log(left) - metric.n_features * np.log(divisor)
    return np.asarray(-0.5 * (constant[:, None] + divisor[:, None] * distances))


def _each_feature(
    sums: _Sums, g: int, squares: Floats, x: Floats, scores: Floats, removal: _Removal
) -> None:
    """Write the scores of group g's classes, each feature's sum of squares less the row's."""
    rows, means = x - sums.moments.grand_mean, sums.moments.centred_means
    own, lost = rows - means[removal.truth], sums.lost(g, removal.truth)
    left = squares - (lost * removal.loss)[:, None] * own**2
    left = np.where(left > LEAST_LEFT * squares, left, np.nan)
    variances = left / sums.divisors(g, removal)[:, None]
    constant = np.log(variances).sum(1)
    for k in sums.members(g):
        mine = (removal.truth == k)[:, None]
        u = np.where(mine, removal.stretch[:, None] * own, rows - means[k])
        scores[:, k] = -0.5 * (constant + (u**2 / variances).sum(1))


def _in_blocks(
    write: Callable[..., None], tables: tuple[Floats, Floats], removal: _Removal
) -> None:
    """Call ``write`` with a block of rows at a time, of a size that stays in cache."""
    read, written = tables

    def run(rows: slice) -> None:
        write(read[rows], written[rows], removal.at(rows))

    in_blocks(len(read), read.shape[1], run)
