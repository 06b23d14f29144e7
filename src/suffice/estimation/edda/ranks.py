"""Rank and square root of scatters, judged on the correlation scale: free of units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.linalg import rank_tolerance

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats

NO_SPREAD = 1e-13  # a standard deviation below this part of the pooled one is rounding


def roots(w: Floats) -> tuple[Floats, Codes]:
    """Return F (K, d, d) with W_k = F_kᵀ F_k, and the ranks (K,)."""
    s = _scales(w)
    unit = np.where(s > 0, s, np.inf)
    # W = S R S,  R = Q Λ Qᵀ,  F = Λ^½ Qᵀ S
    values, q = np.linalg.eigh(w / (unit[:, :, None] * unit[:, None, :]))
    values = np.where(values > rank_tolerance(w.shape[-1]), values, 0.0)
    f = np.sqrt(values)[:, :, None] * np.swapaxes(q, 1, 2) * s[:, None, :]
    return f, np.count_nonzero(values, axis=1)


def ranks(w: Floats) -> Codes:
    """Return the rank of each scatter of a stack, shape (K,)."""
    return roots(w)[1]


def _scales(w: Floats) -> Floats:
    s: Floats = np.sqrt(np.maximum(np.diagonal(w, axis1=1, axis2=2), 0.0))
    pooled = np.sqrt(np.square(s).sum(0))
    return np.where(s > NO_SPREAD * pooled, s, 0.0)
