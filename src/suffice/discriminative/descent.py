"""Following a descent until it stops: the same for every solver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from suffice.discriminative.logistic_loss import Evaluation
from suffice.discriminative.path import Passed
from suffice.errors import InvalidInputError
from suffice.typing import Floats

if TYPE_CHECKING:
    from suffice.discriminative.design import Problem

_HALVINGS = 40
_SUFFICIENT = 1e-4
_ROUNDING = 1e-12
_INVISIBLE = 1e-24  # of the loss: a gain that no arithmetic can show
_NOT_KEPT = np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A point that a solver has reached, and how."""

    point: Evaluation
    size: float  # step length or learning rate that led here; 0 at the start
    decrement: float = 0.0  # gᵀH⁻¹g, twice the loss still to gain, where a solver knows it


@dataclass(frozen=True, slots=True)
class Stopping:
    """When to stop.

    On the gradient: its greatest mean component, in standard units, is at most ``tol``, and
    the loss still to gain, where known, at most ``tol`` too. Or on the change of the
    log-likelihood: under ``epsilon``. Or after ``max_iter`` steps.
    """

    tol: float = 1e-8
    epsilon: float | None = None
    max_iter: int = 100

    def met(self, gradient_norm: float, before: Step | None, now: Step) -> bool:
        """Return whether the descent has arrived."""
        if gradient_norm <= self.tol and now.decrement <= self.tol:
            return True
        if 0 < now.decrement <= _INVISIBLE * now.point.loss:
            return True
        if self.epsilon is None or before is None:
            return False
        # |Δ log-likelihood| < ε
        return abs(before.point.misfit - now.point.misfit) < self.epsilon


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Where a descent ended."""

    point: Evaluation
    n_iter: int
    converged: bool
    trace: list[Passed]  # the start included; parameters (C, D) where they were recorded


class Solver(ABC):
    """A way down: the points it goes through, and when it stops unless told otherwise."""

    default: ClassVar[Stopping]

    @abstractmethod
    def steps(self, problem: Problem, start: Floats) -> Iterator[Step]:
        """Yield the points of a descent from (C, D), for ever or until the loss stays."""

    @np.errstate(over="ignore", invalid="ignore")
    def solve(
        self, problem: Problem, start: Floats, stopping: Stopping, *, record: bool = False
    ) -> Solution:
        """Return the end of the descent: it meets the rule, breaks off, or runs out of steps."""
        trace: list[Passed] = []
        before: Step | None = None
        converged = False
        for now in self.steps(problem, start):
            if not np.isfinite(now.point.loss):
                break
            norm, phi = problem.objective.gradient_norm(now.point), now.point.phi
            trace.append(Passed(phi if record else _NOT_KEPT, now.point.loss, norm, now.size))
            converged = stopping.met(norm, before, now)
            before = now
            if converged or len(trace) > stopping.max_iter:
                break
        if before is None:
            msg = "the loss is not finite at the start: choose another start, or smaller weights"
            raise InvalidInputError(msg)
        return Solution(before.point, len(trace) - 1, converged, trace)


def damped(
    evaluate: Callable[[Floats], Evaluation],
    start: Floats,
    direction: Callable[[Evaluation], Floats],
) -> Iterator[Step]:
    """Yield the points of steps φ + t Δ, t the first of 1, ½, ¼ … that is low enough, if any is."""
    here, t = evaluate(start), 0.0
    while True:
        delta = direction(here)
        decrement = -float(np.vdot(here.gradient, delta))
        yield Step(here, t, decrement)
        for t in 0.5 ** np.arange(_HALVINGS):
            there = evaluate(here.phi + t * delta)
            # f(φ + tΔ) ≤ f(φ) + α t gᵀΔ  (Armijo), up to the rounding of a long sum
            if there.loss <= here.loss - _SUFFICIENT * t * decrement + _ROUNDING * abs(here.loss):
                break
        else:
            return
        here = there
