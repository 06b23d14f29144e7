"""A positive definite Σ, known by its verbs: one class per factorisation, all with the same verbs.

No other file asks which factorisation it has: ``whiten`` gives z with |z|² = xᵀ Σ⁻¹ x for each row
and ``colorize`` undoes it, so that standard normal rows become rows of N(0, Σ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from suffice.errors import InvalidInputError
from suffice.linalg import inverse_lower, scaled_cholesky
from suffice.model.scoring import Scaled, Whitened

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class FullCovariance:
    """Σ = L Lᵀ."""

    factor: Floats  # L  (d, d), lower triangular
    whitening: Floats  # L⁻¹  (d, d), lower triangular

    @classmethod
    def of(cls, sigma: Floats) -> FullCovariance:
        """Factor a dense positive definite Σ."""
        factor = scaled_cholesky(sigma)
        if factor is None:
            msg = "covariance is not positive definite: shrink it or drop dependent columns"
            raise InvalidInputError(msg)
        return cls(factor, inverse_lower(factor))

    @classmethod
    def of_root(cls, root: Floats) -> FullCovariance:
        """Return Σ = A Aᵀ of an invertible A, without forming the product."""
        # Aᵀ = Q R  ⇒  Σ = Rᵀ R,  L = Rᵀ with a positive diagonal
        r = np.linalg.qr(root.T, mode="r")
        factor = (r * np.sign(np.diagonal(r))[:, None]).T
        return cls(factor, inverse_lower(factor))

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.factor)

    @property
    def log_det(self) -> float:
        """Log-determinant log|Σ| = 2 Σᵢ log Lᵢᵢ."""
        return float(2 * np.log(np.diagonal(self.factor)).sum())

    def whiten(self, x: Floats) -> Floats:
        """Return z = L⁻¹ x for each row."""
        return x @ self.whitening.T

    def colorize(self, z: Floats) -> Floats:
        """Return x = L z for each row."""
        return z @ self.factor.T

    def precision_times(self, x: Floats) -> Floats:
        """Return Σ⁻¹ x = L⁻ᵀ L⁻¹ x for each row."""
        return self.whiten(x) @ self.whitening

    def part(self, classes: Codes, constants: Floats, means: Floats) -> Whitened:
        """Return what scores the classes that share Σ."""
        return Whitened(classes, constants, means, self.whitening)

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
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.scale)

    @property
    def log_det(self) -> float:
        """Log-determinant log|Σ| = 2 Σᵢ log σᵢ."""
        return float(2 * np.log(self.scale).sum())

    def whiten(self, x: Floats) -> Floats:
        """Return z = x / σ for each row."""
        return x / self.scale

    def colorize(self, z: Floats) -> Floats:
        """Return x = σ z for each row."""
        return z * self.scale

    def precision_times(self, x: Floats) -> Floats:
        """Return Σ⁻¹ x = x / σ² for each row."""
        return x / self.scale**2

    def part(self, classes: Codes, constants: Floats, means: Floats) -> Scaled:
        """Return what scores the classes that share Σ."""
        return Scaled(classes, constants, means, self.scale)

    def dense(self) -> Floats:
        """Return Σ = diag(σ²)."""
        return np.diag(self.scale**2)

    def dense_precision(self) -> Floats:
        """Return Σ⁻¹ = diag(σ⁻²)."""
        return np.diag(self.scale**-2.0)


Covariance: TypeAlias = FullCovariance | DiagonalCovariance
