"""Divisors and tied covariances: which classes share one, their sums, and these divided.

With w_k the weight of class k and S_k its scatter, by maximum likelihood or without bias,

    Σ_k = S_k / w_k  or  S_k / (w_k − 1)      tied  Σ = Σ_k S_k / w  or  Σ_k S_k / (w − K)

and tied as the average of unbiased ones, Σ = Σ_k w_k / w · S_k / (w_k − 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from suffice.errors import (
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
    UnknownLabelError,
)
from suffice.linalg import EPS, resolved
from suffice.moments import Moments
from suffice.moments.collect import SMALLEST
from suffice.table.matrix import column_name
from suffice.typing import Codes, Floats, Labels

Tied: TypeAlias = bool | tuple[tuple[Any, ...], ...]  # all classes, none, or groups of labels


class DivisorWord(NamedTuple):
    """What a word for ``divisor`` stands for."""

    unbiased: bool = False  # one less for each mean, rather than the weight
    averaged: bool = False  # unbiased class by class; tied classes share the mean by weight


def group_codes(tied: Tied, classes: Labels) -> Codes:
    """Return the group of each class (K,): one group, one each, or groups of labels."""
    if isinstance(tied, bool):
        return np.zeros(len(classes), np.intp) if tied else np.arange(len(classes))
    position = {label: k for k, label in enumerate(classes.tolist())}
    group_of = np.full(len(classes), -1, np.intp)
    for g, labels in enumerate(tied):
        for label in labels:
            if label not in position:
                raise UnknownLabelError(f"tied names {label!r}; the classes are {classes.tolist()}")
            if group_of[position[label]] >= 0:
                raise InvalidParameterError(f"tied puts {label!r} into two groups: name it once")
            group_of[position[label]] = g
    left_out = np.flatnonzero(group_of < 0)
    # a class that is not named has a covariance of its own
    group_of[left_out] = len(tied) + np.arange(len(left_out))
    # renumber groups so that class 0 is in group 0 and no number is skipped
    _, first, inverse = np.unique(group_of, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


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
    fourths = moments.required_fourth().fourths
    quartic = np.diagonal(fourths, axis1=1, axis2=2)
    small = (quartic < SMALLEST) & (moments.diagonals > 0)
    for j in np.flatnonzero((~np.isfinite(quartic) | small).any(0))[:1]:
        raise InvalidInputError(
            f"the fourth powers of numbers overflow or vanish in column "
            f"{column_name(moments.feature_names, int(j))}: rescale it, or use shrinkage='oas'"
        )
    return _grouped(moments, group_of, fourths)


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


def divisors(weights: Floats, n_means: Floats, *, unbiased: bool) -> Floats:
    """Return the divisor of the scatter of each group, (G,); zero where nothing is left of it.

    Maximum likelihood divides by the weight w; without bias it is w − 1 for one class, and
    w − K for K classes that share a covariance (Bessel's correction: one for each mean).
    """
    w = weights - (n_means if unbiased else 0.0)
    return np.where(w > EPS * np.maximum(weights, 1.0), w, 0.0)


def divided(groups: GroupScatter, *, unbiased: bool) -> Floats:
    """Return Σ_g = S_g / w_g, or S_g / (w_g − K_g) with Bessel's correction; zero if w_g is."""
    w = divisors(groups.weights, groups.n_means, unbiased=unbiased)
    w = w.reshape(-1, *[1] * (groups.scatters.ndim - 1))
    # Σ_g = Σ_{k∈g} S_k / (w_g − K_g)
    return np.where(w > 0, groups.scatters / np.where(w > 0, w, 1.0), 0.0)


def unbiased_by_class(moments: Moments) -> Moments:
    """Return the sums with S_k w_k / (w_k − 1); zero for a class of one row.

    Divided by the weight of their classes they are Σ_k w_k / w · S_k / (w_k − 1).
    """
    if moments.storage == "pooled":
        raise MissingStatisticsError(
            "divisor='averaged' needs the scatter of each class, and these moments hold their sum: "
            "collect them with storage='per-class'"
        )
    w = moments.weights
    less, values = divisors(w, np.ones(len(w)), unbiased=True), moments.scatter.values
    factors = np.divide(w, less, out=np.zeros(len(w)), where=less > 0)
    scaled = values * factors.reshape(-1, *[1] * (values.ndim - 1))
    return replace(moments, scatter=replace(moments.scatter, values=scaled))


def resolved_variances(variances: Floats, moments: Moments, group_of: Codes) -> Floats:
    """Return the variances of groups (G, d), exactly zero where they are only rounding."""
    largest = np.zeros_like(variances)
    np.maximum.at(largest, group_of, np.abs(moments.means))
    return resolved(variances, largest, moments.total_variances)
