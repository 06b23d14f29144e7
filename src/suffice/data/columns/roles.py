"""The roles of a source's columns, decided once from its first rows."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from suffice.core.table.mixed import category_of, is_free_text, levels_of
from suffice.core.table.schema import Category, Column, Number, Schema
from suffice.core.text.lists import counted, listed, noun_for, quote, quoted
from suffice.data.columns.guessing import check_target, guess_target, id_columns, is_wide
from suffice.data.columns.kinds import (
    DAYS,
    EMPTY,
    NUMBER,
    OTHER,
    TEXT,
    is_date,
    kind_of_type,
)
from suffice.data.columns.labels import LabelMerge
from suffice.data.columns.levels import (
    category_of_all_rows,
    counts_of_levels,
    is_whole,
    texts_in,
)
from suffice.data.options import Columns
from suffice.data.source import (
    ColumnType,
    Source,
    copy_of,
    values_of,
)
from suffice.data.text.spelling import numbers_in
from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    ReadingWarning,
    UnusedDataWarning,
    warn,
)

_ANY_COLUMNS = Columns()
_ODD_SHARE = 0.1  # up to this share, texts among numbers count as errors
_FREE = "nearly all texts differ"
# up to this number, distinct texts among numbers count as errors, even if they are frequent
_MOST_ODD = 3


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns to read, with their roles."""

    features: tuple[str, ...]
    target: str | None = None
    weight: str | None = None
    kept: tuple[str, ...] = ()  # columns copied to the output in their original spelling
    schema: Schema | None = None  # schema of the features; None if all features are numbers
    allow_missing: bool = False  # whether rows with missing numbers are used
    # columns to read as text, even if they look like numbers
    words: frozenset[str] = frozenset()
    merge: LabelMerge | None = (
        None  # how to merge spellings of labels; None if they are not merged
    )
    # whether labels are class names exactly as written, by the user's choice
    named_classes: bool = False
    # Columns left out because the values of the first rows are all distinct; later rows are
    # checked.
    guessed_ids: tuple[str, ...] = ()
    free_texts: tuple[str, ...] = ()
    rereads: bool = False  # whether rows are read again if later rows have too many levels

    @property
    def numbers(self) -> tuple[str, ...]:
        """The features that are numbers or dates."""
        if self.schema is None:
            return self.features
        return tuple(column.name for column in self.schema.numbers)

    def copied(self, name: str) -> str:
        """Return the name that a kept column has while rows are read."""
        return copy_of(name) if name in self.features else name

    def columns(self, sample: pl.DataFrame) -> dict[str, ColumnType | None]:
        """Return the type that each column is read as; None means the original spelling."""
        columns: dict[str, ColumnType | None] = {}
        types = sample.schema
        for name in self.kept:
            columns[self.copied(name)] = None
        if self.target is not None and self.named_classes:
            columns[self.target] = pl.String
        elif self.target is not None:
            columns[self.target] = _type_of_labels(types[self.target])
        if self.weight is not None:
            columns[self.weight] = pl.Float64
        features = self.schema.columns if self.schema else [Number(n) for n in self.features]
        for feature in features:
            columns[feature.name] = _type_of_feature(feature, types[feature.name])
        for name in self.words:
            columns[name] = pl.String
        return columns


def _type_of_labels(dtype: ColumnType) -> ColumnType:
    if is_wide(dtype):
        return pl.Float64()
    return dtype if kind_of_type(dtype) == NUMBER else pl.String


def _type_of_feature(column: Column, dtype: ColumnType) -> ColumnType:
    if isinstance(column, Category) and not is_date(dtype):
        return pl.String if kind_of_type(dtype) in (TEXT, EMPTY) else dtype
    return DAYS if is_date(dtype) else pl.Float64


