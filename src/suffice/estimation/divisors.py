"""From the sums of groups of classes to covariances: maximum likelihood or unbiased (Bessel)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.linalg import EPS, resolved

if TYPE_CHECKING:
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class GroupScatter:
    """What covariances are estimated from: sums per group of tied classes."""

    scatters: Floats  # Σ_{k∈g} S_k: (G, d, d), or the diagonals (G, d)
    weights: Floats  # Σ_{k∈g} w_k  (G,)
    n_means: Floats  # K_g: classes with any weight in the group  (G,)

    @property
    def pooled(self) -> GroupScatter:
        """All groups as one."""
        sums = (self.scatters, self.weights, self.n_means)
        return GroupScatter(*(each.sum(0, keepdims=True) for each in sums))

    def divided(self, *, unbiased: bool) -> Floats:
        """Return Σ_g = S_g / w_g, or S_g / (w_g − K_g) with Bessel's correction; zero if w_g is."""
        w = self.weights - (self.n_means if unbiased else 0.0)
        w = w.reshape(-1, *[1] * (self.scatters.ndim - 1))
        enough = w > EPS * np.maximum(self.weights.reshape(w.shape), 1.0)
        return np.where(enough, self.scatters / np.where(enough, w, 1.0), 0.0)


def full_groups(moments: Moments, group_of: Codes) -> GroupScatter:
    """Return the sums of scatter matrices of each group."""
    tied = group_of.max(initial=0) == 0
    return _grouped(moments, group_of, moments.pooled_scatter[None] if tied else moments.scatters)


def diagonal_groups(moments: Moments, group_of: Codes) -> GroupScatter:
    """Return the sums of squares of each group."""
    tied = group_of.max(initial=0) == 0
    squares = moments.scatter.pooled_diagonal()[None] if tied else moments.diagonals
    return _grouped(moments, group_of, squares)


def fourth_groups(moments: Moments, group_of: Codes) -> GroupScatter:
    """Return the sums of fourth moments Σ w z_i² z_j² about the class means, of each group."""
    return _grouped(moments, group_of, moments.required_fourth().fourths)


def _grouped(moments: Moments, group_of: Codes, scatters: Floats) -> GroupScatter:
    """Return the sums of each group, from those of each class or already of each group."""
    n_groups = int(group_of.max(initial=0)) + 1
    weights: Floats = np.bincount(group_of, moments.weights, n_groups).astype(np.float64)
    n_means: Floats = np.bincount(group_of, moments.weights > 0, n_groups).astype(np.float64)
    if n_groups < len(scatters):
        merged = np.zeros((n_groups, *scatters.shape[1:]))
        np.add.at(merged, group_of, scatters)
        scatters = merged
    return GroupScatter(scatters, weights, n_means)


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
