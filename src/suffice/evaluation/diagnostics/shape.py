"""How far rows are from one Gaussian: skewness, kurtosis and Henze–Zirkler in one pass.

All three depend on the rows only through the products zᵢ·zⱼ of rows whitened by their own
maximum-likelihood covariance, so that no invertible affine map changes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr
from scipy.special import chdtrc, ndtr

from suffice.linalg import EPS, rank_tolerance

if TYPE_CHECKING:
    from suffice.typing import Floats

_BLOCK = 256  # rows of products held at once


@dataclass(frozen=True, slots=True)
class Shape:
    """Three measures of non-normality of n rows in d features, with their p-values."""

    n: int
    d: int  # directions in which the rows vary
    skewness: float  # b₁ = Σᵢⱼ (zᵢ·zⱼ)³ / n²
    kurtosis: float  # b₂ = Σᵢ |zᵢ|⁴ / n
    henze_zirkler: float

    @classmethod
    def of(cls, z: Floats) -> Shape:
        """Return the measures of whitened rows, (n, d)."""
        n, d = z.shape
        r = np.square(z).sum(1)
        beta2 = smoothing(n, d)
        cubes, kernels = _pair_sums(z, r, beta2)
        # HZ = Σᵢⱼ exp(−β²|zᵢ−zⱼ|²/2) / n − 2 (1+β²)^{−d/2} Σᵢ exp(−β²|zᵢ|²/(2(1+β²)))
        #      + n (1+2β²)^{−d/2}
        single = np.exp(-beta2 * r / (2 * (1 + beta2))).sum()
        hz = kernels / n - 2 * (1 + beta2) ** (-d / 2) * single + n * (1 + 2 * beta2) ** (-d / 2)
        return cls(n, d, cubes / n**2, float(np.square(r).mean()), float(hz))

    @property
    def skewness_chi_square(self) -> float:
        """Return the χ² of the skewness with Mardia's correction for few rows."""
        n, d = self.n, self.d
        # c = (d+1)(n+1)(n+3) / (n ((n+1)(d+1) − 6));  χ² = c n b₁ / 6
        c = (d + 1) * (n + 1) * (n + 3) / (n * ((n + 1) * (d + 1) - 6))
        return c * n * self.skewness / 6

    @property
    def kurtosis_z(self) -> float:
        """Return the kurtosis less its exact mean over its exact standard deviation."""
        n, d = self.n, self.d
        # E b₂ = d(d+2)(n−1)/(n+1),  Var b₂ = 8d(d+2)(n−3)(n−d−1)(n−d+1) / ((n+1)²(n+3)(n+5))
        mean = d * (d + 2) * (n - 1) / (n + 1)
        top = 8 * d * (d + 2) * (n - 3) * (n - d - 1) * (n - d + 1)
        return float((self.kurtosis - mean) / np.sqrt(top / ((n + 1) ** 2 * (n + 3) * (n + 5))))

    @property
    def p_values(self) -> tuple[float, float, float]:
        """Return the p-values of skewness, kurtosis (two-sided) and Henze–Zirkler."""
        df = self.d * (self.d + 1) * (self.d + 2) / 6
        skewness = float(chdtrc(df, self.skewness_chi_square))
        return skewness, float(2 * ndtr(-abs(self.kurtosis_z))), self._henze_zirkler_p()

    def extremes(self) -> tuple[float, float, float]:
        """Return the statistics such that larger is less normal, in the order of p_values."""
        return self.skewness, abs(self.kurtosis_z), self.henze_zirkler

    def _henze_zirkler_p(self) -> float:
        # log-normal with the exact mean and variance
        mean, variance = _henze_zirkler_moments(smoothing(self.n, self.d), self.d)
        log_variance = np.log1p(variance / mean**2)
        log_mean = np.log(mean) - log_variance / 2
        statistic = max(self.henze_zirkler, np.finfo(float).tiny)
        return float(ndtr((log_mean - np.log(statistic)) / np.sqrt(log_variance)))


def whitened(x: Floats) -> Floats | None:
    """Return rows z, (n, r), with zᵢ·zⱼ = (xᵢ−x̄)ᵀS⁺(xⱼ−x̄), S = Σ (x−x̄)(x−x̄)ᵀ/n of rank r.

    None where the rows are too few to differ from each other by more than their number, n < r+2.
    """
    mean = x.mean(0)
    centred = x - mean
    centred -= centred.mean(0)
    size = np.linalg.norm(centred, axis=0)
    varying = size > 16 * EPS * np.sqrt(len(x)) * np.abs(mean)
    if not varying.any():
        return None
    # X P = Q R, columns in order of what they add  ⇒  S⁺ = n R⁻¹R⁻ᵀ on the span,  z = √n Q
    q, r, _ = qr(centred[:, varying] / size[varying], mode="economic", pivoting=True)
    rank = int((np.diagonal(r) ** 2 > rank_tolerance(x.shape[1])).sum())
    rows: Floats = np.sqrt(len(x)) * q[:, :rank]
    return rows if len(x) >= rank + 2 else None


def smoothing(n: int, d: int) -> float:
    """Return β² of Henze and Zirkler, β = (n (2d+1) / 4)^{1/(d+4)} / √2."""
    return float((n * (2 * d + 1) / 4) ** (2 / (d + 4)) / 2)


def _pair_sums(z: Floats, r: Floats, beta2: float) -> tuple[float, float]:
    """Return Σᵢⱼ (zᵢ·zⱼ)³ and Σᵢⱼ exp(−β² |zᵢ − zⱼ|²/2), a block of rows at a time."""
    cubes = kernels = 0.0
    for lo in range(0, len(z), _BLOCK):
        rows = slice(lo, lo + _BLOCK)
        g = z[rows] @ z[lo:].T
        squares = np.maximum(r[rows, None] + r[lo:] - 2 * g, 0.0)
        # pairs with later blocks stand for two
        twice = np.where(np.arange(lo, len(z)) < lo + _BLOCK, 1.0, 2.0)
        cubes += float((g * g * g).sum(0) @ twice)
        kernels += float(np.exp(-beta2 / 2 * squares).sum(0) @ twice)
    return cubes, kernels


def _henze_zirkler_moments(b: float, d: int) -> tuple[float, float]:
    """Return mean and variance of the statistic for Gaussian rows; b = β²."""
    # a = 1 + 2β²,  w = (1 + β²)(1 + 3β²)
    a, w, e = 1 + 2 * b, (1 + b) * (1 + 3 * b), d * (d + 2)
    # μ = 1 − a^{−d/2} (1 + dβ²/a + d(d+2)β⁴/(2a²))
    mean = 1 - a ** (-d / 2) * (1 + d * b / a + e * b**2 / (2 * a**2))
    # σ² = 2(1+4β²)^{−d/2} + 2a^{−d}(1 + 2dβ⁴/a² + 3d(d+2)β⁸/(4a⁴))
    #      − 4w^{−d/2}(1 + 3dβ⁴/(2w) + d(d+2)β⁸/(2w²))
    variance = (
        2 * (1 + 4 * b) ** (-d / 2)
        + 2 * a**-d * (1 + 2 * d * b**2 / a**2 + 3 * e * b**4 / (4 * a**4))
        - 4 * w ** (-d / 2) * (1 + 3 * d * b**2 / (2 * w) + e * b**4 / (2 * w**2))
    )
    return mean, variance
