"""Logistic regression on a stream: a stochastic descent over batches that come one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from suffice.discriminative.contrasts import steepest
from suffice.discriminative.descent import Solution, Step, Stopping, follow
from suffice.discriminative.gradient import safe_rate
from suffice.discriminative.objective import Objective
from suffice.discriminative.problem import Problem
from suffice.discriminative.rows import PlainRows
from suffice.moments.scatter import DiagonalScatter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.discriminative.objective import Point
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats

_DECAY, _PATIENCE = 0.75, 100  # η_t = η (1 + t / 100)^−¾
_FORGETTING = 3  # the average after t steps weighs step s by about (s / t)³


@dataclass(frozen=True, slots=True, eq=False)
class Wanderer:
    """Where a stochastic descent stands, and the weighted average of where it has been."""

    phi: Floats  # (C, D)
    average: Floats  # (C, D)
    n_steps: int

    @classmethod
    def at(cls, phi: Floats) -> Wanderer:
        """Return a descent that starts at φ."""
        return cls(phi, phi, 0)


@dataclass(frozen=True, slots=True)
class Pace:
    """Step sizes of a stochastic descent: large for a while, then falling."""

    rate: float
    batch_size: int

    def at(self, t: int) -> float:
        """Return the learning rate of step t."""
        return float(self.rate * (1 + t / _PATIENCE) ** -_DECAY)


@dataclass(frozen=True, slots=True)
class StochasticDescent:
    """Passes over the rows in random order, a few at a time; the answer is an average.

    A batch holds ``batch_size`` rows, or a tenth of all if that is less.

    References
    ----------
    Shamir & Zhang (2013), *ICML*, polynomial-decay averaging.
    """

    rate: float | None = None
    batch_size: int = 32
    seed: int = 0
    default: ClassVar[Stopping] = Stopping(tol=1e-3, max_iter=1000)

    def solve(
        self, problem: Problem, start: Floats, stopping: Stopping, *, record: bool = False
    ) -> Solution[Point]:
        """Return where the passes end."""
        objective = problem.objective
        pace = self.pace(problem, int(np.clip(objective.rows.n_rows // 10, 1, self.batch_size)))
        steps = passes(objective, Wanderer.at(start), pace, np.random.default_rng(self.seed))
        return follow(steps, objective, stopping, record=record)

    def pace(self, problem: Problem, batch_size: int) -> Pace:
        """Return the rate asked for, or one that suits the noise of a batch."""
        return Pace(self.rate or noisy_rate(problem, batch_size), batch_size)


def passes(
    objective: Objective, wanderer: Wanderer, pace: Pace, rng: np.random.Generator
) -> Iterator[Step[Point]]:
    """Yield the average after each pass over the rows, for ever."""
    yield Step(objective.evaluate(wanderer.average), 0.0)
    while True:
        order = rng.permutation(objective.rows.n_rows)
        wanderer = walk(objective, wanderer, pace, order)
        yield Step(objective.evaluate(wanderer.average), pace.at(wanderer.n_steps))


def walk(objective: Objective, wanderer: Wanderer, pace: Pace, order: Codes) -> Wanderer:
    """Return the descent after one step per mini-batch of rows, taken in the order given."""
    rows, n_classes = objective.rows, objective.rows.n_classes
    mean_weight = rows.total_weight / rows.n_rows
    phi, average, t = wanderer.phi, wanderer.average, wanderer.n_steps
    for first in range(0, len(order), pace.batch_size):
        batch = rows.take(order[first : first + pace.batch_size])
        _, g = PlainRows(batch, n_classes).sums(phi)
        # φ ← φ − η_t M⁻¹ (mean gradient of the batch + λ M φ / W)
        g = g / (mean_weight * len(batch.codes)) + objective.pull(phi) / rows.total_weight
        phi = phi - pace.at(t) * steepest(g, n_classes)
        t += 1
        average = average + (_FORGETTING + 1) / (t + _FORGETTING) * (phi - average)
    return Wanderer(phi, average, t)


def noisy_rate(problem: Problem, batch_size: int) -> float:
    """Return 1 / (L + L_row / b): L of the mean loss, L_row of a typical single row's."""
    bound, weight = problem.bound, problem.moments.total_weight
    trace = bound.sum() if bound.ndim == 1 else np.trace(bound)
    return float(1 / (1 / safe_rate(problem) + trace / weight / batch_size))


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
