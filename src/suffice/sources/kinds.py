"""What a column holds, as far as a classifier cares: numbers, text, nothing, or something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

NUMBER, TEXT, EMPTY, OTHER = "numbers", "text", "nothing", "values of another type"


def kind_of(dtype: Any) -> str:
    """Return what a column of this type holds; true and false are the numbers 1 and 0."""
    if dtype.is_numeric() or dtype == pl.Boolean:
        return NUMBER
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return TEXT
    return EMPTY if dtype == pl.Null else OTHER


def kinds_of(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return what every column holds."""
    return {name: kind_of(dtype) for name, dtype in schema.items()}


def typed(column: pl.Series, *, decimal_comma: bool = False) -> pl.Series:
    """Return text as the whole numbers, numbers or truth values it spells, if it all does."""
    text = column.str.strip_chars()
    if decimal_comma:
        text = text.str.replace(",", ".", literal=True)
    if text.null_count() == len(text):
        return text.cast(pl.Null)
    for dtype in (pl.Int64, pl.Float64):
        numbers = text.cast(dtype, strict=False)
        if numbers.null_count() == text.null_count():
            return numbers
    words = text.str.to_lowercase()
    if words.drop_nulls().is_in(["true", "false"]).all():
        return words == "true"
    return column


def not_a_number(column: pl.Series) -> str | None:
    """Return the first value that is no number, if at least half of a text column are numbers."""
    text = column.drop_nulls().cast(pl.String).str.strip_chars()
    odd = text.cast(pl.Float64, strict=False).is_null()
    if not odd.any() or odd.mean() > 0.5:  # type: ignore[operator]
        return None
    return str(text.filter(odd)[0])
