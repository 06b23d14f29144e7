"""Null distributions of Box's M: by its cumulants, by Box's χ² and F, and by simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import polygamma

from suffice.evaluation.diagnostics.nulls import ChiSquareTest, FTest
from suffice.evaluation.diagnostics.wishart import wishart_roots

if TYPE_CHECKING:
    from suffice.typing import Floats

DRAWS_AT_ONCE = 1 << 20  # numbers held while simulating
MANY = 1e7  # degrees of freedom beyond which χ² is exact and differences of cumulants are not


def corrections(v: Floats, d: int) -> tuple[float, float, float]:
    """Return Box's c₁ and c₂ and the degrees of freedom."""
    k = len(v)
    # c₁ = (Σ 1/v_k − 1/v) (2d² + 3d − 1) / (6 (d+1)(K−1))
    c1 = ((1 / v).sum() - 1 / v.sum()) * (2 * d**2 + 3 * d - 1) / (6 * (d + 1) * (k - 1))
    # c₂ = (Σ 1/v_k² − 1/v²) (d−1)(d+2) / (6 (K−1))
    c2 = ((1 / v**2).sum() - 1 / v.sum() ** 2) * (d - 1) * (d + 2) / (6 * (k - 1))
    return float(c1), float(c2), d * (d + 1) * (k - 1) / 2


def chi_square_test(m: float, v: Floats, d: int) -> ChiSquareTest:
    """Return (1 − c₁) M against χ², NaN where classes are too small for it."""
    c1, _, df = corrections(v, d)
    return ChiSquareTest((1 - c1) * m if c1 < 1 else float("nan"), df)


def f_test(m: float, v: Floats, d: int) -> FTest:
    """Return M against F, NaN where classes are too small for it."""
    c1, c2, df = corrections(v, d)
    gap = c2 - c1**2
    if gap == 0:
        return FTest((1 - c1) * m / df, df, float("inf"))
    df2 = (df + 2) / abs(gap)
    if gap > 0:
        # F = M / b,  b = df / (1 − c₁ − df/df₂)
        b = df / (1 - c1 - df / df2)
        return FTest(m / b if b > 0 else float("nan"), df, df2)
    # F = df₂ M / (df (b − M)),  b = df₂ / (1 − c₁ + 2/df₂); beyond b no M is possible
    b = df2 / (1 - c1 + 2 / df2)
    if b <= 0:
        return FTest(float("nan"), df, df2)
    return FTest(df2 * m / (df * (b - m)) if m < b else float("inf"), df, df2)


def null_draws(v: Floats, d: int, n_draws: int, rng: np.random.Generator) -> Floats:
    """Return M of classes that share one covariance; which one does not matter."""
    size = max(1, DRAWS_AT_ONCE // d**2)
    parts = [min(size, n_draws - lo) for lo in range(0, n_draws, size)]
    return np.concatenate([_null_part(v, d, n, rng) for n in parts])


def _null_part(v: Floats, d: int, n_draws: int, rng: np.random.Generator) -> Floats:
    pooled, own = np.zeros((n_draws, d, d)), np.zeros(n_draws)
    for v_k in v:
        root = wishart_roots(v_k, d, n_draws, rng)
        pooled += root @ root.transpose(0, 2, 1)
        # log |W_k / v_k| = 2 Σ_j log A_jj − d log v_k
        log_diagonal = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)
        own += v_k * (2 * log_diagonal - d * np.log(v_k))
    draws: Floats = v.sum() * np.linalg.slogdet(pooled / v.sum())[1] - own
    return draws


def cumulant_test(m: float, v: Floats, d: int) -> ChiSquareTest:
    """Return M, shifted and scaled, against the χ² that has its first three cumulants."""
    if v.min() > MANY:
        return chi_square_test(m, v, d)
    k1, k2, k3 = (_cumulant(v, d, r) for r in (1, 2, 3))
    # M ≈ a + b χ²_ν:  κ₁ = a + bν,  κ₂ = 2b²ν,  κ₃ = 8b³ν
    b, nu = k3 / (4 * k2), 8 * k2**3 / k3**2
    return ChiSquareTest((m - (k1 - b * nu)) / b, nu)


def _cumulant(v: Floats, d: int, order: int) -> float:
    """Return a cumulant of M where the covariances are equal."""
    # M is independent of W = Σ W_k, so that the cumulants of −Σ v_k log|W_k/v_k| are those of
    # M plus those of −v log|W/v|
    total = v.sum(keepdims=True)
    own, pooled = _log_det_cumulants(v, d, order), _log_det_cumulants(total, d, order)
    return float(((-v) ** order * own).sum() - ((-total) ** order * pooled).sum())


def log_det_moments(v: Floats, d: int) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of log |W/v| for W ~ Wishart(v, I), (K,) each."""
    return _log_det_cumulants(v, d, 1), np.sqrt(_log_det_cumulants(v, d, 2))


def _log_det_cumulants(v: Floats, d: int, order: int) -> Floats:
    """Return a cumulant of log |W/v| for W ~ Wishart(v, I), shape (K,)."""
    # log |W| = Σ_j log χ²_{v−j};  κ_r(log χ²_f) = ψ^(r−1)(f/2), and log 2 more for r = 1
    sums: Floats = polygamma(order - 1, (v[:, None] - np.arange(d)) / 2).sum(1)
    return sums + d * (np.log(2) - np.log(v)) if order == 1 else sums
