"""Solving with a Hessian that may be singular, by tolerances free of units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack

from suffice.linalg import correlation, rank_tolerance, scaled_cholesky, symmetric_eigen

if TYPE_CHECKING:
    from suffice.typing import Floats

_RIDGES = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)  # of a unit diagonal


def solve_positive(h: Floats, g: Floats) -> Floats:
    """Return H⁻¹ g; where H is singular up to rounding, with a slightly larger diagonal."""
    return solve_factored(positive_factor(h), g)


def positive_factor(h: Floats) -> Floats:
    """Return lower L with H = L Lᵀ, or of H with a slightly larger diagonal."""
    factor = scaled_cholesky(h)
    return _ridged_cholesky(h) if factor is None else factor


def solve_factored(factor: Floats, g: Floats) -> Floats:
    """Return (L Lᵀ)⁻¹ g."""
    solution: Floats
    solution, _ = lapack.dpotrs(factor, g, lower=1)
    return solution


def solve_semidefinite(h: Floats, b: Floats) -> Floats:
    """Return H⁻¹ b; where H is singular up to rounding, the solution of least length."""
    factor = scaled_cholesky(h)
    return generalised_inverse(h) @ b if factor is None else solve_factored(factor, b)


def generalised_inverse(h: Floats) -> Floats:
    """Return H⁺, taken after scaling, over the directions that are not rounding.

    With H = diag(s) C diag(s) and C = V diag(e) Vᵀ, H⁺ = diag(1/s) V diag(1/e) Vᵀ diag(1/s).
    """
    corr, scale = correlation(h)
    e, v = symmetric_eigen(corr)
    known = e > rank_tolerance(len(e)) * max(1.0, float(e[-1]))
    half = v[:, known] / np.sqrt(e[known]) / scale[:, None]
    return half @ half.T


def _ridged_cholesky(h: Floats) -> Floats:
    """Return the factor of diag(s) (C + ρ I) diag(s) for the first ρ that has one."""
    corr, scale = correlation(h)
    for ridge in _RIDGES:
        lower, info = lapack.dpotrf(corr + ridge * np.eye(len(h)), lower=1)
        if info == 0:
            break
    factor: Floats = scale[:, None] * lower
    return factor
