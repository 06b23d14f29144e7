"""Reading of frames with columns of any kind, each as numbers or as levels."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from suffice.core.table.cells import is_empty
from suffice.core.table.matrix import coded_columns, pandas_kind, unmasked
from suffice.core.table.schema import (
    MOST_LEVELS,
    Category,
    Column,
    LeftOut,
    LevelCodes,
    Number,
    Schema,
)
from suffice.core.text.lists import noun_for, quote, quoted
from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    LostDetailWarning,
    ReadingWarning,
    UnusedDataWarning,
    warn,
)
from suffice.typing import Array, Codes, Floats

# columns with more cells are passed to a frame library, which finds levels more quickly
_SHORT = 256
_FEW_LEVELS = 20  # at most this many levels are counted one by one
_FEW = 50  # in fewer rows, even the levels of a category may all differ
DAY = 86_400e6  # a day in microseconds, since times in nanoseconds end in 2262


class Levels(NamedTuple):
    """The distinct values of a text or Boolean column, and the code of each row, −1 if empty."""

    levels: list[str]
    codes: LevelCodes  # (n,)
    counts: Codes  # number of rows with each level  (L,)


class MixedRows(NamedTuple):
    """The rows of a mixed table under its schema."""

    schema: Schema
    x: Floats  # numbers, NaN where empty and not filled  (n, p)
    indicators: (
        LevelCodes  # level of each row in each group of indicators, −1 for none  (n, h + q)
    )


def read(
    X: Any,
    schema: Schema | None = None,
    *,
    categorical: Sequence[int | str] | str | None = None,
    missing: str = "marginal",
    names: Sequence[str] | None = None,
) -> MixedRows:
    """Return the rows of a frame under a schema, by default derived from the frame.

    ``missing="indicator"`` fills missing numbers with the mean of their column, and adds an
    indicator of missing values.
    """
    if schema is not None:
        column_names, columns = _columns(X, schema.names)
        values = _values_under(schema, column_names, columns)
        return _mixed_rows(schema, values, len(X))
    column_names, columns = _columns(X, names)
    chosen = {*_categorical_names(categorical, column_names), *coded_columns(X)}
    values = []
    described = []
    for name, column in zip(column_names, columns, strict=True):
        is_chosen = name in chosen
        value = _values(column, as_levels=is_chosen)
        values.append(value)
        described.append(_described(name, value, is_chosen=is_chosen, missing=missing))
    return _mixed_rows(Schema(tuple(described)), values, len(X))


def _values_under(
    schema: Schema,
    names: list[str],
    columns: Sequence[object],
) -> list[Floats | Levels | None]:
    """Return the values of each column of the schema, or None for a column that is left out."""
    column_of = dict(zip(names, columns, strict=True))
    used = [c for c in schema.columns if not isinstance(c, LeftOut)]
    lacking = [c.name for c in used if c.name not in column_of]
    if lacking:
        raise FeatureMismatchError(
            f"X lacks the {noun_for(len(lacking), 'column')} {quoted(lacking, 5)} that the model "
            "reads: pass a table with all columns of the fit"
        )
    values: list[Floats | Levels | None] = []
    for column in schema.columns:
        if isinstance(column, LeftOut):
            values.append(None)
        else:
            is_category = isinstance(column, Category)
            values.append(_values(column_of[column.name], as_levels=is_category))
    return values


def _mixed_rows(
    schema: Schema,
    values: Sequence[Floats | Levels | None],
    n_rows: int,
) -> MixedRows:
    numbers = []
    missing_indicators = []
    level_indicators = []
    for column, value in zip(schema.columns, values, strict=True):
        if isinstance(column, Number):
            if isinstance(value, Levels):
                _refuse_text(column.name, value)
            assert isinstance(value, np.ndarray)
            if column.fill is not None:
                is_missing = np.isnan(value)
                value = np.where(is_missing, column.fill, value)
                missing_indicators.append(np.where(is_missing, 0, -1))
            numbers.append(value)
        elif isinstance(column, Category):
            assert isinstance(value, Levels)
            level_indicators.append(column.codes_of(value.levels, value.codes))
    x = np.array(numbers).T if numbers else np.zeros((n_rows, 0))  # stored column by column
    groups = [*missing_indicators, *level_indicators]
    indicators = np.empty((len(groups), n_rows), np.int32)
    for row, codes in zip(indicators, groups, strict=True):
        row[:] = codes
    return MixedRows(schema, x, indicators.T)


def _described(
    name: str,
    value: Floats | Levels,
    *,
    is_chosen: bool,
    missing: str,
) -> Column:
    if not isinstance(value, Levels):
        if missing != "indicator" or not np.isnan(value).any():
            return Number(name)
        finite = value[np.isfinite(value)]
        return Number(name, fill=float(finite.mean()) if len(finite) else 0.0)
    n_values = int(value.counts.sum())
    if not is_chosen and is_free_text(len(value.levels), n_values):
        warn(f"column {name!r} is left out: nearly all of its texts differ", UnusedDataWarning)
        return LeftOut(name, "nearly all of its texts differ")
    return category_of(name, value)


def is_free_text(n_levels: int, n_values: int) -> bool:
    """Return whether nearly all texts differ, so that a model cannot learn from levels."""
    return n_values >= _FEW and n_levels > max(MOST_LEVELS, 0.9 * n_values)


def category_of(name: str, value: Levels) -> Category:
    """Return the category of a column, with rare levels merged if there are very many."""
    counts = value.counts.astype(np.float64)
    has_empty = value.counts.sum() < len(value.codes)
    return category_of_counts(name, value.levels, counts, has_empty=bool(has_empty))


def category_of_counts(
    name: str,
    levels: Sequence[str],
    counts: Floats,
    *,
    has_empty: bool,
) -> Category:
    """Return a category, given levels and their counts, with rare levels merged if very many."""
    order = sorted(range(len(levels)), key=levels.__getitem__)
    levels = tuple(levels[j] for j in order)
    column = Category(name, levels, missing=has_empty).capped(counts[order])
    if column.other:
        warn(
            f"column {name!r} has {len(levels):,} levels: the {len(column.levels)} most frequent "
            "are kept, and all others are merged into one",
            LostDetailWarning,
        )
        return column
    for first, second in twins(levels):
        warn(
            f"column {name!r}: levels {first!r} and {second!r} differ only by blanks or case: if "
            "they mean the same, write them in one way",
            ReadingWarning,
        )
    return column


def twins(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of texts that differ only in blanks or case."""
    first_of: dict[str, str] = {}
    for text in texts:
        normalized = " ".join(text.split()).casefold()
        first = first_of.setdefault(normalized, text)
        if first != text:
            yield first, text


