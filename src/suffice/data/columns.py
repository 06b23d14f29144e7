"""What each column of a source holds, and what it is for: decided once, from its first rows."""

import difflib
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from suffice import errors
from suffice.core.table.mixed import DAY, Levels, category_of, is_free_text, levels_of, twins
from suffice.core.table.schema import MOST_LEVELS, Category, Column, Number, Schema
from suffice.core.text.lists import noun_for, quoted
from suffice.data.source import SAMPLE_CELLS, SAMPLE_ROWS, Source, copy_of, values_of
from suffice.data.spelling import numbers_in
from suffice.errors import FeatureMismatchError, InvalidInputError, warn
from suffice.typing import Codes

NUMBER, TEXT, EMPTY, OTHER = "numbers", "text", "nothing", "values of another type"
DAYS = pl.Datetime("us")  # the type that dates are read as, before they become numbers
# id, row_id, idCustomer, uuid, key, index, Unnamed: 0, or no name at all
_ID = re.compile(
    r"(?i)|unnamed: \d+|index|rownames?|key|u?u?id|.*[-_. ](id|uuid|key)|id[-_. ].*"
)
_CAMEL = re.compile(r".*[a-z](Id|ID)|id[A-Z].*")
_FEW = 20  # rows; fewer distinct texts may be chance
_TARGETS = ("target", "class", "label", "labels", "y", "species", "outcome", "diagnosis")
_FEW_CLASSES = 20
_MANY = 100  # distinct numbers that may still be labels, whatever the number of rows


def kind_of_type(dtype: Any) -> str:
    """Return what a column of this type holds; true and false are the numbers 1 and 0."""
    if dtype.is_numeric() or dtype == pl.Boolean:
        return NUMBER
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return TEXT
    return EMPTY if dtype == pl.Null else OTHER


def is_date(dtype: Any) -> bool:
    """Return whether a column of this type holds dates."""
    return bool(dtype == pl.Date or dtype == pl.Datetime)


def as_numbers(column: pl.Series) -> Any:
    """Return a column of numbers or dates as floats, NaN where it is empty (n,)."""
    days = column.dtype == DAYS
    return (column.cast(pl.Int64).cast(pl.Float64) / DAY if days else column).to_numpy()


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
    column = known.merged(
        Category(known.name, tuple(found.levels), bool((found.codes < 0).any()))
    )
    if len(column.levels) <= MOST_LEVELS:
        return column
    kept = f"the {len(known.levels)} of the first rows are kept, the rest count as one"
    warn(f"column {known.name!r} has more than {MOST_LEVELS} levels: {kept}")
    return replace(known, missing=column.missing, other=True)


