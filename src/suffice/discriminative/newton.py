"""Newton's method (iteratively reweighted least squares) with step control."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from suffice.discriminative.descent import Solution, Step, Stopping, backtracked, follow
from suffice.discriminative.design import SmallDesign
from suffice.discriminative.logistic_loss import CurvedEvaluation, Objective
from suffice.discriminative.problem import Problem
from suffice.typing import Floats


@dataclass(frozen=True, slots=True)
class Newton:
    """Newton steps; the point reached knows its Hessian.

    Once the rule is met, the step already computed there is taken as well: it doubles the
    number of correct digits. Few rows are then summed once more, so that the Hessian has as
    many; many are not, since it is off by no more than the last step (Boyd & Vandenberghe 2004,
    *Convex Optimization*, section 9.5).
    """

    default: ClassVar[Stopping] = Stopping(tol=1e-8, max_iter=100)

    def solve(
        self, problem: Problem, start: Floats, stopping: Stopping, *, record: bool = False
    ) -> Solution[CurvedEvaluation]:
        """Return the minimum of the problem's objective."""
        objective = problem.objective
        solution = follow(newton_steps(objective, start), objective, stopping, record=record)
        if not solution.converged:
            return solution
        return replace(solution, point=_stepped(objective, solution.point))


def newton_steps(objective: Objective, start: Floats) -> Iterator[Step[CurvedEvaluation]]:
    """Yield the points of damped Newton steps, until the loss cannot be lowered."""
    here, size = objective.curve(start), 0.0
    while True:
        step = here.newton_step()
        decrement = -float(np.vdot(here.gradient, step))
        yield Step(here, size, decrement)
        found = backtracked(objective.curve, here, step, decrement)
        if found is None:
            return
        here, size = found


def _stepped(objective: Objective, here: CurvedEvaluation) -> CurvedEvaluation:
    """Return the point after one more Newton step; of many rows, as the step promises."""
    step = here.newton_step()
    phi = here.phi + step
    if isinstance(objective.design, SmallDesign):
        return objective.curve(phi)
    # f(φ + Δ) = f(φ) + ½ gᵀΔ, up to third order
    loss = here.loss + 0.5 * float(np.vdot(here.gradient, step))
    misfit = loss - 0.5 * float(np.vdot(phi, objective.pull(phi)))
    return replace(here, phi=phi, loss=loss, misfit=misfit)