def roles_for_learning(
    source: Source,
    target: str | None = None,
    weight: str | None = None,
    columns: Columns = _ANY_COLUMNS,
    *,
    categories: bool = True,
    allow_missing: bool = True,
) -> Roles:
    """Return the roles for learning from a source; warn about guesses and omitted columns.

    Without ``categories``, only numeric columns are used. Without ``allow_missing``, rows with
    missing numbers are left out.
    """
    sample = source.sample
    schema = columns.schema
    _refuse_nothing(source)
    columns = replace(columns, categorical=(*columns.categorical, *source.categorical))
    features = columns.feature_names or ()
    named_ids = columns.ids or ()
    weights = () if weight is None else (weight,)
    named = (*weights, *columns.ignore, *named_ids, *features, *columns.categorical)
    require_columns(source, named)
    target = _target(source, target, weight, columns)
    check_target(sample.get_column(target), source.label, columns)
    _refuse_two_roles(source.label, target, weight, columns)
    unused = {target, weight, *columns.ignore}
    others = [n for n in sample.columns if n not in unused and n not in named_ids]
    _refuse_unclear(source, [*(features or others), target], columns.categorical)
    ids = columns.ids
    if ids is None:
        ids = id_columns(sample, skip=unused | set(features) | source.repeating)
    if schema is not None:
        _check_numeric(sample, [column.name for column in schema.numbers], source.label)
    elif columns.features is None:
        learnt = _informative(source, others, ids, columns, categories=categories)
        features = tuple(column.name for column in learnt)
        schema = _schema_of(learnt)
    else:
        schema = _schema_of_named(source, columns, categories=categories)
    finds_features = columns.features is None and not is_whole(source)
    finds_ids = finds_features and columns.ids is None
    left_out = set(others).difference(features, ids)
    return Roles(
        features=features,
        target=target,
        weight=weight,
        kept=_without(dict.fromkeys(ids), features),
        schema=schema,
        allow_missing=allow_missing,
        words=_words(source, columns.schema) | _codes(source, columns.categorical),
        merge=LabelMerge.of(sample.get_column(target)) if columns.merge_labels else None,
        named_classes=columns.target_kind is not None,
        guessed_ids=tuple(ids) if finds_ids else (),
        free_texts=texts_in(source, left_out) if finds_features and categories else (),
        rereads=source.rereads and columns.schema is None,
    )


