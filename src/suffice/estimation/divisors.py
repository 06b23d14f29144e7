"""From the sums of groups of classes to covariances: maximum likelihood or unbiased (Bessel)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.linalg import EPS, resolved
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.estimation.groups import GroupScatter
    from suffice.moments import Moments


def divided(groups: GroupScatter, *, unbiased: bool) -> Floats:
    """Return Σ_g = S_g / w_g, or S_g / (w_g − K_g) with Bessel's correction; zero if w_g is."""
    w = groups.weights - (groups.n_means if unbiased else 0.0)
    w = w.reshape(-1, *[1] * (groups.scatters.ndim - 1))
    enough = w > EPS * np.maximum(groups.weights.reshape(w.shape), 1.0)
    return np.where(enough, groups.scatters / np.where(enough, w, 1.0), 0.0)


def total_variances(moments: Moments) -> Floats:
    """Return the variance of each feature over all rows, shape (d,); zero where constant."""
    weight = max(moments.total_weight, np.finfo(float).tiny)
    between = (moments.weights[:, None] * moments.centred_means**2).sum(0)
    total = (moments.scatter.pooled_diagonal() + between) / weight
    return resolved(total, moments.grand_mean, total)


def resolved_variances(variances: Floats, moments: Moments, group_of: Codes) -> Floats:
    """Return the variances of groups (G, d), exactly zero where they are only rounding."""
    largest = np.zeros_like(variances)
    np.maximum.at(largest, group_of, np.abs(moments.means))
    return resolved(variances, largest, total_variances(moments))
