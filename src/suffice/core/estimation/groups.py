"""Groups of tied classes, which share a covariance, and the sums of each group.

The sums of group g are M_g = Σ_{k∈g} M_k, w_g = Σ_{k∈g} w_k and K_g, the number of classes of the
group that have rows. Pooling (Friedman 1989) mixes the sums of each group with the sums of all
groups. ``divisors.py`` computes Σ_g = M_g / w_g, or M_g / (w_g − K_g).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from suffice.core.moments import Moments
from suffice.core.moments.collect import SMALLEST
from suffice.core.table.matrix import column_name
from suffice.errors import InvalidInputError, InvalidParameterError, UnknownLabelError
from suffice.typing import Codes, Floats, Labels

# whether all classes share a covariance (True) or none (False), or groups of labels that share one
Tied: TypeAlias = bool | tuple[tuple[object, ...], ...]


def group_codes(tied: Tied, classes: Labels) -> Codes:
    """Return the number of the group of each class, (K,)."""
    if isinstance(tied, bool):
        return np.zeros(len(classes), np.intp) if tied else np.arange(len(classes))
    position = {label: k for k, label in enumerate(classes.tolist())}
    group_of = np.full(len(classes), -1, np.intp)
    for g, labels in enumerate(tied):
        for label in labels:
            if label not in position:
                raise UnknownLabelError(
                    f"tied names the class {label!r}, but the classes are {classes.tolist()}"
                )
            if group_of[position[label]] >= 0:
                raise InvalidParameterError(
                    f"tied puts the class {label!r} into two groups: name it once"
                )
            group_of[position[label]] = g
    # a class that is not named forms a group of its own
    unnamed = np.flatnonzero(group_of < 0)
    group_of[unnamed] = len(tied) + np.arange(len(unnamed))
    # renumber groups so that class 0 is in group 0 and no number is skipped
    _, first, inverse = np.unique(group_of, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


class GroupScatter(NamedTuple):
    """The sums of each group of tied classes, from which covariances are estimated."""

    scatters: Floats  # Σ_{k∈g} M_k  (G, d, d), or the diagonals (G, d)
    weights: Floats  # Σ_{k∈g} w_k  (G,)
    n_means: Floats  # K_g, the number of classes of the group with positive weight  (G,)

    @property
    def pooled(self) -> GroupScatter:
        """The sums of all groups, as a single group."""
        return GroupScatter(
            scatters=self.scatters.sum(0, keepdims=True),
            weights=self.weights.sum(0, keepdims=True),
            n_means=self.n_means.sum(0, keepdims=True),
        )


def full_groups(moments: Moments, group_of: Codes) -> GroupScatter:
    """Return the weights of each group and the sums of its scatter matrices."""
    if group_of.max(initial=0) == 0:
        return _grouped(moments, group_of, moments.pooled_scatter[None])
    return _grouped(moments, group_of, moments.scatters)


def diagonal_groups(moments: Moments, group_of: Codes) -> GroupScatter:
    """Return the weights of each group and its sums of squares."""
    if group_of.max(initial=0) == 0:
        return _grouped(moments, group_of, moments.scatter.pooled_diagonal()[None])
    return _grouped(moments, group_of, moments.diagonals)


def fourth_groups(moments: Moments, group_of: Codes) -> GroupScatter:
    """Return the weights of each group and its Σ w z_i² z_j² about the class means."""
    fourths = moments.required_fourth().fourths
    quartic = np.diagonal(fourths, axis1=1, axis2=2)
    vanished = (quartic < SMALLEST) & (moments.diagonals > 0)
    unusable = np.flatnonzero((~np.isfinite(quartic) | vanished).any(0))
    if len(unusable):
        column = column_name(moments.feature_names, int(unusable[0]))
        raise InvalidInputError(
            f"the fourth powers of the numbers in column {column} overflow or vanish: rescale "
            "the column, or use shrinkage='oas'"
        )
    return _grouped(moments, group_of, fourths)


def _grouped(moments: Moments, group_of: Codes, scatters: Floats) -> GroupScatter:
    """Return the sums of each group, given a scatter for each class or for each group."""
    n_groups = int(group_of.max(initial=0)) + 1
    weights: Floats = np.bincount(group_of, moments.weights, n_groups).astype(np.float64)
    n_means: Floats = np.bincount(group_of, moments.weights > 0, n_groups).astype(np.float64)
    if n_groups < len(scatters):
        merged = np.zeros((n_groups, *scatters.shape[1:]))
        np.add.at(merged, group_of, scatters)
        scatters = merged
    return GroupScatter(scatters, weights, n_means)
