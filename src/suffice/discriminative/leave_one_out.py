"""The penalty that predicts best: leave-one-out log-loss of a logistic fit, without a refit."""

import numpy as np

from suffice.discriminative.contrasts import all_scores
from suffice.discriminative.logistic_loss import CurvedEvaluation, misfit_and_probabilities
from suffice.discriminative.problem import Problem
from suffice.linalg import positive_factor, solve_factored
from suffice.table import Table
from suffice.typing import Floats

_LEAST, _PER_DECADE = 1e-3, 2


def penalties(weight: float) -> Floats:
    """Return the λ to choose among, falling: from that of a prior as strong as all rows."""
    decades = max(np.log10(weight / _LEAST), 1.0)
    return np.asarray(weight * 10.0 ** -np.arange(0, decades + 1e-9, 1 / _PER_DECADE))


def held_out_loss(problem: Problem, point: CurvedEvaluation) -> float:
    """Return the mean of −log p(y_i | x_i) by coefficients that row i had no part in.

    One Newton step from the fit of all rows gives those of all but one, from the Hessian without
    that row: a rank-C change, so that no row needs a factorisation of its own.

    References
    ----------
    Rad & Maleki (2020), *JRSS B* 82, 965–996.
    """
    inverse = solve_factored(positive_factor(point.hessian), np.eye(point.phi.size))
    design = problem.objective.design
    total = sum(_block_loss(block, point.phi, inverse) for block in design.blocks())
    return total / design.total_weight


def _block_loss(block: Table, phi: Floats, inverse: Floats) -> float:
    c, d = phi.shape
    z, w = block.x, block.weights
    _, p = misfit_and_probabilities(phi, block)
    # G = Zᵀ H⁻¹ Z of each row, Z = I ⊗ z, (n, C, C)
    of_pairs = inverse.reshape(c, d, c, d)
    g = np.empty((len(z), c, c))
    for k, l in np.ndindex(c, c):  # noqa: E741
        g[:, k, l] = ((z @ of_pairs[k, :, l]) * z).sum(1)
    # V = w (diag p − p pᵀ),  r = w (p − t)
    v = w[:, None, None] * (np.eye(c) * p.T[:, None] - p.T[:, :, None] * p.T[:, None])
    t = (block.codes[:, None] == np.arange(1, c + 1)).astype(float)
    r = w[:, None] * (p.T - t)
    # a without row i = a + (I − G V)⁻¹ G r
    moved = np.linalg.solve(np.eye(c) - g @ v, g @ r[:, :, None])[:, :, 0]
    a = all_scores(phi @ z.T + moved.T)
    top = a.max(0)
    log_total = np.log(np.exp(a - top).sum(0)) + top
    return float(w @ (log_total - a[block.codes, np.arange(len(w))]))
