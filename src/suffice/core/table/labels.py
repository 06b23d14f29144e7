"""Labels: what may be one, their codes, and the one look-up of a label among the classes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NoReturn

import numpy as np

from suffice.core.table.foreign import to_numpy
from suffice.core.text.lists import python_scalar, quoted
from suffice.errors import InvalidInputError, InvalidParameterError, UnknownLabelError
from suffice.typing import Codes, Labels

_WIDEST_TABLE = 1 << 20  # an integer range this small is counted, not sorted
_FEW = 4096  # below this, sorting is quicker than a dictionary
_EXACT = 1 << 53  # whole numbers from here on are not all floats
SHOWN = 12  # labels named in a message


def encode(y: Labels) -> tuple[Labels, Codes]:
    """Return the sorted distinct labels (K,) and each row's code into them (n,)."""
    y = as_labels(y)
    return {"f": _encode_floats, "U": _encode_text}.get(y.dtype.kind, _encode_integers)(y)


def as_labels(y: Any) -> Labels:
    """Return ``y`` as a one-dimensional array of integers, booleans, floats or text."""
    labels = np.asarray(to_numpy(y))
    if labels.ndim != 1:
        msg = f"y must have one dimension, found shape {labels.shape}: pass y.ravel()"
        raise InvalidInputError(msg)
    if labels.dtype.kind == "O":
        labels = _unboxed(labels)
    if labels.dtype.kind not in "iubfU":
        msg = f"Unknown label type: {labels.dtype}; use integers, floats, booleans or text"
        raise InvalidInputError(msg)
    return labels


def has_label(y: Any) -> Any:
    """Return which rows have a label, (n,) bool: not None, NaN or another library's "missing"."""
    labels = np.asarray(y)
    if labels.dtype.kind == "O":
        return ~np.fromiter(map(is_empty, labels.ravel()), bool, labels.size)
    return ~np.isnan(labels) if labels.dtype.kind == "f" else np.ones(len(labels), bool)


