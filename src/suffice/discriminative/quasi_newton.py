"""Limited-memory BFGS in a metric that already knows the curvature of the loss."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from suffice.discriminative.contrasts import steepest
from suffice.discriminative.descent import Solution, Step, Stopping, follow, low_enough
from suffice.discriminative.newton import Newton, newton_steps
from suffice.discriminative.solve import generalised_inverse, positive_factor, solve_factored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.discriminative.objective import CurvedPoint, Objective, Point
    from suffice.discriminative.problem import Problem
    from suffice.typing import Floats

_SAMPLE_SHARE = 16  # one row in so many
_ROWS_PER_PARAMETER = 20
_SAMPLE_STEPS = 2


class Metric(Protocol):
    """An approximate Hessian B, known by solving with it."""

    def solve(self, gradient: Floats) -> Floats:
        """Return B⁻¹ g, shape (C, D)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class HessianMetric:
    """B = L Lᵀ, a Hessian of all C·D parameters."""

    factor: Floats  # L  (C·D, C·D), lower triangular

    def solve(self, gradient: Floats) -> Floats:
        """Return B⁻¹ g, shape (C, D)."""
        return solve_factored(self.factor, gradient.ravel()).reshape(gradient.shape)


@dataclass(frozen=True, slots=True, eq=False)
class BoundMetric:
    """B = M ⊗ A: D × D numbers, however many classes there are."""

    inverse: Floats  # A⁻¹  (D, D), or (D,) if diagonal
    n_classes: int

    def solve(self, gradient: Floats) -> Floats:
        """Return B⁻¹ g, shape (C, D)."""
        # (M ⊗ A)⁻¹ g = M⁻¹ g A⁻¹
        g = steepest(gradient, self.n_classes)
        return g * self.inverse if self.inverse.ndim == 1 else g @ self.inverse


def bound_metric(problem: Problem) -> BoundMetric:
    """Return Böhning's bound as a metric."""
    bound, n_classes = problem.bound, problem.moments.n_classes
    if bound.ndim == 1:
        inverse = np.divide(1.0, bound, out=np.zeros_like(bound), where=bound > 0)
        return BoundMetric(inverse, n_classes)
    return BoundMetric(generalised_inverse(bound), n_classes)


def pilot(objective: Objective, start: Floats) -> tuple[Floats, HessianMetric]:
    """Return where a few Newton steps on a sample of rows lead, and the Hessian there.

    Few rows are not sampled: the Hessian of all of them at the start is the metric.
    """
    n = max(objective.rows.n_rows // _SAMPLE_SHARE, _ROWS_PER_PARAMETER * start.size)
    if n >= objective.rows.n_rows:
        return start, HessianMetric(positive_factor(objective.curve(start).hessian))
    sample = objective.sample(n)
    *_, last = islice(newton_steps(sample, start), 1 + _SAMPLE_STEPS)
    share = sample.rows.total_weight / objective.rows.total_weight
    return last.point.phi, HessianMetric(positive_factor(last.point.hessian / share))


_MEMORY = 20
_HALVINGS = 40
WIDEST_HESSIAN = 1500  # parameters; above this the metric is a bound on the Hessian


@dataclass(frozen=True, slots=True)
class QuasiNewton:
    """L-BFGS whose metric is the Hessian of a sample of rows, after a few Newton steps there.

    Each step costs one pass for loss and gradient. Where there are too many parameters for a
    Hessian, the metric is Böhning's bound, read from the moments.

    References
    ----------
    Nocedal & Wright (2006), *Numerical Optimization*, algorithm 7.4.
    """

    default: ClassVar[Stopping] = Stopping(tol=1e-8, max_iter=1000)

    def solve(
        self, problem: Problem, start: Floats, stopping: Stopping, *, record: bool = False
    ) -> Solution[Point]:
        """Return the minimum of the problem's objective."""
        objective = problem.objective
        metric: Metric
        if start.size <= WIDEST_HESSIAN:
            start, metric = pilot(objective, start)
        else:
            metric = bound_metric(problem)
        steps = quasi_newton_steps(objective, start, metric)
        return follow(steps, objective, stopping, record=record)


@dataclass(frozen=True, slots=True)
class SampledNewton:
    """Newton's method for many rows: quasi-Newton steps lead so near that one Hessian is enough.

    The last step is Newton's, with the Hessian of all rows.

    References
    ----------
    Byrd, Chin, Neveitt & Nocedal (2011), *SIAM Journal on Optimization* 21, 977–995.
    """

    default: ClassVar[Stopping] = Newton.default

    def solve(
        self, problem: Problem, start: Floats, stopping: Stopping, *, record: bool = False
    ) -> Solution[CurvedPoint]:
        """Return the minimum of the problem's objective."""
        near = QuasiNewton().solve(problem, start, stopping, record=record)
        there = Newton().solve(problem, near.point.phi, stopping, record=record)
        trace = near.trace.then(there.trace)
        return replace(there, n_iter=near.n_iter + there.n_iter, trace=trace)


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A step taken and the change of gradient it brought."""

    step: Floats  # s  (C, D)
    change: Floats  # y  (C, D)

    @property
    def curvature(self) -> float:
        """Curvature along the step, sᵀy."""
        return float(np.vdot(self.step, self.change))


def quasi_newton_steps(
    objective: Objective, start: Floats, metric: Metric
) -> Iterator[Step[Point]]:
    """Yield the points of L-BFGS steps, until the loss cannot be lowered."""
    here, size = objective.evaluate(start), 0.0
    pairs: deque[Pair] = deque(maxlen=_MEMORY)
    while True:
        step = -_two_loops(here.gradient, pairs, metric)
        decrement = -float(np.vdot(here.gradient, step))
        yield Step(here, size, decrement)
        found = _lower(objective, here, step, decrement)
        if found is None:
            return
        there, size = found
        pair = Pair(there.phi - here.phi, there.gradient - here.gradient)
        if pair.curvature > 0:
            pairs.append(pair)
        here = there


def _two_loops(gradient: Floats, pairs: deque[Pair], metric: Metric) -> Floats:
    """Return H g, H the inverse of the metric after one BFGS update per pair."""
    q, shares = gradient, []
    for pair in reversed(pairs):
        # α = sᵀq / sᵀy,  q ← q − α y
        share = float(np.vdot(pair.step, q)) / pair.curvature
        shares.append(share)
        q = q - share * pair.change
    r = metric.solve(q)
    for pair, share in zip(pairs, reversed(shares), strict=True):
        # r ← r + (α − yᵀr / sᵀy) s
        r = r + (share - float(np.vdot(pair.change, r)) / pair.curvature) * pair.step
    return r


def _lower(
    objective: Objective, here: Point, step: Floats, decrement: float
) -> tuple[Point, float] | None:
    """Return the first point among φ + t Δ, t = 1, ½, ¼ … that is low enough."""
    for halving in range(_HALVINGS):
        t = 0.5**halving
        there = objective.evaluate(here.phi + t * step)
        if low_enough(here, there, t * decrement):
            return there, t
    return None
