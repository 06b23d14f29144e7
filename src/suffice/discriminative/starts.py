"""First parameters of a descent."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from suffice.core.linalg import solve_semidefinite
from suffice.discriminative.problem import Problem
from suffice.typing import Floats

Start: TypeAlias = Callable[[Problem], Floats]  # parameters in the problem's units, (C, D)
# if the log odds at a class mean exceed this, the loss has almost no curvature
_FARTHEST = 15.0


def zero_start(problem: Problem) -> Floats:
    """Return zeros, shape (C, D): all classes are equally probable for every row."""
    return np.zeros(problem.objective.shape)


def random_start(problem: Problem, seed: int = 0) -> Floats:
    """Return standard normal parameters, shape (C, D)."""
    return np.random.default_rng(seed).standard_normal(problem.objective.shape)


def start_at(beta: Floats) -> Start:
    """Return a start at given coefficients (C, D) in original units."""
    return lambda problem: problem.scaling.from_original(beta)


def lda_start(problem: Problem) -> Floats:
    """Return the log odds of Gaussian classes that share a covariance, or zeros, shape (C, D).

    Efron (1975), *Journal of the American Statistical Association* 70, 892–898.
    """
    m = problem.moments
    v = problem.scaling.inverse
    if m.storage == "diagonal" or not problem.scaling.lead:
        return zero_start(problem)
    # about the grand mean:  w_k = Σ⁻¹ μ_k,  w_k0 = −½ μ_kᵀ w_k + log π_k
    means = m.centred_means * v
    within = m.pooled_scatter * v * v[:, None] / m.total_weight
    slopes = _tempered(means, solve_semidefinite(within, means.T).T)
    log_priors = np.log(m.weights / m.total_weight)
    intercepts = log_priors - 0.5 * np.einsum("kj,kj->k", means, slopes)
    shift = (m.grand_mean - problem.scaling.centre) * v
    rows = np.column_stack([intercepts - slopes @ shift, slopes])
    return np.asarray(rows[1:] - rows[0])


def _tempered(means: Floats, slopes: Floats) -> Floats:
    """Return the slopes, reduced if classes are so far apart that the loss would be flat."""
    # half the squared distance of two class means is their log odds there
    scores = means @ slopes.T
    squares = np.diagonal(scores)
    distances = squares + squares[:, None] - scores - scores.T
    farthest = max(0.5 * float(distances.max()), _FARTHEST)
    return slopes * min(1.0, _FARTHEST / farthest)
