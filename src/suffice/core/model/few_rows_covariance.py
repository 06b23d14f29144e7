"""Covariances estimated from fewer rows than features, through one Gram matrix of the rows.

Z (r × d) holds the centred rows times √(weight / divisor), divided by the units s, in which the
target of shrinkage is the identity. With D = diag(s),

    Σ_γ = (1 − γ) ZᵀZ + γ I,   G = Z Zᵀ = U diag(λ) Uᵀ  (r × r)
    Σ_γ⁻¹ = γ⁻¹ [I − Zᵀ U diag((1 − γ) / (γ + (1 − γ) λ)) Uᵀ Z]
    log|Σ_γ| = (d − r) log γ + Σ_i log(γ + (1 − γ) λ_i)

The covariance of the rows is D Σ_γ D. The eigenvalues of a single Gram matrix give the covariance
for every γ. If only one γ is needed, a Cholesky factor is faster: with c = (1 − γ) / γ,

    L Lᵀ = I + c G
    Σ_γ⁻¹ = γ⁻¹ [I − c Zᵀ L⁻ᵀ L⁻¹ Z]
    log|Σ_γ| = d log γ + 2 Σ_i log L_ii

Without shrinkage, γ = 0, the rows of a class minus their mean are replaced by one row fewer, the
contrasts, which have the same ZᵀZ. If these rows are linearly independent, G has a Cholesky factor
L, and Q = L⁻¹ Z has orthonormal rows that span them: ZᵀZ = Qᵀ LᵀL Q.

The classes have the methods of ``FullCovariance``, which here compute inner products with the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.core.linalg import (
    cholesky_in_place,
    solve_factored,
    solve_lower,
    solve_lower_transposed,
    symmetric_eigen,
)
from suffice.core.model.scoring import Distances
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.core.model.covariance import FullCovariance
    from suffice.core.model.rows_by_pattern import MissingPatterns


class RowsCovariance(ABC):
    """Base of covariances that compute inner products with rows and hold no dense matrix."""

    __slots__ = ()
    scale: Floats  # s  (d,)

    @abstractmethod
    def squared_distances(self, x: Floats) -> Floats: ...

    @abstractmethod
    def precision_times(self, x: Floats) -> Floats: ...

    @abstractmethod
    def dense(self) -> Floats: ...

    def part(self, classes: Codes, constants: Floats, means: Floats) -> Distances:
        """Return the part of a scorer for the classes that share Σ."""
        return Distances(classes, constants, means, self)

    def conditional(self, observed: Codes, missing: Codes) -> tuple[Floats, Floats, Floats]:
        """Return L_oo, L_mo and L_mm of the dense Σ; see ``FullCovariance``."""
        return self.as_full().conditional(observed, missing)

    def observed_distances(
        self,
        y: Floats,
        rare: MissingPatterns,  # noqa: ARG002
        means: Floats,
    ) -> tuple[Floats, Floats]:
        """Return NaN for all rows, so that each pattern is scored by its ``marginal``."""
        return np.full((len(y), len(means)), np.nan), np.full(len(y), np.nan)

    def dense_precision(self) -> Floats:
        """Return Σ⁻¹, (d, d)."""
        return self.precision_times(np.eye(len(self.scale)))

    def as_full(self) -> FullCovariance:
        """Return the same Σ as a dense factor."""
        return _as_full(self.dense())


@dataclass(frozen=True, slots=True, eq=False)
class ShrunkRowsCovariance(RowsCovariance):
    """Σ = D S D with S = (1 − γ) ZᵀZ + γ I for one γ > 0, D = diag(s) and Z = diag(√v) X D⁻¹.

    L Lᵀ = I + c Z Zᵀ with c = (1 − γ) / γ gives a root S = γ A Aᵀ and its inverse:

        A = I + c Zᵀ (I + L)⁻¹ Z
        A⁻¹ = I − c Zᵀ (I + Lᵀ)⁻¹ L⁻¹ Z
    """

    scale: Floats  # s  (d,)
    gamma: float  # γ
    rows: Floats  # X  (r, d), perhaps shared with other covariances
    roots: Floats  # √v, where v is the weight of a row divided by the divisor of Σ  (r,)
    factor: Floats  # L, lower triangular  (r, r)

    @classmethod
    def of(
        cls,
        gamma: float,
        *,
        scale: Floats,
        rows: Floats,
        roots: Floats,
        gram: Floats,
    ) -> ShrunkRowsCovariance:
        """Return D ((1 − γ) ZᵀZ + γ I) D for γ > 0, given G = Z Zᵀ."""
        # L Lᵀ = I + c G
        products: Floats = (1 - gamma) / gamma * gram
        products[np.diag_indices_from(products)] += 1
        return cls(scale, gamma, rows, roots, cholesky_in_place(products))

    @property
    def log_det(self) -> float:
        """Log-determinant log|Σ| = 2 Σⱼ log sⱼ + d log γ + 2 Σᵢ log Lᵢᵢ."""
        of_scale = 2 * float(np.log(self.scale).sum())
        of_rows = 2 * float(np.log(np.diagonal(self.factor)).sum())
        return of_scale + len(self.scale) * float(np.log(self.gamma)) + of_rows

    def whiten(self, x: Floats) -> Floats:
        """Return z = γ^−½ A⁻¹ D⁻¹ x for each row."""
        # A⁻¹ y = y − c Zᵀ (I + Lᵀ)⁻¹ L⁻¹ Z y
        y = x / self.scale
        along = solve_lower(self.factor, self._project(y))
        along = solve_lower_transposed(self._identity_plus_factor(), along)
        return (y - self._combine(along)) / self._root

    def whiten_transposed(self, z: Floats) -> Floats:
        """Return γ^−½ D⁻¹ A⁻ᵀ z for each row."""
        # A⁻ᵀ z = z − c Zᵀ L⁻ᵀ (I + L)⁻¹ Z z
        along = solve_lower(self._identity_plus_factor(), self._project(z))
        along = solve_lower_transposed(self.factor, along)
        return (z - self._combine(along)) / self._root / self.scale

    def colorize(self, z: Floats) -> Floats:
        """Return x = γ^½ D A z for each row."""
        # A z = z + c Zᵀ (I + L)⁻¹ Z z
        along = solve_lower(self._identity_plus_factor(), self._project(z))
        return (z + self._combine(along)) * self._root * self.scale

    def precision_times(self, x: Floats) -> Floats:
        """Return Σ⁻¹ x for each row."""
        # S⁻¹ y = γ⁻¹ (y − c Zᵀ L⁻ᵀ L⁻¹ Z y)
        y = x / self.scale
        along = solve_factored(self.factor, self._project(y))
        return (y - self._combine(along)) / self.gamma / self.scale

    def squared_distances(self, x: Floats) -> Floats:
        """Return xᵀ Σ⁻¹ x of each row, (n,)."""
        # γ⁻¹ (|y|² − c |L⁻¹ Z y|²)
        y = x / self.scale
        along = np.square(solve_lower(self.factor, self._project(y))).sum(0)
        lengths = np.einsum("nd,nd->n", y, y)
        return np.asarray((lengths - self._ratio * along) / self.gamma)

    def marginal(self, observed: Codes) -> ShrunkRowsCovariance:
        """Return Σ_oo of the features ``observed``, at least one."""
        rows = self.rows[:, observed]
        scale = self.scale[observed]
        z = rows / scale * self.roots[:, None]
        return ShrunkRowsCovariance.of(
            self.gamma, scale=scale, rows=rows, roots=self.roots, gram=z @ z.T
        )

    def variances(self) -> Floats:
        """Return the diagonal of Σ, (d,)."""
        own = np.square(self.roots) @ np.square(self.rows)
        return np.asarray((1 - self.gamma) * own + self.gamma * np.square(self.scale))

    def precision_diagonal(self) -> Floats:
        """Return the diagonal of Σ⁻¹, (d,)."""
        z = self.rows / self.scale * self.roots[:, None]
        along = np.square(solve_lower(self.factor, z)).sum(0)
        return np.asarray((1 - self._ratio * along) / self.gamma / np.square(self.scale))

    def dense(self) -> Floats:
        """Return Σ, (d, d)."""
        weighted = self.rows * self.roots[:, None]
        return (1 - self.gamma) * weighted.T @ weighted + np.diag(
            self.gamma * np.square(self.scale)
        )

    @property
    def _root(self) -> float:
        """The root √γ."""
        return float(np.sqrt(self.gamma))

    @property
    def _ratio(self) -> float:
        """The factor c = (1 − γ) / γ."""
        return (1 - self.gamma) / self.gamma

    def _project(self, y: Floats) -> Floats:
        """Return Z y for each row, (r, n)."""
        return self.roots[:, None] * (self.rows @ (y / self.scale).T)

    def _combine(self, along: Floats) -> Floats:
        """Return c Zᵀ t for each column t, (n, d)."""
        return ((self._ratio * self.roots[:, None] * along).T @ self.rows) / self.scale

    def _identity_plus_factor(self) -> Floats:
        """Return I + L."""
        shifted = self.factor.copy()
        shifted[np.diag_indices_from(shifted)] += 1
        return shifted


@dataclass(frozen=True, slots=True, eq=False)
class LowRankCovariance(RowsCovariance):
    """Σ = D S D with S = γ I + Vᵀ diag(e − γ) V, D = diag(s) and orthonormal rows V.

    The directions V are stored as combinations of rows X: V = diag(1/√λ) P X D⁻¹, where
    P X D⁻¹ = Uᵀ Z. A function f of the matrix S is f(γ) I + Vᵀ diag(f(e) − f(γ)) V.
    """

    scale: Floats  # s  (d,)
    base: float  # γ: the eigenvalue of S in directions orthogonal to V
    rows: Floats  # X  (m, d), perhaps shared with other covariances
    combinations: Floats  # P  (r, m)
    squares: Floats  # λ: squared lengths of the directions P X D⁻¹  (r,)
    eigenvalues: Floats  # e; for a shrunk covariance, γ + (1 − γ) λ  (r,)

    @classmethod
    def shrunk(
        cls,
        gamma: float,
        *,
        scale: Floats,
        rows: Floats,
        combinations: Floats,
        gram_eigenvalues: Floats,
    ) -> LowRankCovariance:
        """Return D ((1 − γ) ZᵀZ + γ I) D for γ > 0, given the eigenvalues λ of G = Z Zᵀ."""
        return cls(
            scale=scale,
            base=gamma,
            rows=rows,
            combinations=combinations,
            squares=gram_eigenvalues,
            eigenvalues=gamma + (1 - gamma) * gram_eigenvalues,
        )

    @classmethod
    def changed(
        cls,
        changes: Floats,
        *,
        scale: Floats,
        base: float,
        q: Floats,
    ) -> LowRankCovariance:
        """Return D (γ I + Q C Qᵀ) D for orthonormal columns Q and the symmetric ``changes`` C."""
        # C = W diag(c) Wᵀ
        c, w = symmetric_eigen(changes)
        return cls(
            scale=scale,
            base=base,
            rows=(w.T @ q.T) * scale,
            combinations=np.eye(len(c)),
            squares=np.ones(len(c)),
            eigenvalues=base + c,
        )

    @property
    def log_det(self) -> float:
        """Log-determinant log|Σ| = 2 Σⱼ log sⱼ + (d − r) log γ + Σᵢ log eᵢ."""
        n_other = len(self.scale) - len(self.eigenvalues)
        of_scale = 2 * float(np.log(self.scale).sum())
        return (
            of_scale
            + n_other * float(np.log(self.base))
            + float(np.log(self.eigenvalues).sum())
        )

    def whiten(self, x: Floats) -> Floats:
        """Return z = S^−½ D⁻¹ x for each row."""
        return self._function(_inverse_root, x / self.scale)

    def whiten_transposed(self, z: Floats) -> Floats:
        """Return D⁻¹ S^−½ z for each row."""
        return self._function(_inverse_root, z) / self.scale

    def colorize(self, z: Floats) -> Floats:
        """Return x = D S^½ z for each row."""
        return self._function(np.sqrt, z) * self.scale

    def precision_times(self, x: Floats) -> Floats:
        """Return Σ⁻¹ x for each row."""
        return self._function(np.reciprocal, x / self.scale) / self.scale

    def squared_distances(self, x: Floats) -> Floats:
        """Return xᵀ Σ⁻¹ x of each row, (n,)."""
        y = x / self.scale
        # |y|² / γ + Σᵢ (1/eᵢ − 1/γ) (V y)ᵢ²
        weights = (1 / self.eigenvalues - 1 / self.base) / self.squares
        along = np.square(self._project(y)) @ weights
        return np.asarray(np.einsum("nd,nd->n", y, y) / self.base + along)

    def marginal(self, observed: Codes) -> LowRankCovariance:
        """Return Σ_oo of the features ``observed``, at least one."""
        # Y = V_o = (Q R)ᵀ,   γ I + Yᵀ diag(e − γ) Y = γ I + Q W diag(c) Wᵀ Qᵀ,
        # where R diag(e − γ) Rᵀ = W diag(c) Wᵀ
        scale = self.scale[observed]
        roots = np.sqrt(self.squares)[:, None]
        directions = (self.combinations @ self.rows[:, observed]) / scale / roots
        q, r = np.linalg.qr(directions.T)
        changes = (r * (self.eigenvalues - self.base)) @ r.T
        return LowRankCovariance.changed(changes, scale=scale, base=self.base, q=q)

    def variances(self) -> Floats:
        """Return the diagonal of Σ, (d,)."""
        return np.square(self.scale) * self._diagonal(lambda e: e)

    def precision_diagonal(self) -> Floats:
        """Return the diagonal of Σ⁻¹, (d,)."""
        return self._diagonal(np.reciprocal) / np.square(self.scale)

    def dense(self) -> Floats:
        """Return Σ, (d, d)."""
        return self._function(lambda e: e, np.diag(self.scale)) * self.scale

    def _function(self, f: Callable[[Floats], Floats], y: Floats) -> Floats:
        """Return f(S) y for each row."""
        # the weights (f(e) − f(γ)) / λ are −γ⁻¹ (1 − γ) / (γ + (1 − γ) λ) for f(x) = 1/x
        at_base = float(f(np.array(self.base)))
        weights = (f(self.eigenvalues) - at_base) / self.squares
        along = (self._project(y) * weights) @ self.combinations
        return at_base * y + (along @ self.rows) / self.scale

    def _project(self, y: Floats) -> Floats:
        """Return P X D⁻¹ y for each row, (n, r)."""
        return ((y / self.scale) @ self.rows.T) @ self.combinations.T

    def _diagonal(self, f: Callable[[Floats], Floats]) -> Floats:
        at_base = float(f(np.array(self.base)))
        weights = (f(self.eigenvalues) - at_base) / self.squares
        directions = (self.combinations @ self.rows) / self.scale
        return np.asarray(at_base + weights @ np.square(directions))


@dataclass(frozen=True, slots=True, eq=False)
class UnshrunkRowsCovariance(RowsCovariance):
    """Σ = D S D, where S is WᵀW along the rows W, η along the rows B apart from W, and 1 elsewhere.

    W and B are in units of D = diag(s), and together linearly independent:

        Z = [W; B],   L Lᵀ = Z Zᵀ,   Q = L⁻¹ Z,   Q Qᵀ = I
        S = I + Qᵀ (R Rᵀ − I) Q,   R = diag(Lᵂᵀ, √η I),   where Lᵂ is the part of L for W

    A root S = A Aᵀ and its inverse follow from R:

        A = I + Qᵀ (R − I) Q
        A⁻¹ = I + Qᵀ (R⁻¹ − I) Q
    """

    scale: Floats  # s  (d,)
    rows: Floats  # Z  (p, d)
    factor: Floats  # L, lower triangular  (p, p)
    rank: int  # number of rows W, which come first
    variance_apart: float  # η

    @property
    def log_det(self) -> float:
        """Log-determinant log|Σ| = 2 Σⱼ log sⱼ + 2 Σᵢ log Lᵂᵢᵢ + (p − rank) log η."""
        of_scale = 2 * float(np.log(self.scale).sum())
        of_rows = 2 * float(np.log(np.diagonal(self._factor_within)).sum())
        n_apart = len(self.rows) - self.rank
        return of_scale + of_rows + n_apart * float(np.log(self.variance_apart))

    def whiten(self, x: Floats) -> Floats:
        """Return z = A⁻¹ D⁻¹ x for each row."""
        y = x / self.scale
        along = self._project(y)
        return y + self._combine(self._divide(along) - along)

    def whiten_transposed(self, z: Floats) -> Floats:
        """Return D⁻¹ A⁻ᵀ z for each row."""
        along = self._project(z)
        return (z + self._combine(self._divide_transposed(along) - along)) / self.scale

    def colorize(self, z: Floats) -> Floats:
        """Return x = D A z for each row."""
        along = self._project(z)
        # R t
        within, apart = self._parts(along)
        product = np.concatenate(
            [self._factor_within.T @ within, apart * np.sqrt(self.variance_apart)]
        )
        return (z + self._combine(product - along)) * self.scale

    def precision_times(self, x: Floats) -> Floats:
        """Return Σ⁻¹ x for each row."""
        # S⁻¹ = I + Qᵀ (R⁻ᵀ R⁻¹ − I) Q
        y = x / self.scale
        along = self._project(y)
        change = self._divide_transposed(self._divide(along)) - along
        return (y + self._combine(change)) / self.scale

    def squared_distances(self, x: Floats) -> Floats:
        """Return xᵀ Σ⁻¹ x of each row, (n,)."""
        # |y|² − |Q y|² + |R⁻¹ Q y|²
        y = x / self.scale
        along = self._project(y)
        changes = np.square(self._divide(along)).sum(0) - np.square(along).sum(0)
        return np.asarray(np.einsum("nd,nd->n", y, y) + changes)

    def marginal(self, observed: Codes) -> LowRankCovariance:
        """Return Σ_oo of the features ``observed``, at least one."""
        # Q_oᵀ = P C,   S_oo = I + P C (R Rᵀ − I) Cᵀ Pᵀ
        p, c = np.linalg.qr(self._directions()[:, observed].T)
        root = np.hstack(
            [
                c[:, : self.rank] @ self._factor_within.T,
                c[:, self.rank :] * np.sqrt(self.variance_apart),
            ]
        )
        changes = root @ root.T - c @ c.T
        return LowRankCovariance.changed(changes, scale=self.scale[observed], base=1.0, q=p)

    def variances(self) -> Floats:
        """Return the diagonal of Σ, (d,)."""
        # 1 − Σᵢ Qᵢⱼ² + Σᵢ Wᵢⱼ² + η Σᵢ Qᴮᵢⱼ²
        within, apart = self._parts(np.square(self._directions()))
        own = np.square(self.rows[: self.rank]).sum(0) - within.sum(0)
        changes = own - (1 - self.variance_apart) * apart.sum(0)
        return np.asarray((1 + changes) * np.square(self.scale))

    def precision_diagonal(self) -> Floats:
        """Return the diagonal of Σ⁻¹, (d,)."""
        directions = self._directions()
        changes = np.square(self._divide(directions)).sum(0) - np.square(directions).sum(0)
        return np.asarray((1 + changes) / np.square(self.scale))

    def dense(self) -> Floats:
        """Return Σ, (d, d)."""
        # I − QᵀQ + WᵀW + η QᴮᵀQᴮ
        within, apart = self._parts(self._directions())
        own = self.rows[: self.rank]
        s = own.T @ own - within.T @ within - (1 - self.variance_apart) * apart.T @ apart
        s[np.diag_indices_from(s)] += 1
        return np.asarray(self.scale[:, None] * s * self.scale)

    @property
    def _factor_within(self) -> Floats:
        """The factor Lᵂ of W Wᵀ."""
        return self.factor[: self.rank, : self.rank]

    def _parts(self, along: Floats) -> tuple[Floats, Floats]:
        """Return the entries along W and those along B."""
        return along[: self.rank], along[self.rank :]

    def _directions(self) -> Floats:
        """Return Q, (p, d)."""
        return solve_lower(self.factor, self.rows)

    def _project(self, y: Floats) -> Floats:
        """Return Q y for each row, (p, n)."""
        return solve_lower(self.factor, self.rows @ y.T)

    def _combine(self, along: Floats) -> Floats:
        """Return Qᵀ t for each column t, (n, d)."""
        return np.asarray(solve_lower_transposed(self.factor, along).T @ self.rows)

    def _divide(self, along: Floats) -> Floats:
        """Return R⁻¹ t for each column t."""
        within, apart = self._parts(along)
        solved = solve_lower_transposed(self._factor_within, within)
        return np.concatenate([solved, apart / np.sqrt(self.variance_apart)])

    def _divide_transposed(self, along: Floats) -> Floats:
        """Return R⁻ᵀ t for each column t."""
        within, apart = self._parts(along)
        solved = solve_lower(self._factor_within, within)
        return np.concatenate([solved, apart / np.sqrt(self.variance_apart)])


@dataclass(frozen=True, slots=True, eq=False)
class NestedCovariance:
    """Σ = L Ψ Lᵀ, where Ψ is the covariance of rows that were whitened by the covariance L Lᵀ."""

    outer: LowRankCovariance  # L Lᵀ
    inner: LowRankCovariance  # Ψ

    @property
    def log_det(self) -> float:
        """Log-determinant log|Σ| = log|L Lᵀ| + log|Ψ|."""
        return self.outer.log_det + self.inner.log_det

    def whiten(self, x: Floats) -> Floats:
        return self.inner.whiten(self.outer.whiten(x))

    def whiten_transposed(self, z: Floats) -> Floats:
        return self.outer.whiten_transposed(self.inner.whiten_transposed(z))

    def colorize(self, z: Floats) -> Floats:
        return self.outer.colorize(self.inner.colorize(z))

    def precision_times(self, x: Floats) -> Floats:
        return self.whiten_transposed(self.whiten(x))

    def squared_distances(self, x: Floats) -> Floats:
        return self.inner.squared_distances(self.outer.whiten(x))

    def part(self, classes: Codes, constants: Floats, means: Floats) -> Distances:
        return Distances(classes, constants, means, self)

    def marginal(self, observed: Codes) -> FullCovariance:
        return self.as_full().marginal(observed)

    def conditional(self, observed: Codes, missing: Codes) -> tuple[Floats, Floats, Floats]:
        return self.as_full().conditional(observed, missing)

    def observed_distances(
        self,
        y: Floats,
        rare: MissingPatterns,
        means: Floats,
    ) -> tuple[Floats, Floats]:
        return self.outer.observed_distances(y, rare, means)

    def variances(self) -> Floats:
        return np.asarray(np.square(self.colorize(np.eye(len(self.outer.scale)))).sum(0))

    def precision_diagonal(self) -> Floats:
        return np.asarray(np.square(self.whiten(np.eye(len(self.outer.scale)))).sum(1))

    def dense(self) -> Floats:
        root = self.colorize(np.eye(len(self.outer.scale)))
        return root.T @ root

    def dense_precision(self) -> Floats:
        root = self.whiten(np.eye(len(self.outer.scale)))
        return root @ root.T

    def as_full(self) -> FullCovariance:
        return _as_full(self.dense())


def _inverse_root(values: Floats) -> Floats:
    return 1 / np.sqrt(values)


def _as_full(sigma: Floats) -> FullCovariance:
    from suffice.core.model.covariance import FullCovariance

    return FullCovariance.of(sigma)
