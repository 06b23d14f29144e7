"""Choice of the penalty λ with the lowest leave-one-out log-loss, by one fit for each λ."""

import numpy as np

from suffice.core.linalg import positive_factor, solve_factored
from suffice.core.moments import Moments
from suffice.core.progress import Progress
from suffice.core.table.sampling import stratified_sample
from suffice.core.table.table import Table
from suffice.core.threads import one_blas_thread
from suffice.discriminative.logistic_loss import Evaluation, all_scores, probabilities
from suffice.discriminative.newton import LimitedMemory, Newton
from suffice.discriminative.problem import (
    WIDEST_HESSIAN,
    Problem,
    coded_moments,
)
from suffice.discriminative.starts import Start, lda_start, start_at, zero_start
from suffice.discriminative.stopping import Stopping
from suffice.typing import Codes, Floats

_JUDGED_ROWS = 50_000  # most rows of the sample on which the penalty is chosen
_FOLDED_ROWS = 10_000  # most rows of the sample if each penalty is fitted in each fold
_N_FOLDS = 5
_ROUGH = Stopping(tol=1e-3, max_iter=200)  # precise enough to compare losses
_MOST_RISES = 2  # a fold stops this many penalties (one decade) after its best penalty
_LEAST = 1e-3
_PER_DECADE = 2


def choose_penalty(
    table: Table,
    moments: Moments,
    *,
    fit_intercept: bool = True,
    standardize: bool = True,
    per_deviation: bool = True,
) -> float:
    """Return the λ with the lowest leave-one-out log-loss; if d is large, five-fold log-loss."""
    n_parameters = (table.n_classes - 1) * (table.n_features + 1)
    if n_parameters > WIDEST_HESSIAN:
        return _penalty_of_folds(
            table,
            fit_intercept=fit_intercept,
            standardize=standardize,
            per_deviation=per_deviation,
        )
    if table.n_rows > _JUDGED_ROWS:
        table = table.take(stratified_sample(table.codes, _JUDGED_ROWS, 0))
        moments = coded_moments(table, moments.storage)
    best_l2 = 0.0
    least_loss = np.inf
    start: Start = lda_start
    candidates = penalties(moments.total_weight).tolist()
    with one_blas_thread(), Progress(total=len(candidates), what="choosing l2") as progress:
        for l2 in candidates:
            problem = Problem.of(
                table,
                moments,
                l2=l2,
                fit_intercept=fit_intercept,
                standardize=standardize,
                per_deviation=per_deviation,
            )
            point = Newton().solve(problem, start(problem), Newton.default).point
            start = start_at(problem.scaling.to_original(point.phi))
            loss = held_out_loss(problem, point)
            # of penalties with equal losses, take the smallest, which comes last
            if loss <= least_loss:
                least_loss = loss
                best_l2 = l2
            progress.step()
    return best_l2


def _penalty_of_folds(
    table: Table,
    *,
    fit_intercept: bool,
    standardize: bool,
    per_deviation: bool,
) -> float:
    """Return the λ with the lowest log-loss over folds, from fits that start at the previous λ's.

    A fold stops ``_MOST_RISES`` penalties after its own best penalty, since smaller penalties
    overfit more and take more steps. A λ that some fold did not reach is not chosen.
    """
    rows = table.take(stratified_sample(table.codes, _FOLDED_ROWS, 0))
    fold_of = _fold_numbers(rows.codes)
    candidates = penalties(rows.weights.sum())
    losses = np.full((_N_FOLDS, len(candidates)), np.inf)
    n_fits = losses.size
    with one_blas_thread(), Progress(total=n_fits, what="choosing l2") as progress:
        for fold in range(_N_FOLDS):
            train = rows.take(fold_of != fold)
            held_out = rows.take(fold_of == fold)
            moments = coded_moments(train, "diagonal")
            start: Start = zero_start
            for i, l2 in enumerate(candidates.tolist()):
                problem = Problem.of(
                    train,
                    moments,
                    l2=l2,
                    fit_intercept=fit_intercept,
                    standardize=standardize,
                    per_deviation=per_deviation,
                )
                point = LimitedMemory().solve(problem, start(problem), _ROUGH).point
                beta = problem.scaling.to_original(point.phi)
                start = start_at(beta)
                losses[fold, i] = _log_loss(beta, held_out)
                progress.reach(fold * len(candidates) + i + 1)
                if i - np.argmin(losses[fold]) >= _MOST_RISES:
                    break
    return float(candidates[np.argmin(losses.sum(0))])


def _fold_numbers(codes: Codes) -> Codes:
    """Return the fold of each row, with the rows of each class assigned to folds in turn."""
    order = np.argsort(codes, kind="stable")
    fold_of = np.empty(len(codes), np.intp)
    fold_of[order] = np.arange(len(codes)) % _N_FOLDS
    return fold_of


def _log_loss(beta: Floats, rows: Table) -> float:
    """Return Σ −w log p(y | x) of held-out rows."""
    a = all_scores(beta[:, 1:] @ np.asarray(rows.x, np.float64).T + beta[:, :1])
    a -= a.max(0)
    log_p = a[rows.codes, np.arange(rows.n_rows)] - np.log(np.exp(a).sum(0))
    return -float(rows.weights @ log_p)


def penalties(weight: float) -> Floats:
    """Return the candidates for λ, from the weight of all rows down to ``_LEAST``."""
    decades = max(np.log10(weight / _LEAST), 1.0)
    return np.asarray(weight * 10.0 ** -np.arange(0, decades + 1e-9, 1 / _PER_DECADE))


def held_out_loss(problem: Problem, point: Evaluation) -> float:
    """Return the mean of −log p(y_i | x_i) under fits without row i, which a Newton step removes.

    Rad & Maleki (2020), *JRSS B* 82, 965–996.
    """
    factor = positive_factor(point.required_hessian())
    inverse = solve_factored(factor, np.eye(point.phi.size))
    design = problem.objective.design
    total = sum(_block_loss(block, point.phi, inverse) for block in design.blocks())
    return total / design.total_weight


def _block_loss(block: Table, phi: Floats, inverse: Floats) -> float:
    c, d = phi.shape
    z = block.x
    w = block.weights
    _, _, p = probabilities(np, phi, z)
    p = p[1:].T
    # G = Zᵀ H⁻¹ Z of each row with Z = I ⊗ z, (n, C, C)
    pair_inverse = inverse.reshape(c, d, c, d)
    g = np.empty((len(z), c, c))
    for k, l in np.ndindex(c, c):  # noqa: E741
        g[:, k, l] = ((z @ pair_inverse[k, :, l]) * z).sum(1)
    # V = w (diag p − p pᵀ),  r = w (p − t)
    v = w[:, None, None] * (np.eye(c) * p[:, None] - p[:, :, None] * p[:, None])
    t = (block.codes[:, None] == np.arange(1, c + 1)).astype(float)
    r = w[:, None] * (p - t)
    # without row i, its scores are a + (I − G V)⁻¹ G r
    change = np.linalg.solve(np.eye(c) - g @ v, g @ r[:, :, None])[:, :, 0]
    a = all_scores(phi @ z.T + change.T)
    top = a.max(0)
    log_total = np.log(np.exp(a - top).sum(0)) + top
    return float(w @ (log_total - a[block.codes, np.arange(len(w))]))
