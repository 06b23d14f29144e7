"""Estimates of full covariances from fewer rows than features: row weights, units, shrinkage γ.

``core/model/few_rows_covariance.py`` has the covariance Σ_γ = (1 − γ) ZᵀZ + γ I and computes its
inverse from the Gram matrix G = Z Zᵀ. The letters are the same in both files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.core.estimation.degenerate import (
    SEPARATING_SHARE,
    RankDeficiency,
    filled_variances,
    resolved_variances,
)
from suffice.core.estimation.divisors import divided, divisors
from suffice.core.estimation.groups import GroupScatter, diagonal_groups
from suffice.core.estimation.regularisation import Regularisation, pooled_groups
from suffice.core.estimation.shrinkage import ledoit_wolf_rule, oas_rule
from suffice.core.linalg import (
    EPS,
    cholesky_in_place,
    contrasts,
    rank_tolerance,
    resolved,
    smallest_eigenvalue,
    symmetric_eigen,
    unit_scale,
)
from suffice.core.model.covariance import Covariance
from suffice.core.model.few_rows_covariance import (
    LowRankCovariance,
    NestedCovariance,
    ShrunkRowsCovariance,
    UnshrunkRowsCovariance,
)
from suffice.core.moments import Moments
from suffice.core.moments.scatter_as_rows import RowScatter
from suffice.typing import Codes, Floats

# features that are scaled at a time, so that the whole table is never copied
_FEATURES_AT_A_TIME = 1_024


@dataclass(frozen=True, eq=False)
class FewRows:
    """The centred rows of all classes, and the weight of each row in the covariance of a group."""

    moments: Moments
    group_of: Codes  # group of each class  (K,)
    regularisation: Regularisation
    scatter: RowScatter
    row_weights: Floats  # w  (r,)
    group_of_row: Codes  # (r,)
    # sums of squares of each group, mixed with those of all groups by ``pooling``
    groups: GroupScatter
    variances: Floats  # variances of each group, zero if they may be rounding errors  (G, d)

    @classmethod
    def of(cls, moments: Moments, group_of: Codes, regularisation: Regularisation) -> FewRows:
        """Return the centred rows and the sums of squares of each group."""
        scatter = moments.scatter
        assert isinstance(scatter, RowScatter)
        groups = pooled_groups(diagonal_groups(moments, group_of), regularisation.pooling)
        variances = divided(groups, unbiased=regularisation.unbiased)
        return cls(
            moments=moments,
            group_of=group_of,
            regularisation=regularisation,
            scatter=scatter,
            row_weights=scatter.row_weights,
            group_of_row=group_of[scatter.codes],
            groups=groups,
            variances=resolved_variances(variances, moments, group_of),
        )

    @cached_property
    def stacked(self) -> Floats:
        """The r rows x − μ_k, followed by μ_k − μ of the classes, (r + K, d)."""
        stacked = np.empty((self.n_rows + self.moments.n_classes, self.moments.n_features))
        self.scatter.centred(out=stacked)
        stacked[self.n_rows :] = self.moments.centred_means
        return stacked

    @property
    def n_rows(self) -> int:
        return len(self.row_weights)

    def members(self, g: int) -> Codes:
        """Return the rows that enter the covariance of a group."""
        if self.regularisation.pooling > 0:
            return np.arange(self.n_rows)
        return np.flatnonzero(self.group_of_row == g)

    def weights_in(self, g: int) -> Floats:
        """Return the weight of each row in the scatter of a group, (r,)."""
        # M_g(λ) = (1 − λ) M_g + λ M
        own_share = (self.group_of_row == g).astype(np.float64)
        shares = self.regularisation.pooling + (1 - self.regularisation.pooling) * own_share
        return np.asarray(shares * self.row_weights)

    def divisor(self, g: int) -> float:
        """Return the divisor of a group's scatter, or zero if no degrees of freedom are left."""
        w = divisors(
            self.groups.weights, self.groups.n_means, unbiased=self.regularisation.unbiased
        )
        return float(w[g])


