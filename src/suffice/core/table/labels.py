"""Checks of labels, codes of labels, and look-up of a label among the classes."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar

import numpy as np

from suffice.core.table.cells import is_empty
from suffice.core.table.foreign import to_numpy
from suffice.core.table.text_labels import EncodedLabels, encode_records, encoded_text
from suffice.core.text.lists import python_scalar, quote, quoted
from suffice.errors import InvalidInputError, InvalidParameterError, UnknownLabelError
from suffice.typing import Codes, Flags, Labels, LabelsLike

Label = TypeVar("Label")
_WIDEST_TABLE = 1 << 20  # integer labels with a smaller range are counted instead of sorted
_FEW = 4096  # for fewer labels, sorting is quicker than a dictionary
_EXACT = 1 << 53  # above this integer, floats cannot represent all integers
SHOWN = 12  # number of labels that a message lists


def encode(y: LabelsLike) -> tuple[Labels, Codes]:
    """Return the sorted distinct labels (K,), and the code of each row's label, (n,)."""
    text = encoded_text(y)
    if text is not None and text.has_label.all():
        return text.classes, text.codes
    y = as_labels(y)
    if y.dtype.kind == "f":
        return _encode_floats(y)
    if y.dtype.kind == "U":
        return _encode_text(y)
    return _encode_integers(y)


def as_labels(y: LabelsLike) -> Labels:
    """Return ``y`` as a one-dimensional array of integers, booleans, floats or text."""
    labels = label_array(y)
    if labels.ndim != 1:
        raise InvalidInputError(
            f"y must have one dimension, found shape {labels.shape}: pass y.ravel()"
        )
    if labels.dtype.kind == "O":
        labels = _unboxed(labels)
    if labels.dtype.kind not in "iubfU":
        raise InvalidInputError(
            f"Unknown label type: {labels.dtype}. Use integers, floats, booleans or text"
        )
    return labels


def label_array(y: LabelsLike) -> Labels:
    """Return labels as a NumPy array; masked entries of a masked array become None."""
    labels = np.asarray(to_numpy(y))
    if labels.dtype.kind == "U" and not isinstance(y, (np.ndarray, EncodedLabels)):
        _refuse_trailing_zeros(np.asarray(y, dtype=object).ravel())
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        labels = labels.astype(object)
        labels[np.ma.getmaskarray(y)] = None
    return labels


def _refuse_trailing_zeros(labels: Iterable[Any]) -> None:
    """Raise if a label ends with a zero character: NumPy drops it, so that labels could merge."""
    for row, label in enumerate(labels):
        if isinstance(label, str) and label.endswith("\0"):
            raise InvalidInputError(
                f"row {row} of y is {quote(label)}: NumPy drops zero characters at the end of a "
                "text, so different labels could become equal. Remove these characters"
            )


def has_label(y: LabelsLike) -> Flags:
    """Return which rows have a label, (n,); None, NaN, masked and NA mean that it is missing."""
    text = encoded_text(y)
    if text is not None:
        return text.has_label
    labels = label_array(y)
    if labels.dtype.kind == "O":
        return ~np.fromiter(map(is_empty, labels.ravel()), bool, labels.size)
    if labels.dtype.kind == "f":
        return ~np.isnan(labels)
    return np.ones(len(labels), bool)


def union(a: Labels, b: Labels) -> Labels:
    """Return the sorted union of two sets of labels, or raise if a common type merges labels."""
    if not len(a):
        return b
    if not len(b):
        return a
    if a.dtype.kind != b.dtype.kind:
        a, b = _of_one_kind(a, b)
    return np.union1d(a, b)


def _of_one_kind(a: Labels, b: Labels) -> tuple[Labels, Labels]:
    """Return labels of two numeric types in one type that represents all labels exactly."""
    kinds = {a.dtype.kind, b.dtype.kind}
    if "U" in kinds:
        _refuse(a, b, "text on one side and numbers on the other")
    if "b" in kinds:
        _refuse(a, b, "true or false on one side and numbers on the other")
    if "f" in kinds:
        large_a = a[np.abs(a.astype(np.float64)) >= _EXACT]
        large_b = b[np.abs(b.astype(np.float64)) >= _EXACT]
        if len(large_a) or len(large_b):
            _refuse(
                large_a,
                large_b,
                "integers on one side and floats on the other, and floats cannot represent large "
                "integers exactly",
            )
        return a, b
    signed, unsigned = (a, b) if a.dtype.kind == "i" else (b, a)
    if unsigned.max() <= np.iinfo(np.int64).max:
        return signed.astype(np.int64), unsigned.astype(np.int64)
    if signed.min() < 0:
        _refuse(signed, unsigned[::-1], "negative on one side and beyond 2⁶³ on the other")
    return signed.astype(np.uint64), unsigned.astype(np.uint64)


