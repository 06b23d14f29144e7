"""Rules by which a descent stops: a small gradient, or a small change of the log-likelihood."""

from dataclasses import dataclass, replace
from typing import Self

from suffice.discriminative.logistic_loss import Evaluation

_INVISIBLE = 1e-24  # a smaller relative decrease of the loss is lost in rounding


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A point that a solver has reached, and the step that led to it."""

    point: Evaluation
    size: float  # the step length or learning rate; 0 at the start
    # gᵀH⁻¹g, twice the decrease of the loss that is still possible; 0 if it is not computed
    decrement: float = 0.0


@dataclass(frozen=True, slots=True)
class Stopping:
    """The rule by which a descent stops."""

    # limit of the greatest mean gradient in standard units, and of ``decrement``
    tol: float = 1e-8
    epsilon: float | None = None  # limit of the change of the log-likelihood
    max_iter: int = 100

    def with_limits(
        self,
        tol: float | None,
        epsilon: float | None,
        max_iter: int | None,
    ) -> Self:
        """Return the rule with other limits, where None keeps the present limit."""
        return replace(
            self,
            tol=self.tol if tol is None else tol,
            epsilon=self.epsilon if epsilon is None else epsilon,
            max_iter=self.max_iter if max_iter is None else max_iter,
        )

    def met(self, gradient_norm: float, previous: Step | None, step: Step) -> bool:
        """Return whether a descent may stop after this step."""
        if gradient_norm <= self.tol and step.decrement <= self.tol:
            return True
        if 0 < step.decrement <= _INVISIBLE * step.point.loss:
            return True
        if self.epsilon is None or previous is None:
            return False
        # stop if |Δ log-likelihood| < ε
        return abs(previous.point.misfit - step.point.misfit) < self.epsilon