@dataclass(frozen=True, slots=True, eq=False)
class GroupGram:
    """The Gram matrix, for any γ, of a group's rows in units of the group's target."""

    few: FewRows
    scale: Floats  # s, the standard deviations of the target  (d,)
    is_empty: Floats  # whether the target has zero variance in a feature  (d,)
    members: Codes  # rows of the group  (r,)
    roots: Floats  # √(w / divisor)  (r,)
    gram: Floats  # G = Z Zᵀ with Z = √(w / divisor) z / s for centred rows z  (r, r)
    quartic: float  # Σ w |z/s|⁴ / n, for the closed form of Ledoit and Wolf

    @classmethod
    def of(cls, few: FewRows, g: int) -> GroupGram:
        """Return the Gram matrix of the rows of a group."""
        moments = few.moments
        totals = moments.total_variances
        within = moments.scatter.pooled_diagonal() / moments.total_weight
        target = few.regularisation.target.variances(few.variances, unit_scale(within))[g]
        filled = filled_variances(target, resolved(within, moments.grand_mean, totals), totals)
        scale = np.sqrt(filled)
        members = few.members(g)
        w = few.weights_in(g)[members]
        divisor = few.divisor(g)
        # a group with at most one row has no variance
        roots = np.sqrt(w / divisor) if divisor > 0 else np.zeros(len(w))
        gram = _scaled_gram(few.stacked, members, scale)
        gram *= roots
        gram *= roots[:, None]
        n = max(float(few.groups.weights[g]), np.finfo(float).tiny)
        lengths = np.diagonal(gram)  # w |z/s|² / divisor
        quartic = float((np.square(lengths)[w > 0] / w[w > 0]).sum()) * divisor**2 / n
        return cls(
            few=few,
            scale=scale,
            is_empty=target <= 0,
            members=members,
            roots=roots,
            gram=gram,
            quartic=quartic,
        )

    def intensity(self, g: int) -> float:
        """Return the shrinkage γ of the group, which is given or follows from a closed form."""
        rule = self.few.regularisation.shrinkage
        if rule.fixed is not None:
            return rule.fixed
        n = float(self.few.groups.weights[g])
        d = len(self.scale)
        # R = M / n has the eigenvalues λ divisor / n, where λ are the eigenvalues of G
        factor = self.few.divisor(g) / max(n, np.finfo(float).tiny)
        trace_of_square = float(np.vdot(self.gram, self.gram)) * factor**2
        trace = float(np.trace(self.gram)) * factor
        if rule.needs_fourth:
            spread = trace_of_square - trace**2 / d
            return ledoit_wolf_rule(n, d, self.quartic, trace_of_square, spread)
        return oas_rule(n, d, trace_of_square, trace)

    def covariance(self, gamma: float) -> ShrunkRowsCovariance | LowRankCovariance:
        """Return (1 − γ) Σ + γ T for one γ > 0."""
        # if rounding errors of G, about r ε tr G, exceed γ, use the eigenvalues
        rounding = len(self.gram) * EPS * float(np.trace(self.gram))
        if not len(self.gram) or (1 - gamma) * rounding > gamma:
            return self.spectrum().covariance(gamma)
        return ShrunkRowsCovariance.of(
            gamma,
            scale=self.units(gamma),
            rows=self.few.stacked[_as_slice(self.members)],
            roots=self.roots,
            gram=self.gram,
        )

    def spectrum(self) -> GroupSpectrum:
        """Return the eigendecomposition of G, from which the covariance of any γ is computed."""
        # G = U diag(λ) Uᵀ
        eigenvalues, u = symmetric_eigen(self.gram)
        largest = float(eigenvalues[-1]) if len(eigenvalues) else 0.0
        kept = eigenvalues > len(eigenvalues) * EPS * max(largest, 0.0)
        combinations = np.zeros((int(kept.sum()), len(self.few.stacked)))
        combinations[:, self.members] = u[:, kept].T * self.roots
        return GroupSpectrum(self, combinations, eigenvalues[kept])

    def units(self, gamma: float) -> Floats:
        """Return the units s, with which a feature that is constant in the group gets a variance.

        This variance is the pooled one, which ``filled_variances`` computes.
        """
        # the covariance has the variance γ s² of such a feature, so divide s² by γ
        return np.where(self.is_empty, self.scale / np.sqrt(gamma), self.scale)


@dataclass(frozen=True, slots=True, eq=False)
class GroupSpectrum:
    """The eigendecomposition, for any γ, of a group's Gram matrix in units of its target."""

    group: GroupGram
    combinations: Floats  # Uᵀ √(w / divisor), zero for the rows of other groups  (p, r + K)
    gram_eigenvalues: Floats  # positive eigenvalues λ of G = Z Zᵀ  (p,)

    def covariance(self, gamma: float) -> LowRankCovariance:
        """Return (1 − γ) Σ + γ T for γ > 0."""
        return LowRankCovariance.shrunk(
            gamma,
            scale=self.group.units(gamma),
            rows=self.group.few.stacked,
            combinations=self.combinations,
            gram_eigenvalues=self.gram_eigenvalues,
        )


