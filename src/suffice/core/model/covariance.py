"""Positive definite covariances Σ, in a class for each factorisation, with common methods.

For each row x, ``whiten`` returns z with |z|² = xᵀ Σ⁻¹ x. ``colorize`` is its inverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from suffice.core.linalg import inverse_lower, scaled_cholesky
from suffice.core.model.few_rows_covariance import (
    LowRankCovariance,
    NestedCovariance,
    ShrunkRowsCovariance,
    UnshrunkRowsCovariance,
)
from suffice.core.model.scoring import Scaled, Whitened
from suffice.errors import InvalidInputError
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.core.model.rows_by_pattern import MissingPatterns


@dataclass(frozen=True, slots=True, eq=False)
class FullCovariance:
    """Σ = L Lᵀ."""

    factor: Floats  # L  (d, d), lower triangular
    whitening: Floats  # L⁻¹  (d, d), lower triangular

    @classmethod
    def of(cls, sigma: Floats) -> FullCovariance:
        """Return the factored form of a dense positive definite Σ."""
        factor = scaled_cholesky(sigma)
        if factor is None:
            msg = "covariance is not positive definite: shrink it or drop dependent columns"
            raise InvalidInputError(msg)
        return cls(factor, inverse_lower(factor))

    @classmethod
    def of_root(cls, root: Floats) -> FullCovariance:
        """Return the factors of Σ = A Aᵀ without forming Σ; the rows of A must be independent."""
        factor = lower_factor(root)
        return cls(factor, inverse_lower(factor))

    @property
    def log_det(self) -> float:
        """Log-determinant log|Σ| = 2 Σᵢ log Lᵢᵢ."""
        return float(2 * np.log(np.diagonal(self.factor)).sum())

    def whiten(self, x: Floats) -> Floats:
        """Return z = L⁻¹ x for each row."""
        return x @ self.whitening.T

    def whiten_transposed(self, z: Floats) -> Floats:
        """Return L⁻ᵀ z for each row."""
        return z @ self.whitening

    def colorize(self, z: Floats) -> Floats:
        """Return x = L z for each row."""
        return z @ self.factor.T

    def squared_distances(self, x: Floats) -> Floats:
        """Return xᵀ Σ⁻¹ x for each row, (n,)."""
        return np.asarray(np.square(self.whiten(x)).sum(1))

    def precision_times(self, x: Floats) -> Floats:
        """Return Σ⁻¹ x = L⁻ᵀ L⁻¹ x for each row."""
        return self.whiten(x) @ self.whitening

    def part(self, classes: Codes, constants: Floats, means: Floats) -> Whitened:
        """Return the part of a scorer for the classes that share Σ."""
        return Whitened(classes, constants, means, self.whitening)

    def marginal(self, observed: Codes) -> FullCovariance:
        """Return the covariance Σ_oo of the features ``observed``, which must not be empty."""
        return FullCovariance.of_root(self.factor[observed])

    def conditional(self, observed: Codes, missing: Codes) -> tuple[Floats, Floats, Floats]:
        """Return L_oo, L_mo and L_mm, blocks of the factor of Σ with the observed features first.

        Given x_o, x_m has mean μ_m + L_mo L_oo⁻¹ (x_o − μ_o) and covariance L_mm L_mmᵀ.
        """
        n = len(observed)
        lower = lower_factor(self.factor[np.concatenate([observed, missing])])
        return lower[:n, :n], lower[n:, :n], lower[n:, n:]

    def observed_distances(
        self,
        y: Floats,
        rare: MissingPatterns,
        means: Floats,
    ) -> tuple[Floats, Floats]:
        """Return |L_oo⁻¹ (y_o − μ_o)|² (n, m) and log|Σ_oo| (n,): NaN except for rare patterns."""
        from suffice.core.model.loops import full_distances

        distances = np.full((len(y), len(means)), np.nan)
        log_dets = np.full(len(y), np.nan)
        firsts, counts = rare.runs()
        runs = (rare.order, firsts, counts)
        full_distances(y, runs, self.dense(), means, distances, log_dets)
        return distances, log_dets

    def variances(self) -> Floats:
        """Return the diagonal of Σ, (d,)."""
        return np.asarray(np.square(self.factor).sum(1))

    def precision_diagonal(self) -> Floats:
        """Return the diagonal of Σ⁻¹, (d,)."""
        return np.asarray(np.square(self.whitening).sum(0))

    def dense(self) -> Floats:
        """Return Σ = L Lᵀ."""
        return self.factor @ self.factor.T

    def dense_precision(self) -> Floats:
        """Return Σ⁻¹ = L⁻ᵀ L⁻¹."""
        return self.whitening.T @ self.whitening


@dataclass(frozen=True, slots=True, eq=False)
class DiagonalCovariance:
    """Σ = diag(σ²)."""

    scale: Floats  # σ  (d,)

    @property
    def log_det(self) -> float:
        return float(2 * np.log(self.scale).sum())

    def whiten(self, x: Floats) -> Floats:
        return x / self.scale

    def whiten_transposed(self, z: Floats) -> Floats:
        return z / self.scale

    def colorize(self, z: Floats) -> Floats:
        return z * self.scale

    def squared_distances(self, x: Floats) -> Floats:
        return np.asarray(np.square(self.whiten(x)).sum(1))

    def precision_times(self, x: Floats) -> Floats:
        return x / self.scale**2

    def part(self, classes: Codes, constants: Floats, means: Floats) -> Scaled:
        return Scaled(classes, constants, means, self.scale)

    def marginal(self, observed: Codes) -> DiagonalCovariance:
        return DiagonalCovariance(self.scale[observed])

    def conditional(self, observed: Codes, missing: Codes) -> tuple[Floats, Floats, Floats]:
        uncorrelated = np.zeros((len(missing), len(observed)))
        return np.diag(self.scale[observed]), uncorrelated, np.diag(self.scale[missing])

    def observed_distances(
        self,
        y: Floats,
        rare: MissingPatterns,  # noqa: ARG002
        means: Floats,
    ) -> tuple[Floats, Floats]:
        from suffice.core.model.loops import scaled_distances

        distances = np.empty((len(y), len(means)))
        log_dets = np.empty(len(y))
        inverse = 1 / self.scale
        log_variances = 2 * np.log(self.scale)
        scaled_distances(y, means, inverse, log_variances, distances, log_dets)
        return distances, log_dets

    def variances(self) -> Floats:
        return self.scale**2

    def precision_diagonal(self) -> Floats:
        return self.scale**-2.0

    def dense(self) -> Floats:
        return np.diag(self.scale**2)

    def dense_precision(self) -> Floats:
        return np.diag(self.scale**-2.0)


def lower_factor(root: Floats) -> Floats:
    """Return lower L with L Lᵀ = A Aᵀ and a positive diagonal, for each A (…, m, d)."""
    # Aᵀ = Q R  ⇒  A Aᵀ = Rᵀ R,  L = Rᵀ
    r = np.linalg.qr(root.mT, mode="r")
    signs = np.sign(np.diagonal(r, axis1=-2, axis2=-1))
    return np.asarray((r * signs[..., None]).mT)


Covariance: TypeAlias = (
    FullCovariance
    | DiagonalCovariance
    | ShrunkRowsCovariance
    | UnshrunkRowsCovariance
    | LowRankCovariance
    | NestedCovariance
)
