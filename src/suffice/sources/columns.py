"""Which column is the target, which are features, which is the weight, which are ids."""

import difflib
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    UnknownTargetError,
    UnusedDataWarning,
    warn,
)
from suffice.sources import kinds
from suffice.sources.source import SAMPLE_CELLS, SAMPLE_ROWS, Source, copy_of, values_of
from suffice.sources.spelling import numbers_in
from suffice.table.schema import Category, Column, Number, Schema
from suffice.text.lists import noun, quoted


def odd_cell(column: pl.Series) -> tuple[str, int] | None:
    """Return the first cell that is no number, and its row, of text that is numbers but for a few.

    Few are a tenth of the cells, or three distinct texts in at most half of them.
    """
    known = column.cast(pl.String).str.strip_chars().alias("text").to_frame().with_row_index("row")
    known = known.drop_nulls("text")
    texts = known.get_column("text")
    odd = ~numbers_in(texts)
    share = 1.0 if texts.is_empty() else odd.sum() / len(odd)
    if not 0 < share <= 0.5 or (share > 0.1 and texts.filter(odd).n_unique() > 3):
        return None
    row, text = known.filter(odd).row(0)
    return str(text), int(row) + 1


# id, row_id, idCustomer, uuid, key, index, Unnamed: 0, or no name at all
_NAME = re.compile(
    r"|unnamed: \d+|index|rownames?|key|u?u?id|.*[_\-. ](id|uuid|key)|id[_\-. ].*", re.IGNORECASE
)
_CAMEL = re.compile(r".*[a-z](Id|ID)|id[A-Z].*")
_FEW = 20  # rows; fewer distinct texts may be chance


def id_columns(sample: pl.DataFrame, skip: AbstractSet[str | None]) -> list[str]:
    """Return the columns that are ids: no value twice, and the name or the text of one."""
    return [n for n in sample.columns if n not in skip and _is_id(n, values_of(sample, n))]


def _is_id(name: str, column: pl.Series) -> bool:
    text = kinds.kind_of(column.dtype) == kinds.TEXT
    if not (text or column.dtype.is_integer()) or column.n_unique() < len(column):
        return False
    if _NAME.fullmatch(name) or _CAMEL.fullmatch(name):
        return True
    return text and len(column) >= _FEW


_NAMES = ("target", "class", "label", "labels", "y", "species", "outcome", "diagnosis")
_FEW_CLASSES = 20
_MANY = 100  # distinct numbers that may still be labels, whatever the number of rows


def guess_target(sample: pl.DataFrame, label: str) -> tuple[str, str]:
    """Return the column that is obviously the target, and why; raise if none is, or several may."""
    columns = [name for name in sample.columns if name not in id_columns(sample, set())]
    named = [name for name in columns if name.lower() in _NAMES]
    if len(named) == 1:
        return named[0], "by its name"
    few = named or [name for name in columns if _is_categorical(values_of(sample, name))]
    if len(few) == 1:
        return few[0], "the only column of a few values that repeat"
    raise UnknownTargetError(label, few or columns)


def check_target(column: pl.Series, label: str) -> None:
    """Raise unless the first values of a target may be class labels."""
    kind, values = kinds.kind_of(column.dtype), column.alias("values").drop_nulls()
    name = f"{label}: the target {column.name!r}"
    if kind == kinds.EMPTY or values.is_empty():
        raise InvalidInputError(f"{name} is empty: name another column")
    if kind == kinds.OTHER:
        msg = f"{name} holds {column.dtype}: labels must be text, whole numbers or true and false"
        raise InvalidInputError(msg)
    distinct = values.n_unique()
    written = values.dtype.is_float() or values.dtype.is_decimal()
    parts = written and (values != values.round()).any()
    if kind == kinds.NUMBER and (parts or (distinct > _MANY and distinct > len(values) / 10)):
        cut = f"df.with_columns(pl.col({column.name!r}).qcut(3, labels=['low', 'middle', 'high']))"
        msg = f"{name} holds {distinct:,} distinct numbers, which looks like regression: cut it "
        msg += f"into a few classes first, for example with polars: {cut}"
        raise InvalidInputError(msg)
    if kind == kinds.TEXT and distinct == len(values) > _FEW_CLASSES:
        msg = f"{name} has another value in every row, like an id: name the column of the classes"
        raise InvalidInputError(msg)


