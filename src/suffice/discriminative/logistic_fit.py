"""Fitting logistic and softmax regression: where to start, which solver and penalty, the answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from suffice.core.linalg import positive_factor, solve_factored, solve_semidefinite
from suffice.core.moments import Moments
from suffice.core.table.sampling import stratified_sample
from suffice.core.table.table import Table
from suffice.core.threads import one_blas_thread
from suffice.discriminative import logistic_loss as softmax
from suffice.discriminative.descent import DescentPath, Solution, Solver
from suffice.discriminative.design import (
    WIDEST_HESSIAN,
    CompiledDesign,
    Problem,
    coded_moments,
)
from suffice.discriminative.newton import Newton, QuasiNewton, SampledNewton
from suffice.discriminative.separation import Separation, find_separation
from suffice.discriminative.summary import LogisticSummary
from suffice.errors import InvalidParameterError
from suffice.typing import Floats

SUBSTITUTE_L2 = 1.0  # answers in place of a maximum likelihood that does not exist
_CHEAP_CURVATURE = 200  # (C + 1) D: below this a Hessian costs little more than a gradient
_DRAWN_ROWS = 2000
_FARTHEST = 15.0  # log odds at a class mean; beyond, the loss has hardly any curvature left
_JUDGED_ROWS = 50_000  # by which a penalty is chosen
_LEAST, _PER_DECADE = 1e-3, 2  # penalties to choose among

Start: TypeAlias = Callable[
    [Problem], "Floats"
]  # first parameters in the problem's units, (C, D)


def zero_start(problem: Problem) -> Floats:
    """Return zeros, shape (C, D): every class equally likely, everywhere."""
    return np.zeros(problem.objective.shape)


def random_start(problem: Problem, seed: int = 0) -> Floats:
    """Return standard normal parameters, shape (C, D)."""
    return np.random.default_rng(seed).standard_normal(problem.objective.shape)


def lda_start(problem: Problem) -> Floats:
    """Return the log odds of Gaussian classes of one covariance, or zeros, shape (C, D)."""
    # Efron (1975), *Journal of the American Statistical Association* 70, 892–898
    m, v = problem.moments, problem.scaling.inverse
    if m.storage == "diagonal" or not problem.scaling.lead:
        return zero_start(problem)
    # about the grand mean:  w_k = Σ⁻¹ μ_k,  w_k0 = −½ μ_kᵀ w_k + log π_k
    means = m.centred_means * v
    within = m.pooled_scatter * v * v[:, None] / m.total_weight
    slopes = _tempered(means, solve_semidefinite(within, means.T).T)
    intercepts = np.log(m.weights / m.total_weight) - 0.5 * np.einsum(
        "kj,kj->k", means, slopes
    )
    about = (m.grand_mean - problem.scaling.centre) * v
    rows = np.column_stack([intercepts - slopes @ about, slopes])
    return np.asarray(rows[1:] - rows[0])


def _tempered(means: Floats, slopes: Floats) -> Floats:
    """Return the slopes, all smaller where classes lie so far apart that the loss is flat."""
    # half the squared distance of two class means is their log odds there
    scores = means @ slopes.T
    own = np.diagonal(scores)
    distances = own + own[:, None] - scores - scores.T
    return slopes * min(1.0, _FARTHEST / max(0.5 * float(distances.max()), _FARTHEST))


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """A fitted logistic regression."""

    problem: Problem
    solution: Solution
    l2: float  # the penalty used
    separation: Separation | None  # found, and so l2 used, where l2=0 was asked for

    @property
    def beta(self) -> Floats:
        """Intercepts and coefficients against the first class, original units, (C, D)."""
        beta = self.problem.scaling.to_original(self.solution.point.phi)
        beta[:, 1 + self.problem.aliased] = 0.0
        return beta

    @property
    def inference(self) -> LogisticSummary | None:
        """Uncertainty of ``beta``, if the solver knew the Hessian."""
        point = self.solution.point
        return (
            None if point.hessian is None else LogisticSummary.of(self.problem, point, self.l2)
        )

    def path(self, names: tuple[str, ...]) -> DescentPath:
        """Return the recorded descent; of many rows, the loss around it is that of a sample."""
        scaling, objective, factor = self.problem.scaling, self.problem.objective, 1.0
        if objective.design.table.n_rows > _DRAWN_ROWS:
            sample = objective.sample(_DRAWN_ROWS)
            factor = objective.design.total_weight / sample.design.total_weight
            objective = sample
        loss, back = partial(_loss_at, objective, scaling, factor), scaling.to_original
        trace = self.solution.trace
        return DescentPath.along(
            trace, lambda phi: softmax.sum_to_zero(back(phi)), names, loss
        )


def fit_logistic(
    table: Table,
    moments: Moments,
    *,
    l2: float = 1.0,
    solver: Solver | None = None,
    start: Start | None = None,
    limits: Mapping[str, Any] | None = None,
    record: bool = False,
    refuse_separation: bool = True,
    **posed: bool,
) -> LogisticFit:
    """Return the fit of a table; of separable classes and l2 = 0, that of ``SUBSTITUTE_L2``."""
    # ``limits`` are fields of ``Stopping`` in the place of the solver's own, ``posed`` settings of
    # ``Problem.of``

    def fitted(l2: float) -> tuple[Problem, Solution]:
        problem = Problem.of(table, moments, l2=l2, **posed)
        way = solver or suitable_solver(problem)
        stopping = replace(way.default, **(limits or {}))
        return problem, way.solve(
            problem, (start or lda_start)(problem), stopping, record=record
        )

    with one_blas_thread():
        problem, solution = fitted(l2)
        separation = (
            find_separation(problem, solution) if refuse_separation and l2 == 0 else None
        )
        if separation is None:
            return LogisticFit(problem, solution, l2, None)
        return LogisticFit(*fitted(SUBSTITUTE_L2), SUBSTITUTE_L2, separation)


def choose_penalty(table: Table, moments: Moments, **posed: bool) -> float:
    """Return the λ of least leave-one-out log-loss, read from one fit of each λ."""
    n_parameters = (table.n_classes - 1) * (table.n_features + 1)
    if n_parameters > WIDEST_HESSIAN:
        raise InvalidParameterError(
            f"l2='auto' needs the curvature of all {n_parameters} coefficients, and that of at "
            f"most {WIDEST_HESSIAN} is affordable: pass a number, or fewer features"
        )
    if table.n_rows > _JUDGED_ROWS:
        table = table.take(stratified_sample(table.codes, _JUDGED_ROWS, 0))
        moments = coded_moments(table, moments.storage)
    best, beta = (np.inf, 0.0), None
    with one_blas_thread():
        for l2 in penalties(moments.total_weight).tolist():
            problem = Problem.of(table, moments, l2=l2, **posed)
            start = lda_start(problem) if beta is None else problem.scaling.from_original(beta)
            point = Newton().solve(problem, start, Newton.default).point
            beta = problem.scaling.to_original(point.phi)
            best = min(best, (held_out_loss(problem, point), l2))
    return best[1]


def penalties(weight: float) -> Floats:
    """Return the λ to choose among, falling: from that of a prior as strong as all rows."""
    decades = max(np.log10(weight / _LEAST), 1.0)
    return np.asarray(weight * 10.0 ** -np.arange(0, decades + 1e-9, 1 / _PER_DECADE))


def held_out_loss(problem: Problem, point: softmax.Evaluation) -> float:
    """Return the mean of −log p(y_i | x_i) by coefficients one Newton step away, without row i."""
    # Rad & Maleki (2020), *JRSS B* 82, 965–996
    inverse = solve_factored(positive_factor(point.hessian), np.eye(point.phi.size))
    design = problem.objective.design
    total = sum(_block_loss(block, point.phi, inverse) for block in design.blocks())
    return total / design.total_weight


def _block_loss(block: Table, phi: Floats, inverse: Floats) -> float:
    (c, d), z, w = phi.shape, block.x, block.weights
    p = softmax.probabilities(np, phi, z)[2][1:]
    # G = Zᵀ H⁻¹ Z of each row, Z = I ⊗ z, (n, C, C)
    of_pairs = inverse.reshape(c, d, c, d)
    g = np.empty((len(z), c, c))
    for k, l in np.ndindex(c, c):  # noqa: E741
        g[:, k, l] = ((z @ of_pairs[k, :, l]) * z).sum(1)
    # V = w (diag p − p pᵀ),  r = w (p − t)
    v = w[:, None, None] * (np.eye(c) * p.T[:, None] - p.T[:, :, None] * p.T[:, None])
    r = w[:, None] * (p.T - (block.codes[:, None] == np.arange(1, c + 1)).astype(float))
    # a without row i = a + (I − G V)⁻¹ G r
    moved = np.linalg.solve(np.eye(c) - g @ v, g @ r[:, :, None])[:, :, 0]
    a = softmax.all_scores(phi @ z.T + moved.T)
    top = a.max(0)
    log_total = np.log(np.exp(a - top).sum(0)) + top
    return float(w @ (log_total - a[block.codes, np.arange(len(w))]))


def suitable_solver(problem: Problem) -> Solver:
    """Return Newton where Hessians are affordable, (C + 1) D / 8 gradients, else quasi-Newton."""
    c, d = problem.objective.shape
    few = type(problem.objective.design) is not CompiledDesign
    if c * d > WIDEST_HESSIAN:
        return QuasiNewton()
    if few or (c > 1 and (c + 1) * d <= _CHEAP_CURVATURE):
        return Newton()
    return SampledNewton() if c == 1 else QuasiNewton()


def _loss_at(objective: softmax.Objective, scaling: Any, factor: float, at: Floats) -> float:
    """Return the loss at parameters in original units, times a factor."""
    beta = softmax.against_first(at.reshape(-1, objective.shape[1]))
    return factor * objective.evaluate(scaling.from_original(beta)).loss
