"""Following a descent until it stops: the same for every solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

import numpy as np

from suffice.discriminative.logistic_loss import Evaluation, Objective
from suffice.errors import InvalidInputError
from suffice.typing import Floats

_HALVINGS = 40
_SUFFICIENT = 1e-4
_ROUNDING = 1e-12
_INVISIBLE = 1e-24  # of the loss: a gain that no arithmetic can show

P = TypeVar("P", bound=Evaluation)


@dataclass(frozen=True, slots=True, eq=False)
class Step(Generic[P]):
    """A point that a solver has reached, and how."""

    point: P
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

    def met(self, gradient_norm: float, before: Step[P] | None, now: Step[P]) -> bool:
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
class Trace:
    """What a solver went through, one entry per step, the start included."""

    phi: Floats  # (T, C, D); T = 0 where parameters were not recorded
    losses: Floats  # (T,)
    gradient_norms: Floats  # (T,)
    step_sizes: Floats  # (T,)

    def then(self, other: Trace) -> Trace:
        """Return what was gone through in this descent and, from its end, in another."""
        names = [field.name for field in fields(self)]
        both = ((getattr(self, name), getattr(other, name)[1:]) for name in names)
        return Trace(*map(np.concatenate, both))

    @property
    def rises(self) -> int:
        """Number of steps that made the loss larger, beyond rounding."""
        worse = np.diff(self.losses) > _ROUNDING * np.abs(self.losses[1:])
        return int(worse.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Solution(Generic[P]):
    """Where a descent ended."""

    point: P
    n_iter: int
    converged: bool
    trace: Trace


@np.errstate(over="ignore", invalid="ignore")
def follow(
    steps: Iterator[Step[P]], objective: Objective, stopping: Stopping, *, record: bool = False
) -> Solution[P]:
    """Return the end of a descent: it meets the rule, breaks off, or runs out of steps."""
    entries, phis = [], []
    before: Step[P] | None = None
    converged = False
    for now in steps:
        if not np.isfinite(now.point.loss):
            break
        norm = objective.gradient_norm(now.point)
        entries.append((now.point.loss, norm, now.size))
        if record:
            phis.append(now.point.phi)
        converged = stopping.met(norm, before, now)
        before = now
        if converged or len(entries) > stopping.max_iter:
            break
    if before is None:
        msg = "the loss is not finite at the start: choose another start, or smaller weights"
        raise InvalidInputError(msg)
    trace = Trace(np.array(phis).reshape(-1, *objective.shape), *np.array(entries).T)
    return Solution(before.point, len(entries) - 1, converged, trace)


def backtracked(
    evaluate: Callable[[Floats], P], here: P, step: Floats, decrement: float
) -> tuple[P, float] | None:
    """Return the first point among φ + t Δ, t = 1, ½, ¼ … that is low enough, and t."""
    for halving in range(_HALVINGS):
        t = 0.5**halving
        there = evaluate(here.phi + t * step)
        # f(φ + tΔ) ≤ f(φ) + α t gᵀΔ  (Armijo), up to the rounding of a long sum
        fair = _SUFFICIENT * t * decrement
        if there.loss <= here.loss - fair + _ROUNDING * abs(here.loss):
            return there, t
    return None
