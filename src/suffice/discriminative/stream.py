"""Logistic regression on a stream: a stochastic descent over batches that come one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.discriminative.objective import Objective
from suffice.discriminative.problem import Problem
from suffice.discriminative.stochastic import Wanderer, walk
from suffice.moments.scatter import DiagonalScatter

if TYPE_CHECKING:
    from suffice.discriminative.stochastic import StochasticDescent
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Coefficients after some batches, in original units, and the moments of all of them.

    Units are those of all rows so far, so they settle as the stream goes on, and the
    coefficients are carried over from batch to batch.
    """

    moments: Moments
    beta: Floats  # where the descent stands  (C, D)
    average: Floats  # the answer  (C, D)
    n_steps: int = 0

    @classmethod
    def before(cls, nothing: Moments) -> Stream:
        """Return the stream before its first batch, from moments of no rows."""
        zero = np.zeros((nothing.n_classes - 1, nothing.n_features + 1))
        return cls(nothing, zero, zero)

    @classmethod
    def after(cls, moments: Moments, beta: Floats) -> Stream:
        """Return the stream after a fit of all rows at once."""
        if moments.storage == "per-class":
            moments = replace(moments, scatter=DiagonalScatter(moments.diagonals))
        return cls(replace(moments, fourth=None), beta, beta)

    @property
    def storage(self) -> str:
        """The storage that the moments of the next batch must have."""
        return "pooled" if self.moments.storage == "pooled" else "diagonal"

    def fed(
        self,
        x: Any,
        codes: Codes,
        weight: Floats | None,
        more: Moments,
        descent: StochasticDescent,
        l2: float,
    ) -> Stream:
        """Return the stream after one more batch of rows ``x`` (n, d) and its moments."""
        moments = self.moments + more
        problem = Problem.of(x, codes, weight, moments, l2=l2)
        scaling, rows = problem.scaling, problem.objective.rows
        share = rows.total_weight / moments.total_weight
        objective = Objective(rows, problem.objective.penalty * share)
        here = Wanderer(
            scaling.from_original(self.beta), scaling.from_original(self.average), self.n_steps
        )
        pace = descent.pace(problem, min(descent.batch_size, rows.n_rows))
        order = np.random.default_rng([descent.seed, self.n_steps]).permutation(rows.n_rows)
        there = walk(objective, here, pace, order)
        return Stream(
            moments,
            scaling.to_original(there.phi),
            scaling.to_original(there.average),
            there.n_steps,
        )