def is_empty(value: Any) -> bool:
    """Return whether a cell holds nothing: None, NaN, or pandas' NA and NaT."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def union(a: Labels, b: Labels) -> Labels:
    """Return the sorted labels of either side, if none could be taken for another."""
    if not len(a) or not len(b):
        return a if len(a) else b
    return np.union1d(*(_alike(a, b) if a.dtype.kind != b.dtype.kind else (a, b)))


def _alike(a: Labels, b: Labels) -> tuple[Labels, Labels]:
    """Return labels of two kinds of number as one kind that tells all of them apart."""
    kinds = {a.dtype.kind: a, b.dtype.kind: b}
    for kind, what in {"U": "text", "b": "true or false"}.items():
        if kind in kinds:
            _refuse(a, b, f"{what} on one side and numbers on the other")
    if "f" in kinds:
        wide_a, wide_b = (x[np.abs(x.astype(np.float64)) >= _EXACT] for x in (a, b))
        if len(wide_a) or len(wide_b):
            how = "whole numbers on one side and floats, which cannot tell large ones apart"
            _refuse(wide_a, wide_b, how)
        return a, b
    signed, unsigned = kinds["i"], kinds["u"]
    if unsigned.max() <= np.iinfo(np.int64).max:
        return signed.astype(np.int64), unsigned.astype(np.int64)
    if signed.min() < 0:
        _refuse(signed, unsigned[::-1], "negative on one side and beyond 2⁶³ on the other")
    return signed.astype(np.uint64), unsigned.astype(np.uint64)


def _refuse(a: Labels, b: Labels, how: str) -> NoReturn:
    known = [x.tolist() for x in (a, b) if len(x)]
    shown = (x[0] if isinstance(x[0], str) else max(x, key=abs) for x in known)
    msg = f"labels are {how} ({' and '.join(map(repr, shown))}): convert one of them"
    raise InvalidInputError(msg)


def _encode_integers(y: Labels) -> tuple[Labels, Codes]:
    if y.dtype.kind == "b":
        classes, codes = _encode_integers(y.view(np.uint8))
        return classes.astype(bool), codes
    low, high = (int(y.min()), int(y.max())) if len(y) else (0, 0)
    if high - low >= min(_WIDEST_TABLE, max(1024, 4 * len(y))):
        return _encode_by_sorting(y)
    wide = y if y.dtype.itemsize == 8 else y.astype(np.int64)  # −128 to 127 is 255 apart
    offset = (wide - wide.dtype.type(low)).astype(np.intp, copy=False)
    present = np.bincount(offset, minlength=1) > 0
    classes = (np.flatnonzero(present).astype(wide.dtype) + wide.dtype.type(low)).astype(
        y.dtype
    )
    if len(classes) == high - low + 1:
        return classes, offset
    return classes[: len(y)], (np.cumsum(present) - 1).take(offset)


def _encode_floats(y: Labels) -> tuple[Labels, Codes]:
    finite = np.isfinite(y)
    if not finite.all():
        row = int(np.argmin(finite))
        msg = f"Input y contains NaN or infinity (row {row}): drop those rows or label them"
        raise InvalidInputError(msg)
    if np.any(y != np.rint(y)):
        row = int(np.argmax(y != np.rint(y)))
        cure = "a classifier needs discrete labels: bin the target first"
        msg = f"Unknown label type: continuous (row {row} of y is {y[row]:g}); {cure}"
        raise InvalidInputError(msg)
    if len(y) and np.abs(y).max() >= _EXACT:
        row = int(np.argmax(np.abs(y)))
        cure = "convert them to integers of one sign, or to text"
        msg = f"row {row} of y is {y[row]:.0f}: as floats not all labels beyond 2⁵³ differ; {cure}"
        raise InvalidInputError(msg)
    classes, codes = _encode_integers(y.astype(np.int64))
    return classes.astype(y.dtype), codes


def _encode_text(y: Labels) -> tuple[Labels, Codes]:
    if len(y) < _FEW:
        return _encode_by_sorting(y)
    place: defaultdict[str, int] = defaultdict()
    place.default_factory = place.__len__  # each label's place is when it came first
    arrival = np.fromiter(map(place.__getitem__, y.tolist()), np.intp, len(y))
    classes, rank = np.unique(np.array(list(place)), return_inverse=True)
    return classes, rank.astype(np.intp)[arrival]


def _encode_by_sorting(y: Labels) -> tuple[Labels, Codes]:
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.intp, copy=False)


def _unboxed(y: Labels) -> Labels:
    values = y.tolist()
    kinds = {str if isinstance(v, str) else type(v) for v in values}
    missing = [] if kinds == {str} else [row for row, v in enumerate(values) if is_empty(v)]
    if missing:
        msg = f"Input y contains NaN: row {missing[0]} has no label; drop it or label it"
        raise InvalidInputError(msg)
    unboxed = np.array(values) if kinds else np.zeros(0, np.int64)
    if unboxed.ndim != 1 or (len(kinds & {str}) != len(kinds) and str in kinds):
        names = sorted(kind.__name__ for kind in kinds)
        msg = f"Unknown label type: y mixes {', '.join(names)}; convert the labels to one kind"
        raise InvalidInputError(msg)
    return unboxed


def positions(classes: Any) -> dict[Any, int]:
    """Return the code of each label."""
    return {label: code for code, label in enumerate(np.asarray(classes).tolist())}


def code_of(label: Any, classes: Any, *, where: str = "the call") -> int:
    """Return the code of one label, or say which labels there are."""
    return position(label, positions(classes), where=where)


def two_codes(label_a: Any, label_b: Any, classes: Any) -> tuple[int, int]:
    """Return the codes of two labels, which must be two."""
    a, b = (code_of(label, classes) for label in (label_a, label_b))
    if a == b:
        raise InvalidInputError(f"name two different classes, not {label_a!r} twice")
    return a, b


def codes_of(labels: Any, classes: Any, *, strict: bool = True) -> Codes:
    """Return the code of each label, (n,); −1, or an error if ``strict``, where it is no class."""
    found, known = np.asarray(labels), np.asarray(classes)
    kinds = {"text" if a.dtype.kind == "U" else a.dtype.kind in "iubf" for a in (found, known)}
    signs = {found.dtype.kind, known.dtype.kind} == {
        "i",
        "u",
    }  # of 64 bits they meet as floats
    meet = signs and np.result_type(found, known).kind == "f"
    if len(kinds) > 1 or False in kinds or not len(known) or meet:
        place = positions(known)
        codes = np.array([place.get(label, -1) for label in found.tolist()], np.intp)
    else:
        order = np.argsort(known, kind="stable")
        at = order[np.searchsorted(known, found, sorter=order).clip(max=len(known) - 1)]
        codes = np.where(known[at] == found, at, -1)
    if strict and (codes < 0).any():
        row = int(np.argmin(codes))
        label = python_scalar(found[row])
        msg = f"row {row} has label {label!r}, which is not one of {quoted(known, SHOWN)}"
        raise UnknownLabelError(msg)
    return codes


def label_written(text: str, classes: Any) -> Any:
    """Return the class that a person wrote as text, on a command line."""
    known = {str(label): label for label in np.asarray(classes).tolist()}
    if text in known:
        return known[text]
    raise UnknownLabelError(f"no class is called {text!r}{_hint(text, known)}")


def position(label: Any, known: dict[Any, int], *, where: str) -> int:
    """Return the code of one label, or say which labels there are."""
    name = python_scalar(label)
    try:
        return known[name]
    except (KeyError, TypeError):
        msg = f"{where} names the label {name!r}, which is no class{_hint(name, known)}"
        raise UnknownLabelError(msg) from None


def values_by_class(
    values: Mapping[Any, float],
    classes: Labels,
    *,
    where: str,
) -> list[float]:
    """Return the values of a mapping in the order of the classes, every one of them named."""
    known = positions(classes)
    found = {position(label, known, where=where): value for label, value in values.items()}
    if missing := [label for label, code in known.items() if code not in found]:
        named = quoted(missing, SHOWN)
        msg = f"{where} has no entry for {named}: name every class, with 0 if need be"
        raise InvalidParameterError(msg)
    return [found[code] for code in range(len(classes))]


def _hint(label: Any, known: Iterable[Any]) -> str:
    texts = [name for name in known if isinstance(name, str)]
    near = get_close_matches(label, texts, n=1) if isinstance(label, str) else []
    guess = f": did you mean {near[0]!r}?" if near else "."
    return f"{guess} The classes are {quoted(known, SHOWN)}"
