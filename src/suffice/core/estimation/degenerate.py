"""Fill the variance that classes lack in some directions from other classes, and warn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.core.linalg import (
    dependent_columns,
    rank_tolerance,
    resolved,
    symmetric_eigen,
    unit_scale,
)
from suffice.core.moments import Moments
from suffice.core.table.indicator_encoding import Encoding
from suffice.core.text.lists import counted, noun_for, quoted
from suffice.errors import DegenerateDataWarning, warn
from suffice.typing import Codes, Floats

_MOST_NAMED = 4
# share of the total variance for directions in which class means differ and no class varies
SEPARATING_SHARE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceCovariance:
    """A reference covariance R = F Fᵀ of full rank, which supplies missing variance."""

    factor: Floats  # F  (d, d)
    inverse: Floats  # F⁻¹  (d, d)
    scale: Floats  # standard deviation of each feature over all rows  (d,)

    @classmethod
    def of(cls, moments: Moments) -> ReferenceCovariance:
        """Return the pooled within-class covariance, with missing variance filled."""
        scale = unit_scale(moments.total_variances)
        units = moments.total_weight * scale[:, None] * scale
        within = moments.pooled_scatter / units
        between = moments.between_scatter / units
        tol = rank_tolerance(len(scale))
        e, v = symmetric_eigen(within)
        inside = v[:, e > tol]
        empty = v[:, e <= tol]
        # among the directions without variance within classes, find those in which the means differ
        t, q = symmetric_eigen(empty.T @ between @ empty)
        variances = np.concatenate([e[e > tol], np.where(t > tol, SEPARATING_SHARE, 1.0)])
        # R = F Fᵀ,  F = diag(s) V diag(√e)
        directions = np.hstack([inside, empty @ q])
        root = np.sqrt(variances)
        return cls(scale[:, None] * directions * root, (directions / root).T / scale, scale)

    def spectrum(self, sigma: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the spectrum of F⁻¹ Σ F⁻ᵀ.

        The results are the eigenvalues a (…, d), the eigenvectors V, and a with missing variances
        set to 1.
        """
        a, v = np.linalg.eigh(self.inverse @ sigma @ self.inverse.T)
        # along u = F⁻ᵀ v, rounding errors give a variance of about ε Σ_j (u_j s_j)²
        u = self.inverse.T @ v
        noise = rank_tolerance(len(self.scale)) * np.square(u * self.scale[:, None]).sum(-2)
        return a, v, np.where(a > noise, a, 1.0)

    def filled(self, sigma: Floats) -> Floats:
        """Return a root A of each Σ = A Aᵀ (…, d, d), with missing variance taken from R."""
        _, v, e = self.spectrum(sigma)
        return np.asarray(self.factor @ (v * np.sqrt(e)[..., None, :]))


def resolved_variances(variances: Floats, moments: Moments, group_of: Codes) -> Floats:
    """Return the variances of groups (G, d), with exact zeros for rounding errors."""
    largest = np.zeros_like(variances)
    np.maximum.at(largest, group_of, np.abs(moments.means))
    return resolved(variances, largest, moments.total_variances)


def filled_variances(variances: Floats, pooled: Floats, totals: Floats) -> Floats:
    """Replace zero variances (G, d) with pooled variances, or else a share of the total (d,)."""
    reference = np.where(pooled > 0, pooled, SEPARATING_SHARE * totals)
    reference = np.where(reference > 0, reference, 1.0)
    return np.where(variances > 0, variances, reference)


def independent_columns(moments: Moments) -> Codes:
    """Return a largest set of columns whose pooled within-class covariance has full rank."""
    sigma = moments.pooled_scatter / moments.total_weight
    variances = resolved(np.diagonal(sigma), moments.grand_mean, moments.total_variances)
    varying = np.flatnonzero(variances)
    return np.delete(varying, dependent_columns(sigma[np.ix_(varying, varying)]))