def _columns(X: Any, names: Sequence[str] | None) -> tuple[list[str], Sequence[object]]:
    """Return the names of the columns, for an array ``names``, and the columns."""
    if hasattr(X, "iloc"):
        frame_names = [str(name) for name in X.columns]
        columns = [X.iloc[:, j] for j in range(len(frame_names))]
    elif hasattr(X, "__arrow_c_stream__"):
        import polars as pl

        frame = X if isinstance(X, pl.DataFrame) else pl.DataFrame(X)
        frame_names = frame.columns
        columns = frame.get_columns()
    else:
        array = np.asarray(unmasked(X))
        if names is None or len(names) != array.shape[1]:
            names = [f"x{j}" for j in range(array.shape[1])]
        return list(names), list(array.T)
    if len(set(frame_names)) < len(frame_names):
        twin = min(name for name in frame_names if frame_names.count(name) > 1)
        raise InvalidInputError(
            f"the frame has two columns called {twin!r}: rename one of them"
        )
    return frame_names, columns


def levels_of(column: object) -> Levels:
    """Return a column of any type as levels."""
    levels = _values(column, as_levels=True)
    assert isinstance(levels, Levels)
    return levels


def _values(column: object, *, as_levels: bool) -> Floats | Levels:
    """Return a column as floats (n,), with NaN for empty cells, or as levels."""
    if isinstance(column, np.ndarray):
        return _array_values(column, as_levels=as_levels)
    if hasattr(column, "iloc"):
        return _pandas_values(column, as_levels=as_levels)
    return _polars_values(column, as_levels=as_levels)


