"""The settings of logistic regression: words and numbers to solvers, starts and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils import check_random_state

from suffice.discriminative.gradient import GradientDescent
from suffice.discriminative.newton import Newton
from suffice.discriminative.quasi_newton import QuasiNewton
from suffice.discriminative.start import Lda, Random, Zero
from suffice.discriminative.stochastic import StochasticDescent
from suffice.estimators.linear import chosen, positive

if TYPE_CHECKING:
    from suffice.discriminative.problem import Solver
    from suffice.discriminative.start import Start


class LogisticSettings:
    """What the constructor was given, checked and translated."""

    l2: float
    solver: str
    start: str
    learning_rate: Any
    batch_size: int
    tol: float | None
    epsilon: float | None
    max_iter: int | None
    random_state: Any

    def _penalty(self) -> float:
        return positive("l2", self.l2, zero=True)

    def _solver(self) -> Solver | None:
        solvers = {
            "auto": None,
            "newton": Newton(),
            "quasi-newton": QuasiNewton(),
            "gd": GradientDescent(self._rate()),
            "sgd": self._stochastic(),
        }
        solver: Solver | None = chosen("solver", self.solver, solvers)
        return solver

    def _stochastic(self) -> StochasticDescent:
        size = int(positive("batch_size", self.batch_size))
        return StochasticDescent(self._rate(), size, self._seed())

    def _rate(self) -> float | None:
        automatic = isinstance(self.learning_rate, str) and self.learning_rate == "auto"
        return None if automatic else positive("learning_rate", self.learning_rate)

    def _seed(self) -> int:
        if isinstance(self.random_state, int):
            return self.random_state
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _limits(self) -> dict[str, Any]:
        limits: dict[str, Any] = {
            "tol": self.tol,
            "epsilon": self.epsilon,
            "max_iter": self.max_iter,
        }
        given = {name: positive(name, v) for name, v in limits.items() if v is not None}
        return given | ({"max_iter": int(given["max_iter"])} if "max_iter" in given else {})

    def _first(self) -> Start:
        starts = {"lda": Lda(), "zero": Zero(), "random": Random(self._seed())}
        first: Start = chosen("start", self.start, starts)
        return first
