"""What each held-out row costs: error, log-loss and Brier score, from scores of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.linalg import EPS
from suffice.model.posterior import LogPosterior

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats

#: Log-loss of a row whose class had no row in training: −log of the smallest relative step.
ABSENT_LOSS = float(-np.log(EPS))


@dataclass(frozen=True, slots=True, eq=False)
class RowLosses:
    """Losses of each row."""

    errors: Floats  # 1 where the most probable class is not the true one  (n,)
    log_losses: Floats  # −log p(true class)  (n,)
    briers: Floats  # Σ_k (p_k − [k is true])²  (n,)

    @classmethod
    def of(cls, log_posterior: Floats, truth: Codes) -> RowLosses:
        """Return the losses of log-posteriors (n, K) for true codes (n,)."""
        rows = np.arange(len(truth))
        log_true = log_posterior[rows, truth]
        p = np.exp(log_posterior)
        # Σ_k (p_k − t_k)² = Σ_k p_k² − 2 p_true + 1
        briers = np.einsum("nk,nk->n", p, p) - 2 * p[rows, truth] + 1
        errors = (log_posterior.argmax(1) != truth).astype(np.float64)
        log_losses = np.where(np.isfinite(log_true), -log_true, ABSENT_LOSS)
        return cls(errors, log_losses, briers)

    @classmethod
    def of_scores(cls, scores: Floats, truth: Codes, temperature: float = 1.0) -> RowLosses:
        """Return the losses of scores a_k(x) (n, K), softmax(a / T) their posterior."""
        return cls.of(LogPosterior(temperature).read(scores), truth)

    def means(self, weight: Floats | None = None) -> Floats:
        """Return mean error, log-loss and Brier score, shape (3,)."""
        stacked = np.stack([self.errors, self.log_losses, self.briers])
        return np.asarray(np.average(stacked, axis=1, weights=weight))
