"""Encoding of many text labels, in which a label that occurs often is read only once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.table.cells import is_empty
from suffice.typing import Array, Codes, Flags, Labels

_MANY_ROWS = 50_000  # fewer labels are read one by one, so that Numba is not imported
_MOST_RECORDS = 1 << 15  # the most distinct objects or texts that the hash table can hold
_SLOTS = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class EncodedLabels:
    """Text labels as sorted classes, and the code of each row's class, −1 for no label."""

    classes: Labels  # (K,)
    codes: Codes  # (n,)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def shape(self) -> tuple[int]:
        return (len(self.codes),)

    @property
    def ndim(self) -> int:
        return 1

    @property
    def has_label(self) -> Flags:
        """Which rows have a label, (n,)."""
        return self.codes >= 0

    def take(self, rows: Codes) -> EncodedLabels:
        """Return the labels of some rows, in which every class must occur."""
        return EncodedLabels(self.classes, self.codes[rows])

    def __array__(
        self,
        dtype: Any = None,
        copy: bool | None = None,  # noqa: FBT001 (NumPy's protocol)
    ) -> Array:
        """Return the label of each row, or None if the row has no label."""
        if (self.codes < 0).any():
            labels = np.append(self.classes.astype(object), [None])[self.codes]
        else:
            labels = self.classes[self.codes]
        return labels if dtype is None else labels.astype(dtype)


def encoded_text(y: object) -> EncodedLabels | None:
    """Return text labels as codes, or None if there are few labels or some are not text."""
    if isinstance(y, EncodedLabels):
        return y
    if isinstance(y, (list, tuple)) or not hasattr(y, "__len__") or len(y) < _MANY_ROWS:
        return None
    if isinstance(y, np.ma.MaskedArray):
        return None
    if not isinstance(getattr(y, "dtype", None), np.dtype):
        return _encoded_by_its_library(y)
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind != "O":
        return None
    return _encoded_objects(labels)


def encode_records(y: Labels) -> tuple[Codes, Codes] | None:
    """Return a code for each text, numbered by first appearance, and the first row of each code.

    The texts must have a fixed width. Return None for few texts, or if too many texts differ.
    """
    if len(y) < _MANY_ROWS or y.dtype.itemsize == 0:
        return None
    words = np.ascontiguousarray(y).view(np.uint32)
    return _numbered(words.reshape(len(y), -1))


def _encoded_by_its_library(y: Any) -> EncodedLabels | None:
    """Return a text series as codes that its library (pandas, polars or pyarrow) computes."""
    if hasattr(y, "factorize"):  # pandas
        if getattr(y.dtype, "kind", None) != "O":
            return None
        codes, values = y.factorize()
        return _sorted_classes(codes, list(values))
    if hasattr(y, "to_arrow"):  # polars
        try:
            y = y.to_arrow()
        except ImportError:  # pyarrow is not installed
            return None
    if not hasattr(y, "dictionary_encode") or "string" not in str(y.type):
        return None
    whole = y.combine_chunks() if hasattr(y, "combine_chunks") else y
    encoded = whole if hasattr(whole, "dictionary") else whole.dictionary_encode()
    codes = encoded.indices.cast("int64").fill_null(-1).to_numpy()
    values = np.append(np.array(encoded.dictionary.to_pylist(), dtype=object), [None])
    # a dictionary may list categories that no row has
    is_present = np.zeros(len(values), bool)
    is_present[codes] = True
    values[~is_present] = None
    return _sorted_classes(codes, values[:-1].tolist())


def _encoded_objects(y: Labels) -> EncodedLabels | None:
    """Return an array of Python objects as codes, or None if one is neither text nor empty."""
    addresses = np.asarray(_Addresses(np.ascontiguousarray(y)))
    numbered = _numbered(addresses.view(np.uint32).reshape(len(y), -1))
    if numbered is not None:
        codes, first_rows = numbered
        return _sorted_classes(codes, y[first_rows].tolist())
    # there are too many distinct objects to number them by address: number them by value
    code_of: defaultdict[object, int] = defaultdict()
    code_of.default_factory = code_of.__len__
    try:
        codes = np.fromiter(map(code_of.__getitem__, y), np.intp, len(y))
    except TypeError:  # a value that cannot be hashed is not text
        return None
    return _sorted_classes(codes, list(code_of))


def _sorted_classes(codes: Array, values: Sequence[object]) -> EncodedLabels | None:
    """Return the labels with sorted classes, or None if a value is neither text nor empty.

    Also return None if a text ends with a zero character, so that a later check names its row.
    """
    texts = []
    is_text = np.zeros(len(values), bool)
    for i, value in enumerate(values):
        if isinstance(value, str):
            if value.endswith("\0"):
                return None
            is_text[i] = True
            texts.append(value)
        elif not is_empty(value):
            return None
    if not texts:
        return None
    classes, code_of_text = np.unique(np.array(texts), return_inverse=True)
    code_of_value = np.full(len(values) + 1, -1)  # the code −1 selects the last entry
    code_of_value[:-1][is_text] = code_of_text
    return EncodedLabels(classes, code_of_value.astype(np.intp)[codes])


class _Addresses:
    """The memory of an array of objects, which NumPy reads as the addresses of the objects."""

    def __init__(self, objects: Labels) -> None:
        self._objects = objects  # the reference keeps the objects alive
        address = np.dtype(np.uintp).str
        interface = dict(objects.__array_interface__)
        interface["typestr"] = address
        interface["descr"] = [("", address)]
        self.__array_interface__ = interface


def _numbered(words: Array) -> tuple[Codes, Codes] | None:
    """Return a code for each row of words, and the first row of each code, or None if too many."""
    from suffice.core.compiled import read_only
    from suffice.core.table.loops import number_records

    code_of_slot = np.full(_SLOTS, -1)
    codes = np.empty(len(words), np.intp)
    first_rows = np.empty(_MOST_RECORDS, np.intp)
    (words,) = read_only(words)
    n_records = number_records(words, code_of_slot, codes, first_rows)
    if n_records < 0:
        return None
    return codes, first_rows[:n_records]
