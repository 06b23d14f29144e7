"""Dense linear algebra with tolerances relative to the scale of the features."""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TypeAlias

import numpy as np

from suffice.typing import Codes, Floats

EPS = float(np.finfo(np.float64).eps)
LOG_2PI = float(np.log(2 * np.pi))
_LAPACK = "scipy.linalg._flapack"
# numbers that are tried as an addition to a diagonal of ones, smallest first
_RIDGES = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)


def _lapack_alone() -> ModuleType:
    """Return SciPy's LAPACK without the rest of ``scipy.linalg``, which takes 0.2 s to import."""
    if "scipy.linalg" not in sys.modules:
        with suppress(ImportError):  # on failure, all of scipy.linalg is imported below
            module = _load_lapack()
            if module is not None:
                return module
    return import_module("scipy.linalg.lapack")


def _load_lapack() -> ModuleType | None:
    """Return SciPy's extension module of LAPACK, or None if it is not in the usual place."""
    package = find_spec("scipy.linalg")
    if package is None:
        return None
    spec = PathFinder.find_spec(_LAPACK, package.submodule_search_locations)
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    sys.modules[_LAPACK] = module
    spec.loader.exec_module(module)
    return module


lapack = _lapack_alone()


def rank_tolerance(d: int) -> float:
    """Return the largest rounding error of an eigenvalue of a d × d correlation matrix."""
    return 64 * d * EPS


def unit_scale(variances: Floats) -> Floats:
    """Return the square roots of the variances, and 1 where a variance is zero."""
    return np.sqrt(np.where(variances > 0, variances, 1.0))


def resolved(variances: Floats, means: Floats, totals: Floats) -> Floats:
    """Return the variances, with zero in place of those that may be rounding errors."""
    # rounding the data can give a constant feature a variance of (16 ε)² (mean² + total variance)
    return np.where(variances > (16 * EPS) ** 2 * (np.square(means) + totals), variances, 0.0)


def correlation(sigma: Floats) -> tuple[Floats, Floats]:
    """Return (C, s) with Σ = diag(s) C diag(s); a zero variance leaves a zero row in C."""
    scale = unit_scale(np.diagonal(sigma))
    return sigma / scale / scale[:, None], scale


def balanced(M: Floats) -> tuple[Floats, Floats]:
    """Return (sᵢ Mᵢⱼ sⱼ, s) with powers of two s for which the size of every row is near one."""
    s = np.ones(len(M))
    for _ in range(8):
        largest = np.abs(s[:, None] * M * s).max(axis=1, initial=0.0)
        positive = np.where(largest > 0, largest, 1.0)
        s = s * np.exp2(-np.round(0.5 * np.log2(positive)))
    return s[:, None] * M * s, s


def scaled_cholesky(sigma: Floats) -> Floats | None:
    """Return lower L with Σ = L Lᵀ, or None if Σ is singular up to rounding."""
    corr, scale = correlation(sigma)  # the test for singularity must not depend on units
    lower, info = lapack.dpotrf(corr, lower=1)
    if info != 0 or np.min(np.diagonal(lower)) ** 2 < rank_tolerance(len(sigma)):
        return None
    return np.asarray(scale[:, None] * lower)


def cholesky_in_place(matrix: Floats) -> Floats:
    """Return lower L with L Lᵀ = A in the memory of A; A must be far from singular."""
    # LAPACK reads columns first: it sees Aᵀ = A, and its upper factor is Lᵀ
    upper, info = lapack.dpotrf(matrix.T, lower=0, overwrite_a=1)
    if info != 0:
        raise np.linalg.LinAlgError(f"matrix is not positive definite at {info - 1}")
    return np.asarray(upper.T)


def smallest_eigenvalue(factor: Floats) -> float:
    """Return an estimate of 1 / |A⁻¹|₁ for A = L Lᵀ, which is at most the smallest eigenvalue.

    The estimate can exceed the exact value, seldom by more than a factor of three (Higham 1988).
    """
    reciprocal, _ = lapack.dpocon(factor.T, 1.0, uplo="U")
    return float(reciprocal)


def contrasts(z: Floats, u: Floats) -> Floats:
    """Return T with TᵀT = ZᵀZ and one row fewer than Z, where uᵀZ = 0 and u > 0; overwrites Z."""
    # a Householder reflection takes u to the last axis, and Z to rows of which the last is zero:
    # tᵢ = zᵢ − uᵢ / (|u| + uₙ) zₙ
    share = u[:-1] / (np.linalg.norm(u) + u[-1])
    t = z[:-1]
    t -= np.outer(share, z[-1])
    return t