def _is_categorical(column: pl.Series) -> bool:
    values = column.drop_nulls()
    if kinds.kind_of(column.dtype) == kinds.TEXT or column.dtype == pl.Boolean:
        return values.n_unique() < len(values)
    few = 2 <= values.n_unique() <= min(_FEW_CLASSES, len(values) / 2)
    return bool(column.dtype.is_integer() and few)


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

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the features that are numbers, in order."""
        return self.features if self.schema is None else tuple(c.name for c in self.schema.numbers)

    def copied(self, name: str) -> str:
        """Return what a kept column is called while rows are read."""
        return copy_of(name) if name in self.features else name

    def columns(self, sample: pl.DataFrame) -> dict[str, Any]:
        """Return the type to read each column as; None: as it is written."""
        types = sample.schema
        columns: dict[str, Any] = dict.fromkeys(map(self.copied, self.kept))
        if self.target is not None:
            labels: Any = types[self.target]
            labels = pl.Float64() if labels.is_decimal() else labels
            columns[self.target] = labels if kinds.kind_of(labels) == kinds.NUMBER else pl.String
        if self.weight is not None:
            columns[self.weight] = pl.Float64
        found = self.schema.columns if self.schema else [Number(name) for name in self.features]
        return columns | {c.name: kinds.type_of(c, types[c.name]) for c in found}


def roles_for_learning(source: Source, said: ColumnOptions) -> Roles:
    """Return the columns to learn from; say what was guessed and what is left out."""
    sample, wanted = source.sample, tuple(said.features or ())
    _refuse_nothing(source)
    said = replace(said, categorical=(*said.categorical, *source.categorical))
    weight = () if said.weight is None else (said.weight,)
    check_names(source, (*weight, *said.ignore, *(said.ids or ()), *wanted, *said.categorical))
    target = _target(source, said)
    check_target(sample.get_column(target), source.label)
    taken = {target, said.weight, *said.ignore}
    rest = [name for name in sample.columns if name not in taken | set(said.ids or ())]
    unclear = (*(wanted or rest), target)
    refuse_unclear(source, [name for name in unclear if name not in said.categorical])
    ids = id_columns(sample, skip=taken | set(wanted)) if said.ids is None else said.ids
    schema: Schema | None
    if said.schema is not None:
        features, schema = _used(said.schema), said.schema
    elif said.features is None:
        columns = _learnt_from(source, [name for name in rest if name not in ids], ids, said)
        features, schema = [c.name for c in columns], kinds.schema_of(columns)
    else:
        features, schema = said.features, _schema_of_named(sample, said, source.label)
    kept = tuple(name for name in ids if name not in features)
    return Roles(tuple(features), target, said.weight, kept, schema, said.holes)


def _used(schema: Schema) -> Sequence[str]:
    return [c.name for c in schema.columns if c.kind != "left out"]


def _refuse_nothing(source: Source) -> None:
    """Raise where there are no rows, or no columns beside one."""
    if source.sample.width == 1:
        cure = "if another mark than , ; | or tab separates it, name that mark as the delimiter"
        msg = f"{source.label} has one column only, {source.sample.columns[0]!r}: {cure}"
        raise InvalidInputError(msg)
    if source.sample.is_empty():
        raise InvalidInputError(f"{source.label} has columns but no rows: nothing to learn from")


def roles_for_predicting(
    source: Source, features: Sequence[str] | None, n_features: int, keep: ColumnOptions
) -> Roles:
    """Return the columns a model needs and those to copy beside its answers."""
    sample, schema = source.sample, keep.schema
    features = features if schema is None else _used(schema)
    if features is None:
        features = _by_position(sample, n_features, keep, source.label)
    lacking = [name for name in features if name not in sample.columns]
    if lacking:
        what, cure = noun(len(lacking), "column"), suggestion(lacking[0], sample.columns)
        msg = f"{source.label} lacks the {what} {quoted(lacking, 5)} that the model needs: {cure}"
        raise FeatureMismatchError(msg)
    levels = {c.name for c in schema.categories} if schema else set()
    numbers = [name for name in features if name not in levels]
    refuse_unclear(source, numbers)
    check_numeric(sample, numbers, source.label)
    kept = id_columns(sample, {*features, *keep.ignore}) if keep.ids is None else keep.ids
    check_names(source, kept)
    return Roles(tuple(features), kept=tuple(kept), schema=schema, holes=keep.holes)


def check_names(source: Source, names: Iterable[str]) -> None:
    """Raise the error that suggests the nearest column for the first unknown name."""
    columns = source.sample.columns
    for name in names:
        if name not in columns:
            msg = f"{source.label} has no column {name!r}: {suggestion(name, columns)}"
            raise InvalidInputError(msg)


def suggestion(name: str, columns: Sequence[str]) -> str:
    """Return the nearest name as a question, or the names there are."""
    by_lower = {column.lower(): column for column in reversed(columns)}
    near = difflib.get_close_matches(name.lower(), by_lower, 1)
    return f"did you mean {by_lower[near[0]]!r}?" if near else f"it has {quoted(columns, 10)}"


def refuse_unclear(source: Source, names: Iterable[str]) -> None:
    """Raise for a column whose numbers may be read in two ways, or are mixed with text."""
    sample, doubts = source.sample, source.doubts
    for name in names:
        if name in doubts:
            msg = f"{source.label}: column {name!r} {doubts[name]}"
            raise InvalidInputError(msg if ": " in doubts[name] else f"{msg}: write all in one way")
        values = values_of(sample, name)
        odd = odd_cell(values) if kinds.kind_of(values.dtype) == kinds.TEXT else None
        if odd is not None:
            found = f"mixes numbers and text such as {odd[0]!r} in row {odd[1]:,}: correct it, "
            cure = f"declare {odd[0]!r} as missing, name the column as categorical, or ignore it"
            raise InvalidInputError(f"{source.label}: column {name!r} {found}{cure}")


def check_numeric(sample: pl.DataFrame, names: Iterable[str], label: str) -> None:
    """Raise unless columns that must hold numbers do."""
    for name in names:
        values = values_of(sample, name).drop_nulls()
        kind = kinds.kind_of(values.dtype)
        if kind not in (kinds.NUMBER, kinds.EMPTY) and not kinds.is_date(values.dtype):
            first = repr(values[0]) if kind == kinds.TEXT else values.dtype
            cure = "correct it, declare that value as missing, or encode the column as numbers"
            msg = f"{label}: column {name!r} must hold numbers, but holds {first}: {cure}"
            raise InvalidInputError(msg)


def _target(source: Source, said: ColumnOptions) -> str:
    if said.target is not None:
        check_names(source, [said.target])
        return said.target
    if source.target is not None:
        return source.target
    unused = {*said.ignore, *(said.ids or ()), *(said.features or ()), said.weight}
    columns = source.sample.drop(c for c in unused if c is not None)
    name, why = guess_target(columns, source.label)
    warn(f"taking {name!r} as the target, {why}")
    return name


def _learnt_from(
    source: Source, names: Sequence[str], ids: Sequence[str], said: ColumnOptions
) -> Sequence[Column]:
    """Return the columns to learn from; say which others are left out."""
    sample = source.sample
    small = sample.height < SAMPLE_ROWS and sample.height * sample.width < SAMPLE_CELLS // 2
    whole = small and len(source.files) <= 1  # all rows that there are
    categorical = said.categorical if said.categories else None
    columns, unused = kinds.learnable(sample, names, categorical, whole=whole)
    told = {**unused, "ids": list(ids)}
    left_out = [f"{quoted(names, 5)} ({reason})" for reason, names in told.items() if names]
    if not columns:
        what = "" if said.categories else "of numbers "
        msg = f"{source.label} has no column {what}besides the target to learn from"
        raise InvalidInputError(f"{msg}: {'; '.join(left_out)} left out" if left_out else msg)
    if left_out:
        text = f"columns left out: {'; '.join(left_out)}"
        warn(UnusedDataWarning(text, columns=sum(map(len, told.values()))))
    return columns


def _schema_of_named(sample: pl.DataFrame, said: ColumnOptions, label: str) -> Schema | None:
    """Return what columns that were asked for hold."""
    names = said.features or ()
    columns = (sample.get_column(name) for name in names)
    found = [kinds.described(c, categorical=c.name in said.categorical) for c in columns]
    levels = [c.name for c in found if isinstance(c, Category) and said.categories]
    check_numeric(sample, [name for name in names if name not in levels], label)
    return kinds.schema_of(found) if said.categories else None


def _by_position(
    sample: pl.DataFrame, n_features: int, keep: ColumnOptions, label: str
) -> list[str]:
    """Return the numeric columns for a model that knows no names, if their number is right."""
    ids = id_columns(sample, skip=set()) if keep.ids is None else keep.ids
    numbers = [n for n, dtype in sample.schema.items() if kinds.kind_of(dtype) == kinds.NUMBER]
    names = [name for name in numbers if name not in {*ids, *keep.ignore}]
    if len(names) != n_features:
        found = f"takes {n_features} numeric columns, but {label} has {len(names)}"
        cure = "ignore the others, or fit the model on named columns"
        raise FeatureMismatchError(f"the model knows no column names and {found}: {cure}")
    warn(f"the model knows no column names: taking {', '.join(map(repr, names))} in this order")
    return names