def _refuse(a: Labels, b: Labels, difference: str) -> NoReturn:
    examples = [_example(labels.tolist()) for labels in (a, b) if len(labels)]
    raise InvalidInputError(
        f"labels are {difference} ({' and '.join(map(repr, examples))}): convert the labels of "
        "one side"
    )


def _example(labels: list[Any]) -> object:
    return labels[0] if isinstance(labels[0], str) else max(labels, key=abs)


def _encode_integers(y: Labels) -> tuple[Labels, Codes]:
    if y.dtype.kind == "b":
        classes, codes = _encode_integers(y.view(np.uint8))
        return classes.astype(bool), codes
    if not len(y):
        return y[:0], np.zeros(0, np.intp)
    low = int(y.min())
    high = int(y.max())
    if high - low >= min(_WIDEST_TABLE, max(1024, 4 * len(y))):
        return _encode_by_sorting(y)
    # widen short integers, since 127 − (−128) would overflow in int8
    wide = y if y.dtype.itemsize == 8 else y.astype(np.int64)
    first = wide.dtype.type(low)
    offsets = (wide - first).astype(np.intp, copy=False)
    is_present = np.bincount(offsets) > 0
    classes = (np.flatnonzero(is_present).astype(wide.dtype) + first).astype(y.dtype)
    if len(classes) == high - low + 1:
        return classes, offsets
    code_of_offset = np.cumsum(is_present) - 1
    return classes, code_of_offset.take(offsets)


def _encode_floats(y: Labels) -> tuple[Labels, Codes]:
    is_finite = np.isfinite(y)
    if not is_finite.all():
        row = int(np.argmin(is_finite))
        raise InvalidInputError(
            f"Input y contains NaN or infinity (row {row}): drop such rows, or label them"
        )
    is_fractional = y != np.rint(y)
    if is_fractional.any():
        row = int(np.argmax(is_fractional))
        raise InvalidInputError(
            f"Unknown label type: continuous (row {row} of y is {y[row]:g}). A classifier needs "
            "discrete labels: bin the target first"
        )
    if len(y) and np.abs(y).max() >= _EXACT:
        row = int(np.argmax(np.abs(y)))
        raise InvalidInputError(
            f"row {row} of y is {y[row]:.0f}: floats cannot represent every integer beyond 2⁵³, "
            "so different labels may be equal: convert them to integers of one sign, or to text"
        )
    classes, codes = _encode_integers(y.astype(np.int64))
    return classes.astype(y.dtype), codes


def _encode_text(y: Labels) -> tuple[Labels, Codes]:
    if len(y) < _FEW:
        return _encode_by_sorting(y)
    records = encode_records(y)
    if records is not None:
        codes, first_rows = records
        classes, code_of_record = np.unique(y[first_rows], return_inverse=True)
        return classes, code_of_record.astype(np.intp)[codes]
    # number the labels in the order of their first rows, then sort the few distinct labels
    arrival_of: defaultdict[str, int] = defaultdict()
    arrival_of.default_factory = arrival_of.__len__
    arrivals = np.fromiter(map(arrival_of.__getitem__, y.tolist()), np.intp, len(y))
    classes, code_of_arrival = np.unique(np.array(list(arrival_of)), return_inverse=True)
    return classes, code_of_arrival.astype(np.intp)[arrivals]


def _encode_by_sorting(y: Labels) -> tuple[Labels, Codes]:
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.intp, copy=False)


def _unboxed(y: Labels) -> Labels:
    """Return an array of Python objects in a NumPy type, or raise for text mixed with numbers."""
    values = y.tolist()
    types = {str if isinstance(value, str) else type(value) for value in values}
    if not types:
        return np.zeros(0, np.int64)
    if types != {str}:
        for row, value in enumerate(values):
            if is_empty(value):
                raise InvalidInputError(
                    f"Input y contains NaN: row {row} has no label. Drop the row, or label it"
                )
    if str in types:
        _refuse_trailing_zeros(values)
    mixes_text = str in types and len(types) > 1
    labels = None if mixes_text else np.array(values)
    if labels is None or labels.ndim != 1:
        names = sorted(each.__name__ for each in types)
        raise InvalidInputError(
            f"Unknown label type: y mixes {', '.join(names)}. Convert the labels to one type"
        )
    return labels


def positions(classes: LabelsLike) -> dict[object, int]:
    """Return a mapping from label to code."""
    return {label: code for code, label in enumerate(np.asarray(classes).tolist())}


