"""Frames with columns of any kind: what each column holds, and its values as numbers or codes."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from suffice.core.table.labels import is_empty
from suffice.core.table.matrix import coded_columns, pandas_kind
from suffice.core.table.schema import MOST_LEVELS, Category, Column, LeftOut, Number, Schema
from suffice.core.text.lists import quoted
from suffice.errors import FeatureMismatchError, InvalidInputError, warn
from suffice.typing import Codes, Floats

_FEW = 50  # rows; fewer distinct texts may be chance
DAY = 86_400e6  # microseconds; nanoseconds end in 2262


class Levels(NamedTuple):
    """A column of text or truth values: the distinct ones, and each row's code, −1 for empty."""

    levels: list[str]
    codes: Codes  # (n,)


class MixedRows(NamedTuple):
    """The rows of a mixed table under its schema."""

    schema: Schema
    x: Floats  # numbers, NaN where empty and not filled  (n, p)
    indicators: (
        Codes  # number of the level in each group of indicators, −1 for none  (n, h + q)
    )


def read(
    X: Any,
    schema: Schema | None = None,
    *,
    categorical: Any = None,
    missing: str = "marginal",
    names: Sequence[str] | None = None,
) -> MixedRows:
    """Return the rows of a frame, under its own schema or a given one."""
    # ``missing='indicator'`` fills the empty cells of a number by its mean, and adds an indicator
    names, columns = _columns(X, names if schema is None else schema.names)
    if schema is None:
        chosen = {*_as_names(categorical, names), *coded_columns(X)}
        said = [name in chosen for name in names]
        values = list(map(_values, columns, said))
        found = (_described(*each, missing) for each in zip(names, values, said, strict=True))
        schema = Schema(tuple(found))
    else:
        columns = _in_order(names, columns, schema)
        values = list(map(_values, columns, (isinstance(c, Category) for c in schema.columns)))
    return _under(schema, values, len(X))


def _under(schema: Schema, values: list[Any], n_rows: int) -> MixedRows:
    numbers, holes, levels = [], [], []
    for column, value in zip(schema.columns, values, strict=True):
        if isinstance(column, Number):
            if isinstance(value, Levels):
                _refuse_text(column.name, value)
            if column.fill is not None:
                empty = np.isnan(value)
                value = np.where(empty, column.fill, value)
                holes.append(np.where(empty, 0, -1))
            numbers.append(value)
        elif isinstance(column, Category):
            levels.append(column.codes_of(*value))
    x = np.array(numbers).T if numbers else np.zeros((n_rows, 0))  # column by column
    groups = [*holes, *levels]
    codes = np.stack(groups, axis=1) if groups else np.zeros((n_rows, 0))
    return MixedRows(schema, x, np.ascontiguousarray(codes, np.int32))


def _described(name: str, value: Any, said: bool, missing: str) -> Column:  # noqa: FBT001
    if not isinstance(value, Levels):
        known, marked = (
            value[np.isfinite(value)],
            missing == "indicator" and np.isnan(value).any(),
        )
        return Number(name, float(known.mean() if len(known) else 0.0) if marked else None)
    if not said and is_free_text(len(value.levels), int((value.codes >= 0).sum())):
        warn(f"column {name!r} is left out: nearly all of its texts differ")
        return LeftOut(name, "nearly all of its texts differ")
    return category_of(name, value)


def is_free_text(n_levels: int, n_known: int) -> bool:
    """Return whether so many of so many texts differ that nothing can be learnt from them."""
    return n_known >= _FEW and n_levels > max(MOST_LEVELS, 0.9 * n_known)


def category_of(name: str, value: Levels) -> Category:
    """Return the category of these values; of very many levels the rare ones count as one."""
    known = value.codes[value.codes >= 0]
    counts = np.bincount(known, minlength=len(value.levels)).astype(np.float64)
    order = sorted(range(len(value.levels)), key=value.levels.__getitem__)
    levels = tuple(value.levels[j] for j in order)
    column = Category(name, levels, len(known) < len(value.codes)).capped(counts[order])
    if column.other:
        kept = f"the {len(column.levels)} most frequent are kept, the rest count as one"
        warn(f"column {name!r} has {len(levels):,} levels: {kept}")
        return column
    for twin, level in twins(levels):
        warn(f"column {name!r}: levels {twin!r} and {level!r} differ only by blanks or case")
    return column


