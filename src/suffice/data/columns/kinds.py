"""The kind of each column (numbers, text, dates or empty), and the codes of its levels."""

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from suffice.core.table.mixed import DAY, Levels, levels_of
from suffice.core.table.schema import MOST_LEVELS, Category, Column, Schema
from suffice.data.columns.distinct import LateValuesError
from suffice.data.source import ColumnType, values_of
from suffice.errors import InvalidInputError, LostDetailWarning, warn
from suffice.typing import Codes, Floats

DAYS = pl.Datetime("us")  # type of dates until they are converted to numbers

Kind: TypeAlias = Literal["numbers", "text", "nothing", "values of another type"]
NUMBER: Kind = "numbers"
TEXT: Kind = "text"
EMPTY: Kind = "nothing"
OTHER: Kind = "values of another type"


def kind_of_type(dtype: ColumnType) -> Kind:
    """Return the kind of a column type; Booleans are the numbers 1 and 0."""
    if dtype.is_numeric() or dtype == pl.Boolean:
        return NUMBER
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return TEXT
    return EMPTY if dtype == pl.Null else OTHER


def is_date(dtype: ColumnType) -> bool:
    """Return whether a column of this type holds dates."""
    return bool(dtype == pl.Date or dtype == pl.Datetime)


def as_numbers(column: pl.Series) -> Floats:
    """Return a numeric or date column as floats, NaN for missing values, (n,)."""
    if column.dtype == DAYS:
        column = column.cast(pl.Int64).cast(pl.Float64) / DAY
    return column.to_numpy()


def encoded_levels(
    schema: Schema,
    frame: pl.DataFrame,
    label: str,
    *,
    rereads: bool,
) -> tuple[Schema, Codes]:
    """Return the schema with new levels, and the level of each row in each category (n, q).

    If the source ``rereads``, too many levels raise ``LateValuesError``; the source is then read
    again, and the levels of all rows are counted.
    """
    levels = {c.name: levels_of(values_of(frame, c.name)) for c in schema.categories}
    columns: list[Column] = []
    for column in schema.columns:
        if isinstance(column, Category):
            merged = _with_new_levels(column, levels[column.name])
            if rereads and merged.other and not column.other:
                raise LateValuesError(
                    label,
                    column.name,
                    f"has at most {MOST_LEVELS} levels in its first rows, and more in all rows",
                )
            if merged.other and not column.other:
                warn(
                    f"column {column.name!r} has more than {MOST_LEVELS} levels: the "
                    f"{len(column.levels)} levels of the first rows are kept, and all others "
                    "are merged into one",
                    LostDetailWarning,
                )
            columns.append(merged)
        else:
            columns.append(column)
    if tuple(columns) != schema.columns:
        schema = Schema(tuple(columns))
    codes = [
        c.codes_of(levels[c.name].levels, levels[c.name].codes) for c in schema.categories
    ]
    return schema, np.ascontiguousarray(np.stack(codes, axis=1), np.int32)


def _with_new_levels(category: Category, levels: Levels) -> Category:
    """Return a category with more rows' levels; if too many, new levels become "other"."""
    has_empty_cells = bool((levels.codes < 0).any())
    new = Category(category.name, tuple(levels.levels), has_empty_cells)
    merged = category.merged(new)
    if len(merged.levels) <= MOST_LEVELS:
        return merged
    return replace(category, missing=merged.missing, other=True)


def refuse_other_columns(
    expected: pl.DataFrame,
    frame: pl.DataFrame,
    label: str,
    first: str = "the first part",
) -> None:
    """Raise unless two frames have the same columns and kinds, in any order."""
    expected_types = expected.schema
    types = frame.schema
    for name in expected_types:
        if name not in types:
            msg = (
                f"{label} lacks the column {name!r} that {first} has: all parts must have the "
                "same columns"
            )
            raise InvalidInputError(msg)
    for name in types:
        if name not in expected_types:
            msg = (
                f"{first} lacks the column {name!r} that {label} has: all parts must have the "
                "same columns"
            )
            raise InvalidInputError(msg)
    for name, dtype in expected_types.items():
        kind = _contents_of(types[name])
        wanted = _contents_of(dtype)
        if kind != wanted and EMPTY not in (kind, wanted):
            raise InvalidInputError(
                f"column {name!r} holds {kind} in {label} but {wanted} in {first}: convert one of "
                "them, or leave the column out"
            )


def _contents_of(dtype: ColumnType) -> str:
    return "Booleans" if dtype == pl.Boolean else kind_of_type(dtype)