def code_of(label: object, classes: LabelsLike, *, where: str = "the call") -> int:
    """Return the code of one label; the error for an unknown label lists the classes."""
    return position(label, positions(classes), where=where)


def two_codes(label_a: object, label_b: object, classes: LabelsLike) -> tuple[int, int]:
    """Return the codes of two labels, which must differ."""
    a = code_of(label_a, classes)
    b = code_of(label_b, classes)
    if a == b:
        raise InvalidInputError(
            f"class {label_a!r} is named twice: name two different classes"
        )
    return a, b


def codes_of(labels: LabelsLike, classes: LabelsLike, *, strict: bool = True) -> Codes:
    """Return the code of each label, (n,); an unknown label gives −1, or raises if ``strict``."""
    text = encoded_text(labels)
    if text is not None:
        return _codes_of_text(text, classes, strict=strict)
    wanted = label_array(labels)
    all_labels = np.asarray(classes)
    if _can_be_sorted_together(wanted, all_labels):
        order = np.argsort(all_labels, kind="stable")
        at = np.searchsorted(all_labels, wanted, sorter=order).clip(max=len(all_labels) - 1)
        nearest = order[at]
        codes = np.where(all_labels[nearest] == wanted, nearest, -1)
    else:
        code_of_label = positions(all_labels)
        codes = np.array([code_of_label.get(label, -1) for label in wanted.tolist()], np.intp)
    if strict and (codes < 0).any():
        row = int(np.argmin(codes))
        raise UnknownLabelError(
            f"row {row} has label {quote(wanted[row])}, which is not one of "
            f"{quoted(all_labels, SHOWN)}"
        )
    return codes


def _codes_of_text(text: EncodedLabels, classes: LabelsLike, *, strict: bool) -> Codes:
    """Return the code of each text label among the classes; see ``codes_of``."""
    codes = np.append(codes_of(text.classes, classes, strict=False), -1)[text.codes]
    if strict and (codes < 0).any():
        row = int(np.argmin(codes))
        label = None if text.codes[row] < 0 else str(text.classes[text.codes[row]])
        raise UnknownLabelError(
            f"row {row} has label {quote(label)}, which is not one of "
            f"{quoted(np.asarray(classes), SHOWN)}"
        )
    return codes


def _can_be_sorted_together(a: Labels, b: Labels) -> bool:
    if not len(b):
        return False
    kinds = {a.dtype.kind, b.dtype.kind}
    if kinds == {"U"}:
        return True
    if not kinds <= set("iubf"):
        return False
    # NumPy would convert signed and unsigned 64-bit integers to floats to compare them
    return kinds != {"i", "u"} or np.result_type(a, b).kind != "f"


def label_written(text: str, classes: LabelsLike) -> Hashable:
    """Return the class whose text form is ``text``, for labels on a command line."""
    label_of: dict[str, Hashable] = {
        str(label): label for label in np.asarray(classes).tolist()
    }
    if text in label_of:
        return label_of[text]
    raise UnknownLabelError(f"no class is called {text!r}{_hint(text, label_of)}")


def position(label: object, code_of_label: Mapping[object, int], *, where: str) -> int:
    """Return the code of one label; the error for an unknown label lists the classes."""
    name = python_scalar(label)
    try:
        return code_of_label[name]
    except (KeyError, TypeError):
        raise UnknownLabelError(
            f"{where} names the label {quote(name)}, which is not a class"
            f"{_hint(name, code_of_label)}"
        ) from None


def values_by_class(
    values: Mapping[Label, float],
    classes: Labels,
    *,
    where: str,
) -> list[float]:
    """Return the values of a mapping in the order of the classes, or raise if a class has none."""
    code_of_label = positions(classes)
    value_of_code = {}
    for label, value in values.items():
        value_of_code[position(label, code_of_label, where=where)] = value
    missing = [label for label, code in code_of_label.items() if code not in value_of_code]
    if missing:
        raise InvalidParameterError(
            f"{where} has no entry for {quoted(missing, SHOWN)}: name every class, with 0 if "
            "need be"
        )
    return [value_of_code[code] for code in range(len(classes))]


def _hint(label: object, labels: Iterable[object]) -> str:
    """Return the end of an error message with the most similar class and all classes."""
    texts = [name for name in labels if isinstance(name, str)]
    near = get_close_matches(label, texts, n=1) if isinstance(label, str) else []
    if near:
        return f": did you mean {near[0]!r}? The classes are {quoted(labels, SHOWN)}"
    return f". The classes are {quoted(labels, SHOWN)}"
