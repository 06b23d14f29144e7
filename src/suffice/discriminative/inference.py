"""Uncertainty of logistic coefficients, from the curvature of the loss at its minimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.discriminative.contrasts import gram
from suffice.discriminative.solve import positive_factor, solve_factored

if TYPE_CHECKING:
    from suffice.discriminative.objective import CurvedPoint
    from suffice.discriminative.problem import Problem
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Inference:
    """Covariance of the coefficients of every class against the first, in original units.

    With a penalty this is the curvature of the penalised loss: the spread of a Bayesian
    posterior whose prior is the penalty, not that of a repeated experiment.
    """

    covariance: Floats  # (C·D, C·D), classes outside, intercept first; NaN where aliased
    degrees_of_freedom: float  # tr H⁻¹ H_loglik; the number of coefficients without penalty

    @classmethod
    def of(cls, problem: Problem, point: CurvedPoint) -> Inference:
        """Return the inverse of the Hessian at the minimum."""
        c, d = point.phi.shape
        inverse = solve_factored(positive_factor(point.hessian), np.eye(c * d))
        pull = np.kron(gram(c + 1), np.diag(problem.objective.penalty))
        # tr H⁻¹ (H − Λ)
        freedom = c * d - float(np.vdot(inverse, pull))
        return cls(_in_original_units(problem, inverse.reshape(c, d, c, d)), freedom)

    def standard_errors(self, n_classes: int) -> Floats:
        """Return the square roots of the variances, shape (C, D)."""
        errors: Floats = np.sqrt(np.diagonal(self.covariance)).reshape(n_classes - 1, -1)
        return errors


def _in_original_units(problem: Problem, inverse: Floats) -> Floats:
    """Return J Cov Jᵀ, where J maps φ to (w_0, w)."""
    c, d = inverse.shape[:2]
    jacobian = problem.scaling.to_original(np.eye(d)).T
    covariance = np.einsum("ij,ajbk,lk->aibl", jacobian, inverse, jacobian, optimize=True)
    covariance[:, 1 + problem.aliased] = np.nan
    covariance[:, :, :, 1 + problem.aliased] = np.nan
    matrix: Floats = covariance.reshape(c * d, c * d)
    return matrix
