"""Logistic regression from a stream of batches, by averaged stochastic gradient steps."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from suffice.core.moments import Moments
from suffice.core.moments.scatter import DiagonalScatter
from suffice.core.table.table import Table
from suffice.discriminative.gradient_descent import (
    AveragedDescent,
    Iterate,
    mini_batches,
    one_pass,
)
from suffice.discriminative.problem import Problem, coded_moments
from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Coefficients after some batches, in original units, and the moments of all these rows."""

    moments: Moments
    beta: Floats  # the last iterate  (C, D)
    average: Floats  # the average of the iterates, which is the result  (C, D)
    n_steps: int = 0

    @classmethod
    def before(cls, n_classes: int, n_features: int) -> Self:
        """Return a stream before its first batch."""
        zero = np.zeros((n_classes - 1, n_features + 1))
        moments = Moments.empty(range(n_classes), n_features, storage="diagonal")
        return cls(moments, zero, zero)

    @classmethod
    def after(cls, moments: Moments, beta: Floats) -> Self:
        """Return a stream that continues a fit, given the fit's moments and coefficients."""
        if moments.storage == "per-class":
            moments = replace(moments, scatter=DiagonalScatter(moments.diagonals))
        return cls(replace(moments, fourth=None), beta, beta)

    def fed(
        self,
        table: Table,
        descent: AveragedDescent,
        l2: float,
        *,
        fit_intercept: bool = True,
    ) -> Self:
        """Return the stream after another batch, a table with the classes of the stream."""
        storage = "pooled" if self.moments.storage == "pooled" else "diagonal"
        moments = self.moments + coded_moments(table, storage)
        problem = Problem.of(table, moments, l2=l2, fit_intercept=fit_intercept)
        scaling = problem.scaling
        # the penalty belongs to all rows so far: the batch gets a share of the penalty
        objective = problem.objective
        share = objective.design.total_weight / moments.total_weight
        objective = replace(objective, penalty=objective.penalty * share)
        iterate = Iterate(
            phi=scaling.from_original(self.beta),
            average=scaling.from_original(self.average),
            n_steps=self.n_steps,
        )
        size = min(descent.batch_size, table.n_rows)
        rng = np.random.default_rng([descent.seed or 0, self.n_steps])
        batches = mini_batches(rng, table.n_rows, size)
        iterate = one_pass(objective, iterate, descent.schedule(problem, size), batches)
        return replace(
            self,
            moments=moments,
            beta=scaling.to_original(iterate.phi),
            average=scaling.to_original(iterate.average),
            n_steps=iterate.n_steps,
        )