def twins(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of texts that differ only by blanks or case."""
    seen: dict[str, str] = {}
    for text in texts:
        if (twin := seen.setdefault(" ".join(text.split()).casefold(), text)) != text:
            yield twin, text


def _columns(X: Any, names: Any) -> tuple[list[str], list[Any]]:
    if not hasattr(X, "iloc") and not hasattr(X, "__arrow_c_stream__"):
        array = np.asarray(X)
        fits = names is not None and len(names) == array.shape[1]
        return list(names if fits else (f"x{j}" for j in range(array.shape[1]))), list(array.T)
    if hasattr(X, "iloc"):
        names = [str(name) for name in X.columns]
        columns = [X.iloc[:, j] for j in range(len(names))]
    else:
        import polars as pl

        frame = X if isinstance(X, pl.DataFrame) else pl.DataFrame(X)
        names, columns = frame.columns, frame.get_columns()
    if len(set(names)) < len(names):
        twin = min(name for name in names if names.count(name) > 1)
        raise InvalidInputError(
            f"the frame has two columns called {twin!r}: rename one of them"
        )
    return names, columns


def levels_of(column: Any) -> Levels:
    """Return any column as levels."""
    return _values(column, levels=True)  # type: ignore[no-any-return]


def _values(column: Any, levels: bool) -> Any:  # noqa: FBT001
    """Return a column as floats with NaN (n,), or as levels; None as it is."""
    if column is None:
        return None
    if isinstance(column, np.ndarray):
        return _of_objects(column, levels=levels)
    return (_of_pandas if hasattr(column, "iloc") else _of_polars)(column, levels=levels)


def _of_objects(column: Any, *, levels: bool) -> Any:
    if column.dtype.kind in "fiub" and not levels:
        return column.astype(np.float64)
    values = column.tolist()
    empty = [is_empty(v) for v in values]
    texts = levels or any(isinstance(v, (str, bytes, bool)) for v in values)
    pairs, place = zip(values, empty, strict=True), dict[str, int]()
    if not texts:
        try:
            return np.array([np.nan if gap else v for v, gap in pairs], np.float64)
        except (TypeError, ValueError) as error:
            msg = f"a column of the array holds neither numbers nor text ({error}): drop it"
            raise InvalidInputError(msg) from error
    codes = [-1 if gap else place.setdefault(_level(v), len(place)) for v, gap in pairs]
    return Levels(list(place), np.array(codes, np.int32))


def _of_pandas(column: Any, *, levels: bool) -> Any:
    if (kind := pandas_kind(column.dtype)) in ("date", "duration"):
        times = column.to_numpy("datetime64[us]" if kind == "date" else "timedelta64[us]")
        return _of_objects(times, levels=True) if levels else _days(column.name, times)
    if kind == "number" and not levels:
        plain = isinstance(column.dtype, np.dtype)  # pandas' own types have NA
        return column.to_numpy(np.float64, **({} if plain else {"na_value": np.nan}))
    if hasattr(column, "cat"):
        distinct, codes = column.cat.categories.tolist(), column.cat.codes.to_numpy()
    else:
        try:
            codes, uniques = column.factorize()
        except (TypeError, NotImplementedError) as error:
            msg = f"column {column.name!r} holds neither numbers nor levels ({error}): drop it"
            raise InvalidInputError(msg) from error
        distinct = uniques.tolist()
    boxed = not hasattr(column, "cat") and len(distinct) > 0
    if boxed and not levels and are_numbers(distinct):
        return np.array([*map(float, distinct), np.nan])[codes]
    of_one_type = len({*map(type, distinct)}) == 1
    if boxed and of_one_type and isinstance(distinct[0], (date, time, timedelta)):
        import polars as pl

        return _of_polars(pl.Series(str(column.name), [*distinct, None])[codes], levels=levels)
    return _seen(distinct, codes)


def are_numbers(values: Iterable[Any]) -> bool:
    """Return whether all of these are numbers, whatever type each has; none is a truth value."""
    numbers = (int, float, np.integer, np.floating, Decimal)
    return all(isinstance(v, numbers) and not isinstance(v, bool) for v in values)


def _of_polars(column: Any, *, levels: bool) -> Any:
    import polars as pl

    dtype = column.dtype
    if dtype.is_temporal():
        moment = pl.Duration("us") if dtype in (pl.Duration, pl.Time) else pl.Datetime("us")
        times = column.cast(moment).to_numpy()
        return _of_objects(times, levels=True) if levels else _days(column.name, times)
    if (dtype.is_numeric() or dtype == pl.Null) and not levels:
        return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    if dtype.is_nested():
        msg = f"column {column.name!r} holds {dtype}: leave it out, or spread it out"
        raise InvalidInputError(msg)
    distinct = column.unique().drop_nulls()
    if dtype.is_float():
        distinct = distinct.filter(distinct.is_not_nan())
    if not (known := distinct.to_list()):
        return Levels([], np.full(len(column), -1, np.int32))
    table = dict(zip(known, range(len(known)), strict=True))
    codes = column.replace_strict(table, default=-1, return_dtype=pl.Int32)
    return _seen(known, codes.fill_null(-1).to_numpy())


def _seen(distinct: Sequence[Any], codes: Any) -> Levels:
    """Return levels as text, those that no row has left out."""
    texts, place = [_level(v) for v in distinct], dict[str, int]()
    # the last entry of both tables is that of −1
    present = np.bincount(codes + 1, minlength=len(texts) + 1)[1:] > 0
    pairs = zip(texts, present, strict=True)
    table = [place.setdefault(t, len(place)) if p else -1 for t, p in pairs]
    if table == list(range(len(table))):
        return Levels(list(place), codes)
    return Levels(list(place), np.array([*table, -1], np.int32)[codes])


def _level(value: Any) -> str:
    """Return a level as text: the same number or date alike, whatever type it came in."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (float, np.floating, Decimal)):
        number = float(value)
        return str(int(number) if number.is_integer() else number)
    return str(value).removesuffix(" 00:00:00") if isinstance(value, datetime) else str(value)


def _spells_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _days(name: Any, times: Any) -> Floats:
    since = times.dtype.kind == "M"
    what = "dates: they count as days since 1970" if since else "durations: they count as days"
    warn(f"column {str(name)!r} holds {what}")
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / DAY)


