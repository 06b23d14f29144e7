"""Gradient descent on the mean loss of all rows, of single rows or of random batches."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from suffice.discriminative.design import Design
from suffice.discriminative.logistic_loss import Objective, steepest
from suffice.discriminative.penalty import penalty_gradient
from suffice.discriminative.problem import Problem
from suffice.discriminative.solver import Solver
from suffice.discriminative.stopping import Step, Stopping
from suffice.errors import InvalidParameterError
from suffice.typing import Codes, Floats

_DECAY = 0.75
_PATIENCE = 100  # η_t = η (1 + t / 100)^−¾
_RISE = 1e-9  # an increase of the loss by a larger share is not a rounding error
# the default constant rate as a share of the first rate of a decreasing schedule
_CONSTANT = 0.1
_FORGETTING = 3  # in the average after t steps, step s has a weight proportional to (s / t)³


@dataclass(frozen=True, slots=True)
class BatchDescent(Solver):
    """Gradient descent w_k ← w_k − η ∂(mean loss)/∂w_k, in the units of the problem."""

    # η, which raises an error if the loss increases; None: 1 / L, with which it cannot increase
    rate: float | None = None
    default = Stopping(tol=1e-8, max_iter=10_000)

    def steps(self, problem: Problem, start: Floats) -> Iterator[Step]:
        objective = problem.objective
        weight = objective.design.total_weight
        rate = self.rate or safe_rate(problem)
        point = objective.evaluate(start)
        yield Step(point, 0.0)
        while True:
            # φ ← φ − (η / W) M⁻¹ g
            g = steepest(point.gradient, len(start) + 1) / weight
            following = objective.evaluate(point.phi - rate * g)
            has_risen = not following.loss <= point.loss + _RISE * abs(point.loss)
            if self.rate and has_risen:
                raise _too_large(rate, point.loss, following.loss, safe_rate(problem))
            point = following
            yield Step(point, rate)


def _too_large(
    rate: float,
    loss_before: float,
    loss_after: float,
    safe: float,
) -> InvalidParameterError:
    smaller = float(f"{min(safe, rate / 2):.2g}")
    return InvalidParameterError(
        f"learning_rate={rate:g} is too large: in one step the loss rose from "
        f"{loss_before:.6g} to {loss_after:.6g}; use learning_rate={smaller!r}, or 'auto'"
    )


def safe_rate(problem: Problem) -> float:
    """Return 1 / L for an upper bound L of all eigenvalues of all Hessians of the mean loss."""
    bound = problem.bound
    greatest = bound.sum() if bound.ndim == 1 else np.linalg.eigvalsh(bound)[-1]
    return problem.moments.total_weight / float(greatest)


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """The parameters of a stochastic descent after some steps, and their weighted average."""

    phi: Floats  # (C, D)
    average: Floats  # (C, D)
    n_steps: int = 0


class MiniBatchDescent(Solver):
    """Base class of the stochastic descents, which use a few rows for each step."""

    # η; an error is raised if the fit is worse than the start and worse than equal posteriors
    rate: float | None
    batch_size: int
    seed: int | None  # seed of the order of rows; None keeps the given order

    def steps(self, problem: Problem, start: Floats) -> Iterator[Step]:
        objective = problem.objective
        design = objective.design
        n_rows = design.table.n_rows
        size = self.rows_per_step(n_rows)
        rate = self.schedule(problem, size)
        rng = None if self.seed is None else np.random.default_rng(self.seed)
        iterate = Iterate(start, start)
        point = objective.evaluate(start)
        # equal posteriors of K classes have the misfit W log K
        worst = max(point.misfit, design.total_weight * np.log(design.table.n_classes))
        yield Step(point, 0.0)
        while True:
            iterate = one_pass(objective, iterate, rate, mini_batches(rng, n_rows, size))
            following = objective.evaluate(self.answer(iterate))
            is_worse = not following.misfit <= (1 + _RISE) * worst
            if self.rate and is_worse:
                raise _too_large(
                    rate(0), point.loss, following.loss, self.default_rate(problem, size)
                )
            point = following
            yield Step(point, rate(iterate.n_steps))

    @abstractmethod
    def rows_per_step(self, n_rows: int) -> int:
        """Return the number of rows that a step uses."""

    @abstractmethod
    def default_rate(self, problem: Problem, batch_size: int) -> float:
        """Return the first learning rate, used if the user gives no rate."""

    @abstractmethod
    def schedule(self, problem: Problem, batch_size: int) -> Callable[[int], float]:
        """Return the learning rate η_t as a function of the step t."""

    @abstractmethod
    def answer(self, iterate: Iterate) -> Floats:
        """Return the result of the descent, given the last iterate, (C, D)."""


@dataclass(frozen=True, slots=True)
class StochasticDescent(MiniBatchDescent):
    """Stochastic descent with a constant or decreasing rate; the last iterate is the result.

    For one row n after another, φ ← φ − η_t M⁻¹ (p_n − t_n) z_n. ``logistic_loss.py`` derives the
    gradient (p_n − t_n) z_n, and M⁻¹, which is 1 for two classes. By default, φ starts at 0, and
    the descent stops when log L changes by less than ε in a pass (``stopping.py``).
    """

    rate: float | None = None
    batch_size: int = 1
    seed: int | None = None
    decay: float = 0.0
    default = Stopping(tol=0.0, epsilon=1e-4, max_iter=1000)

    def rows_per_step(self, n_rows: int) -> int:
        return min(self.batch_size, n_rows)

    def default_rate(self, problem: Problem, batch_size: int) -> float:
        return _CONSTANT * noisy_rate(problem, batch_size)

    def schedule(self, problem: Problem, batch_size: int) -> Callable[[int], float]:
        rate = self.rate or self.default_rate(problem, batch_size)
        decay = self.decay
        # η_t = η / (1 + decay · t)
        return lambda t: rate / (1 + decay * t)

    def answer(self, iterate: Iterate) -> Floats:
        return iterate.phi


@dataclass(frozen=True, slots=True)
class AveragedDescent(MiniBatchDescent):
    """Stochastic descent with decreasing rates, whose result is an average of the iterates.

    Shamir & Zhang (2013), *ICML*.
    """

    rate: float | None = None
    batch_size: int = 32
    seed: int | None = 0
    default = Stopping(tol=1e-3, max_iter=1000)

    def rows_per_step(self, n_rows: int) -> int:
        return int(np.clip(n_rows // 10, 1, self.batch_size))

    def default_rate(self, problem: Problem, batch_size: int) -> float:
        return noisy_rate(problem, batch_size)

    def schedule(self, problem: Problem, batch_size: int) -> Callable[[int], float]:
        rate = self.rate or self.default_rate(problem, batch_size)
        return lambda t: float(rate * (1 + t / _PATIENCE) ** -_DECAY)

    def answer(self, iterate: Iterate) -> Floats:
        return iterate.average


def noisy_rate(problem: Problem, batch_size: int) -> float:
    """Return 1 / (L + L_row / b), where L is that of ``safe_rate``, and L_row that of one row."""
    bound = problem.bound
    trace = bound.sum() if bound.ndim == 1 else np.trace(bound)
    row_bound = trace / problem.moments.total_weight
    return float(1 / (1 / safe_rate(problem) + row_bound / batch_size))


def mini_batches(rng: np.random.Generator | None, n_rows: int, size: int) -> list[Codes]:
    """Return mini-batches of row numbers, in random order unless the generator is None."""
    order = np.arange(n_rows) if rng is None else rng.permutation(n_rows)
    return np.split(order, range(size, n_rows, size))


def one_pass(
    objective: Objective,
    iterate: Iterate,
    rate: Callable[[int], float],
    batches: list[Codes],
) -> Iterate:
    """Return the iterate after one step for each mini-batch of rows."""
    design = objective.design
    weight = design.total_weight
    mean_weight = weight / design.table.n_rows
    phi = iterate.phi
    average = iterate.average
    t = iterate.n_steps
    for rows in batches:
        batch = design.take(rows)
        _, g, _ = Design(batch).sums(phi)
        # φ ← φ − η_t M⁻¹ (mean gradient of the batch + λ M φ / W)
        g = (
            g / (mean_weight * batch.n_rows)
            + penalty_gradient(phi, objective.penalty) / weight
        )
        phi = phi - rate(t) * steepest(g, batch.n_classes)
        t += 1
        average = average + (_FORGETTING + 1) / (t + _FORGETTING) * (phi - average)
    return Iterate(phi, average, t)
