"""The columns of a mixed table: numbers, categories with their levels, and what is left out."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from suffice.core.text.lists import quoted
from suffice.errors import FeatureMismatchError, FileFormatError
from suffice.typing import Array, Codes, Floats

LevelCodes: TypeAlias = npt.NDArray[np.integer[Any]]  # numbers of levels, −1 for none
MOST_LEVELS = 40  # of one category; beyond, the most frequent and "other"


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric column, perhaps with a value for its missing values and an indicator of them."""

    name: str
    fill: float | None = None  # None: a missing value stays NaN
    kind = "number"

    def merged(self, other: Self) -> Self:
        return replace(self, fill=other.fill) if self.fill is None else self


@dataclass(frozen=True, slots=True)
class Category:
    """A column of levels; a missing value and the rare levels may be levels of their own."""

    name: str
    levels: tuple[str, ...]  # sorted
    missing: bool = False  # whether missing values count as a level
    other: bool = False  # whether levels that are not listed count together as one
    kind = "category"

    @property
    def n_levels(self) -> int:
        return len(self.levels) + self.missing + self.other

    @property
    def level_names(self) -> tuple[str, ...]:
        return tuple("(missing)" if value is None else value for value in self.values)

    @property
    def values(self) -> tuple[str | None, ...]:
        """What a cell of each level holds."""
        values: list[str | None] = list(self.levels)
        if self.missing:
            values.append(None)
        if self.other:
            values.append("(other)")
        return tuple(values)

    def merged(self, other: Self) -> Self:
        """Return the column with the levels of both sides."""
        # a side with an "other" level may have counted the levels it does not list in there:
        # these count as "other" on both sides
        rare: set[str] = set()
        if self.other:
            rare |= set(other.levels) - set(self.levels)
        if other.other:
            rare |= set(self.levels) - set(other.levels)
        levels = (set(self.levels) | set(other.levels)) - rare
        return replace(
            self,
            levels=tuple(sorted(levels)),
            missing=self.missing or other.missing,
            other=self.other or other.other,
        )

    def capped(self, weights: Floats) -> Self:
        """Return the column with its rare levels counted together, by the weight of each."""
        if len(self.levels) <= MOST_LEVELS:
            return self
        heaviest = np.argsort(-weights[: len(self.levels)], kind="stable")[: MOST_LEVELS - 1]
        levels = tuple(self.levels[j] for j in np.sort(heaviest))
        return replace(self, levels=levels, other=True)

    def codes_of(self, levels: Sequence[str], codes: LevelCodes) -> LevelCodes:
        """Return each row's indicator, −1 for none, from its code among ``levels``, or −1."""
        place_of = {level: place for place, level in enumerate(self.levels)}
        unknown = self.n_levels - 1 if self.other else -1
        empty = len(self.levels) if self.missing else -1
        # the last entry of the table is that of code −1, a missing value
        places = [place_of.get(level, unknown) for level in levels]
        if [*places, empty] == [*range(len(places)), -1]:
            return codes
        return np.array([*places, empty], np.int32).take(codes)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A column that is not used, and why."""

    name: str
    reason: str
    kind = "left out"


Column: TypeAlias = Number | Category | LeftOut


@dataclass(frozen=True)
class Schema:
    """The columns of a table in their order, and the features that sums are taken of.

    The features are the numbers, then an indicator of missing values for each number that was
    filled, then an indicator for each level of each category.
    """

    columns: tuple[Column, ...]

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(c for c in self.columns if isinstance(c, Number))

    @cached_property
    def filled(self) -> Codes:
        """Positions, among the numbers, of those that have an indicator of missing values."""
        return np.array([j for j, c in enumerate(self.numbers) if c.fill is not None], np.intp)

    @property
    def fills(self) -> Floats:
        """What stands in the missing values of these, (h,)."""
        return np.array([c.fill for c in self.numbers if c.fill is not None], np.float64)

    def with_fills(self, fills: Floats) -> Self:
        """Return the schema with other values in missing values, (h,)."""
        names = [self.numbers[j].name for j in self.filled]
        fill_of = dict(zip(names, fills.tolist(), strict=True))
        columns: list[Column] = []
        for column in self.columns:
            if isinstance(column, Number) and column.name in fill_of:
                columns.append(replace(column, fill=fill_of[column.name]))
            else:
                columns.append(column)
        return type(self)(tuple(columns))

    @cached_property
    def categories(self) -> tuple[Category, ...]:
        return tuple(c for c in self.columns if isinstance(c, Category))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, also of those left out."""
        return tuple(c.name for c in self.columns)

    @cached_property
    def starts(self) -> Codes:
        """First indicator of each group, counted from the first of all, and the end.

        The groups are the filled numbers, with one indicator each, then the categories.
        """
        sizes = [1] * len(self.filled) + [c.n_levels for c in self.categories]
        return np.cumsum([0, *sizes]).astype(np.intp)

    @property
    def n_numbers(self) -> int:
        return len(self.numbers)

    @property
    def n_indicators(self) -> int:
        return int(self.starts[-1])

    @property
    def n_features(self) -> int:
        return self.n_numbers + self.n_indicators

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features: the column's, or "column=level"."""
        numbers = [c.name for c in self.numbers]
        holes = [f"{self.numbers[j].name} missing" for j in self.filled]
        levels = [f"{c.name}={level}" for c in self.categories for level in c.level_names]
        return (*numbers, *holes, *levels)

    def merged(self, other: Self) -> Self:
        """Return the schema of both sides: levels of either, and the same columns in one order."""
        if self == other:
            return self
        other_columns = {c.name: c for c in other.columns}
        if set(self.names) != set(other_columns):
            differing = sorted(set(self.names) ^ set(other_columns))
            raise FeatureMismatchError(
                f"only one side has the column {quoted(differing, 5)}: collect the same columns"
            )
        columns = [_merged_column(c, other_columns[c.name]) for c in self.columns]
        return type(self)(tuple(columns))

    def places_in(self, wider: Self) -> Codes:
        """Return where each feature lies in another schema, −1 where it has no place."""
        place_of = {feature: place for place, feature in enumerate(wider._features())}
        places = []
        for feature in self._features():
            other_level = (feature[0], "other")
            places.append(place_of.get(feature, place_of.get(other_level, -1)))
        return np.array(places, np.intp)

    def _features(self) -> Iterator[tuple[str, ...]]:
        """Yield what each feature stands for; names alone may be the same for several."""
        for number in self.numbers:
            yield (number.name,)
        for j in self.filled:
            yield (self.numbers[j].name, "missing")
        for category in self.categories:
            for level in category.levels:
                yield (category.name, "level", level)
            if category.missing:
                yield (category.name, "missing")
            if category.other:
                yield (category.name, "other")

    @property
    def first_level(self) -> int:
        """First feature that stands for a level."""
        return self.n_numbers + len(self.filled)

    @property
    def exceeds(self) -> bool:
        """Whether a category has more levels than are kept apart."""
        return any(len(c.levels) > MOST_LEVELS for c in self.categories)

    def capped(self, level_weights: Floats) -> Self:
        """Return the schema with only the levels of most weight kept apart; weights (C,)."""
        starts = self.starts[len(self.filled) : -1]
        capped = {}
        for category, start in zip(self.categories, starts, strict=True):
            capped[category.name] = category.capped(level_weights[start:])
        return type(self)(tuple(capped.get(c.name, c) for c in self.columns))

    def to_json(self) -> list[dict[str, object]]:
        return [{"kind": c.kind, **asdict(c)} for c in self.columns]

    @classmethod
    def from_json(cls, columns: Iterable[Mapping[str, Any]]) -> Self:
        try:
            return cls(tuple(_column_from_json(dict(column)) for column in columns))
        except (TypeError, KeyError, ValueError) as error:
            raise FileFormatError(
                f"the schema of the columns is unusable ({error}): write the file again"
            ) from error


