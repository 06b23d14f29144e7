"""One set of axes for all classes, each class with its own variances along them (EVE, VVE).

The axes D minimise a smooth function of an orthogonal matrix, by limited-memory quasi-Newton
steps: a step is a skew matrix Ω in the moving frame, D → D Cayley(Ω), so that earlier steps and
gradients need no transport from one D to the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from suffice.estimation.edda.volumes import (
    MOST_STEPS,
    SLACK,
    TOLERANCE,
    EddaProblem,
    Parts,
    Pattern,
    diagonal,
    roots,
    turned,
)
from suffice.linalg import Pair, quasi_newton
from suffice.typing import Floats

SCOUTS = 12  # starting axes
SCOUT_STEPS = 40  # steps each may take
FINALISTS = 3  # the best, which go on until they converge
MEMORY = 10
UNFINISHED = 1e-9  # gain of log-likelihood, per unit of weight, that is worth a warning
FLATTEST = 1e-2  # curvatures are dimensionless; flatter or negative ones count as this


def shared_axes(problem: EddaProblem, pattern: Pattern, w: Floats) -> Parts:
    """Return the best parts with C_k = D A_k Dᵀ: common principal components.

    The likelihood may have several maxima in D. Several starts go a short way, the best of them
    go on until they converge, and the best of these is the answer.
    """
    problem.require_full_rank(w)
    problem.require_like_units(w)
    f, _ = roots(w)
    at = partial(axes_point, problem, f)
    scouts = [descend(at(axes), at, SCOUT_STEPS) for axes in starting_axes(problem.weights, f)]
    finalists = sorted(scouts, key=lambda point: point.value)[:FINALISTS]
    ends = [descend(point, at, MOST_STEPS) for point in finalists]
    best = min(ends, key=lambda point: point.value)
    # what a Newton step by the curvature of each plane alone would gain
    left = float(np.vdot(best.gradient, best.gradient / np.maximum(best.curvature, FLATTEST))) / 4
    if left > UNFINISHED:
        problem.warn_unfinished(left)
    axes = best.axes
    parts = pattern(problem, diagonal(np.square(f @ axes).sum(1)))
    return Parts(parts.log_volumes, turned(parts.forms, axes.T))


def axes_point(problem: EddaProblem, roots: Floats, axes: Floats) -> AxesPoint:
    """Return −2 log-likelihood per unit of weight, variances fitted, as a function of the axes.

    Value, gradient and curvature are for D → D exp(Ω), Ω skew, at Ω = 0; W_k = F_kᵀ F_k has the
    root F_k. Flury & Gautschi (1986), SIAM J. Sci. Stat. Comput. 7; Browne & McNicholas (2014),
    Adv. Data Anal. Classif. 8; the preconditioner is that of Ablin, Cardoso & Gramfort (2018).
    """
    n, total = problem.weights, problem.weights.sum()
    # M_k = Dᵀ W_k D,  its diagonal w_kj
    y = roots @ axes
    m = np.swapaxes(y, 1, 2) @ y
    w = np.square(y).sum(1)
    # Σ_k n_k log|Σ_k| = d Σ_k n_k log λ_k,  q_k = (Π_j w_kj)^{1/d}
    q = np.exp(np.log(w).mean(1))
    u = problem.settle(q)
    value = float(w.shape[1] * (n @ u) / total)
    # 1/σ²_kj = q_k / (λ_k w_kj)
    p = (q * np.exp(-u) / total)[:, None] / w
    # ∂/∂Ω = 2 Σ_k (M_k P_k − P_k M_k)
    mp = np.einsum("kij,kj->ij", m, p)
    # ∂²/∂Ω_ij² = 2 Σ_k (w_ki − w_kj)(p_kj − p_ki) where M_k is diagonal
    wp = w.T @ p
    own = np.diag(wp)
    return AxesPoint(axes, value, 2 * (mp - mp.T), 2 * (wp + wp.T - own - own[:, None]))


def starting_axes(n: Floats, f: Floats) -> list[Floats]:
    """Return eigenvectors of pooled, log-averaged and heaviest scatters, and random axes."""
    d = f.shape[-1]
    _, s, axes = np.linalg.svd(f)
    pooled = np.linalg.svd(f.reshape(-1, d), full_matrices=False)[2].T
    # exp(Σ_k n_k log W_k / n): the same whichever class is measured in larger units
    logs = np.einsum("k,kji,kj,kjl->il", n / n.sum(), axes, np.log(s), axes)
    heaviest = np.argsort(-n, kind="stable")[: SCOUTS // 2]
    named = [pooled, np.linalg.eigh(logs)[1], *np.swapaxes(axes[heaviest], 1, 2)]
    rng = np.random.default_rng(0)
    others = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(SCOUTS - len(named))]
    return [*named, *others]


@dataclass(frozen=True, slots=True, eq=False)
class AxesPoint:
    """A function and its derivatives at D exp(Ω), Ω = 0."""

    axes: Floats  # D  (d, d)
    value: float
    gradient: Floats  # (d, d), skew
    curvature: Floats  # (d, d), symmetric: of each plane rotation alone


def descend(start: AxesPoint, at: Callable[[Floats], AxesPoint], most: int) -> AxesPoint:
    """Go downhill from a point until a step would gain next to nothing, or ``most`` are taken."""
    here, pairs = start, deque[Pair](maxlen=MEMORY)
    for _ in range(most):
        inverse = partial(np.multiply, 1 / np.maximum(here.curvature, FLATTEST))
        omega = -quasi_newton(here.gradient, pairs, inverse)
        # each plane is counted twice in a skew matrix
        slope = float(np.vdot(here.gradient, omega)) / 2
        if -slope / 2 <= TOLERANCE:
            break
        # the first of the steps 1, ½, … that gains its fair share
        t, slack = 1.0, SLACK * (1 + abs(here.value))
        there = at(here.axes @ cayley(omega))
        while there.value > here.value + 1e-4 * t * slope + slack and t > SLACK:
            t /= 2
            there = at(here.axes @ cayley(t * omega))
        s, y = t * omega, there.gradient - here.gradient
        if np.vdot(s, y) > SLACK * np.linalg.norm(s) * np.linalg.norm(y):  # it curves upwards
            pairs.append((s, y))
        here = there
    return here


def cayley(omega: Floats) -> Floats:
    """Return the rotation (I − Ω/2)⁻¹ (I + Ω/2) of a skew Ω."""
    eye = np.eye(len(omega))
    return np.asarray(np.linalg.solve(eye - omega / 2, eye + omega / 2), dtype=np.float64)