def few_rows_covariances(
    moments: Moments,
    group_of: Codes,
    regularisation: Regularisation,
) -> tuple[list[Covariance], list[RankDeficiency]]:
    """Return one covariance per group, with missing variance filled from all classes if γ = 0."""
    few = FewRows.of(moments, group_of, regularisation)
    covariances: list[Covariance] = []
    deficient: list[RankDeficiency] = []
    reference: TiedContrasts | FilledReference | None = None
    for g in range(len(few.groups.weights)):
        gamma = 0.0
        if regularisation.shrinkage.fixed != 0:
            group = GroupGram.of(few, g)
            gamma = group.intensity(g)
        if gamma > 0:
            covariances.append(group.covariance(gamma))
            if group.is_empty.any():
                deficient.append(RankDeficiency(g, few.variances[g]))
            continue
        if reference is None:
            reference = _reference(few)
        filled, rank = reference.filled(g)
        covariances.append(filled)
        deficient.append(RankDeficiency(g, few.variances[g], rank=rank))
    return covariances, deficient


def few_rows_covariance_path(
    moments: Moments,
    group_of: Codes,
    regularisation: Regularisation,
    gammas: Floats,
) -> list[list[Covariance]]:
    """Return one covariance per group for each γ, with only one decomposition of each group."""
    few = FewRows.of(moments, group_of, regularisation)
    groups = range(len(few.groups.weights))
    spectra = [GroupGram.of(few, g).spectrum() for g in groups] if np.any(gammas > 0) else []
    reference = _reference(few) if np.any(gammas == 0) else None
    path: list[list[Covariance]] = []
    for gamma in gammas.tolist():
        if gamma > 0:
            path.append([spectrum.covariance(gamma) for spectrum in spectra])
        else:
            assert reference is not None
            path.append([reference.filled(g)[0] for g in groups])
    return path


@dataclass(frozen=True, slots=True, eq=False)
class TiedContrasts:
    """The covariance that all classes share, from a Cholesky factor of linearly independent rows.

    It equals the covariance of ``FilledReference``, which needs an eigendecomposition.
    """

    covariance: UnshrunkRowsCovariance

    @classmethod
    def of(cls, few: FewRows) -> TiedContrasts | None:
        """Return the covariance of one group; None if its rows may be linearly dependent."""
        moments = few.moments
        divisor = few.divisor(0)
        has_rows = moments.weights > 0
        rank = few.n_rows - int(has_rows.sum())
        if not rank or not divisor > 0:
            return None
        # Z = [W; B] with WᵀW = Σ_k M_k / divisor and BᵀB = Σ_k w_k (μ_k − μ)(μ_k − μ)ᵀ / w
        rows = np.empty((few.n_rows, moments.n_features))
        within = few.scatter.contrasts(out=rows)
        within /= np.sqrt(divisor)
        roots = np.sqrt(moments.weights[has_rows] / moments.total_weight)
        means = rows[rank : rank + len(roots)]
        np.multiply(moments.centred_means[has_rows], roots[:, None], out=means)
        rows = rows[: rank + len(contrasts(means, roots))]
        scale = unit_scale(moments.total_variances)
        rows /= scale
        try:
            factor = cholesky_in_place(rows @ rows.T)
        except np.linalg.LinAlgError:
            return None
        # eigenvalues below √ε times the largest possible one have lost half of their digits
        largest = len(scale) * moments.total_weight / divisor
        if not smallest_eigenvalue(factor) > np.sqrt(EPS) * largest:
            return None
        return cls(UnshrunkRowsCovariance(scale, rows, factor, rank, SEPARATING_SHARE))

    def filled(self, g: int) -> tuple[UnshrunkRowsCovariance, int]:  # noqa: ARG002
        """Return the covariance of the only group, and its rank."""
        return self.covariance, self.covariance.rank