def _array_values(column: Array, *, as_levels: bool) -> Floats | Levels:
    if column.dtype.kind in "fiub" and not as_levels:
        return column.astype(np.float64)
    values = column.tolist()
    if as_levels or any(isinstance(value, (str, bytes, bool)) for value in values):
        code_of: dict[str, int] = {}
        codes = []
        for value in values:
            if is_empty(value):
                codes.append(-1)
            else:
                codes.append(code_of.setdefault(_level(value), len(code_of)))
        return _levels(list(code_of), np.array(codes, np.int32))
    try:
        return np.array([np.nan if is_empty(v) else v for v in values], np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"a column of the array holds neither numbers nor text ({error}): drop this column"
        ) from error


def _pandas_values(column: Any, *, as_levels: bool) -> Floats | Levels:
    kind = pandas_kind(column.dtype)
    if kind in ("date", "duration"):
        times = column.to_numpy("datetime64[us]" if kind == "date" else "timedelta64[us]")
        return _time_values(column.name, times, as_levels=as_levels)
    if kind == "number" and not as_levels:
        if isinstance(column.dtype, np.dtype):
            numbers: Floats = column.to_numpy(np.float64)
        else:  # types of pandas have NA for missing values
            numbers = column.to_numpy(np.float64, na_value=np.nan)
        return numbers
    if hasattr(column, "cat"):
        return _used_levels(column.cat.categories.tolist(), column.cat.codes.to_numpy())
    try:
        codes, uniques = column.factorize()
    except (TypeError, NotImplementedError) as error:
        raise InvalidInputError(
            f"column {column.name!r} holds neither numbers nor text ({error}): drop this column"
        ) from error
    distinct = uniques.tolist()
    if distinct and not as_levels and are_numbers(distinct):
        # the code −1 of a missing value selects the last entry
        return np.asarray(np.array([*map(float, distinct), np.nan])[codes])
    types = {type(value) for value in distinct}
    if len(types) == 1 and isinstance(distinct[0], (date, time, timedelta)):
        import polars as pl

        times = pl.Series(str(column.name), [*distinct, None])[codes]
        return _polars_values(times, as_levels=as_levels)
    return _used_levels(distinct, codes)


def are_numbers(values: Iterable[object]) -> bool:
    """Return whether all values are numbers of any type; Booleans are not numbers."""
    numbers = (int, float, np.integer, np.floating, Decimal)
    return all(isinstance(v, numbers) and not isinstance(v, bool) for v in values)


def _polars_values(column: Any, *, as_levels: bool) -> Floats | Levels:
    import polars as pl

    name = column.name
    # rename the column, since methods of a polars series read some names as patterns
    column = column.alias("values")
    dtype = column.dtype
    if dtype.is_temporal():
        is_span = dtype in (pl.Duration, pl.Time)
        times = column.cast(pl.Duration("us") if is_span else pl.Datetime("us")).to_numpy()
        return _time_values(name, times, as_levels=as_levels)
    if (dtype.is_numeric() or dtype == pl.Null) and not as_levels:
        numbers: Floats = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        return numbers
    if dtype.is_nested():
        raise InvalidInputError(
            f"column {name!r} holds nested values ({dtype}): leave it out, or split it "
            "into a column for each value"
        )
    if dtype in (pl.Categorical, pl.Enum):
        return _categorical_levels(column)
    if dtype == pl.String and len(column) <= _SHORT:
        return _short_levels(column.to_list())
    distinct = column.unique().drop_nulls()
    if dtype.is_float():
        distinct = distinct.filter(distinct.is_not_nan())
    values = distinct.to_list()
    if not values:
        return _levels([], np.full(len(column), -1, np.int32))
    code_of = {value: code for code, value in enumerate(values)}
    codes = column.replace_strict(code_of, default=-1, return_dtype=pl.Int32)
    return _used_levels(values, codes.fill_null(-1).to_numpy())


