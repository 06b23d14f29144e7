"""Guess from names and values which columns are ids, and which column is the target."""

import re
from collections.abc import Set as AbstractSet

import numpy as np
import polars as pl

from suffice.data.columns.kinds import EMPTY, NUMBER, OTHER, TEXT, kind_of_type
from suffice.data.columns.labels import refuse_pairs
from suffice.data.options import Columns
from suffice.data.source import ColumnType, values_of
from suffice.errors import InvalidInputError, TooFewClassesError, UnknownTargetError
from suffice.typing import Labels

# id, row_id, idCustomer, uuid, key, index, Unnamed: 0, or no name at all
_ID = re.compile(
    r"(?i)|unnamed: \d+|index|rownames?|key|u?u?id|.*[-_. ](id|uuid|key)|id[-_. ].*"
)
_CAMEL_CASE_ID = re.compile(r".*[a-z](Id|ID)|id[A-Z].*")
_FEW_ROWS = 20  # with fewer texts, all of them may be distinct by chance
_TARGETS = ("target", "class", "label", "labels", "y", "species", "outcome", "diagnosis")
_FEW_CLASSES = 20
# This number of distinct numbers can still be labels, whatever the number of rows.
_MANY_CLASSES = 100


def id_columns(sample: pl.DataFrame, skip: AbstractSet[str | None]) -> list[str]:
    """Return the columns that look like ids: no value repeats, and the name or text fits."""
    return [
        name
        for name in sample.columns
        if name not in skip and _is_id(name, values_of(sample, name))
    ]


def _is_id(name: str, column: pl.Series) -> bool:
    is_text = kind_of_type(column.dtype) == TEXT
    if not is_text and not column.dtype.is_integer():
        return False
    if column.n_unique() < len(column):
        return False
    if _ID.fullmatch(name) or _CAMEL_CASE_ID.fullmatch(name):
        return True
    return is_text and len(column) >= _FEW_ROWS


def guess_target(sample: pl.DataFrame, label: str) -> tuple[str, str]:
    """Return the only possible target column, and the reason; raise unless there is exactly one."""
    ids = id_columns(sample, set())
    columns = [name for name in sample.columns if name not in ids]
    candidates = [name for name in columns if name.lower() in _TARGETS]
    if len(candidates) == 1:
        return candidates[0], "by its name"
    if not candidates:
        candidates = [n for n in columns if _repeats(values_of(sample, n).drop_nulls())]
    if len(candidates) == 1:
        reason = "the only column with few different values, some of them repeated"
        return candidates[0], reason
    raise UnknownTargetError(label, candidates or columns)


def _repeats(values: pl.Series) -> bool:
    n_distinct = values.n_unique()
    if kind_of_type(values.dtype) == TEXT or values.dtype == pl.Boolean:
        return n_distinct < len(values)
    is_few = 2 <= n_distinct <= min(_FEW_CLASSES, len(values) / 2)
    return values.dtype.is_integer() and is_few


def is_wide(dtype: ColumnType) -> bool:
    """Return whether numbers of this type must be converted to floats before they are labels."""
    return dtype.is_decimal() or str(dtype) in ("Int128", "UInt128")


def check_target(column: pl.Series, label: str, columns: Columns) -> None:
    """Raise unless the values of a column can be class labels."""
    name = column.name
    kind = kind_of_type(column.dtype)
    values = column.alias("values").drop_nulls()
    if values.dtype.is_float():
        values = values.filter(values.is_finite())
    if kind == EMPTY or values.is_empty():
        raise InvalidInputError(f"{label}: the target {name!r} is empty: name another column")
    if kind == OTHER:
        raise InvalidInputError(
            f"{label}: the target {name!r} holds {column.dtype}: convert the labels to text, "
            "integers or Booleans"
        )
    n_distinct = values.n_unique()
    if kind == NUMBER and columns.target_kind is None:
        _refuse_measurements(name, values, n_distinct, label)
    if kind == TEXT and n_distinct == len(values) and n_distinct > _FEW_CLASSES:
        raise InvalidInputError(
            f"{label}: the target {name!r} has a different value in every row, like an id: pass "
            "the column that holds the class labels"
        )
    if kind == TEXT and columns.target_kind is None and not columns.merge_labels:
        refuse_pairs(name, values.cast(pl.String).unique(), label)


def check_classes(classes: Labels, n_rows: int, name: str, label: str) -> None:
    """Raise unless the labels (K,) of all rows can be classes; the first rows may mislead."""
    if classes.dtype.kind == "U":
        refuse_pairs(name, classes.tolist(), label)
    elif classes.dtype.kind in "iuf":
        has_parts = classes.dtype.kind == "f" and bool((classes != np.round(classes)).any())
        is_many = len(classes) > _MANY_CLASSES and len(classes) > n_rows / 10
        if has_parts or is_many:
            _refuse_regression(name, len(classes), label)


def require_two_labels(classes: Labels, name: str | None, label: str) -> None:
    """Raise if all rows have the same label."""
    if len(classes) == 1:
        raise TooFewClassesError(
            f"{label}: the target {name!r} has only the class {classes[0].item()!r}, but a "
            "classifier needs at least 2 classes: check the labels, or name another target"
        )


def _refuse_measurements(name: str, values: pl.Series, n_distinct: int, label: str) -> None:
    """Raise if the numbers of a target have fractions or too many values to be labels."""
    may_have_parts = values.dtype.is_float() or is_wide(values.dtype)
    has_parts = may_have_parts and bool((values != values.round()).any())
    if may_have_parts and not has_parts and (values.abs() >= 2**53).any():
        raise InvalidInputError(
            f"{label}: the target {name!r} holds numbers beyond 2⁵³, where different labels may "
            "become equal: put a letter before each label"
        )
    is_many = n_distinct > _MANY_CLASSES and n_distinct > len(values) / 10
    if has_parts or is_many:
        _refuse_regression(name, n_distinct, label)


def _refuse_regression(name: str, n_distinct: int, label: str) -> None:
    raise InvalidInputError(
        f"{label}: the target {name!r} holds {n_distinct:,} distinct numbers, which looks like "
        "regression: cut the target into a few classes first, for example with polars: "
        f"df.with_columns(pl.col({name!r}).qcut(3, labels=['low', 'middle', 'high'])). If the "
        "numbers are names of classes, add --target-kind class (Columns(target_kind='class') in "
        "Python)"
    )
