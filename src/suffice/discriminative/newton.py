"""Newton's method (iteratively reweighted least squares), and quasi-Newton steps from a sample.

``logistic_loss.py`` computes the gradient g and the Hessian H.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TypeAlias

import numpy as np

from suffice.core.linalg import Pair, positive_factor, quasi_newton, solve_factored
from suffice.discriminative.design import CompiledDesign, SparseDesign
from suffice.discriminative.logistic_loss import Evaluation, Objective, steepest
from suffice.discriminative.penalty import penalty_value
from suffice.discriminative.problem import WIDEST_HESSIAN, Problem
from suffice.discriminative.solver import Solution, Solver, damped
from suffice.discriminative.stopping import Step, Stopping
from suffice.discriminative.truncated_newton import TruncatedNewton, is_product_affordable
from suffice.typing import Floats

_SAMPLE_SHARE = 16  # the sample has one row for this many rows
_ROWS_PER_PARAMETER = 20
_SAMPLE_STEPS = 2
_MEMORY = 10  # pairs of steps and gradient changes that L-BFGS keeps
_NO_GRADIENT = np.finfo(float).tiny

# g ↦ B⁻¹ g for an approximate Hessian B, shapes (C, D)
InverseHessian: TypeAlias = Callable[[Floats], Floats]


class Newton(Solver):
    """Newton's method, whose last point has a Hessian."""

    default = Stopping(tol=1e-8, max_iter=100)

    def steps(self, problem: Problem, start: Floats) -> Iterator[Step]:
        return damped(problem.objective.curve, start, newton_step)

    def solve(
        self,
        problem: Problem,
        start: Floats,
        stopping: Stopping,
        *,
        record: bool = False,
    ) -> Solution:
        solution = super().solve(problem, start, stopping, record=record)
        if not solution.converged:
            return solution
        # take the step that the last Hessian gives: it doubles the number of correct digits (Boyd &
        # Vandenberghe 2004, *Convex Optimization*, section 9.5)
        return replace(solution, point=_last_step(problem.objective, solution.point))


def newton_step(point: Evaluation) -> Floats:
    """Return −H⁻¹ g, shape (C, D), with a slightly larger diagonal of H if H is singular."""
    # the weights p (1 − p) in H make each step a reweighted least-squares fit (IRLS)
    factor = positive_factor(point.required_hessian())
    return -solve_factored(factor, point.gradient.ravel()).reshape(point.phi.shape)


def _last_step(objective: Objective, point: Evaluation) -> Evaluation:
    """Return the point after one more Newton step, for many rows with a predicted loss."""
    step = newton_step(point)
    phi = point.phi + step
    if not isinstance(objective.design, (CompiledDesign, SparseDesign)):
        return objective.curve(phi)
    # f(φ + Δ) = f(φ) + ½ gᵀΔ, up to terms of third order
    loss = point.loss + 0.5 * float(np.vdot(point.gradient, step))
    misfit = loss - penalty_value(phi, objective.penalty)
    return replace(point, phi=phi, loss=loss, misfit=misfit)


class LimitedMemory(Solver):
    """L-BFGS, whose quasi-Newton steps follow from the last few changes of the gradient."""

    default = Stopping(tol=1e-8, max_iter=1000)

    def steps(self, problem: Problem, start: Floats) -> Iterator[Step]:
        return _limited_memory(problem, start, inverse=None)


class QuasiNewton(LimitedMemory):
    """L-BFGS from the Hessian of a sample of rows, or, for many parameters, truncated Newton steps.

    If there are many parameters, and too many rows to be kept in standard units, the method is
    L-BFGS without a Hessian.
    """

    def steps(self, problem: Problem, start: Floats) -> Iterator[Step]:
        objective = problem.objective
        if start.size <= WIDEST_HESSIAN:
            start, inverse = _sampled_start(objective, start)
            return _limited_memory(problem, start, inverse)
        if is_product_affordable(objective):
            return damped(objective.evaluate, start, TruncatedNewton.of(objective).step)
        return _limited_memory(problem, start, inverse=None)


class SampledNewton(QuasiNewton):
    """Newton's method for many rows, which begins with quasi-Newton steps to save Hessians."""

    # Byrd, Chin, Neveitt & Nocedal (2011), *SIAM Journal on Optimization* 21, 977–995
    default = Newton.default

    def solve(
        self,
        problem: Problem,
        start: Floats,
        stopping: Stopping,
        *,
        record: bool = False,
    ) -> Solution:
        near = super().solve(problem, start, stopping, record=record)
        end = Newton().solve(problem, near.point.phi, stopping, record=record)
        return replace(
            end,
            n_iter=near.n_iter + end.n_iter,
            trace=near.trace + end.trace[1:],
        )


def _limited_memory(
    problem: Problem,
    start: Floats,
    inverse: InverseHessian | None,
) -> Iterator[Step]:
    """Yield the points of L-BFGS, which begins with the given inverse Hessian, if there is one."""
    pairs = deque[Pair](maxlen=_MEMORY)
    if inverse is None:
        n_classes = problem.moments.n_classes
        inverse = partial(_scaled_steepest, pairs=pairs, n_classes=n_classes)
    previous: Evaluation | None = None

    def direction(point: Evaluation) -> Floats:
        nonlocal previous
        if previous is not None:
            s = point.phi - previous.phi
            y = point.gradient - previous.gradient
            if np.vdot(s, y) > 0:
                pairs.append((s, y))
        previous = point
        return -quasi_newton(point.gradient, pairs, inverse)

    return damped(problem.objective.evaluate, start, direction)


def _sampled_start(objective: Objective, start: Floats) -> tuple[Floats, InverseHessian]:
    """Return parameters and inverse Hessian after a few Newton steps on a sample of the rows."""
    n_rows = objective.design.table.n_rows
    n = max(n_rows // _SAMPLE_SHARE, _ROWS_PER_PARAMETER * start.size)
    if n >= n_rows:
        return start, _inverse_of(objective.curve(start).required_hessian())
    sample = objective.sample(n)
    *_, last = islice(damped(sample.curve, start, newton_step), 1 + _SAMPLE_STEPS)
    share = sample.design.total_weight / objective.design.total_weight
    return last.point.phi, _inverse_of(last.point.required_hessian() / share)


def _inverse_of(hessian: Floats) -> InverseHessian:
    """Return the function that multiplies by the inverse of a Hessian (C·D, C·D)."""
    factor = positive_factor(hessian)
    return lambda g: solve_factored(factor, g.ravel()).reshape(g.shape)


def _scaled_steepest(g: Floats, pairs: Sequence[Pair], n_classes: int) -> Floats:
    """Return M⁻¹ g times the inverse curvature along the last step (Nocedal & Wright 7.20)."""
    if not pairs:  # without earlier steps, take a step of length 1
        direction = steepest(g, n_classes)
        return direction / max(float(np.linalg.norm(direction)), _NO_GRADIENT)
    s, y = pairs[-1]
    # H₀ = M⁻¹ sᵀy / yᵀM⁻¹y
    return steepest(g, n_classes) * (np.vdot(s, y) / np.vdot(y, steepest(y, n_classes)))
