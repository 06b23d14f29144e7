"""The columns of a mixed table: numbers, categories with their levels, and unused columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from suffice.core.text.lists import quoted
from suffice.errors import FeatureMismatchError, FileFormatError
from suffice.typing import Codes, Floats

LevelCodes: TypeAlias = npt.NDArray[np.integer[Any]]  # codes of levels, or −1 for no level
# a category with more levels keeps the most frequent ones and merges the others into "other"
MOST_LEVELS = 40


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric column; if ``fill`` is set, missing values get this value and an indicator."""

    name: str
    fill: float | None = None  # None: a missing value stays NaN
    kind = "number"

    def merged(self, other: Self) -> Self:
        return replace(self, fill=other.fill) if self.fill is None else self


@dataclass(frozen=True, slots=True)
class Category:
    """A categorical column; missing values and rare levels may have a level of their own."""

    name: str
    levels: tuple[str, ...]  # sorted
    missing: bool = False  # whether missing values count as a level
    other: bool = False  # whether levels that are not listed are merged into one level
    kind = "category"

    @property
    def n_levels(self) -> int:
        return len(self.levels) + self.missing + self.other

    @property
    def level_names(self) -> tuple[str, ...]:
        return tuple("(missing)" if value is None else value for value in self.values)

    @property
    def values(self) -> tuple[str | None, ...]:
        """The cell value of each level, where None is a missing value."""
        values: list[str | None] = list(self.levels)
        if self.missing:
            values.append(None)
        if self.other:
            values.append("(other)")
        return tuple(values)

    def merged(self, other: Self) -> Self:
        """Return the column with the levels of ``self`` and ``other``."""
        # if one column has a level "other", it may include levels that only the second column
        # lists: these levels are merged into "other"
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
        """Return the column with its rare levels merged, given the weight of each level."""
        if len(self.levels) <= MOST_LEVELS:
            return self
        heaviest = np.argsort(-weights[: len(self.levels)], kind="stable")[: MOST_LEVELS - 1]
        levels = tuple(self.levels[j] for j in np.sort(heaviest))
        return replace(self, levels=levels, other=True)

    def codes_of(self, levels: Sequence[str], codes: LevelCodes) -> LevelCodes:
        """Return codes of ``levels`` as codes of this column's levels, with −1 for no level."""
        place_of = {level: place for place, level in enumerate(self.levels)}
        unknown = self.n_levels - 1 if self.other else -1
        empty = len(self.levels) if self.missing else -1
        # the code −1 of a missing value selects the last entry
        places = [place_of.get(level, unknown) for level in levels]
        if [*places, empty] == [*range(len(places)), -1]:
            return codes
        return np.array([*places, empty], np.int32).take(codes)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A column that is not used, with the reason."""

    name: str
    reason: str
    kind = "left out"


Column: TypeAlias = Number | Category | LeftOut


@dataclass(frozen=True)
class Schema:
    """The columns of a table in their order, and the features that the sums describe.

    The features are the p numeric columns, then an indicator of missing values for each of the h
    filled columns, then an indicator for each level of the q categories: C indicators in all.
    """

    columns: tuple[Column, ...]

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(c for c in self.columns if isinstance(c, Number))

    @cached_property
    def filled(self) -> Codes:
        """Positions, among the numeric columns, of those with an indicator of missing values."""
        return np.array([j for j, c in enumerate(self.numbers) if c.fill is not None], np.intp)

    @property
    def fills(self) -> Floats:
        """Values that replace missing numbers in the filled columns, (h,)."""
        return np.array([c.fill for c in self.numbers if c.fill is not None], np.float64)

    def with_fills(self, fills: Floats) -> Self:
        """Return the schema with other values for the missing numbers, (h,)."""
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
        """Names of all columns, including columns that are left out."""
        return tuple(c.name for c in self.columns)

    @cached_property
    def starts(self) -> Codes:
        """Position of each group's first indicator among all C indicators, and C itself.

        The groups are the filled numeric columns, with one indicator each, then the categories.
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
        """Names of the features: "column", "column missing" or "column=level"."""
        numbers = [c.name for c in self.numbers]
        holes = [f"{self.numbers[j].name} missing" for j in self.filled]
        levels = [f"{c.name}={level}" for c in self.categories for level in c.level_names]
        return (*numbers, *holes, *levels)

    def merged(self, other: Self) -> Self:
        """Return the schema with the levels of both; ``other`` must have the same columns."""
        if self == other:
            return self
        other_columns = {c.name: c for c in other.columns}
        if set(self.names) != set(other_columns):
            differing = sorted(set(self.names) ^ set(other_columns))
            raise FeatureMismatchError(
                f"only one side has the column {quoted(differing, 5)}: collect the same columns "
                "on both sides"
            )
        columns = [_merged_column(c, other_columns[c.name]) for c in self.columns]
        return type(self)(tuple(columns))

    def places_in(self, wider: Self) -> Codes:
        """Return the position of each feature in another schema, or −1 if that schema lacks it.

        A level that the other schema does not list has the position of "other".
        """
        place_of = {feature: place for place, feature in enumerate(wider._features())}
        places = []
        for feature in self._features():
            other_level = (feature[0], "other")
            places.append(place_of.get(feature, place_of.get(other_level, -1)))
        return np.array(places, np.intp)

    def _features(self) -> Iterator[tuple[str, ...]]:
        """Yield a unique key for each feature; names are not unique: a level may be "(missing)"."""
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
        """Position of the first indicator of a level among the features."""
        return self.n_numbers + len(self.filled)

    @property
    def exceeds(self) -> bool:
        """Whether a category has more than ``MOST_LEVELS`` levels."""
        return any(len(c.levels) > MOST_LEVELS for c in self.categories)

    def capped(self, level_weights: Floats) -> Self:
        """Return the schema with rare levels merged, given the weight of each indicator, (C,)."""
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
    _check_types(column)
    return column


def _check_types(column: Column) -> None:
    """Raise TypeError if a field of a column that was read from a file has a wrong type."""
    texts: list[Any] = [column.name]
    flags: list[Any] = []
    if isinstance(column, Category):
        texts += column.levels
        flags += [column.missing, column.other]
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"a column or level is called {text!r}, which is not text")
    for flag in flags:
        if not isinstance(flag, bool):
            raise TypeError(f"column {column.name!r} has {flag!r} in place of true or false")
    if isinstance(column, Number) and column.fill is not None:
        is_number = type(column.fill) in (int, float)
        if not is_number or not np.isfinite(column.fill):
            raise TypeError(f"column {column.name!r} has gaps filled with {column.fill!r}")
