"""Log densities of each row under the model without that row, by rank-one downdates.

A downdate subtracts c v vᵀ from a scatter. For models that have no downdate,
``selection/validation/leave_one_out.py`` estimates the model again from the remaining sums.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from suffice.core.estimation.covariance_structures import (
    DiagonalStructure,
    FullStructure,
)
from suffice.core.estimation.degenerate import resolved_variances
from suffice.core.estimation.divisors import divided
from suffice.core.estimation.groups import (
    GroupScatter,
    diagonal_groups,
    full_groups,
)
from suffice.core.estimation.regularisation import Regularisation, pooled_groups
from suffice.core.estimation.settings import Settings
from suffice.core.linalg import inverse_lower, scaled_cholesky
from suffice.core.model.covariance import FullCovariance
from suffice.core.model.posterior import Joint
from suffice.core.model.scoring import Scorer
from suffice.core.model.tiles import in_cached_blocks
from suffice.core.moments import Moments
from suffice.typing import Codes, Floats

# a downdate that leaves a smaller share of a scatter would lose half of the digits
LEAST_LEFT = 1e-7
_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, slots=True, eq=False)
class _Removal:
    """Pooled sums of groups of tied classes, and the change of these when a row is left out."""

    regularisation: Regularisation
    moments: Moments
    group_of: Codes  # (K,)
    groups: GroupScatter
    truth: Codes  # class of each row  (n,)
    w: Floats  # weight of each row  (n,)

    def of_rows(self, rows: slice) -> "_Removal":
        """Return the removal of some of the rows, from the same sums."""
        return replace(self, truth=self.truth[rows], w=self.w[rows])

    def members(self, g: int) -> Codes:
        return np.flatnonzero(self.group_of == g)

    def change(self, rows: slice) -> tuple[Floats, Floats]:
        """Return c and t: without a row, the scatter is smaller by c z zᵀ, and z = x − μ is t z."""
        w = self.w[rows]
        total = self.moments.weights[self.truth[rows]]
        left = np.where(total - w > 1e-12 * total, total - w, np.nan)
        # c = w w_k / (w_k − w),  x − μ_k' = (w_k / (w_k − w)) (x − μ_k)
        return w * total / left, total / left

    def lost(self, g: int, rows: slice) -> Floats:
        """Return the share of c z zᵀ that group g loses: 1 for the row's group, else λ, (n,)."""
        return np.where(self.group_of[self.truth[rows]] == g, 1.0, self.regularisation.pooling)

    def divisors(self, g: int, rows: slice) -> Floats:
        """Return the divisor of the scatter of group g without each of the rows, (n,)."""
        means = self.groups.n_means[g] if self.regularisation.unbiased else 0.0
        weight = self.groups.weights[g]
        divisor = weight - self.lost(g, rows) * self.w[rows] - means
        return np.where(divisor > 1e-12 * weight, divisor, np.nan)


def downdated_scores(
    settings: Settings,
    moments: Moments,
    x: Floats,
    truth: Codes,
    w: Floats,
    report: Callable[[int], object],
) -> Floats:
    """Return log p(x | k) under the model without row x, up to a common term, (n, K).

    A score is NaN if no downdate can compute it. ``report`` is called for each block, with the
    number of its rows that have scores.
    """
    scores = np.full((len(x), moments.n_classes), np.nan)
    regularisation = settings.regularisation
    group_of = settings.group_of(moments.classes)
    is_unshrunk = regularisation.shrinkage.fixed == 0
    keeps_variances = is_unshrunk or regularisation.target.keeps_variances
    is_full = settings.is_plug_in and isinstance(settings.structure, FullStructure)
    is_diagonal = settings.structure == DiagonalStructure() and not settings.averages_divisors
    if is_full and is_unshrunk:
        groups = pooled_groups(full_groups(moments, group_of), regularisation.pooling)
        removal = _Removal(regularisation, moments, group_of, groups, truth, w)
        write: Callable[[_Removal, Floats, Floats], None]
        write = partial(_write_full, _passes(removal))
    elif is_diagonal and keeps_variances:
        groups = pooled_groups(diagonal_groups(moments, group_of), regularisation.pooling)
        removal = _Removal(regularisation, moments, group_of, groups, truth, w)
        write = _write_diagonal
    else:
        return scores  # the target of shrinkage, or γ, depends on the row that is left out
    for start in range(0, len(x), _ROWS_AT_A_TIME):
        rows = slice(start, start + _ROWS_AT_A_TIME)
        write(removal.of_rows(rows), x[rows], scores[rows])
        report(int((~np.isnan(scores[rows].sum(1))).sum()))
    return scores


def _write_diagonal(removal: _Removal, x: Floats, scores: Floats) -> None:
    """Write the scores of diagonal covariances, each downdated by the row."""
    for g in range(len(removal.groups.scatters)):
        in_cached_blocks(len(x), x.shape[1], partial(_each_feature, removal, g, x, scores))


class _DowndatedGroup(NamedTuple):
    """A group whose scatter is downdated, and distances between class means in its metric."""

    group: int
    metric: FullCovariance
    gaps: Floats  # |μ_j − μ_k|² for every class j and each class k of the group  (K, m)


@dataclass(frozen=True, slots=True, eq=False)
class _Pass:
    """Groups whose scores are written together, and the metric of each class.

    A metric measures distances by the inverse of a scatter.
    """

    groups: list[_DowndatedGroup]
    measured: Codes  # the classes that have a metric
    scorer: Scorer | None  # measures these classes in their metrics; None if no class has one


