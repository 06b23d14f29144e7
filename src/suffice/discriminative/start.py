"""Where a descent starts: at linear discriminant analysis, at zero, or at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from suffice.discriminative.solve import solve_semidefinite

if TYPE_CHECKING:
    from suffice.discriminative.problem import Problem
    from suffice.typing import Floats

_FARTHEST = 15.0  # log odds at a class mean; beyond, the loss has hardly any curvature left


class Start(Protocol):
    """A choice of first parameters."""

    def phi(self, problem: Problem) -> Floats:
        """Return parameters in the problem's units, shape (C, D)."""
        ...


@dataclass(frozen=True, slots=True)
class Zero:
    """Every class equally likely, everywhere."""

    def phi(self, problem: Problem) -> Floats:
        """Return zeros, shape (C, D)."""
        return np.zeros(problem.objective.shape)


@dataclass(frozen=True, slots=True)
class Random:
    """Standard normal parameters, seeded."""

    seed: int = 0

    def phi(self, problem: Problem) -> Floats:
        """Return random parameters, shape (C, D)."""
        return np.random.default_rng(self.seed).standard_normal(problem.objective.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """Parameters of an earlier fit, in original units."""

    beta: Floats  # (C, D)

    def phi(self, problem: Problem) -> Floats:
        """Return the same parameters in the problem's units."""
        return problem.scaling.from_original(self.beta)


@dataclass(frozen=True, slots=True)
class Lda:
    """Linear discriminant analysis: a closed form of the same linear log odds.

    Zero where moments hold no full covariance (very many features).

    References
    ----------
    Efron (1975), *Journal of the American Statistical Association* 70, 892–898.
    """

    def phi(self, problem: Problem) -> Floats:
        """Return the log odds of Gaussian classes of one covariance, shape (C, D)."""
        m, v = problem.moments, problem.scaling.inverse
        if m.storage == "diagonal":
            return Zero().phi(problem)
        # about the grand mean:  w_k = Σ⁻¹ μ_k,  w_k0 = −½ μ_kᵀ w_k + log π_k
        means = m.centred_means * v
        within = m.pooled_scatter * v * v[:, None] / m.total_weight
        slopes = _tempered(means, solve_semidefinite(within, means.T).T)
        log_priors = np.log(m.weights / m.total_weight)
        intercepts = log_priors - 0.5 * np.einsum("kj,kj->k", means, slopes)
        about = (m.grand_mean - problem.scaling.centre) * v
        rows = np.column_stack([intercepts - slopes @ about, slopes])
        phi: Floats = rows[1:] - rows[0]
        return phi


def _tempered(means: Floats, slopes: Floats) -> Floats:
    """Return the slopes, all smaller where classes lie so far apart that the loss is flat."""
    # half the squared distance of two class means is their log odds there
    scores = means @ slopes.T
    own = np.diagonal(scores)
    distances = own + own[:, None] - scores - scores.T
    return slopes * min(1.0, _FARTHEST / max(0.5 * float(distances.max()), _FARTHEST))