def _as_names(categorical: Any, names: Sequence[str]) -> Collection[str]:
    if categorical is None:
        return ()
    chosen = [categorical] if isinstance(categorical, str) else categorical
    place = {at: name for j, name in enumerate(names) for at in (j, j - len(names))}
    found = {c if isinstance(c, str) else place.get(c, c) for c in chosen}
    if unknown := sorted(str(c) for c in found if c not in names):
        msg = (
            f"categorical names {quoted(unknown, 5)}, but the columns are {quoted(names, 12)}"
        )
        raise FeatureMismatchError(msg)
    return found


def _in_order(names: list[str], columns: list[Any], schema: Schema) -> list[Any]:
    place = {name: at for at, name in enumerate(names)}
    lacking = [
        c.name for c in schema.columns if c.name not in place and not isinstance(c, LeftOut)
    ]
    if lacking:
        msg = f"X lacks the column {quoted(lacking, 5)} that the model was fitted to"
        raise FeatureMismatchError(msg)
    return [None if isinstance(c, LeftOut) else columns[place[c.name]] for c in schema.columns]


def _refuse_text(name: str, value: Levels) -> None:
    odd = next((at for at, level in enumerate(value.levels) if not _spells_number(level)), 0)
    row = int(np.argmax(value.codes == odd))
    found = f"holds numbers in the model and text here (row {row}: {value.levels[odd]!r})"
    msg = f"column {name!r} {found}: convert it, or name it in categorical=[...] at fit"
    raise InvalidInputError(msg)
