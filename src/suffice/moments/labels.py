"""Labels of any kind to codes 0 … K−1, and unions of label sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidInputError

if TYPE_CHECKING:
    from suffice.typing import Codes, Labels

_WIDEST_TABLE = 1 << 20  # an integer range this small is counted, not sorted
_FEW = 4096  # below this, sorting is quicker than a dictionary


def encode(y: Labels) -> tuple[Labels, Codes]:
    """Return the sorted distinct labels (K,) and each row's code into them (n,)."""
    y = as_labels(y)
    if y.dtype.kind in "iub":
        return _encode_integers(y)
    if y.dtype.kind == "f":
        return _encode_floats(y)
    return _encode_text(y)


def as_labels(y: Any) -> Labels:
    """Return ``y`` as a one-dimensional array of integers, booleans, floats or text."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        msg = f"y must have one dimension, found shape {labels.shape}: pass y.ravel()"
        raise InvalidInputError(msg)
    if labels.dtype.kind == "O":
        labels = _unboxed(labels)
    if labels.dtype.kind not in "iubfU":
        msg = f"Unknown label type: {labels.dtype}; use integers, floats, booleans or text"
        raise InvalidInputError(msg)
    return labels


def union(a: Labels, b: Labels) -> Labels:
    """Return the sorted labels of either side; text and numbers do not mix."""
    if len(a) and len(b) and (a.dtype.kind == "U") != (b.dtype.kind == "U"):
        msg = (
            f"labels are text on one side and numbers on the other "
            f"({a[0]!r} and {b[0]!r}): convert one of them"
        )
        raise InvalidInputError(msg)
    if not len(a) or not len(b):
        return a if len(a) else b
    return np.union1d(a, b)


def _encode_integers(y: Labels) -> tuple[Labels, Codes]:
    if y.dtype.kind == "b":
        classes, codes = _encode_integers(y.view(np.uint8))
        return classes.astype(bool), codes
    low, high = (int(y.min()), int(y.max())) if len(y) else (0, 0)
    if high - low >= min(_WIDEST_TABLE, max(1024, 4 * len(y))):
        return _encode_by_sorting(y)
    offset = (y - y.dtype.type(low)).astype(np.intp, copy=False)
    present = np.bincount(offset, minlength=1) > 0
    table = np.cumsum(present) - 1
    classes = (np.flatnonzero(present) + low).astype(y.dtype)
    if len(classes) == high - low + 1:
        return classes, offset
    return classes[: len(y)], table.take(offset)


def _encode_floats(y: Labels) -> tuple[Labels, Codes]:
    finite = np.isfinite(y)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        msg = f"Input y contains NaN or infinity (row {row}): drop those rows or label them"
        raise InvalidInputError(msg)
    if np.any(y != np.rint(y)):
        row = int(np.flatnonzero(y != np.rint(y))[0])
        msg = (
            f"Unknown label type: continuous (row {row} of y is {y[row]:g}); "
            "a classifier needs discrete labels: bin the target first"
        )
        raise InvalidInputError(msg)
    if not len(y) or np.abs(y).max() >= 2**53:
        return _encode_by_sorting(y)
    classes, codes = _encode_integers(y.astype(np.int64))
    return classes.astype(y.dtype), codes


def _encode_text(y: Labels) -> tuple[Labels, Codes]:
    if len(y) < _FEW:
        return _encode_by_sorting(y)
    first_seen: dict[str, int] = {}
    values = y.tolist()
    arrival = np.fromiter(
        (first_seen.setdefault(v, len(first_seen)) for v in values), np.intp, len(values)
    )
    classes, rank = np.unique(np.array(list(first_seen)), return_inverse=True)
    return classes, rank.astype(np.intp)[arrival]


def _encode_by_sorting(y: Labels) -> tuple[Labels, Codes]:
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.intp, copy=False)


def _unboxed(y: Labels) -> Labels:
    """Return an object array as text or numbers, if its values are all of one kind."""
    values = y.tolist()
    missing = [row for row, v in enumerate(values) if v is None or v != v]
    if missing:
        msg = f"Input y contains NaN: row {missing[0]} has no label; drop it or label it"
        raise InvalidInputError(msg)
    kinds = {str if isinstance(v, str) else type(v) for v in values}
    unboxed = np.array(values) if kinds else np.zeros(0, np.int64)
    if unboxed.ndim != 1 or (len(kinds & {str}) != len(kinds) and str in kinds):
        names = sorted(kind.__name__ for kind in kinds)
        msg = f"Unknown label type: y mixes {', '.join(names)}; convert the labels to one kind"
        raise InvalidInputError(msg)
    return unboxed
