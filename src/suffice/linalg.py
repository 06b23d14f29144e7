"""The few dense kernels the library needs; every tolerance is relative to feature scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh, lapack

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats

EPS = float(np.finfo(np.float64).eps)
LOG_2PI = float(np.log(2 * np.pi))


def rank_tolerance(d: int) -> float:
    """Return the eigenvalue of a d × d correlation matrix that rounding alone can leave."""
    return 64 * d * EPS


def unit_scale(variances: Floats) -> Floats:
    """Return √variance, and 1 where there is none."""
    return np.sqrt(np.where(variances > 0, variances, 1.0))


def correlation(sigma: Floats) -> tuple[Floats, Floats]:
    """Return (C, s) with Σ = diag(s) C diag(s); a zero variance leaves a zero row in C."""
    scale = unit_scale(np.diagonal(sigma))
    return sigma / scale / scale[:, None], scale


def scaled_cholesky(sigma: Floats) -> Floats | None:
    """Return lower L with Σ = L Lᵀ, or None where Σ is singular up to rounding.

    The factorisation is of the correlation matrix, so that units do not matter.
    """
    corr, scale = correlation(sigma)
    lower, info = lapack.dpotrf(corr, lower=1)
    if info != 0 or np.min(np.diagonal(lower)) ** 2 < rank_tolerance(len(sigma)):
        return None
    factor: Floats = scale[:, None] * lower
    return factor


def inverse_lower(factor: Floats) -> Floats:
    """Return L⁻¹ of a lower triangular L."""
    inverse: Floats
    inverse, info = lapack.dtrtri(factor, lower=1)
    if info != 0:
        msg = f"triangular factor is singular at {info - 1}"
        raise np.linalg.LinAlgError(msg)
    return np.tril(inverse)


def dependent_columns(sigma: Floats) -> Codes:
    """Return the columns that are combinations of the others, by pivoted Cholesky."""
    corr, _ = correlation(sigma)
    tol = rank_tolerance(len(sigma))
    _, pivots, rank, _ = lapack.dpstrf(corr, lower=1, tol=tol)
    columns: Codes = np.sort(pivots[rank:] - 1)
    return columns


def symmetric_eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues in ascending order and eigenvectors as columns."""
    values, vectors = eigh((matrix + matrix.T) / 2, check_finite=False)
    return values, vectors


def solve_lower(factor: Floats, b: Any) -> Floats:
    """Return L⁻¹ b."""
    solution: Floats
    solution, _ = lapack.dtrtrs(factor, b, lower=1)
    return solution
