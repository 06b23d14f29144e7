"""Newton's method (iteratively reweighted least squares) with step control."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from suffice.discriminative.descent import Solution, Step, Stopping, follow, low_enough
from suffice.discriminative.rows import PlainRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.discriminative.objective import CurvedPoint, Objective
    from suffice.discriminative.problem import Problem
    from suffice.typing import Floats

_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Newton:
    """Newton steps; the point reached knows its Hessian.

    Once the rule is met, the step already computed there is taken as well: it doubles the
    number of correct digits. Few rows are then summed once more, so that the Hessian has as
    many; many are not, since it is off by no more than the last step.

    References
    ----------
    Boyd & Vandenberghe (2004), *Convex Optimization*, section 9.5.
    """

    default: ClassVar[Stopping] = Stopping(tol=1e-8, max_iter=100)

    def solve(
        self, problem: Problem, start: Floats, stopping: Stopping, *, record: bool = False
    ) -> Solution[CurvedPoint]:
        """Return the minimum of the problem's objective."""
        objective = problem.objective
        solution = follow(newton_steps(objective, start), objective, stopping, record=record)
        if not solution.converged:
            return solution
        return replace(solution, point=_stepped(objective, solution.point))


def newton_steps(objective: Objective, start: Floats) -> Iterator[Step[CurvedPoint]]:
    """Yield the points of damped Newton steps, until the loss cannot be lowered."""
    here, size = objective.curve(start), 0.0
    while True:
        step = here.newton_step()
        decrement = -float(np.vdot(here.gradient, step))
        yield Step(here, size, decrement)
        found = _lower(objective, here, step, decrement)
        if found is None:
            return
        here, size = found


def _stepped(objective: Objective, here: CurvedPoint) -> CurvedPoint:
    """Return the point after one more Newton step; of many rows, as the step promises."""
    step = here.newton_step()
    phi = here.phi + step
    if isinstance(objective.rows, PlainRows):
        return objective.curve(phi)
    # f(φ + Δ) = f(φ) + ½ gᵀΔ, up to third order
    loss = here.loss + 0.5 * float(np.vdot(here.gradient, step))
    misfit = loss - 0.5 * float(np.vdot(phi, objective.pull(phi)))
    return replace(here, phi=phi, loss=loss, misfit=misfit)


def _lower(
    objective: Objective, here: CurvedPoint, step: Floats, decrement: float
) -> tuple[CurvedPoint, float] | None:
    """Return the first point among φ + t Δ, t = 1, ½, ¼ … that is low enough."""
    for halving in range(_HALVINGS):
        t = 0.5**halving
        there = objective.curve(here.phi + t * step)
        if low_enough(here, there, t * decrement):
            return there, t
    return None
