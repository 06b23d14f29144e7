"""Which classes share a covariance: all, none, or groups of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from suffice.errors import InvalidParameterError, UnknownLabelError

if TYPE_CHECKING:
    from suffice.typing import Codes, Labels

Tied: TypeAlias = bool | tuple[tuple[Any, ...], ...]  # all classes, none, or groups of labels


def group_codes(tied: Tied, classes: Labels) -> Codes:
    """Return the group of each class (K,): one group, one each, or groups of labels."""
    if isinstance(tied, bool):
        return np.zeros(len(classes), np.intp) if tied else np.arange(len(classes))
    position = {label: k for k, label in enumerate(classes.tolist())}
    group_of = np.full(len(classes), -1, np.intp)
    for g, labels in enumerate(tied):
        for label in labels:
            if label not in position:
                msg = f"tied names label {label!r}; the classes are {classes.tolist()}"
                raise UnknownLabelError(msg)
            if group_of[position[label]] >= 0:
                msg = f"tied puts label {label!r} into two groups: name it once"
                raise InvalidParameterError(msg)
            group_of[position[label]] = g
    left_out = np.flatnonzero(group_of < 0)
    # a class that is not named has a covariance of its own
    group_of[left_out] = len(tied) + np.arange(len(left_out))
    return _in_order_of_appearance(group_of)


def _in_order_of_appearance(group_of: Codes) -> Codes:
    """Renumber groups so that class 0 is in group 0 and no number is skipped."""
    _, first, inverse = np.unique(group_of, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
