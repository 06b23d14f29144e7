"""Uncertainty of logistic coefficients, from the curvature of the loss at its minimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.discriminative.contrasts import gram
from suffice.discriminative.problem import Problem
from suffice.discriminative.solve import positive_factor, solve_factored
from suffice.discriminative.summary import LogisticSummary

if TYPE_CHECKING:
    from suffice.discriminative.objective import CurvedPoint
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Inference:
    """Coefficients of every class against the first, in original units, and their covariance.

    With a penalty this is the inverse curvature of the penalised loss: the spread of a Bayesian
    posterior whose prior is the penalty, not that of a repeated experiment.
    """

    beta: Floats  # (C, D): intercept first
    covariance: Floats  # (C·D, C·D), classes outside; NaN where aliased
    degrees_of_freedom: float  # tr H⁻¹ H_loglik; the number of coefficients without penalty
    log_likelihood: float
    null_log_likelihood: float
    weight: float
    l2: float

    @classmethod
    def of(cls, problem: Problem, point: CurvedPoint, l2: float) -> Inference:
        """Return the inverse of the Hessian at the minimum."""
        c, d = point.phi.shape
        inverse = solve_factored(positive_factor(point.hessian), np.eye(c * d))
        pull = np.kron(gram(c + 1), np.diag(problem.objective.penalty))
        # tr H⁻¹ (H − Λ)
        freedom = c * d - float(np.vdot(inverse, pull))
        m = problem.moments
        null = float(m.weights @ np.log(m.weights / m.total_weight))
        return cls(
            problem.scaling.to_original(point.phi),
            _in_original_units(problem, inverse.reshape(c, d, c, d)),
            freedom,
            -point.misfit,
            null,
            m.total_weight,
            l2,
        )

    @classmethod
    def at(
        cls,
        x: Any,
        codes: Codes,
        weight: Floats | None,
        moments: Moments,
        beta: Floats,
        l2: float,
    ) -> Inference:
        """Return the inverse of the Hessian at given coefficients, in one pass over rows."""
        problem = Problem.of(x, codes, weight, moments, l2=l2)
        point = problem.objective.curve(problem.scaling.from_original(beta))
        return cls.of(problem, point, l2)

    def summary(
        self, classes: tuple[Any, ...], terms: tuple[str, ...], level: float
    ) -> LogisticSummary:
        """Return the table for people."""
        errors = np.sqrt(np.diagonal(self.covariance)).reshape(self.beta.shape)
        return LogisticSummary(
            terms,
            classes,
            self.beta,
            errors,
            self.log_likelihood,
            self.null_log_likelihood,
            self.weight,
            self.degrees_of_freedom,
            self.l2,
            level,
        )


def _in_original_units(problem: Problem, inverse: Floats) -> Floats:
    """Return J Cov Jᵀ, where J maps φ to (w_0, w)."""
    c, d = inverse.shape[:2]
    jacobian = problem.scaling.to_original(np.eye(d)).T
    covariance = np.einsum("ij,ajbk,lk->aibl", jacobian, inverse, jacobian, optimize=True)
    covariance[:, 1 + problem.aliased] = np.nan
    covariance[:, :, :, 1 + problem.aliased] = np.nan
    matrix: Floats = covariance.reshape(c * d, c * d)
    return matrix
