"""The best Σ_k = λ_k D_k A_k D_kᵀ of an EDDA family whose axes D_k are restricted.

A restriction is, for example, that all classes share the axes. Each function turns the scatters
into the frame of the axes, where only the diagonals of the scatters matter, and calls a solver of
``edda_forms.py``, which finds the volumes λ_k and the shapes A_k.

The axes that ``common_axes`` finds have no closed form. Its limited-memory quasi-Newton steps are
skew matrices Ω, with D → D Cayley(Ω). Each step and gradient is written in the frame of the D at
which it was computed, and is used in later frames unchanged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from suffice.core.estimation.edda_problem import (
    SLACK,
    TOLERANCE,
    UNFINISHED,
    EddaProblem,
    diagonal,
    roots,
)
from suffice.core.linalg import Pair, quasi_newton
from suffice.errors import NotConvergedWarning, warn
from suffice.typing import Floats

SCOUTS = 12  # number of starting points, each a set of axes
SCOUT_STEPS = 40  # most steps from a starting point
FINALISTS = 3  # number of best points from which the descent continues until it converges
MOST_STEPS = 1000
MEMORY = 10  # number of earlier steps that a quasi-Newton step uses
FLATTEST = 1e-2  # smaller curvatures, which have no unit, are raised to this

# ``common_form`` or ``separate_forms``, which return the best Σ_k = λ_k C_k for scatters (K, m, m)
FormSolver: TypeAlias = Callable[[EddaProblem, Floats], Floats]


def any_axes(problem: EddaProblem, solve: FormSolver, w: Floats) -> Floats:
    """Return the best Σ_k if the axes of C_k are not restricted."""
    return solve(problem, w)


def sphere(problem: EddaProblem, solve: FormSolver, w: Floats) -> Floats:
    """Return the best Σ_k with C = I, which depends on the traces of the scatters only."""
    d = w.shape[-1]
    return solve(problem, (np.trace(w, axis1=1, axis2=2) / d)[:, None, None]) * np.eye(d)


def feature_axes(problem: EddaProblem, solve: FormSolver, w: Floats) -> Floats:
    """Return the best Σ_k with diagonal C, which depends on the diagonals of the scatters only."""
    return solve(problem, w * np.eye(w.shape[-1]))


def separate_axes(problem: EddaProblem, solve: FormSolver, w: Floats) -> Floats:
    """Return the best Σ_k with C_k = D_k A D_kᵀ; it depends on the scatters' eigenvalues only."""
    # for any A, the best D_k are the eigenvectors of W_k in the order of A, largest first
    problem.require_like_units(w)
    f, ranks = roots(w)
    # W_k = F_kᵀ F_k = D_k diag(s²) D_kᵀ
    _, s, axes = np.linalg.svd(f)
    s = np.where(np.arange(w.shape[-1]) < ranks[:, None], s, 0.0)
    return rotated(solve(problem, diagonal(np.square(s))), axes)


def common_axes(problem: EddaProblem, solve: FormSolver, w: Floats) -> Floats:
    """Return the best Σ_k with C_k = D A_k Dᵀ (common principal components) from several starts."""
    problem.require_each_full_rank(w)
    problem.require_like_units(w)
    f, _ = roots(w)
    at = partial(axes_point, problem, f)
    scouts = [
        descend_axes(at(axes), at, SCOUT_STEPS) for axes in starting_axes(problem.weights, f)
    ]
    finalists = sorted(scouts, key=lambda point: point.value)[:FINALISTS]
    ends = [descend_axes(point, at, MOST_STEPS) for point in finalists]
    best = min(ends, key=lambda point: point.value)
    # With gradient g and curvature c, a Newton step in the plane of two axes lowers −2 log L by
    # g²/(2c), so that log L rises by g²/(4c).
    gains = np.square(best.gradient) / (4 * np.maximum(best.curvature, FLATTEST))
    # the sum counts the plane of axes i and j twice, as (i, j) and (j, i)
    gain_per_row = float(gains.sum()) / 2
    if gain_per_row > UNFINISHED:
        warn(
            f"the axes of family {problem.code!r} have not converged: another step would gain "
            f"{gain_per_row:.1g} of log-likelihood per row. Choose a family without common axes, "
            "such as 'VVV' or 'EEE', or drop columns that are nearly combinations of others",
            NotConvergedWarning,
        )
    return rotated(solve(problem, diagonal(np.square(f @ best.axes).sum(1))), best.axes.T)


@dataclass(frozen=True, slots=True, eq=False)
class AxesPoint:
    """The value of a function of D exp(Ω), and its derivatives with respect to Ω, at Ω = 0."""

    axes: Floats  # D  (d, d)
    value: float
    gradient: Floats  # (d, d), skew
    curvature: Floats  # second derivative for the rotation in each plane  (d, d), symmetric


