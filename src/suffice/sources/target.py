"""The label column: guessed where it is obvious, refused where it holds no labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from suffice.errors import InvalidInputError
from suffice.sources.ids import id_columns
from suffice.sources.kinds import EMPTY, NUMBER, OTHER, TEXT, kind_of
from suffice.sources.source import values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES = ("target", "class", "label", "labels", "y", "species", "outcome", "diagnosis")
_FEW_CLASSES = 20
_MANY = 100  # distinct numbers that may still be labels, whatever the number of rows


def guess_target(sample: pl.DataFrame, label: str) -> tuple[str, str]:
    """Return the column that is obviously the target, and why; raise if none is."""
    columns = [name for name in sample.columns if name not in id_columns(sample, set())]
    named = [name for name in columns if name.lower() in _NAMES]
    if len(named) == 1:
        return named[0], "by its name"
    text = [name for name in columns if kind_of(sample.schema[name]) == TEXT]
    if len(text) == 1:
        return text[0], "the only text column"
    if columns and not named and _is_categorical(values_of(sample, columns[-1])):
        return columns[-1], "the last column, which holds few distinct values"
    msg = f"{label}: which column holds the labels? name the target, one of {_listed(columns)}"
    raise InvalidInputError(msg)


def check_target(column: pl.Series, label: str) -> None:
    """Raise unless the first values of a target may be class labels."""
    kind, values = kind_of(column.dtype), column.alias("values").drop_nulls()
    name = f"{label}: the target {column.name!r}"
    if kind == EMPTY or values.is_empty():
        msg = f"{name} is empty: name another column"
        raise InvalidInputError(msg)
    if kind == OTHER:
        msg = f"{name} holds {column.dtype}: labels must be text, whole numbers or true and false"
        raise InvalidInputError(msg)
    distinct = values.n_unique()
    if kind == NUMBER and _looks_continuous(values, distinct):
        msg = (
            f"{name} holds {distinct:,} distinct numbers, which looks like regression: "
            f"cut it into a few classes first, for example with polars: {_cut(column.name)}"
        )
        raise InvalidInputError(msg)
    if kind == TEXT and distinct == len(values) > _FEW_CLASSES:
        msg = f"{name} has another value in every row, like an id: name the column of the classes"
        raise InvalidInputError(msg)


def _looks_continuous(values: pl.Series, distinct: int) -> bool:
    if values.dtype.is_float() and (values != values.round()).any():
        return True
    return distinct > _MANY and distinct > len(values) / 10


def _is_categorical(column: pl.Series) -> bool:
    values = column.drop_nulls()
    if kind_of(column.dtype) == TEXT or column.dtype == pl.Boolean:
        return values.n_unique() < len(values)
    few = 2 <= values.n_unique() <= min(_FEW_CLASSES, len(values) / 2)
    return bool(column.dtype.is_integer() and few)


def _cut(name: str) -> str:
    return f"df.with_columns(pl.col({name!r}).qcut(3, labels=['low', 'middle', 'high']))"


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")
