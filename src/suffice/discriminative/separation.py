"""Test whether classes are separable, so that the likelihood has no maximum.

Classes are separable if, for some direction δ, (δ_y − δ_k)ᵀz ≥ 0 holds for all rows z, where y is
the class of the row and k any other class, a rival, and not all these numbers are zero. This linear
program is solved on a growing set of the hardest rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from suffice.core.linalg import scaled_cholesky
from suffice.core.table.table import Table
from suffice.discriminative.design import Design
from suffice.discriminative.logistic_loss import Evaluation, all_scores
from suffice.discriminative.problem import Problem
from suffice.discriminative.solver import Solution
from suffice.typing import Codes, Floats

# if the curvature falls below this share of the curvature at φ = 0, separation is possible
_FLAT = 1e-6
# a row, scaled to size one, contradicts a direction if its margin is below minus this
_VIOLATED = 1e-8
_GAINED = 1e-9
_NONZERO = 1e-7
_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_SAMPLE = 10_000
_ROUNDS = 30
_WIDEST = 1500  # with more parameters, the linear program takes too long


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """The way in which classes are separated (Albert & Anderson 1984, *Biometrika* 71, 1–10)."""

    # whether every row lies on its class's side; else some lie on a boundary (quasi-separation)
    complete: bool
    # columns that have a coefficient in a sparse direction that separates the classes
    features: Codes


def find_separation(problem: Problem, solution: Solution) -> Separation | None:
    """Return how the classes are separated, or None if they are not separable.

    ``solution`` is the end of a descent without penalty. With more than 1500 parameters, only
    complete separation is found.
    """
    point = solution.point
    if solution.converged and not _is_flat(problem, point):
        return None
    design = problem.objective.design
    complete = bool(_hardest(design, point.phi, 1)[0, 0] > 0)
    unexplained = Separation(complete, np.empty(0, np.intp)) if complete else None
    if point.phi.size > _WIDEST:
        return unexplained
    gain = _gain(problem)
    steepest = _separating(design, point.phi, lambda a: _steepest_program(a, gain))
    if steepest is None:
        return unexplained
    shape = point.phi.shape
    sparse = _separating(design, point.phi, lambda a: _sparsest_program(a, gain, shape))
    size = np.zeros(0) if sparse is None else np.abs(sparse[:, 1:]).max(0, initial=0.0)
    return Separation(complete, np.flatnonzero(size > _NONZERO * size.max(initial=0.0)))


def _is_flat(problem: Problem, point: Evaluation) -> bool:
    """Return whether the loss is flat in some direction, compared with the loss at φ = 0."""
    c, d = point.phi.shape
    if c * d > _WIDEST:
        return True
    terms = np.setdiff1d(np.arange(d), 1 + problem.aliased)
    # at φ = 0, every class has p = 1/K, and the Hessian is (diag(1/K) − 1/K²) ⊗ Σ w z zᵀ
    classes_at_zero = (np.eye(c) - 1 / (c + 1)) / (c + 1)
    at_zero = np.kron(classes_at_zero, problem.products[np.ix_(terms, terms)])
    hessian = point.hessian
    if hessian is None:
        objective = problem.objective
        sample = objective.sample(max(_SAMPLE, objective.design.table.n_rows // 8))
        hessian = sample.curve(point.phi).required_hessian()
    kept = (np.arange(c)[:, None] * d + terms).ravel()
    return scaled_cholesky(hessian[np.ix_(kept, kept)] - _FLAT * at_zero) is None


def _gain(problem: Problem) -> Floats:
    """Return c with cᵀδ ∝ Σ (δ_y − δ_k)ᵀz over all rows and rivals k, scaled to one, (C·D,)."""
    m = problem.moments
    scaling = problem.scaling
    means = (m.centred_means + m.grand_mean - scaling.centre) * scaling.inverse
    sums = m.weights[:, None] * np.column_stack([np.full(len(means), scaling.lead), means])
    gain = (m.n_classes * sums - sums.sum(0))[1:].ravel()
    return np.asarray(gain / np.abs(gain).max())


def _constraints(block: Table, delta: Floats, n: int) -> Floats:
    """Return the n constraints (δ_y − δ_k)ᵀz ≥ 0, |z| ≤ 1, of a block with the smallest margins.

    Each row (1 + C·D,) of the result holds the margin in the direction δ and the coefficients.
    """
    scale = np.maximum(np.abs(block.x).max(1), np.finfo(float).tiny)
    scores = all_scores(delta @ block.x.T) / scale
    row = np.arange(len(scale))
    margins = scores[block.codes, row] - scores  # (K, n)
    margins[block.codes, row] = np.inf
    least = _least(margins.ravel(), n)
    least = least[np.isfinite(margins.ravel()[least])]
    rivals, row = np.unravel_index(least, margins.shape)
    z = block.x[row] / scale[row, None]
    place = np.arange(len(row))
    matrix = np.zeros((len(row), len(scores), block.n_features))
    matrix[place, block.codes[row]] += z
    matrix[place, rivals] -= z
    # the first class has the score zero, and no coefficients
    return np.column_stack([margins[rivals, row], matrix[:, 1:].reshape(len(row), -1)])


def _hardest(design: Design, delta: Floats, n: int) -> Floats:
    """Return the n constraints of all rows with the smallest margins in direction δ (C, D)."""
    best = np.empty((0, 1 + delta.size))
    for block in design.blocks():
        best = np.vstack([best, _constraints(block, delta, n)])
        best = best[_least(best[:, 0], n)]
    return best


def _least(margins: Floats, n: int) -> Codes:
    """Return the positions of the n smallest margins, not sorted."""
    return np.argpartition(margins, min(n, len(margins)) - 1)[:n]


def _separating(
    design: Design,
    start: Floats,
    program: Callable[[Floats], Floats | None],
) -> Floats | None:
    """Return a direction (C, D) that no row contradicts, or None if there is no such direction."""
    n = int(np.clip(10 * start.size, 200, 2000))
    working = _hardest(design, start, n)
    for _ in range(_ROUNDS):
        direction = program(working[:, 1:])
        if direction is None:
            return None
        delta = direction.reshape(start.shape)
        least = _hardest(design, delta, n)
        violated = least[:, 0] < -_VIOLATED * np.abs(delta).max()
        if not violated.any():
            return delta
        working = np.vstack([working, least[violated]])
    return None


def _steepest_program(a: Floats, gain: Floats) -> Floats | None:
    """Return the δ that maximises cᵀδ with Aδ ≥ 0, |δ| ≤ 1, or None if the maximum is zero."""
    constraints: _Constraints = {"A_ub": -a, "b_ub": np.zeros(len(a)), "bounds": (-1, 1)}
    delta = _solved(-gain, constraints)
    if delta is None or gain @ delta < _GAINED:
        return None
    return delta


def _sparsest_program(a: Floats, gain: Floats, shape: tuple[int, ...]) -> Floats | None:
    """Return the δ that minimises Σ|δ_j|, without intercepts, with Aδ ≥ 0 and cᵀδ = 1."""
    cost = np.ones((2, *shape))
    cost[:, :, 0] = 0.0
    # write δ = u − v with u, v ≥ 0
    constraints: _Constraints = {
        "A_ub": np.hstack([-a, a]),
        "b_ub": np.zeros(len(a)),
        "A_eq": np.concatenate([gain, -gain])[None],
        "b_eq": np.ones(1),
    }
    parts = _solved(cost.ravel(), constraints)
    if parts is None:
        return None
    return parts[: gain.size] - parts[gain.size :]


class _Constraints(TypedDict, total=False):
    """Constraints of a linear program, with the names of ``scipy.optimize.linprog``."""

    A_ub: Floats
    b_ub: Floats
    A_eq: Floats
    b_eq: Floats
    bounds: tuple[float, float]


def _solved(cost: Floats, constraints: _Constraints) -> Floats | None:
    """Return the solution of a linear program, with looser tolerances if tight tolerances fail."""
    from scipy.optimize import linprog

    for options in (_TIGHT, {}):
        result = linprog(cost, **constraints, options=options)
        if result.success:
            return np.asarray(result.x)
    return None
