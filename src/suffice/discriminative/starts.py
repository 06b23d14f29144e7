"""First parameters of the descents of logistic regression."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from suffice.core.linalg import solve_semidefinite
from suffice.discriminative.problem import Problem
from suffice.typing import Floats

# returns parameters (C, D) in the problem's units
Start: TypeAlias = Callable[[Problem], Floats]
# if the log odds at a class mean are larger, the loss has almost no curvature there
_FARTHEST = 15.0


def zero_start(problem: Problem) -> Floats:
    """Return zeros, shape (C, D), for which all classes are equally probable in every row."""
    return np.zeros(problem.objective.shape)


def random_start(problem: Problem, seed: int = 0) -> Floats:
    """Return standard normal parameters, shape (C, D)."""
    return np.random.default_rng(seed).standard_normal(problem.objective.shape)


def start_at(beta: Floats) -> Start:
    """Return a function that starts at given coefficients (C, D) in original units."""
    return lambda problem: problem.scaling.from_original(beta)


def lda_start(problem: Problem) -> Floats:
    """Return the parameters of linear discriminant analysis, shape (C, D).

    If the moments hold no pooled scatter, or if the model has no intercept, the result is zero.
    Efron (1975), *Journal of the American Statistical Association* 70, 892–898.
    """
    m = problem.moments
    v = problem.scaling.inverse
    if m.storage == "diagonal" or not problem.scaling.lead:
        return zero_start(problem)
    # with means about the grand mean:  w_k = Σ⁻¹ μ_k,  w_k0 = −½ μ_kᵀ w_k + log π_k
    means = m.centred_means * v
    within = m.pooled_scatter * v * v[:, None] / m.total_weight
    slopes = _tempered(means, solve_semidefinite(within, means.T).T)
    log_priors = np.log(m.weights / m.total_weight)
    intercepts = log_priors - 0.5 * np.einsum("kj,kj->k", means, slopes)
    shift = (m.grand_mean - problem.scaling.centre) * v
    rows = np.column_stack([intercepts - slopes @ shift, slopes])
    return np.asarray(rows[1:] - rows[0])


def _tempered(means: Floats, slopes: Floats) -> Floats:
    """Return the slopes, reduced if the loss would be flat because classes are far apart."""
    # at its own mean, a class has the log odds ½ Δ² against a class at the distance Δ
    scores = means @ slopes.T
    squares = np.diagonal(scores)
    distances = squares + squares[:, None] - scores - scores.T
    farthest = max(0.5 * float(distances.max()), _FARTHEST)
    return slopes * min(1.0, _FARTHEST / farthest)
