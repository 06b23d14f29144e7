"""Leave-one-out scores of a shared, shrunk covariance, for every shrinkage γ.

Let z = x − μ_k be the rows, in units in which the target of shrinkage is the identity. Then

    Σ = ZᵀZ / n = V diag(λ) Vᵀ        B = (1 − γ) n / (n − 1) Σ + γ I = V diag(e) Vᵀ
    Σ_γ without row i = B − h z_i z_iᵀ,   h = (1 − γ) n_k / ((n_k − 1) (n − 1))

so that one eigendecomposition, of Σ or of the Gram matrix Z Zᵀ, gives the scores of every row for
every γ. The target is computed from all rows; ``validation/leave_one_out.py`` computes it from the
other rows.

With about as many rows as features, folds would choose too strong a shrinkage, because their models
are fitted to fewer rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from suffice.core.estimation.degenerate import SEPARATING_SHARE
from suffice.core.estimation.rank_one_downdates import LEAST_LEFT
from suffice.core.linalg import EPS, rank_tolerance, symmetric_eigen
from suffice.core.table import Table
from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutRows:
    """Rows and class means along the eigenvectors of Σ; every class has at least two rows."""

    codes: Codes  # class k of each row  (n,)
    counts: Floats  # n_k  (K,)
    eigenvalues: Floats  # λ  (r,)
    rows: Floats  # z along the eigenvectors  (n, r)
    means: Floats  # μ along the eigenvectors  (K, r)
    products_outside: (
        Floats  # inner products of the parts of μ outside the eigenvectors  (K, K)
    )
    gaps_of_constants: (
        Floats  # |μ_j − μ_k|² in features without variance within classes  (K, K)
    )
    has_full_rank: bool  # whether Σ has full rank in the features with variance
    # Share of the features with more than half of their variance from one row. If it is large, the
    # target of all rows is too far from that without a row.
    fragile_share: float

    @classmethod
    def of(cls, table: Table, *, keeps_variances: bool) -> Self:
        """Return the rows in units of standard deviations, or with one unit for all features."""
        x = np.asarray(table.x, np.float64)
        n, d = x.shape
        counts = np.bincount(table.codes, minlength=table.n_classes).astype(np.float64)
        means = np.stack([x[table.codes == k].mean(0) for k in range(table.n_classes)])
        z = x - means[table.codes]
        means -= counts @ means / n
        variances = np.square(z).mean(0)
        is_constant = variances <= (16 * EPS) ** 2 * np.square(x).mean(0)
        z[:, is_constant] = 0.0
        is_fragile = np.square(z).max(0) > 0.5 * n * variances
        gaps = _gaps_of_constants(means[:, is_constant], counts / n)
        means[:, is_constant] = 0.0
        if keeps_variances:
            scale = np.sqrt(np.where(is_constant, 1.0, variances))
        else:
            scale = np.full(d, np.sqrt(variances.mean() or 1.0))
        z /= scale
        means /= scale
        eigenvalues, rows, along = _along_eigenvectors(z, means)
        return cls(
            codes=table.codes,
            counts=counts,
            eigenvalues=eigenvalues,
            rows=rows,
            means=along,
            products_outside=means @ means.T - along @ along.T,
            gaps_of_constants=gaps,
            has_full_rank=len(eigenvalues) == d - np.count_nonzero(is_constant),
            fragile_share=float(np.mean(is_fragile & ~is_constant)),
        )

    def scores(self, gammas: Floats) -> Iterator[Floats | None]:
        """Yield, for each γ, the scores −½ Δ² of every row under the model without it, (K, n).

        The scores are None if the covariance is singular.
        """
        for gamma in gammas.tolist():
            yield self._scores(gamma) if gamma > 0 or self.has_full_rank else None

    def _scores(self, gamma: float) -> Floats:
        n = len(self.codes)
        own = np.arange(n)
        e = (1 - gamma) * n / (n - 1) * self.eigenvalues + gamma
        # a = zᵀ B⁻¹ z,   b_k = (μ_own − μ_k)ᵀ B⁻¹ z,   D_jk = (μ_j − μ_k)ᵀ B⁻¹ (μ_j − μ_k)
        a = np.square(self.rows) @ (1 / e)
        weights = self.means / e
        with_means = self.rows @ weights.T  # (n, K)
        b = with_means[own, self.codes][:, None] - with_means
        products = weights @ self.means.T
        if gamma > 0:
            products += self.products_outside / gamma
        squares = np.diagonal(products)
        gaps = squares[:, None] + squares - 2 * products + self.gaps_of_constants
        # (B − h z zᵀ)⁻¹ = B⁻¹ + h B⁻¹ z zᵀ B⁻¹ / (1 − h a)
        t = (self.counts / (self.counts - 1))[self.codes]  # x − μ_own without the row is t z
        h = (1 - gamma) * t / (n - 1)
        left = np.maximum(1 - h * a, LEAST_LEFT)
        distances = a[:, None] + 2 * b + gaps[self.codes]
        distances += (h / left)[:, None] * np.square(a[:, None] + b)
        distances[own, self.codes] = t**2 * a / left
        return np.ascontiguousarray(-0.5 * distances.T)


def _along_eigenvectors(z: Floats, means: Floats) -> tuple[Floats, Floats, Floats]:
    """Return λ (r,) of ZᵀZ / n, and the rows (n, r) and means (K, r) along its eigenvectors."""
    n, d = z.shape
    has_few_rows = n < d
    values, vectors = symmetric_eigen((z @ z.T if has_few_rows else z.T @ z) / n)
    kept = values > rank_tolerance(len(values)) * max(float(values[-1]), 0.0)
    values = values[kept]
    vectors = vectors[:, kept]
    if not has_few_rows:
        return values, z @ vectors, means @ vectors
    # Z Zᵀ = U diag(n λ) Uᵀ,   Z = U diag(√(n λ)) Vᵀ
    lengths = np.sqrt(n * values)
    return values, vectors * lengths, ((means @ z.T) @ vectors) / lengths


def _gaps_of_constants(means: Floats, shares: Floats) -> Floats:
    """Return |μ_j − μ_k|² in features without variance within classes, (K, K).

    Features that separate the classes are given a small variance, and all others the variance 1.
    """
    between = shares @ np.square(means)
    scaled = means / np.sqrt(np.where(between > EPS, SEPARATING_SHARE * between, 1.0))
    products = scaled @ scaled.T
    squares = np.diagonal(products)
    return np.asarray(np.maximum(squares[:, None] + squares - 2 * products, 0.0))
