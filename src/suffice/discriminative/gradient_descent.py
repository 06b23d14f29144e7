"""Gradient descent on the mean loss: of all rows, of random batches, of batches as they come."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from suffice.core.moments import Moments
from suffice.core.moments.scatter import DiagonalScatter
from suffice.core.table.table import Table
from suffice.discriminative.descent import Solver, Step, Stopping
from suffice.discriminative.design import Design, Problem, coded_moments
from suffice.discriminative.logistic_loss import Objective, steepest
from suffice.errors import InvalidParameterError
from suffice.typing import Codes, Floats

_DECAY, _PATIENCE = 0.75, 100  # η_t = η (1 + t / 100)^−¾
_RISE = 1e-9  # of the loss, that is not rounding
_CONSTANT = 0.1  # of the rate that a descent of falling rate begins with
_FORGETTING = 3  # the average after t steps weighs step s by about (s / t)³


@dataclass(frozen=True, slots=True)
class GradientDescent(Solver):
    """w_k ← w_k − η ∂(mean loss)/∂w_k for every class, in the units of the problem."""

    rate: float | None = None  # refused where the loss rises; None: 1 / L is sure to descend
    default = Stopping(tol=1e-8, max_iter=10_000)

    def steps(self, problem: Problem, start: Floats) -> Iterator[Step]:
        objective, rate = problem.objective, self.rate or safe_rate(problem)
        here, size, weight = objective.evaluate(start), 0.0, objective.design.total_weight
        while True:
            yield Step(here, size)
            # φ ← φ − (η / W) M⁻¹ g
            g = steepest(here.gradient, len(start) + 1) / weight
            there, size = objective.evaluate(here.phi - rate * g), rate
            if self.rate and not there.loss <= here.loss + _RISE * abs(here.loss):
                raise _too_large(rate, here.loss, there.loss, safe_rate(problem))
            here = there


def _too_large(
    rate: float,
    before: float,
    after: float,
    smaller: float,
) -> InvalidParameterError:
    return InvalidParameterError(
        f"learning_rate={rate:g} is too large: in one step the loss rose from {before:.6g} to "
        f"{after:.6g}; use learning_rate={float(f'{min(smaller, rate / 2):.2g}')!r}, or 'auto'"
    )


def safe_rate(problem: Problem) -> float:
    """Return 1 / L: no Hessian of the mean loss has an eigenvalue above L."""
    bound = problem.bound
    greatest = bound.sum() if bound.ndim == 1 else np.linalg.eigvalsh(bound)[-1]
    return problem.moments.total_weight / float(greatest)


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """Where a stochastic descent stands, and the weighted average of where it has been."""

    phi: Floats  # (C, D)
    average: Floats  # (C, D)
    n_steps: int = 0


@dataclass(frozen=True, slots=True)
class StochasticDescent(Solver):
    """Steps of constant rate by one row at a time, or a few; the answer is where it stands."""

    rate: float | None = None  # refused if worse than the start and than knowing nothing
    batch_size: int = 1
    seed: int | None = None
    default = Stopping(tol=0.0, epsilon=1e-4, max_iter=1000)

    def steps(self, problem: Problem, start: Floats) -> Iterator[Step]:
        objective, design = problem.objective, problem.objective.design
        size = self.rows_of_a_step(design.table.n_rows)
        rate = self.schedule(problem, size)
        rng = None if self.seed is None else np.random.default_rng(self.seed)
        here, point = Iterate(start, start), objective.evaluate(start)
        # every class equally likely: W log K
        worst = max(point.misfit, design.total_weight * np.log(design.table.n_classes))
        yield Step(point, 0.0)
        while True:
            here = epoch(objective, here, rate, _batches(rng, design.table.n_rows, size))
            before, point = point, objective.evaluate(self.answer(here))
            if self.rate and not point.misfit <= (1 + _RISE) * worst:
                smaller = replace(self, rate=None).schedule(problem, size)
                raise _too_large(rate(0), before.loss, point.loss, smaller(0))
            yield Step(point, rate(here.n_steps))

    def rows_of_a_step(self, n_rows: int) -> int:
        """Return how many of all rows a step looks at."""
        return min(self.batch_size, n_rows)

    def schedule(self, problem: Problem, batch_size: int) -> Callable[[int], float]:
        """Return η_t by the step t: always the same, so that a large one stays far from the end."""
        rate = self.rate or _CONSTANT * noisy_rate(problem, batch_size)
        return lambda _: rate

    def answer(self, here: Iterate) -> Floats:
        return here.phi


@dataclass(frozen=True, slots=True)
class AveragedDescent(StochasticDescent):
    """Steps of falling rate; an average of polynomial decay (Shamir & Zhang 2013, *ICML*)."""

    batch_size: int = 32
    seed: int | None = 0
    default = Stopping(tol=1e-3, max_iter=1000)

    def rows_of_a_step(self, n_rows: int) -> int:
        return int(np.clip(n_rows // 10, 1, self.batch_size))

    def schedule(self, problem: Problem, batch_size: int) -> Callable[[int], float]:
        rate = self.rate or noisy_rate(problem, batch_size)
        return lambda t: float(rate * (1 + t / _PATIENCE) ** -_DECAY)

    def answer(self, here: Iterate) -> Floats:
        return here.average


def noisy_rate(problem: Problem, batch_size: int) -> float:
    """Return 1 / (L + L_row / b): L of the mean loss, L_row of a typical single row's."""
    bound, weight = problem.bound, problem.moments.total_weight
    trace = bound.sum() if bound.ndim == 1 else np.trace(bound)
    return float(1 / (1 / safe_rate(problem) + trace / weight / batch_size))


