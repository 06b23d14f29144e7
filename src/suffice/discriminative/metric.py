"""Metrics for the quasi-Newton solver: the Hessian of some rows, or a bound on that of all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from suffice.discriminative.contrasts import steepest
from suffice.discriminative.newton import newton_steps
from suffice.discriminative.solve import generalised_inverse, positive_factor, solve_factored

if TYPE_CHECKING:
    from suffice.discriminative.objective import Objective
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
