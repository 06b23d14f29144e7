"""Solvers of logistic regression: following a descent until it stops, the same for all of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from suffice.discriminative.descent import PathPoint
from suffice.discriminative.logistic_loss import Evaluation
from suffice.discriminative.problem import Problem
from suffice.errors import InvalidInputError
from suffice.typing import Floats

_HALVINGS = 40
_SUFFICIENT = 1e-4  # α of Armijo's rule
_ROUNDING = 1e-12  # of the loss: what a long sum may be wrong by
_INVISIBLE = 1e-24  # of the loss: a gain that no arithmetic can show
_NOT_KEPT = np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A point that a solver has reached, and how."""

    point: Evaluation
    size: float  # step length or learning rate that led here; 0 at the start
    decrement: float = 0.0  # gᵀH⁻¹g, twice the loss still to gain, if the solver knows it


@dataclass(frozen=True, slots=True)
class Stopping:
    """The rule by which a descent stops."""

    tol: float  # greatest mean gradient, in standard units, and loss still to gain
    epsilon: float | None = None  # change of the log-likelihood
    max_iter: int = 100

    def with_limits(
        self,
        tol: float | None,
        epsilon: float | None,
        max_iter: int | None,
    ) -> Self:
        """Return the rule with the limits that are given; None keeps this rule's own."""
        return replace(
            self,
            tol=self.tol if tol is None else tol,
            epsilon=self.epsilon if epsilon is None else epsilon,
            max_iter=self.max_iter if max_iter is None else max_iter,
        )

    def met(self, gradient_norm: float, previous: Step | None, step: Step) -> bool:
        """Return whether a descent may stop after this step."""
        if gradient_norm <= self.tol and step.decrement <= self.tol:
            return True
        if 0 < step.decrement <= _INVISIBLE * step.point.loss:
            return True
        if self.epsilon is None or previous is None:
            return False
        # |Δ log-likelihood| < ε
        return abs(previous.point.misfit - step.point.misfit) < self.epsilon


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Where a descent ended."""

    point: Evaluation
    n_iter: int
    converged: bool
    trace: list[PathPoint]  # the start included; parameters (C, D) if they were recorded


class Solver(ABC):
    """A method of descent: the points it visits, and when it stops by default."""

    default: ClassVar[Stopping]

    @abstractmethod
    def steps(self, problem: Problem, start: Floats) -> Iterator[Step]:
        """Yield the points of a descent from (C, D), for ever or until the loss stays."""

    @np.errstate(over="ignore", invalid="ignore")
    def solve(
        self,
        problem: Problem,
        start: Floats,
        stopping: Stopping,
        *,
        record: bool = False,
    ) -> Solution:
        """Return the end of the descent: it meets the rule, breaks off, or runs out of steps."""
        trace: list[PathPoint] = []
        previous: Step | None = None
        converged = False
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
    """Yield the points of steps φ + t Δ, t the first of 1, ½, ¼ … that is low enough, if any is."""
    point = evaluate(start)
    t = 0.0
    while True:
        delta = direction(point)
        decrement = -float(np.vdot(point.gradient, delta))
        yield Step(point, t, decrement)
        rounding = _ROUNDING * abs(point.loss)
        for t in 0.5 ** np.arange(_HALVINGS):
            candidate = evaluate(point.phi + t * delta)
            # f(φ + tΔ) ≤ f(φ) + α t gᵀΔ  (Armijo), up to the rounding of a long sum
            if candidate.loss <= point.loss - _SUFFICIENT * t * decrement + rounding:
                break
        else:
            return
        point = candidate