def _without(names: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    """Return the names that are not in ``others``, in order."""
    left_out = frozenset(others)
    return tuple(name for name in names if name not in left_out)


def roles_for_texts(
    source: Source,
    text: str,
    target: str | None = None,
    weight: str | None = None,
    columns: Columns = _ANY_COLUMNS,
) -> Roles:
    """Return the roles for learning from the words of a text column; warn about all others."""
    _refuse_nothing(source)
    require_columns(source, [text, *columns.ignore, *(columns.ids or ())])
    if weight is not None:
        require_columns(source, [weight])
    named = replace(columns, features=(text,))
    target = _target(source, target, weight, named)
    check_target(source.sample.get_column(target), source.label, columns)
    _refuse_two_roles(source.label, target, weight, named)
    used = {text, target, weight, *columns.ignore, *(columns.ids or ())}
    unused = [name for name in source.sample.columns if name not in used]
    if unused:
        warn(
            f"fit uses only the words of column {text!r} and leaves out "
            f"{noun_for(len(unused), 'column')} {quoted(unused, 5)}",
            UnusedDataWarning,
        )
    return Roles(
        features=(),
        target=target,
        weight=weight,
        kept=(text,),
        words=frozenset({text}),
        merge=LabelMerge.of(source.sample.get_column(target))
        if columns.merge_labels
        else None,
        named_classes=columns.target_kind is not None,
    )


def roles_for_predicting(
    source: Source,
    features: Sequence[str] | None,
    n_features: int,
    columns: Columns = _ANY_COLUMNS,
    *,
    schema: Schema | None = None,
    allow_missing: bool = True,
) -> Roles:
    """Return the roles for predicting: the columns that a model needs, and the ids to copy."""
    sample = source.sample
    if schema is not None:
        features = Columns(features=schema).feature_names
    if features is None:
        features = _by_position(sample, n_features, columns, source.label)
    lacking = [name for name in features if name not in sample.columns]
    if lacking:
        raise FeatureMismatchError(
            f"{source.label} lacks the {noun_for(len(lacking), 'column')} {quoted(lacking, 5)} "
            f"that the model needs: {_suggestion(lacking, sample.columns)}"
        )
    category_names = [column.name for column in schema.categories] if schema else []
    numbers = [name for name in features if name not in category_names]
    _refuse_unclear(source, numbers, ())
    _check_numeric(sample, numbers, source.label)
    ids = columns.ids
    if ids is None:
        ids = id_columns(sample, skip={*features, *columns.ignore})
    require_columns(source, ids)
    return Roles(
        features=tuple(features),
        kept=tuple(dict.fromkeys(ids)),
        schema=schema,
        allow_missing=allow_missing,
        words=_words(source, schema),
    )


def _refuse_two_roles(
    label: str,
    target: str,
    weight: str | None,
    columns: Columns,
) -> None:
    """Raise if the user gives a column two roles."""
    roles = dict.fromkeys(columns.ignore, "one to leave out")
    roles[target] = "the target"
    for name in columns.feature_names or ():
        if name in roles:
            role = "a feature again" if roles[name] == "a feature" else roles[name]
            raise InvalidInputError(
                f"{label}: column {name!r} is named as a feature, and as {role}: name it once"
            )
        roles[name] = "a feature"
    if weight is not None and weight in roles:
        raise InvalidInputError(
            f"{label}: column {weight!r} is named as the weight, and as {roles[weight]}: name it "
            "once"
        )


def _words(source: Source, schema: Schema | None) -> frozenset[str]:
    """Return the categories with text levels whose columns look numeric in this source."""
    if schema is None or not source.is_text:
        return frozenset()
    types = source.sample.schema
    names = [c.name for c in schema.categories if _has_other_levels(c.levels, types[c.name])]
    return frozenset(names)


def _codes(source: Source, categorical: Sequence[str]) -> frozenset[str]:
    """Return the categories that are integers in a text file: leading zeros must be kept."""
    if not source.is_text:
        return frozenset()
    types = source.sample.schema
    return frozenset(name for name in categorical if types[name].is_integer())


def _has_other_levels(levels: Sequence[str], dtype: ColumnType) -> bool:
    """Return whether any level is not the text of a value of this type."""
    texts = pl.Series(levels, dtype=pl.String)
    if is_date(dtype):
        return texts.str.head(10).str.to_date("%F", strict=False).null_count() > 0
    if kind_of_type(dtype) != NUMBER:
        return False
    if dtype == pl.Boolean:
        return not {"True", "False"}.issuperset(levels)
    names_of_numbers = levels_of(texts.cast(pl.Float64, strict=False)).levels
    return not set(names_of_numbers).issuperset(levels)


def _schema_of(columns: Sequence[Column]) -> Schema | None:
    has_categories = any(isinstance(column, Category) for column in columns)
    return Schema(tuple(columns)) if has_categories else None


def _refuse_nothing(source: Source) -> None:
    if source.sample.width == 1:
        raise InvalidInputError(
            f"{source.label} has one column only, {source.sample.columns[0]!r}: if a character "
            "other than , ; | or tab separates its cells, name that character as the delimiter"
        )
    if source.sample.is_empty():
        raise InvalidInputError(
            f"{source.label} has columns but no rows, so there is nothing to learn from"
        )


def require_columns(source: Source, names: Iterable[str]) -> None:
    """Raise an error for the first unknown name that suggests the most similar column."""
    columns = source.sample.columns
    for name in names:
        if name not in columns:
            msg = f"{source.label} has no column {name!r}: {_suggestion([name], columns)}"
            raise InvalidInputError(msg)


def _suggestion(names: Sequence[str], columns: Sequence[str]) -> str:
    by_lower = {column.lower(): column for column in reversed(columns)}
    if len(names) == 1:
        near = difflib.get_close_matches(names[0].lower(), by_lower, 1)
        if near:
            return f"did you mean {by_lower[near[0]]!r}?"
    renames = [
        f"{by_lower[name.lower()]!r} to {name!r}" for name in names if name.lower() in by_lower
    ]
    absent = [name for name in names if name.lower() not in by_lower]
    if renames and absent:
        columns_to_add = f"{noun_for(len(absent), 'column')} {quoted(absent, 5)}"
        return f"rename {listed(renames)}, and add the {columns_to_add}"
    if renames:
        return f"rename {listed(renames)}"
    return f"it has {quoted(columns, 10)}"


def _refuse_unclear(
    source: Source,
    names: Iterable[str],
    categorical: Sequence[str],
) -> None:
    """Raise for a column whose numbers are ambiguous or mixed with text."""
    are_levels = frozenset(categorical)
    for name in names:
        if name in are_levels:
            continue
        if name in source.doubts:
            msg = f"{source.label}: column {name!r} {source.doubts[name]}"
            raise InvalidInputError(msg)
        values = values_of(source.sample, name)
        if kind_of_type(values.dtype) != TEXT:
            continue
        odd = _odd_cell(values)
        if odd is not None:
            raise InvalidInputError(
                f"{source.label}: column {name!r} mixes numbers and text such as {quote(odd.text)} "
                f"in row {odd.row:,} (counted from 0). Correct the cell, or declare "
                f"{quote(odd.text)} as missing with --na. If the column holds categories, name it "
                "with --categorical; otherwise leave it out with --ignore"
            )


class _OddCell(NamedTuple):
    """A cell of text among numbers."""

    text: str
    row: int


def _odd_cell(column: pl.Series) -> _OddCell | None:
    """Return the first cell that is not a number, if nearly all cells are numbers."""
    texts = column.cast(pl.String).str.strip_chars().alias("text")
    cells = texts.to_frame().with_row_index("row").drop_nulls("text")
    filled = cells.get_column("text")
    if filled.is_empty():
        return None
    is_odd = ~numbers_in(filled)
    share = is_odd.sum() / len(is_odd)
    if not 0 < share <= 0.5:
        return None
    if share > _ODD_SHARE and filled.filter(is_odd).n_unique() > _MOST_ODD:
        return None
    row, text = cells.filter(is_odd).row(0)
    return _OddCell(text=str(text), row=int(row))


def _check_numeric(sample: pl.DataFrame, names: Iterable[str], label: str) -> None:
    types = sample.schema
    for name in names:
        kind = kind_of_type(types[name])
        if kind == NUMBER or is_date(types[name]):
            continue
        values = values_of(sample, name).drop_nulls()
        if len(values):
            example = quote(values[0]) if kind == TEXT else values.dtype
            raise InvalidInputError(
                f"{label}: column {name!r} must hold numbers, but holds {example}: correct the "
                "cell, declare this value as missing, or encode the column as numbers"
            )


def _target(source: Source, target: str | None, weight: str | None, columns: Columns) -> str:
    if target is not None:
        require_columns(source, [target])
        return target
    if source.target is not None:
        return source.target
    unused = {*columns.ignore, *(columns.ids or ()), *(columns.feature_names or ())}
    if weight is not None:
        unused.add(weight)
    candidates = [name for name in source.sample.columns if name not in unused]
    name, reason = guess_target(source.sample[candidates], source.label)
    warn(f"taking {name!r} as the target, {reason}", ReadingWarning)
    return name


def _informative(
    source: Source,
    names: Sequence[str],
    ids: Sequence[str],
    columns: Columns,
    *,
    categories: bool,
) -> list[Column]:
    """Return the informative columns; warn about the columns left out."""
    has_all = is_whole(source)
    learnt: list[Column] = []
    left_out: dict[str, list[str]] = {}  # names by reason
    names = _without(names, ids)
    counts = counts_of_levels(source, names, columns.categorical) if categories else {}
    for name in names:
        values = values_of(source.sample, name)
        is_level = name in columns.categorical
        column: Column | None
        if name in counts:
            column = category_of_all_rows(name, counts[name], is_level=is_level)
            reason = _FREE if column is None else ""
        elif categories:
            reason = _useless(values, is_whole=has_all, is_level=is_level)
            column = None if reason else _column_of(values.alias(name), is_level=is_level)
        else:
            column = Number(name)
            reason = _not_numeric(values)
        if reason or column is None:
            left_out.setdefault(reason, []).append(name)
        else:
            learnt.append(column)
    numbers = [column.name for column in learnt if isinstance(column, Number)]
    types = source.sample.schema
    dates = [name for name in numbers if is_date(types[name])]
    if dates:
        warn(f"dates count as days since 1970: {quoted(dates, 5)}", ReadingWarning)
    if ids:
        left_out["ids"] = list(dict.fromkeys(ids))
    _warn_of_left_out(source.label, learnt, left_out, categories=categories)
    return learnt


def _warn_of_left_out(
    label: str,
    learnt: Sequence[Column],
    left_out: Mapping[str, Sequence[str]],
    *,
    categories: bool,
) -> None:
    """Warn about the columns left out, by reason; raise if no feature remains."""
    reasons = "; ".join(f"{quoted(names, 5)} ({reason})" for reason, names in left_out.items())
    if not learnt:
        kind = "column" if categories else "numeric column"
        msg = f"{label} has no {kind} besides the target to learn from"
        raise InvalidInputError(f"{msg}: {reasons} left out" if reasons else msg)
    if reasons:
        n_columns = sum(len(names) for names in left_out.values())
        warn(UnusedDataWarning(f"columns left out: {reasons}", columns=n_columns))


def _not_numeric(values: pl.Series) -> str:
    """Return why a column is not numeric, as text; empty if the column is numeric."""
    kind = kind_of_type(values.dtype)
    if kind == NUMBER:
        return ""
    return "empty" if kind == EMPTY else "not numeric"


def _useless(values: pl.Series, *, is_whole: bool, is_level: bool) -> str:
    """Return why a column is useless as a feature, as text; empty if it is useful."""
    # Unless the first rows are the whole table, a column that is constant there may still vary.
    kind = kind_of_type(values.dtype)
    if values.null_count() == len(values):
        return "empty" if is_whole or kind == EMPTY else ""
    if kind == OTHER and not is_date(values.dtype):
        return f"holds {values.dtype}"
    # Constant numbers are kept, because partial sums can be added only if they have the same
    # columns.
    has_levels = kind == TEXT or values.dtype == pl.Boolean
    if not has_levels:
        return ""
    filled = values.drop_nulls()
    n_distinct = filled.n_unique()
    is_constant = n_distinct == 1 and not values.null_count() and len(values) > 1
    if is_whole and is_constant:
        return "constant"
    is_free = kind == TEXT and not is_level and is_free_text(n_distinct, len(filled))
    return _FREE if is_free else ""


def _column_of(values: pl.Series, *, is_level: bool) -> Column:
    has_levels = kind_of_type(values.dtype) == TEXT or values.dtype == pl.Boolean
    if is_level or has_levels:
        return category_of(values.name, levels_of(values))
    return Number(values.name)


def _schema_of_named(source: Source, columns: Columns, *, categories: bool) -> Schema | None:
    """Return the schema of the features that the user names; None if all are numbers."""
    names = columns.feature_names or ()
    if not categories:
        _check_numeric(source.sample, names, source.label)
        return None
    described = []
    counts = counts_of_levels(source, names, columns.categorical)
    for name in names:
        values = source.sample.get_column(name)
        is_level = name in columns.categorical
        column = None
        if name in counts:
            column = category_of_all_rows(name, counts[name], is_level=True)
        described.append(column or _column_of(values, is_level=is_level))
    numbers = [column.name for column in described if not isinstance(column, Category)]
    _check_numeric(source.sample, numbers, source.label)
    return _schema_of(described)


def _by_position(
    sample: pl.DataFrame,
    n_features: int,
    columns: Columns,
    label: str,
) -> list[str]:
    """Return the numeric columns for a model without feature names; raise if the number differs."""
    ids = columns.ids
    if ids is None:
        ids = id_columns(sample, skip=set())
    numbers = [name for name, dtype in sample.schema.items() if kind_of_type(dtype) == NUMBER]
    names = [name for name in numbers if name not in ids and name not in columns.ignore]
    if len(names) != n_features:
        raise FeatureMismatchError(
            "the model was fitted without column names to "
            f"{counted(n_features, 'numeric column')}, but {label} has {len(names)}: ignore the "
            "others, or fit the model on named columns"
        )
    warn(
        f"the model was fitted without column names: it uses {', '.join(map(repr, names))} in "
        "this order",
        ReadingWarning,
    )
    return names