def refuse_other_columns(
    expected: pl.DataFrame,
    found: pl.DataFrame,
    label: str,
    first: str = "the first part",
) -> None:
    """Raise unless two frames have the same columns, of the same kinds, in any order."""
    for here, there, *labels in (
        (expected, found, label, first),
        (found, expected, first, label),
    ):
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
    return "truth values" if dtype == pl.Boolean else kind_of_type(dtype)


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """What a person says about columns; whatever is None is found out."""

    target: str | None = None
    features: Sequence[str] | None = None
    weight: str | None = None
    ignore: Sequence[str] = ()
    ids: Sequence[str] | None = None
    categorical: Sequence[str] = ()  # numbers that are levels
    categories: bool = True  # whether text and truth values are learnt from
    holes: bool = True  # whether rows that lack a number count
    schema: Schema | None = None  # what the columns are, where that is known from before


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns to read, by what they are for."""

    features: tuple[str, ...]
    target: str | None = None
    weight: str | None = None
    kept: tuple[str, ...] = ()  # copied to the output, as they are written
    schema: Schema | None = None  # of the features, where not all are numbers
    holes: bool = False  # whether rows that lack a number count
    words: frozenset[str] = frozenset()  # categories to read as text, whatever it looks like

    @property
    def numbers(self) -> tuple[str, ...]:
        return (
            self.features
            if self.schema is None
            else tuple(c.name for c in self.schema.numbers)
        )

    def copied(self, name: str) -> str:
        """Return what a kept column is called while rows are read."""
        return copy_of(name) if name in self.features else name

    def columns(self, sample: pl.DataFrame) -> dict[str, Any]:
        """Return the type to read each column as; None: as it is written."""
        types = sample.schema
        columns: dict[str, Any] = dict.fromkeys(map(self.copied, self.kept))
        if self.target is not None:
            labels: Any = pl.Float64() if _is_wide(types[self.target]) else types[self.target]
            columns[self.target] = labels if kind_of_type(labels) == NUMBER else pl.String
        if self.weight is not None:
            columns[self.weight] = pl.Float64
        found = (
            self.schema.columns if self.schema else [Number(name) for name in self.features]
        )
        read = {c.name: _type_of(c, types[c.name]) for c in found}
        return columns | read | dict.fromkeys(self.words, pl.String)


def _is_wide(dtype: Any) -> bool:
    """Return whether numbers of this type are labels only as floats."""
    return dtype.is_decimal() or str(dtype) in ("Int128", "UInt128")


def _type_of(column: Column, dtype: Any) -> Any:
    if isinstance(column, Category) and not is_date(dtype):
        return pl.String if kind_of_type(dtype) in (TEXT, EMPTY) else dtype
    return DAYS if is_date(dtype) else pl.Float64


def roles_for_learning(source: Source, said: ColumnOptions) -> Roles:
    """Return the columns to learn from; say what was guessed and what is left out."""
    sample, schema = source.sample, said.schema
    wanted = tuple(_used(schema) if schema else said.features or ())
    _refuse_nothing(source)
    said = replace(said, categorical=(*said.categorical, *source.categorical))
    weight = () if said.weight is None else (said.weight,)
    require_columns(
        source, (*weight, *said.ignore, *(said.ids or ()), *wanted, *said.categorical)
    )
    target = _target(source, said)
    _check_target(sample.get_column(target), source.label)
    others = {**dict.fromkeys(said.ignore, "one to leave out"), target: "the target"}
    named = [
        *((name, "a feature") for name in wanted),
        *((name, "the weight") for name in weight),
    ]
    _refuse_twice(others, named, source.label)
    taken = {target, said.weight, *said.ignore}
    rest = [name for name in sample.columns if name not in taken | set(said.ids or ())]
    unclear = (*(wanted or rest), target)
    _refuse_unclear(source, [name for name in unclear if name not in said.categorical])
    ids = id_columns(sample, skip=taken | set(wanted)) if said.ids is None else said.ids
    if schema is not None:
        features: Sequence[str] = wanted
        _check_numeric(sample, [c.name for c in schema.numbers], source.label)
    elif said.features is None:
        columns = _learnt_from(source, [name for name in rest if name not in ids], ids, said)
        features, schema = [c.name for c in columns], _schema_of(columns)
    else:
        features, schema = said.features, _schema_of_named(sample, said, source.label)
    kept = tuple(dict.fromkeys(name for name in ids if name not in features))
    words = _words(source, said.schema)
    return Roles(tuple(features), target, said.weight, kept, schema, said.holes, words)


def roles_for_predicting(
    source: Source,
    features: Sequence[str] | None,
    n_features: int,
    keep: ColumnOptions,
) -> Roles:
    """Return the columns a model needs and those to copy beside its answers."""
    sample, schema = source.sample, keep.schema
    features = features if schema is None else _used(schema)
    if features is None:
        features = _by_position(sample, n_features, keep, source.label)
    lacking = [name for name in features if name not in sample.columns]
    if lacking:
        what, cure = noun_for(len(lacking), "column"), _suggestion(lacking[0], sample.columns)
        msg = f"{source.label} lacks the {what} {quoted(lacking, 5)} that the model needs: {cure}"
        raise FeatureMismatchError(msg)
    levels = {c.name for c in schema.categories} if schema else set()
    numbers = [name for name in features if name not in levels]
    _refuse_unclear(source, numbers)
    _check_numeric(sample, numbers, source.label)
    kept = id_columns(sample, {*features, *keep.ignore}) if keep.ids is None else keep.ids
    require_columns(source, kept)
    kept = tuple(dict.fromkeys(kept))
    return Roles(tuple(features), None, None, kept, schema, keep.holes, _words(source, schema))


def _refuse_twice(roles: dict[str, str], named: Iterable[tuple[str, str]], label: str) -> None:
    for name, role in named:
        if name in roles:
            other = f"{role} again" if roles[name] == role else roles[name]
            also = f"{role}, and as {other}: name it once"
            raise InvalidInputError(f"{label}: column {name!r} is named as {also}")
        roles[name] = role


def _words(source: Source, schema: Schema | None) -> frozenset[str]:
    """Return the categories of text that happens to look like numbers, or truth, in a source."""
    known = schema.categories if schema and source.written else ()
    return frozenset(c.name for c in known if _is_text(c.levels, source.sample.schema[c.name]))


def _is_text(levels: Sequence[str], dtype: Any) -> bool:
    """Return whether levels are not those that values of a type are known by."""
    texts = pl.Series(levels, dtype=pl.String)
    if is_date(dtype):
        return texts.str.head(10).str.to_date("%F", strict=False).null_count() > 0
    if kind_of_type(dtype) != NUMBER:
        return False
    numbers = levels_of(texts.cast(pl.Float64, strict=False)).levels
    return not ({"True", "False"} if dtype == pl.Boolean else {*numbers}).issuperset(levels)


def _used(schema: Schema) -> Sequence[str]:
    return [c.name for c in schema.columns if c.kind != "left out"]


def _schema_of(columns: Sequence[Column]) -> Schema | None:
    return Schema(tuple(columns)) if any(isinstance(c, Category) for c in columns) else None


def _refuse_nothing(source: Source) -> None:
    if source.sample.width == 1:
        cure = (
            "if another mark than , ; | or tab separates it, name that mark as the delimiter"
        )
        msg = f"{source.label} has one column only, {source.sample.columns[0]!r}: {cure}"
        raise InvalidInputError(msg)
    if source.sample.is_empty():
        raise InvalidInputError(
            f"{source.label} has columns but no rows: nothing to learn from"
        )


def require_columns(source: Source, names: Iterable[str]) -> None:
    """Raise the error that suggests the nearest column for the first unknown name."""
    columns = source.sample.columns
    for name in names:
        if name not in columns:
            msg = f"{source.label} has no column {name!r}: {_suggestion(name, columns)}"
            raise InvalidInputError(msg)


def _suggestion(name: str, columns: Sequence[str]) -> str:
    by_lower = {column.lower(): column for column in reversed(columns)}
    near = difflib.get_close_matches(name.lower(), by_lower, 1)
    return f"did you mean {by_lower[near[0]]!r}?" if near else f"it has {quoted(columns, 10)}"


def _refuse_unclear(source: Source, names: Iterable[str]) -> None:
    """Raise for a column whose numbers may be read in two ways, or are mixed with text."""
    doubts = source.doubts
    for name in names:
        if name in doubts:
            msg = f"{source.label}: column {name!r} {doubts[name]}"
            raise InvalidInputError(
                msg if ": " in doubts[name] else f"{msg}: write all in one way"
            )
        values = values_of(source.sample, name)
        odd = _odd_cell(values) if kind_of_type(values.dtype) == TEXT else None
        if odd is not None:
            found = (
                f"mixes numbers and text such as {odd[0]!r} in row {odd[1]:,}: correct it, "
            )
            cure = (
                f"declare {odd[0]!r} as missing, name the column as categorical, or ignore it"
            )
            raise InvalidInputError(f"{source.label}: column {name!r} {found}{cure}")


def _odd_cell(column: pl.Series) -> tuple[str, int] | None:
    """Return the first cell that is no number, and its row, where only a few are none."""
    # few are a tenth of the cells, or three distinct texts in at most half of them
    known = (
        column.cast(pl.String).str.strip_chars().alias("text").to_frame().with_row_index("row")
    )
    known = known.drop_nulls("text")
    texts = known.get_column("text")
    odd = ~numbers_in(texts)
    share = 1.0 if texts.is_empty() else odd.sum() / len(odd)
    if not 0 < share <= 0.5 or (share > 0.1 and texts.filter(odd).n_unique() > 3):
        return None
    row, text = known.filter(odd).row(0)
    return str(text), int(row) + 1


def _check_numeric(sample: pl.DataFrame, names: Iterable[str], label: str) -> None:
    for name in names:
        values = values_of(sample, name).drop_nulls()
        kind = kind_of_type(values.dtype)
        if len(values) and kind != NUMBER and not is_date(values.dtype):
            first = repr(values[0]) if kind == TEXT else values.dtype
            cure = "correct it, declare that value as missing, or encode the column as numbers"
            msg = f"{label}: column {name!r} must hold numbers, but holds {first}: {cure}"
            raise InvalidInputError(msg)


def id_columns(sample: pl.DataFrame, skip: AbstractSet[str | None]) -> list[str]:
    """Return the columns that are ids: no value twice, and the name or the text of one."""
    return [n for n in sample.columns if n not in skip and _is_id(n, values_of(sample, n))]


def _is_id(name: str, column: pl.Series) -> bool:
    text = kind_of_type(column.dtype) == TEXT
    if not (text or column.dtype.is_integer()) or column.n_unique() < len(column):
        return False
    return bool(_ID.fullmatch(name) or _CAMEL.fullmatch(name)) or (
        text and len(column) >= _FEW
    )


def _target(source: Source, said: ColumnOptions) -> str:
    if said.target is not None:
        require_columns(source, [said.target])
        return said.target
    if source.target is not None:
        return source.target
    unused = {*said.ignore, *(said.ids or ()), *(said.features or ()), said.weight}
    name, why = guess_target(
        source.sample.drop(c for c in unused if c is not None), source.label
    )
    warn(f"taking {name!r} as the target, {why}")
    return name


def guess_target(sample: pl.DataFrame, label: str) -> tuple[str, str]:
    """Return the column that is obviously the target, and why; raise if none is, or several may."""
    ids = set(id_columns(sample, set()))
    columns = [name for name in sample.columns if name not in ids]
    named = [name for name in columns if name.lower() in _TARGETS]
    if len(named) == 1:
        return named[0], "by its name"
    few = named or [name for name in columns if _repeats(values_of(sample, name).drop_nulls())]
    if len(few) == 1:
        return few[0], "the only column of a few values that repeat"
    raise errors.UnknownTargetError(label, few or columns)


def _repeats(values: pl.Series) -> bool:
    if kind_of_type(values.dtype) == TEXT or values.dtype == pl.Boolean:
        return values.n_unique() < len(values)
    few = 2 <= values.n_unique() <= min(_FEW_CLASSES, len(values) / 2)
    return values.dtype.is_integer() and few


def _check_target(column: pl.Series, label: str) -> None:
    kind, values = kind_of_type(column.dtype), column.alias("values").drop_nulls()
    values = values.filter(values.is_finite()) if values.dtype.is_float() else values
    distinct = values.n_unique() if kind in (NUMBER, TEXT) else 0
    written = values.dtype.is_float() or _is_wide(values.dtype)
    parts = written and (values != values.round()).any()
    large = written and (values.abs() >= 2**53).any()
    found = ""
    if kind == EMPTY or values.is_empty():
        found = "is empty: name another column"
    elif kind == OTHER:
        found = f"holds {column.dtype}: labels must be text, whole numbers or true and false"
    elif large and not parts:
        found = "holds numbers beyond 2⁵³, not all of which differ: put a letter before each"
    elif kind == NUMBER and (parts or (distinct > _MANY and distinct > len(values) / 10)):
        cut = f"df.with_columns(pl.col({column.name!r}).qcut(3, labels=['low', 'middle', 'high']))"
        found = (
            f"holds {distinct:,} distinct numbers, which looks like regression: cut it into a "
        )
        found += f"few classes first, for example with polars: {cut}"
    elif kind == TEXT and distinct == len(values) > _FEW_CLASSES:
        found = "has another value in every row, like an id: name the column of the classes"
    if found:
        raise InvalidInputError(f"{label}: the target {column.name!r} {found}")
    labels = values.cast(pl.String).unique().sort() if kind == TEXT else ()
    for twin, one in islice(twins(labels), 1):
        warn(f"{column.name!r}: labels {twin!r} and {one!r} differ only by blanks or case")


def _learnt_from(
    source: Source,
    names: Sequence[str],
    ids: Sequence[str],
    said: ColumnOptions,
) -> Sequence[Column]:
    sample, columns, left_out = source.sample, list[Column](), dict[str, list[str]]()
    small = sample.height < SAMPLE_ROWS and sample.height * sample.width < SAMPLE_CELLS // 2
    whole = small and len(source.files) <= 1 and not source.cut  # all rows that there are
    for name in names:
        values, levels = values_of(sample, name), name in said.categorical
        reason = {NUMBER: "", EMPTY: "empty"}.get(kind_of_type(values.dtype), "not numeric")
        if said.categories:
            reason = _useless(values, whole=whole, levels=levels)
        if reason:
            left_out.setdefault(reason, []).append(name)
        else:
            known = values.alias(name)
            columns.append(
                _described(known, levels=levels) if said.categories else Number(name)
            )
    numbers = [c.name for c in columns if isinstance(c, Number)]
    dates = [name for name in numbers if is_date(sample.get_column(name).dtype)]
    if dates:
        warn(f"dates count as days since 1970: {quoted(dates, 5)}")
    left_out |= {"ids": list(dict.fromkeys(ids))} if ids else {}
    told = "; ".join(f"{quoted(names, 5)} ({reason})" for reason, names in left_out.items())
    if not columns:
        what = "" if said.categories else "of numbers "
        msg = f"{source.label} has no column {what}besides the target to learn from"
        raise InvalidInputError(f"{msg}: {told} left out" if told else msg)
    if told:
        n_columns = sum(map(len, left_out.values()))
        warn(errors.UnusedDataWarning(f"columns left out: {told}", columns=n_columns))
    return columns


def _useless(values: pl.Series, *, whole: bool, levels: bool) -> str:
    """Return why nothing can be learnt from a column, or nothing."""
    # where the sample is not the ``whole`` table, one value in all its rows is no constant
    kind, known = kind_of_type(values.dtype), values.drop_nulls()
    if known.is_empty():
        return "empty" if whole or kind == EMPTY else ""
    if kind == OTHER and not is_date(values.dtype):
        return f"holds {values.dtype}"
    distinct = known.n_unique()
    # one number, unlike one text, may be kept: sums of parts must have the same columns to add up
    few = kind == TEXT or values.dtype == pl.Boolean
    if whole and few and distinct == 1 and not values.null_count() and len(values) > 1:
        return "constant"
    free = kind == TEXT and not levels and is_free_text(distinct, len(known))
    return "nearly all texts differ" if free else ""


def _described(values: pl.Series, *, levels: bool) -> Column:
    if not (levels or kind_of_type(values.dtype) == TEXT or values.dtype == pl.Boolean):
        return Number(values.name)
    return category_of(values.name, levels_of(values))


def _schema_of_named(sample: pl.DataFrame, said: ColumnOptions, label: str) -> Schema | None:
    names = said.features or ()
    columns = (sample.get_column(name) for name in names)
    found = [_described(c, levels=c.name in said.categorical) for c in columns]
    levels = [c.name for c in found if isinstance(c, Category) and said.categories]
    _check_numeric(sample, [name for name in names if name not in levels], label)
    return _schema_of(found) if said.categories else None


def _by_position(sample: pl.DataFrame, d: int, keep: ColumnOptions, label: str) -> list[str]:
    """Return the numeric columns for a model that knows no names, if their number is right."""
    ids = id_columns(sample, skip=set()) if keep.ids is None else keep.ids
    numbers = [name for name, dtype in sample.schema.items() if kind_of_type(dtype) == NUMBER]
    names = [name for name in numbers if name not in {*ids, *keep.ignore}]
    if len(names) != d:
        found = f"takes {d} numeric columns, but {label} has {len(names)}"
        cure = "ignore the others, or fit the model on named columns"
        raise FeatureMismatchError(f"the model knows no column names and {found}: {cure}")
    warn(
        f"the model knows no column names: taking {', '.join(map(repr, names))} in this order"
    )
    return names
