"""The label of a row on which no decision is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from suffice.typing import Labels


def actions_with_reject(classes: Labels, reject_label: Any = None) -> Labels:
    """Return the labels of the K classes and of the reject action, (K + 1,).

    A label of the classes' own kind keeps their type. The default, None, is NaN beside
    numbers, in a float array; beside anything else, and for a label of another kind, the
    array is one of objects.

    Examples
    --------
    >>> import numpy as np
    >>> actions_with_reject(np.array([0, 1]))
    array([ 0.,  1., nan])
    >>> actions_with_reject(np.array(["a", "b"]), "?")
    array(['a', 'b', '?'], dtype='<U1')
    >>> actions_with_reject(np.array(["a", "b"]))
    array(['a', 'b', None], dtype=object)
    """
    if reject_label is None:
        return _with_nothing(classes)
    if any(label == reject_label for label in classes.tolist()):
        msg = f"reject_label={reject_label!r} is also a class: choose another"
        raise InvalidParameterError(msg)
    label = np.asarray(reject_label)
    if label.ndim == 0 and _family(label.dtype.kind) == _family(classes.dtype.kind):
        return np.append(classes, label)
    return _objects(classes, reject_label)


def _with_nothing(classes: Labels) -> Labels:
    """Return the classes and NaN, or None where they are not numbers that a float can hold."""
    if classes.dtype.kind in "iuf":
        numbers = np.append(classes.astype(np.float64), np.nan)
        if np.array_equal(numbers[:-1].astype(classes.dtype), classes):
            return numbers
    return _objects(classes, None)


def _objects(classes: Labels, reject_label: Any) -> Labels:
    actions = np.empty(len(classes) + 1, dtype=object)
    actions[:-1] = classes.tolist()
    actions[-1] = reject_label
    return actions


def _family(kind: str) -> str:
    """Return one letter for all numbers, the kind itself otherwise."""
    return "n" if kind in "iuf" else kind