@dataclass(frozen=True, slots=True, eq=False)
class FilledReference:
    """The pooled within-class covariance, with missing variance filled.

    For tables with few rows, it takes the place of ``ReferenceCovariance``: R = D V diag(λ) Vᵀ D.
    """

    few: FewRows
    unit_rows: Floats  # the stacked rows divided by total standard deviations  (r + K, d)
    covariance: LowRankCovariance  # R
    inside: Floats  # the columns of U along which classes have variance  (r, p)
    # positive eigenvalues of the pooled covariance in units of ``unit_rows``  (p,)
    eigenvalues: Floats

    @classmethod
    def of(cls, few: FewRows) -> FilledReference:
        moments = few.moments
        scale = unit_scale(moments.total_variances)
        weights = np.concatenate([few.row_weights, moments.weights])
        roots = np.sqrt(weights / moments.total_weight)
        unit_rows = few.stacked / scale
        gram = (unit_rows @ unit_rows.T) * roots * roots[:, None]
        n = few.n_rows
        tolerance = rank_tolerance(len(scale))
        e, u = symmetric_eigen(gram[:n, :n])
        is_inside = e > tolerance
        e = e[is_inside]
        u = u[:, is_inside]
        # V = diag(1/√e) Uᵀ B has the orthonormal directions along which classes have variance
        inside = np.zeros((len(e), len(weights)))
        inside[:, :n] = u.T / np.sqrt(e)[:, None]
        # find the directions of M − M Vᵀ V, the part of the means M that is orthogonal to V
        outside = -(gram[n:] @ inside.T) @ inside
        outside[:, n:] += np.eye(moments.n_classes)
        t, q = symmetric_eigen(outside @ gram @ outside.T)
        is_apart = t > tolerance
        apart = (q[:, is_apart].T @ outside) / np.sqrt(t[is_apart])[:, None]
        combinations = np.vstack([inside, apart])
        variances = np.concatenate([e, np.full(len(apart), SEPARATING_SHARE)])
        covariance = LowRankCovariance(
            scale=scale,
            base=1.0,
            rows=few.stacked,
            combinations=combinations * roots,
            squares=np.ones(len(variances)),
            eigenvalues=variances,
        )
        return cls(few, unit_rows, covariance, inside=u, eigenvalues=e)

    def filled(self, g: int) -> tuple[LowRankCovariance | NestedCovariance, int]:
        """Return the covariance of a group with missing variance from R, and its rank without R."""
        few = self.few
        members = few.members(g)
        w = few.weights_in(g)[members]
        divisor = few.divisor(g)
        if not divisor > 0:
            return self.covariance, 0
        if len(few.groups.weights) == 1:
            return self._tied(few.moments.total_weight / divisor), len(self.eigenvalues)
        # F⁻¹ Σ F⁻ᵀ = A Aᵀ with R = F Fᵀ and A = Uᵀ √(w W / (w_i divisor)), where w is the row's
        # weight in the group, w_i its own weight and W the total weight
        shares = w / few.row_weights[members] * few.moments.total_weight / divisor
        a = self.inside[members].T * np.sqrt(shares)
        p, roots, _ = np.linalg.svd(a, full_matrices=False)
        variances = np.square(roots)
        # along u = F⁻ᵀ p, rounding errors give a variance of about ε Σ_j (u_j s_j)²
        noise = rank_tolerance(len(few.stacked[0])) * (np.square(p).T @ (1 / self.eigenvalues))
        is_resolved = variances > noise
        rank = int(is_resolved.sum())
        reference = self.covariance
        directions = p[:, is_resolved].T @ reference.combinations[: len(self.eigenvalues)]
        inner = LowRankCovariance(
            scale=np.ones(len(reference.scale)),
            base=1.0,
            rows=self.unit_rows,
            combinations=directions,
            squares=np.ones(rank),
            eigenvalues=variances[is_resolved],
        )
        return NestedCovariance(reference, inner), rank

    def _tied(self, factor: float) -> LowRankCovariance:
        """Return R with the eigenvalues of the pooled covariance multiplied by a factor."""
        n_inside = len(self.eigenvalues)
        eigenvalues = self.covariance.eigenvalues.copy()
        eigenvalues[:n_inside] *= factor
        return replace(self.covariance, eigenvalues=eigenvalues)


def _reference(few: FewRows) -> TiedContrasts | FilledReference:
    """Return the covariance that supplies missing variance, by a Cholesky factor if possible."""
    tied = TiedContrasts.of(few) if len(few.groups.weights) == 1 else None
    return FilledReference.of(few) if tied is None else tied


def _scaled_gram(rows: Floats, members: Codes, scale: Floats) -> Floats:
    """Return the products (z/s)(z/s)ᵀ of some rows z, (r, r), computed in blocks of features."""
    gram = np.zeros((len(members), len(members)))
    for lo in range(0, len(scale), _FEATURES_AT_A_TIME):
        features = slice(lo, lo + _FEATURES_AT_A_TIME)
        scaled = rows[_as_slice(members), features] / scale[features]
        gram += scaled @ scaled.T
    return gram


def _as_slice(members: Codes) -> Codes | slice:
    """Return the numbers of consecutive rows as a slice, with which indexing makes no copy."""
    n = len(members)
    first = int(members[0]) if n else 0
    is_consecutive = np.array_equal(members, np.arange(first, first + n))
    return slice(first, first + n) if is_consecutive else members