@dataclass(frozen=True, slots=True, eq=False)
class RankDeficiency:
    """A group of classes whose covariance does not have full rank."""

    group: int
    variances: Floats  # 0 for a feature that does not vary  (d,)
    sigma: Floats | None = None  # the group's covariance, None if diagonal  (d, d)
    # rank of the group's covariance, if there are fewer rows than features
    rank: int | None = None

    @property
    def constant(self) -> Codes:
        return np.flatnonzero(self.variances == 0)

    @property
    def dependent(self) -> Codes:
        if self.sigma is None:
            return np.zeros(0, np.intp)
        varying = np.flatnonzero(self.variances > 0)
        return varying[dependent_columns(self.sigma[np.ix_(varying, varying)])]

    def is_expected(self, moments: Moments, group_of: Codes, encoding: Encoding) -> bool:
        """Return whether the rank is too low only because some levels do not occur in the group."""
        if (self.constant < encoding.schema.n_numbers).any():
            return False
        # A level that never occurs has a constant indicator. If the reference level, which has no
        # indicator, never occurs, the other indicators sum to 1, and one depends on the rest.
        members = group_of == self.group
        weights = moments.weights[members]
        shares = weights @ moments.means[members] / weights.sum()
        n_unseen_references = sum(shares[block].sum() > 1 - 1e-12 for block in encoding.blocks)
        return bool(len(self.dependent) <= n_unseen_references)

    def reason(self, moments: Moments) -> str:
        """Return the end of a sentence, which states the rank and the columns that lower it."""
        d = len(self.variances)
        if self.rank is not None:
            return f"rank {self.rank} instead of {d}: there are fewer rows than features"
        rank = d - len(self.constant) - len(self.dependent)
        names = moments.feature_names or range(d)
        reasons = []
        constant = quoted([names[j] for j in self.constant], _MOST_NAMED)
        dependent = quoted([names[j] for j in self.dependent], _MOST_NAMED)
        if len(self.constant) == 1:
            reasons.append(f"column {constant} is constant")
        elif len(self.constant) > 1:
            reasons.append(f"columns {constant} are constant")
        if len(self.dependent) == 1:
            reasons.append(f"column {dependent} is a combination of other columns")
        elif len(self.dependent) > 1:
            reasons.append(f"columns {dependent} are combinations of other columns")
        return (
            f"rank {rank} instead of {d}: {' and '.join(reasons) or 'it is nearly singular'}"
        )


def warn_of_deficient(
    deficient: list[RankDeficiency],
    moments: Moments,
    group_of: Codes,
) -> None:
    """Warn once for all groups that lack variance, with the substitute and the cure."""
    groups_by_reason: dict[str, list[int]] = {}
    for each in deficient:
        groups_by_reason.setdefault(each.reason(moments), []).append(each.group)
    has_rows = moments.weights > 0
    is_shared = len(np.unique(group_of[has_rows])) == 1
    findings = []
    for reason, groups in list(groups_by_reason.items())[:_MOST_NAMED]:
        if is_shared:
            n_rows = counted(int(moments.counts.sum()), "row")
            subject = f"the covariance that all classes share ({n_rows}) has"
        else:
            subject = _covariances(groups, moments, group_of)
        findings.append(f"{subject} {reason}")
    if len(groups_by_reason) > _MOST_NAMED:
        findings.append("other classes lack variance for other reasons")
    if is_shared:
        substitute = (
            "In directions in which no class varies, the model uses the variance of all rows. If "
            f"the class means differ in such a direction, it uses {SEPARATING_SHARE:g} of this "
            "variance"
        )
    else:
        substitute = (
            "In directions in which a class does not vary, the model uses the pooled covariance of "
            "all classes"
        )
    cure = _cure(deficient, is_shared=is_shared)
    message = f"{'; '.join(findings)}. {substitute}. To avoid this, {cure}"
    warn(message, DegenerateDataWarning)


def _covariances(groups: list[int], moments: Moments, group_of: Codes) -> str:
    """Return the subject and the verb of a clause about the covariances of some groups."""
    is_member = np.isin(group_of, groups) & (moments.weights > 0)
    classes = noun_for(int(is_member.sum()), "class")
    classes += f" {quoted(moments.classes[is_member], _MOST_NAMED)}"
    rows = counted(int(moments.counts[is_member].sum()), "row")
    if len(groups) > 1:
        return f"the covariances of {classes} ({rows}) have"
    return f"the covariance of {classes} ({rows}) has"


def _cure(deficient: list[RankDeficiency], *, is_shared: bool) -> str:
    """Return the advice that restores full rank: pooling, shrinkage, fewer columns or more rows."""
    # shrinkage keeps the variances, so it does not help if a column is constant
    has_dependent = any(each.rank is not None or each.dependent.size for each in deficient)
    settings = ([] if is_shared else ["pooling"]) + (["shrinkage"] if has_dependent else [])
    # a class with one row varies in no column
    partial = [d for d in deficient if d.rank is None and d.constant.size < d.variances.size]
    columns = np.unique(
        np.concatenate([[], *(np.r_[d.constant, d.dependent] for d in partial)])
    )
    cure = f"set {' or '.join(settings)}, or " if settings else ""
    if columns.size in (0, deficient[0].variances.size):  # not all columns can be dropped
        return f"{cure}collect more rows"
    return f"{cure}drop {'this column' if columns.size == 1 else 'these columns'}"