def _batches(rng: np.random.Generator | None, n_rows: int, size: int) -> list[Codes]:
    """Return all row numbers, in random order if there is a generator, cut into mini-batches."""
    order = np.arange(n_rows) if rng is None else rng.permutation(n_rows)
    return np.split(order, range(size, n_rows, size))


def epoch(
    objective: Objective,
    here: Iterate,
    rate: Callable[[int], float],
    batches: list[Codes],
) -> Iterate:
    """Return the descent after one step per mini-batch of rows."""
    design, weight = objective.design, objective.design.total_weight
    mean_weight = weight / design.table.n_rows
    phi, average, t = here.phi, here.average, here.n_steps
    for rows in batches:
        batch = design.take(rows)
        _, g, _ = Design(batch).sums(phi)
        # φ ← φ − η_t M⁻¹ (mean gradient of the batch + λ M φ / W)
        g = g / (mean_weight * batch.n_rows) + objective.pull(phi) / weight
        phi = phi - rate(t) * steepest(g, batch.n_classes)
        t += 1
        average = average + (_FORGETTING + 1) / (t + _FORGETTING) * (phi - average)
    return Iterate(phi, average, t)


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Coefficients after some batches, in original units, and the moments of all of them."""

    moments: Moments
    beta: Floats  # where the descent stands  (C, D)
    average: Floats  # the answer  (C, D)
    n_steps: int = 0

    @classmethod
    def before(cls, n_classes: int, n_features: int) -> Self:
        zero = np.zeros((n_classes - 1, n_features + 1))
        return cls(Moments.empty(range(n_classes), n_features, storage="diagonal"), zero, zero)

    @classmethod
    def after(cls, moments: Moments, beta: Floats) -> Self:
        if moments.storage == "per-class":
            moments = replace(moments, scatter=DiagonalScatter(moments.diagonals))
        return cls(replace(moments, fourth=None), beta, beta)

    def fed(self, table: Table, descent: AveragedDescent, l2: float, **posed: bool) -> Self:
        """Return the stream after one more batch, coded by the classes of the stream."""
        storage = "pooled" if self.moments.storage == "pooled" else "diagonal"
        moments = self.moments + coded_moments(table, storage)
        problem = Problem.of(table, moments, l2=l2, **posed)
        scaling, objective = problem.scaling, problem.objective
        share = objective.design.total_weight / moments.total_weight
        objective = replace(objective, penalty=objective.penalty * share)
        phi, average = scaling.from_original(self.beta), scaling.from_original(self.average)
        here = Iterate(phi, average, self.n_steps)
        size = min(descent.batch_size, table.n_rows)
        rng = np.random.default_rng([descent.seed or 0, self.n_steps])
        batches = _batches(rng, table.n_rows, size)
        there = epoch(objective, here, descent.schedule(problem, size), batches)
        beta, average = scaling.to_original(there.phi), scaling.to_original(there.average)
        return type(self)(moments, beta, average, there.n_steps)