def _merged_column(a: Column, b: Column) -> Column:
    if isinstance(a, Number) and isinstance(b, Number):
        return a.merged(b)
    if isinstance(a, Category) and isinstance(b, Category):
        return a.merged(b)
    if not isinstance(a, Number) and not isinstance(b, Number):  # one of them is left out
        return b if isinstance(b, LeftOut) else a
    kind_a = "text" if isinstance(a, LeftOut) else a.kind
    kind_b = "text" if isinstance(b, LeftOut) else b.kind
    raise FeatureMismatchError(
        f"column {a.name!r} is a {kind_a} on one side, a {kind_b} on the other: convert it, or "
        f"name it in categorical=[{a.name!r}] on both sides"
    )


def _column_from_json(fields: dict[str, Any]) -> Column:
    kind = fields.pop("kind")
    column: Column
    if kind == Number.kind:
        column = Number(**fields)
    elif kind == Category.kind:
        fields["levels"] = tuple(fields["levels"])
        column = Category(**fields)
    elif kind == LeftOut.kind:
        column = LeftOut(**fields)
    else:
        raise KeyError(kind)
    texts = [column.name]
    if isinstance(column, Category):
        texts += column.levels
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"a column or level is called {text!r}, which is not text")
    return column


@dataclass(frozen=True)
class Encoding:
    """From the columns of a table to the features a model reads, and back.

    One level of each category, the reference, has no feature: a row of that level has 0 in all
    indicators of the category. If the level is unknown, or the value is missing without a level for
    it, the indicators are NaN.

    With ``late_fills``, no feature is NaN: an empty number takes the value of its column, and a
    category of unknown level takes the reference level.
    """

    schema: Schema
    reference: tuple[int, ...]  # level of each category that has no feature
    # Values of missing values, one for each number; None leaves them NaN.
    late_fills: tuple[float, ...] | None = None

    @classmethod
    def of(cls, schema: Schema, level_weights: Floats) -> Self:
        """Return the encoding whose references are the levels of most weight; weights (C,)."""
        edges = itertools.pairwise(schema.starts[len(schema.filled) :])
        return cls(schema, tuple(int(np.argmax(level_weights[lo:hi])) for lo, hi in edges))

    @classmethod
    def from_json(cls, kept: Mapping[str, Any] | None) -> Self | None:
        if kept is None:
            return None
        schema = Schema.from_json(kept["columns"])
        reference = tuple(int(level) for level in kept["reference"])
        sizes = [max(c.n_levels, 1) for c in schema.categories]
        in_range = all(
            0 <= level < size for level, size in zip(reference, sizes, strict=False)
        )
        if len(reference) != len(sizes) or not in_range:
            raise FileFormatError(
                "the encoding names reference levels that its columns do not have: write the "
                "file again"
            )
        if kept.get("late_fills") is None:
            return cls(schema, reference)
        late_fills = tuple(float(fill) for fill in kept["late_fills"])
        if len(late_fills) != schema.n_numbers or not np.isfinite(late_fills).all():
            raise FileFormatError(
                "the encoding needs one finite value for the missing values of each number: "
                "write the file again"
            )
        return cls(schema, reference, late_fills)

    def to_json(self) -> dict[str, object]:
        encoding: dict[str, object] = {
            "columns": self.schema.to_json(),
            "reference": list(self.reference),
        }
        if self.late_fills is not None:
            encoding["late_fills"] = list(self.late_fills)
        return encoding

    @cached_property
    def kept(self) -> Codes:
        """Features of the schema that have a place in the rows of the model, in order."""
        schema = self.schema
        starts = schema.n_numbers + schema.starts[len(schema.filled) : -1]
        dropped = starts + np.array(self.reference, np.intp)
        return np.setdiff1d(np.arange(schema.n_features), dropped)

    @property
    def n_features(self) -> int:
        return len(self.kept)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(self.schema.feature_names[j] for j in self.kept)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """Features of each category, in the rows of the model."""
        sizes = [c.n_levels - 1 for c in self.schema.categories]
        edges = self.schema.first_level + np.cumsum([0, *sizes])
        return tuple(slice(lo, hi) for lo, hi in itertools.pairwise(edges))

    @cached_property
    def column_groups(self) -> list[Codes]:
        """Features of each column that is read, in the order of the columns."""
        schema = self.schema
        groups: dict[str, list[int]] = {}
        for j, number in enumerate(schema.numbers):
            groups[number.name] = [j]
        for h, j in enumerate(schema.filled):
            groups[schema.numbers[j].name].append(schema.n_numbers + h)
        for category, block in zip(schema.categories, self.blocks, strict=True):
            groups[category.name] = list(range(block.start, block.stop))
        read_columns = [c.name for c in schema.columns if c.kind != "left out"]
        return [np.array(groups[name], np.intp) for name in read_columns]

    def rows(self, x: Array, indicators: LevelCodes) -> Floats:
        """Return the rows of the model (n, D) from numbers (n, p) and indicators (n, h + q).

        The indicators hold, for each group, the number of the level in the group, −1 for none.
        """
        schema = self.schema
        n_filled = len(schema.filled)
        rows = np.zeros((len(x), self.n_features))
        rows[:, : schema.n_numbers] = x
        empty = indicators[:, :n_filled] >= 0
        rows[:, schema.filled] = np.where(empty, schema.fills, rows[:, schema.filled])
        rows[:, schema.n_numbers : schema.first_level] = empty
        for j, (block, reference) in enumerate(zip(self.blocks, self.reference, strict=True)):
            codes = indicators[:, n_filled + j]
            rows[codes < 0, block] = np.nan
            on = np.flatnonzero((codes >= 0) & (codes != reference))
            # levels after the reference move up by one place
            rows[on, block.start + codes[on] - (codes[on] > reference)] = 1.0
        if self.late_fills is not None:
            numbers = rows[:, : schema.n_numbers]
            numbers[:] = np.where(np.isnan(numbers), self.late_fills, numbers)
            levels = rows[:, schema.first_level :]
            levels[np.isnan(levels)] = 0.0
        return rows

    def columns(self, rows: Floats) -> dict[str, Array]:
        """Return the columns of a table from rows of the model; the largest indicator wins."""
        schema = self.schema
        columns: dict[str, Array] = {}
        for j, number in enumerate(schema.numbers):
            columns[number.name] = rows[:, j].copy()
        for h, j in enumerate(schema.filled):
            is_empty = rows[:, schema.n_numbers + h] > 0.5
            columns[schema.numbers[j].name][is_empty] = np.nan
        for category, block, reference in zip(
            schema.categories, self.blocks, self.reference, strict=True
        ):
            columns[category.name] = _most_likely_levels(category, rows[:, block], reference)
        return {name: columns[name] for name in schema.names if name in columns}


def _most_likely_levels(category: Category, indicators: Floats, reference: int) -> Array:
    """Return the level with the largest indicator; the reference has 1 minus their sum."""
    rest = 1 - indicators.sum(1, keepdims=True)
    shares = np.concatenate(
        [indicators[:, :reference], rest, indicators[:, reference:]], axis=1
    )
    codes = np.where(np.isnan(shares).any(1), -1, np.argmax(np.nan_to_num(shares), axis=1))
    return np.array([*category.values, None], dtype=object)[codes]