def _categorical_levels(column: Any) -> Levels:
    """Return a categorical column of polars as levels, computed from its physical codes."""
    import polars as pl

    numbers = column.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    present = np.flatnonzero(np.bincount(numbers + 1)[1:])
    # a row with each number, and the code of each number; −1, a missing value, selects the end
    row_of = np.zeros(present.max(initial=-1) + 2, np.intp)
    row_of[numbers] = np.arange(len(numbers))
    code_of = np.full(len(row_of), -1, np.int32)
    code_of[present] = np.arange(len(present))
    return _used_levels(column.gather(row_of[present]).to_list(), code_of[numbers])


def _short_levels(values: Sequence[str | None]) -> Levels:
    """Return a short list of texts as levels, more quickly than a frame library does."""
    code_of: dict[str, int] = {}
    codes = np.empty(len(values), np.int32)
    for row, value in enumerate(values):
        codes[row] = -1 if value is None else code_of.setdefault(value, len(code_of))
    return _levels(list(code_of), codes)


def _levels(levels: list[str], codes: LevelCodes) -> Levels:
    return Levels(levels, codes, _rows_of_codes(codes, len(levels)))


def _rows_of_codes(codes: LevelCodes, n_levels: int) -> Codes:
    """Return the number of rows with each of the codes 0 … L − 1, (L,)."""
    if codes.itemsize == 1 and n_levels <= _FEW_LEVELS:
        # comparing bytes is quicker than np.bincount, which converts bytes to wide integers
        return np.array([np.count_nonzero(codes == code) for code in range(n_levels)], np.intp)
    return np.bincount(codes + 1, minlength=n_levels + 1)[1:]


def _time_values(name: object, times: Array, *, as_levels: bool) -> Floats | Levels:
    """Return dates as days since 1970 and durations as days, or both as levels."""
    if as_levels:
        return _array_values(times, as_levels=True)
    if times.dtype.kind == "M":
        warn(
            f"column {str(name)!r} holds dates: they count as days since 1970", ReadingWarning
        )
    else:
        warn(f"column {str(name)!r} holds durations: they count as days", ReadingWarning)
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / DAY)


def _used_levels(distinct: Sequence[object], codes: LevelCodes) -> Levels:
    """Return the levels, as text, that some row has, and the codes of the rows."""
    n_rows = _rows_of_codes(codes, len(distinct))
    code_of: dict[str, int] = {}
    new_codes = []
    for value, n in zip(distinct, n_rows, strict=True):
        # two values, such as 1 and 1.0, may give the same text
        new_codes.append(code_of.setdefault(_level(value), len(code_of)) if n else -1)
    if new_codes == list(range(len(new_codes))):
        return Levels(list(code_of), codes, n_rows)
    # the code −1 of a missing value selects the last entry
    table = np.array([*new_codes, -1], np.int32)
    return _levels(list(code_of), table[codes])


def _level(value: object) -> str:
    """Return a level as text, the same for equal numbers and equal dates of different types."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (float, np.floating, Decimal)):
        number = float(value)
        return str(int(number) if number.is_integer() else number)
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    return str(value)


def _spells_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _categorical_names(
    categorical: Sequence[int | str] | str | None,
    names: Sequence[str],
) -> Collection[str]:
    """Return the names of columns given by name or by position, where −1 is the last column."""
    if categorical is None:
        return ()
    columns = [categorical] if isinstance(categorical, str) else categorical
    name_at = {}
    for j, name in enumerate(names):
        name_at[j] = name
        name_at[j - len(names)] = name
    chosen = set()
    unknown = set()
    for column in columns:
        chosen_name = column if isinstance(column, str) else name_at.get(column)
        if chosen_name is None or chosen_name not in names:
            unknown.add(str(column))
        else:
            chosen.add(chosen_name)
    if unknown:
        raise FeatureMismatchError(
            f"categorical names {quoted(sorted(unknown), 5)}, but the columns are "
            f"{quoted(names, 12)}: name columns of X"
        )
    return chosen


def _refuse_text(name: str, value: Levels) -> None:
    texts = [code for code, level in enumerate(value.levels) if not _spells_number(level)]
    code = texts[0] if texts else 0
    row = int(np.argmax(value.codes == code))
    raise InvalidInputError(
        f"column {name!r} held numbers when the model was fitted, but row {row} holds "
        f"{quote(value.levels[code])}: convert the column to numbers, or name it in "
        "categorical=[...] when you fit the model"
    )
