"""What each column of a source holds, decided once, from its first rows, for all that follow.

A number, a date (which counts as days since 1970), a category with its levels, or nothing that
can be learnt from: an id, free text, a constant, an empty column.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from suffice.errors import InvalidInputError, warn
from suffice.sources.source import values_of
from suffice.table.mixed import Levels, category_of, is_free_text, levels_of
from suffice.table.schema import MOST_LEVELS, Category, Column, Number, Schema
from suffice.text.lists import quoted
from suffice.typing import Codes

NUMBER, TEXT, EMPTY, OTHER = "numbers", "text", "nothing", "values of another type"
DAYS = pl.Datetime("us")  # the type that dates are read as, before they become numbers
_DAY = 86_400e6  # microseconds


def kind_of(dtype: Any) -> str:
    """Return what a column of this type holds; true and false are the numbers 1 and 0."""
    if dtype.is_numeric() or dtype == pl.Boolean:
        return NUMBER
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return TEXT
    return EMPTY if dtype == pl.Null else OTHER


def is_date(dtype: Any) -> bool:
    """Return whether a column of this type holds dates."""
    return bool(dtype == pl.Date or dtype == pl.Datetime)


def type_of(column: Column, dtype: Any) -> Any:
    """Return the type to read a column as."""
    if isinstance(column, Category):
        return pl.String if kind_of(dtype) == TEXT or is_date(dtype) else dtype
    return DAYS if is_date(dtype) else pl.Float64


def as_numbers(column: pl.Series) -> Any:
    """Return a column of numbers or dates as floats, NaN where it is empty (n,)."""
    if column.dtype == DAYS:
        return (column.cast(pl.Int64).cast(pl.Float64) / _DAY).to_numpy()
    return column.to_numpy()


def learnable(
    sample: pl.DataFrame, names: Iterable[str], categorical: Collection[str] | None, *, whole: bool
) -> tuple[list[Column], dict[str, list[str]]]:
    """Return the columns that something may be learnt from, and the others by the reason.

    Where the sample is not the ``whole`` table, one value in all its rows is no constant. With
    ``categorical`` None, numbers only are learnt from.
    """
    columns: list[Column] = []
    left_out: dict[str, list[str]] = {}
    for name in names:
        values = values_of(sample, name)
        levels = None if categorical is None else name in categorical
        reason = _useless(values, whole=whole, categorical=levels)
        if reason:
            left_out.setdefault(reason, []).append(name)
        elif levels is None:
            columns.append(Number(name))
        else:
            columns.append(described(values.alias(name), categorical=levels))
    dates = [c.name for c in columns if is_date(sample.get_column(c.name).dtype)]
    if dates:
        warn(f"dates count as days since 1970: {quoted(dates, 5)}")
    return columns, left_out


def _useless(values: pl.Series, *, whole: bool, categorical: bool | None) -> str:
    """Return why nothing can be learnt from a column, or nothing."""
    kind, known = kind_of(values.dtype), values.drop_nulls()
    if categorical is None:
        return {NUMBER: "", EMPTY: "empty"}.get(kind, "not numeric")
    if known.is_empty():
        return "empty" if whole or kind == EMPTY else ""
    if kind == OTHER and not is_date(values.dtype):
        return f"holds {values.dtype}"
    distinct = known.n_unique()
    # one number, unlike one text, may be kept: sums of parts must have the same columns to add up
    levels = kind == TEXT or values.dtype == pl.Boolean
    if whole and levels and distinct == 1 and not values.null_count() and len(values) > 1:
        return "constant"
    free = kind == TEXT and not categorical and is_free_text(distinct, len(known))
    return "nearly all texts differ" if free else ""


def described(values: pl.Series, *, categorical: bool) -> Column:
    """Return what a column of these first values is."""
    name, dtype = values.name, values.dtype
    if not (categorical or kind_of(dtype) == TEXT or dtype == pl.Boolean):
        return Number(name)
    return category_of(name, levels_of(values))


def schema_of(columns: Iterable[Column]) -> Schema | None:
    """Return the schema of columns that are not all numbers."""
    found = tuple(columns)
    return Schema(found) if any(isinstance(c, Category) for c in found) else None


def encoded_levels(schema: Schema, frame: pl.DataFrame) -> tuple[Schema, Codes]:
    """Return the schema with new levels, and the level of each row in each category (n, q)."""
    found = {c.name: levels_of(frame.get_column(c.name)) for c in schema.categories}
    columns: tuple[Any, ...] = schema.columns
    grown = tuple(_grown(c, found[c.name]) if c.name in found else c for c in columns)
    schema = schema if grown == columns else Schema(grown)
    codes = [c.codes_of(*found[c.name]) for c in schema.categories]
    return schema, np.ascontiguousarray(np.stack(codes, axis=1), np.int32)


def _grown(known: Category, found: Levels) -> Category:
    """Return a category with the levels of some more rows; too many of them count as one."""
    rows = Category(known.name, tuple(found.levels), bool((found.codes < 0).any()))
    column = known.merged(rows)
    if len(column.levels) <= MOST_LEVELS:
        return column
    kept = f"the {len(known.levels)} of the first rows are kept, the rest count as one"
    warn(f"column {known.name!r} has more than {MOST_LEVELS} levels: {kept}")
    return replace(known, missing=column.missing, other=True)


def refuse_other_columns(
    expected: pl.DataFrame, found: pl.DataFrame, label: str, first: str = "the first part"
) -> None:
    """Raise unless two frames have the same columns, of the same kinds, in any order."""
    for here, there, *labels in ((expected, found, label, first), (found, expected, first, label)):
        for name in here.columns:
            if name not in there.columns:
                msg = "{} lacks the column {!r} that {} has: all parts must have it"
                raise InvalidInputError(msg.format(labels[0], name, labels[1]))
    for name, dtype in expected.schema.items():
        kind, wanted = _held(found.schema[name]), _held(dtype)
        if kind != wanted and EMPTY not in (kind, wanted):
            holds = f"column {name!r} holds {kind} in {label} but {wanted} in {first}"
            raise InvalidInputError(f"{holds}: make them alike, or leave one out")


def _held(dtype: Any) -> str:
    return "truth values" if dtype == pl.Boolean else kind_of(dtype)