def axes_point(problem: EddaProblem, f: Floats, axes: Floats) -> AxesPoint:
    """Return −2 log L per unit of weight as a function of the axes (Flury & Gautschi 1986).

    ``f`` holds the roots F_k of the scatters, W_k = F_kᵀ F_k, (K, d, d).
    """
    n = problem.weights
    total = n.sum()
    # S_k = Dᵀ W_k D, whose diagonal holds the sums of squares v_kj along each axis
    y = f @ axes
    s = np.swapaxes(y, 1, 2) @ y
    v = np.square(y).sum(1)
    # Σ_k n_k log|Σ_k| = d Σ_k n_k log λ_k,  q_k = (Π_j v_kj)^{1/d}
    q = np.exp(np.log(v).mean(1))
    u = problem.log_volumes(q)
    value = float(v.shape[1] * (n @ u) / total)
    # 1/σ²_kj = q_k / (λ_k v_kj)
    p = (q * np.exp(-u) / total)[:, None] / v
    # ∂/∂Ω = 2 Σ_k (S_k P_k − P_k S_k),  P_k = diag(p_k)
    sp = np.einsum("kij,kj->ij", s, p)
    # ∂²/∂Ω_ij² = 2 Σ_k (v_ki − v_kj)(p_kj − p_ki) if S_k is diagonal (Ablin et al. 2018)
    vp = v.T @ p
    on_diagonal = np.diag(vp)
    return AxesPoint(
        axes=axes,
        value=value,
        gradient=2 * (sp - sp.T),
        curvature=2 * (vp + vp.T - on_diagonal - on_diagonal[:, None]),
    )


def starting_axes(n: Floats, f: Floats) -> list[Floats]:
    """Return the axes from which descents start, as columns of matrices.

    These are the axes of the pooled scatter, of the mean log scatter and of the heaviest classes,
    and random axes.
    """
    d = f.shape[-1]
    _, _, rows_of_pooled = np.linalg.svd(f.reshape(-1, d), full_matrices=False)
    _, s, rows_of_classes = np.linalg.svd(f)
    # the axes of the mean log scatter Σ_k n_k log W_k / n do not depend on the size of a scatter
    shares = n / n.sum()
    mean_log = np.einsum(
        "k,kji,kj,kjl->il", shares, rows_of_classes, np.log(s), rows_of_classes
    )
    _, axes_of_mean_log = np.linalg.eigh(mean_log)
    heaviest = np.argsort(-n, kind="stable")[: SCOUTS // 2]
    starts = [
        rows_of_pooled.T,
        axes_of_mean_log,
        *np.swapaxes(rows_of_classes[heaviest], 1, 2),
    ]
    rng = np.random.default_rng(0)
    while len(starts) < SCOUTS:
        axes, _ = np.linalg.qr(rng.standard_normal((d, d)))
        starts.append(axes)
    return starts


def descend_axes(start: AxesPoint, at: Callable[[Floats], AxesPoint], most: int) -> AxesPoint:
    """Return the point after at most ``most`` descent steps.

    The descent stops when a step would gain less than ``TOLERANCE``.
    """
    point = start
    pairs = deque[Pair](maxlen=MEMORY)
    for _ in range(most):
        inverse = partial(np.multiply, 1 / np.maximum(point.curvature, FLATTEST))
        omega = -quasi_newton(point.gradient, pairs, inverse)
        # divide by 2, since a skew matrix has two entries for each plane
        slope = float(np.vdot(point.gradient, omega)) / 2
        if -slope / 2 <= TOLERANCE:
            break
        # take the first of the step lengths 1, ½, … that decreases the value enough (Armijo)
        t = 1.0
        slack = SLACK * (1 + abs(point.value))
        following = at(point.axes @ cayley(omega))
        while following.value > point.value + 1e-4 * t * slope + slack and t > SLACK:
            t /= 2
            following = at(point.axes @ cayley(t * omega))
        s = t * omega
        y = following.gradient - point.gradient
        # keep the pair only if the function curves upwards along the step
        if np.vdot(s, y) > SLACK * np.linalg.norm(s) * np.linalg.norm(y):
            pairs.append((s, y))
        point = following
    return point


def cayley(omega: Floats) -> Floats:
    """Return the rotation (I − Ω/2)⁻¹ (I + Ω/2) for a skew matrix Ω."""
    eye = np.eye(len(omega))
    return np.asarray(np.linalg.solve(eye - omega / 2, eye + omega / 2), dtype=np.float64)


def rotated(forms: Floats, axes: Floats) -> Floats:
    """Return Dᵀ C D for each C of a stack, where the rows of D are the axes."""
    return np.swapaxes(axes, -1, -2) @ forms @ axes
