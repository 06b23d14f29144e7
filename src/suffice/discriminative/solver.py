"""Base class of the solvers of logistic regression, which follow a descent until it stops."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from suffice.core.progress import Progress
from suffice.discriminative.descent import PathPoint
from suffice.discriminative.logistic_loss import Evaluation
from suffice.discriminative.problem import Problem
from suffice.discriminative.stopping import Step, Stopping
from suffice.errors import InvalidInputError
from suffice.typing import Floats

_HALVINGS = 40
_SUFFICIENT = 1e-4  # α of Armijo's rule
_ROUNDING = 1e-12  # relative rounding error of a long sum, such as the loss
_NOT_KEPT = np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The last point of a descent, and the course of the descent."""

    point: Evaluation
    n_iter: int
    converged: bool
    # all points from the start; with parameters (C, D) if these were recorded
    trace: list[PathPoint]


class Solver(ABC):
    """A method of descent, which yields the points that it visits, and a default stopping rule."""

    default: ClassVar[Stopping]

    @abstractmethod
    def steps(self, problem: Problem, start: Floats) -> Iterator[Step]:
        """Yield the points of a descent from ``start`` (C, D), perhaps without end."""

    @np.errstate(over="ignore", invalid="ignore")
    def solve(
        self,
        problem: Problem,
        start: Floats,
        stopping: Stopping,
        *,
        record: bool = False,
    ) -> Solution:
        """Return the end of the descent, which stops by ``stopping`` or after its last step."""
        trace: list[PathPoint] = []
        previous: Step | None = None
        converged = False
        with Progress(what="descent: steps") as progress:
            for step in self.steps(problem, start):
                point = step.point
                if not np.isfinite(point.loss):
                    break
                norm = problem.objective.gradient_norm(point)
                parameters = point.phi if record else _NOT_KEPT
                trace.append(PathPoint(parameters, point.loss, norm, step.size))
                converged = stopping.met(norm, previous, step)
                previous = step
                if converged or len(trace) > stopping.max_iter:
                    break
                progress.step()
        if previous is None:
            raise InvalidInputError(
                "the loss is not finite at the start: choose another start, or smaller weights"
            )
        return Solution(previous.point, len(trace) - 1, converged, trace)


def damped(
    evaluate: Callable[[Floats], Evaluation],
    start: Floats,
    direction: Callable[[Evaluation], Floats],
) -> Iterator[Step]:
    """Yield φ + t Δ again and again, with the first t of 1, ½, ¼, … that lowers the loss enough."""
    point = evaluate(start)
    t = 0.0
    while True:
        delta = direction(point)
        decrement = -float(np.vdot(point.gradient, delta))
        yield Step(point, t, decrement)
        rounding = _ROUNDING * abs(point.loss)
        for t in 0.5 ** np.arange(_HALVINGS):
            candidate = evaluate(point.phi + t * delta)
            # Armijo: f(φ + tΔ) ≤ f(φ) + α t gᵀΔ, up to the rounding error of a long sum
            if candidate.loss <= point.loss - _SUFFICIENT * t * decrement + rounding:
                break
        else:
            return
        point = candidate
