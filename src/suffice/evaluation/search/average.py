"""Weights of an average of posteriors, by maximum held-out likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from suffice.typing import Floats

_STEPS = 100
_NEGLIGIBLE = 0.02  # a share below this costs time and changes nothing


def mixing_weights(true_log: Floats, weight: Floats) -> Floats:
    """Return shares (M,) that make Σ_n w_n log Σ_m s_m p_m(true class of n) large.

    ``true_log`` holds log p_m of the true class (M, n). A hundred EM steps from equal shares: the
    likelihood is concave, and stopping early keeps the average from trusting one member only.
    """
    p = np.exp(true_log - true_log.max(0))
    shares = np.full(len(p), 1 / len(p))
    for _ in range(_STEPS):
        # s_m ← s_m · E[p_m / Σ_j s_j p_j]
        ratio = p / (shares @ p)
        shares = shares * np.average(ratio, axis=1, weights=weight)
    shares = np.where(shares < _NEGLIGIBLE, 0.0, shares)
    return np.asarray(shares / shares.sum())