def _passes(removal: _Removal) -> list[_Pass]:
    """Return the groups with a regular scatter, in a single pass if each class has one metric."""
    from scipy.spatial.distance import cdist  # slow to import, and seldom needed

    metrics = _metrics(removal)
    means = removal.moments.centred_means
    downdated = []
    for g, metric in enumerate(metrics):
        if metric is not None:
            white = metric.whiten(means)
            gaps = cdist(white, white[removal.members(g)], "sqeuclidean")
            downdated.append(_DowndatedGroup(g, metric, gaps))
    # without pooling, a row changes its own group only, and each class has the metric of its group
    if removal.regularisation.pooling == 0 or len(metrics) == 1:
        metric_of_class = [metrics[g] for g in removal.group_of]
        return [_pass(removal.moments, downdated, metric_of_class)]
    return [
        _pass(removal.moments, [group], [group.metric] * len(means)) for group in downdated
    ]


def _pass(
    moments: Moments,
    groups: list[_DowndatedGroup],
    metric_of_class: Sequence[FullCovariance | None],
) -> _Pass:
    measured = np.array([k for k, m in enumerate(metric_of_class) if m is not None], np.intp)
    if not len(measured):
        return _Pass(groups, measured, None)
    scorer = Scorer.of(
        np.zeros(len(measured)),
        moments.centred_means[measured],
        [metric for metric in metric_of_class if metric is not None],
        origin=moments.grand_mean,
    )
    return _Pass(groups, measured, scorer)


def _write_full(passes: list[_Pass], removal: _Removal, x: Floats, scores: Floats) -> None:
    """Write the scores of full covariances, each downdated by the row."""
    for each in passes:
        squares = _squares(each, x, removal.moments.n_classes)
        write = partial(_rank_one, removal, each.groups, squares, scores)
        in_cached_blocks(len(x), squares.shape[1], write)


def _metrics(removal: _Removal) -> list[FullCovariance | None]:
    """Return the factored scatter of each group, or None if it is singular."""
    sigmas = divided(removal.groups, unbiased=removal.regularisation.unbiased)
    variances = np.diagonal(sigmas, axis1=1, axis2=2)
    resolved = resolved_variances(variances, removal.moments, removal.group_of)
    metrics: list[FullCovariance | None] = []
    for scatter, variance in zip(removal.groups.scatters, resolved, strict=True):
        factor = scaled_cholesky(scatter) if variance.all() else None
        if factor is None:
            metrics.append(None)
        else:
            metrics.append(FullCovariance(factor, inverse_lower(factor)))
    return metrics


def _squares(measure: _Pass, x: Floats, n_classes: int) -> Floats:
    """Return |x − μ_k|² in the metric of each class, (n, K), or NaN for classes without one."""
    squares = np.full((len(x), n_classes), np.nan)
    if measure.scorer is not None:
        squares[:, measure.measured] = -2 * measure.scorer.score(x, Joint())
    return squares


def _rank_one(
    removal: _Removal,
    downdated: list[_DowndatedGroup],
    squares: Floats,
    scores: Floats,
    rows: slice,
) -> None:
    """Write the scores of the groups' classes, whose scatter A becomes A' = A − c v vᵀ."""
    # v is the row minus the mean of its class. u is the row minus the mean of another class, or
    # minus the mean of its own class computed without the row.
    truth = removal.truth[rows]
    loss, t = removal.change(rows)
    to_own_class = squares[rows][np.arange(len(truth)), truth]
    for g, metric, gaps in downdated:
        members = removal.members(g)
        lost = removal.lost(g, rows)
        c = lost * loss
        inside = squares[rows, members]
        # |A'| = |A| (1 − c a),  a = vᵀ A⁻¹ v
        a = np.where(lost > 0, to_own_class, 0.0)
        left = 1 - c * a
        left = np.where(left > LEAST_LEFT, left, np.nan)
        # uᵀ A⁻¹ v = ½ (|u|² + |v|² − |u − v|²)
        across = 0.5 * (inside + a[:, None] - gaps[truth])
        column = np.searchsorted(members, truth) % len(members)
        in_group = np.flatnonzero(members[column] == truth)
        inside[in_group, column[in_group]] = (t**2 * a)[in_group]
        across[in_group, column[in_group]] = (t * a)[in_group]
        # uᵀ A'⁻¹ u = |u|² + c (uᵀ A⁻¹ v)² / (1 − c a)
        distances = inside + (c / left)[:, None] * across**2
        divisor = removal.divisors(g, rows)
        constant = metric.log_det + np.log(left) - len(metric.factor) * np.log(divisor)
        scores[rows, members] = -0.5 * (constant[:, None] + divisor[:, None] * distances)


def _each_feature(removal: _Removal, g: int, x: Floats, scores: Floats, rows: slice) -> None:
    """Write the scores of the classes of group g, with the row left out of the sums of squares."""
    means = removal.moments.centred_means
    squares = removal.groups.scatters[g]
    truth = removal.truth[rows]
    loss, t = removal.change(rows)
    z = x[rows] - removal.moments.grand_mean
    from_own_class = z - means[truth]
    left = squares - (removal.lost(g, rows) * loss)[:, None] * from_own_class**2
    left = np.where(left > LEAST_LEFT * squares, left, np.nan)
    variances = left / removal.divisors(g, rows)[:, None]
    constant = np.log(variances).sum(1)
    for k in removal.members(g):
        u = np.where((truth == k)[:, None], t[:, None] * from_own_class, z - means[k])
        scores[rows, k] = -0.5 * (constant + (u**2 / variances).sum(1))