def inverse_lower(factor: Floats) -> Floats:
    """Return L⁻¹ for a lower triangular L, stored with zeros in its upper triangle."""
    inverse, info = lapack.dtrtri(factor, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError(f"triangular factor is singular at {info - 1}")
    return np.asarray(inverse)  # LAPACK leaves the zeros of L above the diagonal


def solve_lower(factor: Floats, b: Floats) -> Floats:
    """Return L⁻¹ b for a lower triangular L."""
    solution, info = lapack.dtrtrs(factor.T, b, lower=0, trans=1)
    if info != 0:
        raise np.linalg.LinAlgError(f"triangular factor is singular at {info - 1}")
    return np.asarray(solution)


def solve_lower_transposed(factor: Floats, b: Floats) -> Floats:
    """Return L⁻ᵀ b for a lower triangular L."""
    solution, info = lapack.dtrtrs(factor.T, b, lower=0)
    if info != 0:
        raise np.linalg.LinAlgError(f"triangular factor is singular at {info - 1}")
    return np.asarray(solution)


def dependent_columns(sigma: Floats) -> Codes:
    """Return columns that are combinations of other columns, found by pivoted Cholesky."""
    if not len(sigma):
        return np.zeros(0, np.intp)
    corr, _ = correlation(sigma)
    _, pivots, rank, _ = lapack.dpstrf(corr, lower=1, tol=rank_tolerance(len(sigma)))
    return np.sort(pivots[rank:] - 1)


def symmetric_eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues in ascending order and eigenvectors as columns."""
    from scipy.linalg import eigh  # slow to import, and seldom needed

    values, vectors = eigh((matrix + matrix.T) / 2, check_finite=False)
    return values, vectors


def principal_axes(sigma: Floats) -> tuple[Floats, Floats] | None:
    """Return the variances along the principal axes of Σ, largest first, and the axes as columns.

    Return None if Σ is singular.
    """
    # scale Σ before factoring it, so that features with small variances keep their digits
    root = scaled_cholesky(sigma)
    if root is None:
        return None
    axes, roots, _ = np.linalg.svd(root)
    return np.square(roots), axes


def positive_factor(h: Floats) -> Floats:
    """Return lower L with H = L Lᵀ, after enlarging the diagonal of a singular H slightly."""
    factor = scaled_cholesky(h)
    if factor is not None:
        return factor
    # diag(s) (C + ρ I) diag(s), with the smallest ρ for which the Cholesky factor exists
    corr, scale = correlation(h)
    for ridge in _RIDGES:
        lower, info = lapack.dpotrf(corr + ridge * np.eye(len(h)), lower=1)
        if info == 0:
            break
    return np.asarray(scale[:, None] * lower)


def solve_factored(factor: Floats, g: Floats) -> Floats:
    """Return (L Lᵀ)⁻¹ g."""
    return np.asarray(lapack.dpotrs(factor, g, lower=1)[0])


def solve_semidefinite(h: Floats, b: Floats) -> Floats:
    """Return H⁻¹ b, or the minimum-norm solution if H is numerically singular."""
    factor = scaled_cholesky(h)
    if factor is None:
        return generalised_inverse(h) @ b
    return solve_factored(factor, b)


def generalised_inverse(h: Floats) -> Floats:
    """Return the pseudo-inverse H⁺, without directions that may be rounding errors."""
    # H = diag(s) C diag(s),  C = V diag(e) Vᵀ,  H⁺ = diag(1/s) V diag(1/e) Vᵀ diag(1/s)
    corr, scale = correlation(h)
    e, v = symmetric_eigen(corr)
    resolved_axes = e > rank_tolerance(len(e)) * max(1.0, float(e[-1]))
    half = v[:, resolved_axes] / np.sqrt(e[resolved_axes]) / scale[:, None]
    return half @ half.T


Pair: TypeAlias = tuple[Floats, Floats]  # (s, y): a step s changes the gradient by y


def quasi_newton(
    gradient: Floats,
    pairs: Sequence[Pair],
    inverse: Callable[[Floats], Floats],
) -> Floats:
    """Return H g, where H is ``inverse`` after one BFGS update per pair (Nocedal & Wright 7.4)."""
    q = gradient
    alphas = []
    for s, y in reversed(pairs):
        # α = sᵀq / sᵀy,  q ← q − α y
        alpha = np.vdot(s, q) / np.vdot(s, y)
        alphas.append(alpha)
        q = q - alpha * y
    r = inverse(q)
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        # r ← r + (α − yᵀr / sᵀy) s
        r = r + (alpha - np.vdot(y, r) / np.vdot(s, y)) * s
    return r
