"""Levels of columns with many values, counted in all rows."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np
import polars as pl

from suffice.core.table.mixed import category_of_counts, is_free_text, levels_of
from suffice.core.table.schema import MOST_LEVELS, Category
from suffice.data.columns.distinct import counted_values
from suffice.data.columns.kinds import TEXT, kind_of_type
from suffice.data.scanning import frames_of_scan
from suffice.data.source import SAMPLE_CELLS, SAMPLE_ROWS, ColumnType, Source, values_of


def is_whole(source: Source) -> bool:
    """Return whether the first rows are the whole table."""
    sample = source.sample
    is_small = sample.height < SAMPLE_ROWS and sample.height * sample.width < SAMPLE_CELLS // 2
    return is_small and len(source.files) <= 1 and not source.has_more


def texts_in(source: Source, names: AbstractSet[str]) -> tuple[str, ...]:
    """Return the columns that are text according to the first rows alone."""
    texts = []
    for name, dtype in source.sample.schema.items():
        if name in names and name not in source.repeating and kind_of_type(dtype) == TEXT:
            texts.append(name)
    return tuple(texts)


def counts_of_levels(
    source: Source,
    names: Sequence[str],
    categorical: Sequence[str],
) -> dict[str, pl.DataFrame | None]:
    """Return the values of columns with many levels, with their counts among all rows.

    The first rows alone do not show which values are frequent. If a column has too many values to
    count, its entry is None.
    """
    if not source.rereads or is_whole(source):
        return {}
    sample = source.sample
    types: dict[str, ColumnType] = {}
    for name in names:
        values = values_of(sample, name)
        is_text = kind_of_type(values.dtype) == TEXT
        if not is_text and name not in categorical:
            continue
        n_levels = values.n_unique()
        is_free = is_text and is_free_text(n_levels, len(values) - values.null_count())
        has_many = n_levels > MOST_LEVELS and (name in categorical or not is_free)
        if has_many or name in source.repeating:
            types[name] = pl.String() if is_text or source.is_text else values.dtype
    if not types:
        return {}
    frames = (frame for scan in source.scans(types) for frame in frames_of_scan(scan))
    counts = counted_values(frames, list(types))
    return {name: counts.get(name) for name in types}


def category_of_all_rows(
    name: str,
    counts: pl.DataFrame | None,
    *,
    is_level: bool,
) -> Category | None:
    """Return the category for counted values; None if nearly all values are different."""
    if counts is None:
        return None
    distinct = levels_of(counts.get_column("values"))
    is_filled = distinct.codes >= 0
    n_rows = counts.get_column("rows").to_numpy()[is_filled].astype(np.float64)
    if not is_level and is_free_text(len(distinct.levels), int(n_rows.sum())):
        return None
    rows_of_level = np.zeros(len(distinct.levels))
    np.add.at(rows_of_level, distinct.codes[is_filled], n_rows)
    has_empty = not is_filled.all()
    return category_of_counts(name, distinct.levels, rows_of_level, has_empty=bool(has_empty))
