"""What predictions cost: error (0–1), log-loss and Brier score of held-out rows."""

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.linalg import EPS
from suffice.typing import Codes, Floats

CRITERIA = ("error", "log_loss", "brier")
#: Log-loss of a row whose class had no row in training: −log of the smallest relative step.
ABSENT_LOSS = float(-np.log(EPS))


def check_criterion(criterion: str) -> None:
    """Refuse a criterion that is not measured."""
    if criterion not in CRITERIA:
        msg = f"criterion must be one of {', '.join(map(repr, CRITERIA))}, got {criterion!r}"
        raise InvalidParameterError(msg)


def losses_of_rows(log_posterior: Floats, truth: Codes) -> Floats:
    """Return error, log-loss and Brier score, (3, n), of log-posteriors (n, K) and true codes."""
    rows = np.arange(len(truth))
    log_true = log_posterior[rows, truth]
    p = np.exp(log_posterior)
    # Σ_k (p_k − t_k)² = Σ_k p_k² − 2 p_true + 1
    briers = np.einsum("nk,nk->n", p, p) - 2 * p[rows, truth] + 1
    log_losses = np.where(np.isfinite(log_true), -log_true, ABSENT_LOSS)
    return np.stack([log_posterior.argmax(1) != truth, log_losses, briers])


def summed_losses(scores: Floats, truth: Codes, weight: Floats, temperatures: Floats) -> Floats:
    """Return Σ w of error, log-loss and Brier score (Γ, T, 3) of scores (K, Γ, m)."""
    scores -= scores.max(0)
    at = truth, slice(None), np.arange(len(truth))
    own, losses = scores[at].T, np.empty((scores.shape[1], len(temperatures), 3))
    # the first of the best is predicted
    before = (np.arange(len(scores))[:, None] < truth)[:, None]
    errors = ((own < 0) | ((scores == 0) & before).any(0)) @ weight
    for i, t in enumerate(temperatures):
        p = np.exp(scores if t == 1 else scores / t)
        total = p.sum(0)
        log_losses = np.log(total) - own / t
        log_losses = np.where(np.isfinite(log_losses), log_losses, ABSENT_LOSS)
        # Σ_k (p_k − t_k)² = Σ_k p_k² − 2 p_true + 1
        briers = (np.einsum("kgm,kgm->gm", p, p) / total - 2 * p[at].T) / total + 1
        losses[:, i] = np.stack([errors, log_losses @ weight, briers @ weight], 1)
    return losses
