"""Gradient descent on the mean loss, with a constant learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from suffice.discriminative.contrasts import steepest
from suffice.discriminative.descent import Solution, Step, Stopping, follow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.discriminative.objective import Objective, Point
    from suffice.discriminative.problem import Problem
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True)
class GradientDescent:
    """w_k ← w_k − η ∂(mean loss)/∂w_k for every class, in the units of the problem.

    Without a rate, η = 1 / L, L the greatest curvature that the mean loss can have; it is sure
    to descend up to 2 / L.
    """

    rate: float | None = None
    default: ClassVar[Stopping] = Stopping(tol=1e-8, max_iter=10_000)

    def solve(
        self, problem: Problem, start: Floats, stopping: Stopping, *, record: bool = False
    ) -> Solution[Point]:
        """Return where the descent ends."""
        rate = self.rate or safe_rate(problem)
        objective = problem.objective
        steps = gradient_steps(objective, start, rate)
        return follow(steps, objective, stopping, record=record)


def gradient_steps(objective: Objective, start: Floats, rate: float) -> Iterator[Step[Point]]:
    """Yield the points of steps of constant rate, for ever."""
    here, size = objective.evaluate(start), 0.0
    while True:
        yield Step(here, size)
        # φ ← φ − (η / W) M⁻¹ g
        g = steepest(here.gradient, objective.rows.n_classes) / objective.rows.total_weight
        here, size = objective.evaluate(here.phi - rate * g), rate


def safe_rate(problem: Problem) -> float:
    """Return 1 / L: no Hessian of the mean loss has an eigenvalue above L."""
    bound = problem.bound
    greatest = bound.sum() if bound.ndim == 1 else np.linalg.eigvalsh(bound)[-1]
    return problem.moments.total_weight / float(greatest)
