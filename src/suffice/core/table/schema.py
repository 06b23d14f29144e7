"""The columns of a mixed table: numbers, categories with their levels, and what is left out."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np

from suffice.core.text.lists import quoted
from suffice.errors import FeatureMismatchError, FileFormatError
from suffice.typing import Codes, Floats

MOST_LEVELS = 40  # of one category; beyond, the most frequent and "other"


@dataclass(frozen=True, slots=True)
class Number:
    """A column of numbers, perhaps with a value for its empty cells and an indicator of them."""

    name: str
    fill: float | None = None  # None: an empty cell stays NaN
    kind = "number"

    def merged(self, other: Self) -> Self:
        return replace(self, fill=other.fill) if self.fill is None else self


@dataclass(frozen=True, slots=True)
class Category:
    """A column of levels; an empty cell and the rare levels may be levels of their own."""

    name: str
    levels: tuple[str, ...]  # sorted
    missing: bool = False  # whether empty cells count as a level
    other: bool = False  # whether levels that are not listed count together
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
        return (*self.levels, *[None] * self.missing, *["(other)"] * self.other)

    def merged(self, other: Self) -> Self:
        """Return the column with the levels of both sides."""
        # a level that one side may have counted among its others is counted so on both
        sides = (self, other)
        rare = {
            x for a, b in (sides, sides[::-1]) if a.other for x in {*b.levels} - {*a.levels}
        }
        levels = tuple(sorted({*self.levels, *other.levels} - rare))
        empty, rest = self.missing or other.missing, self.other or other.other
        return type(self)(self.name, levels, empty, rest)

    def capped(self, weights: Floats) -> Self:
        """Return the column with its rare levels counted together, by the weight of each."""
        if len(self.levels) <= MOST_LEVELS:
            return self
        most = np.argsort(-weights[: len(self.levels)], kind="stable")[: MOST_LEVELS - 1]
        return replace(self, levels=tuple(self.levels[j] for j in np.sort(most)), other=True)

    def codes_of(self, levels: Sequence[str], codes: Codes) -> Codes:
        """Return each row's indicator, −1 for none, from its code among ``levels``, or −1."""
        place = {level: at for at, level in enumerate(self.levels)}
        unknown = self.n_levels - 1 if self.other else -1
        empty = len(self.levels) if self.missing else -1
        table = np.array([*(place.get(level, unknown) for level in levels), empty], np.int32)
        return table[codes]  # type: ignore[return-value]  # the last entry is that of −1


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A column that is not used, and why."""

    name: str
    reason: str
    kind = "left out"


Column: TypeAlias = Number | Category | LeftOut


@dataclass(frozen=True)
class Schema:
    """The columns of a table in their order, and the features that sums are taken of."""

    # the numbers, an indicator for each number that was filled, one for each level of each category
    columns: tuple[Column, ...]

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(c for c in self.columns if isinstance(c, Number))

    @cached_property
    def filled(self) -> Codes:
        """Positions, among the numbers, of those that have an indicator of empty cells."""
        return np.array([j for j, c in enumerate(self.numbers) if c.fill is not None], np.intp)

    @property
    def fills(self) -> Floats:
        """What stands in the empty cells of these, (h,)."""
        return np.array([c.fill for c in self.numbers if c.fill is not None], np.float64)

    def with_fills(self, fills: Floats) -> Self:
        """Return the schema with other values in empty cells, (h,)."""
        own, filled = iter(fills.tolist()), {self.numbers[j].name for j in self.filled}
        columns: Any = (
            replace(c, fill=next(own)) if c.name in filled else c for c in self.columns
        )
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
        """First indicator of each group, counted from the first of all; and the end."""
        # groups are the indicators of empty cells, of one feature each, then the categories
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
        theirs = {c.name: c for c in other.columns}
        if set(self.names) != set(theirs):
            differ = sorted(set(self.names) ^ set(theirs))
            msg = f"only one side has the column {quoted(differ, 5)}: collect the same columns"
            raise FeatureMismatchError(msg)
        return type(self)(tuple(_both(c, theirs[c.name]) for c in self.columns))

    def places_in(self, wider: Self) -> Codes:
        """Return where each feature lies in another schema, −1 where it has no place."""
        place = {feature: at for at, feature in enumerate(wider._features())}
        found = (
            place.get(each, place.get((each[0], "other"), -1)) for each in self._features()
        )
        return np.array(list(found), np.intp)

    def _features(self) -> Iterator[tuple[str, ...]]:
        """Yield what each feature stands for: names alone may be the same for several."""
        yield from ((c.name,) for c in self.numbers)
        yield from ((self.numbers[j].name, "missing") for j in self.filled)
        for c in self.categories:
            yield from ((c.name, "level", level) for level in c.levels)
            yield from [(c.name, "missing")] * c.missing + [(c.name, "other")] * c.other

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
        starts = zip(self.categories, self.starts[len(self.filled) :], strict=False)
        capped = {c.name: c.capped(level_weights[start:]) for c, start in starts}
        return type(self)(tuple(capped.get(c.name, c) for c in self.columns))

    def to_json(self) -> list[dict[str, Any]]:
        return [{"kind": c.kind, **asdict(c)} for c in self.columns]

    @classmethod
    def from_json(cls, columns: Any) -> Self:
        try:
            return cls(tuple(_column(dict(column)) for column in columns))
        except (TypeError, KeyError, ValueError) as error:
            msg = f"the schema of the columns is unusable ({error}): write the file again"
            raise FileFormatError(msg) from error


def _both(a: Any, b: Any) -> Any:
    kinds = {a.kind, b.kind}
    if "left out" in kinds and "number" not in kinds:
        return b if isinstance(b, LeftOut) else a
    if len(kinds) > 1:
        cure = f"convert it, or name it in categorical=[{a.name!r}] on both sides"
        found = [c.kind if c.kind != "left out" else "text" for c in (a, b)]
        msg = (
            f"column {a.name!r} is a {found[0]} on one side, a {found[1]} on the other: {cure}"
        )
        raise FeatureMismatchError(msg)
    return a.merged(b)


def _column(fields: dict[str, Any]) -> Any:
    kinds: dict[str, Any] = {c.kind: c for c in (Number, Category, LeftOut)}
    column = kinds[fields.pop("kind")](**fields)
    for text in (column.name, *getattr(column, "levels", ())):
        if not isinstance(text, str):
            raise TypeError(f"a column or level is called {text!r}, which is no text")
    return (
        replace(column, levels=tuple(column.levels))
        if isinstance(column, Category)
        else column
    )


@dataclass(frozen=True)
class Encoding:
    """From the columns of a table to the features a model reads, and back."""

    # one level of each category, the reference, has no feature: where it holds all indicators are
    # 0; where a level is unknown, or a cell empty and that is no level, they are open: NaN
    schema: Schema
    reference: tuple[int, ...]  # level of each category that has no feature

    @classmethod
    def of(cls, schema: Schema, level_weights: Floats) -> Self:
        """Return the encoding whose references are the levels of most weight; weights (C,)."""
        edges = itertools.pairwise(schema.starts[len(schema.filled) :])
        return cls(schema, tuple(int(np.argmax(level_weights[lo:hi])) for lo, hi in edges))

    @classmethod
    def from_json(cls, kept: Any) -> Self | None:
        if kept is None:
            return None
        schema = Schema.from_json(kept["columns"])
        reference = tuple(int(at) for at in kept["reference"])
        sizes = [max(c.n_levels, 1) for c in schema.categories]
        known = all(0 <= at < size for at, size in zip(reference, sizes, strict=False))
        if len(reference) != len(sizes) or not known:
            msg = "the encoding names reference levels that its columns do not have"
            raise FileFormatError(msg)
        return cls(schema, reference)

    def to_json(self) -> dict[str, Any]:
        return {"columns": self.schema.to_json(), "reference": list(self.reference)}

    @cached_property
    def kept(self) -> Codes:
        """Features of the schema that have a place in the rows of the model, in order."""
        schema = self.schema
        starts = schema.n_numbers + schema.starts[len(schema.filled) : -1]
        dropped = {int(start + at) for start, at in zip(starts, self.reference, strict=True)}
        return np.array([j for j in range(schema.n_features) if j not in dropped], np.intp)

    @property
    def n_features(self) -> int:
        return len(self.kept)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(self.schema.feature_names[j] for j in self.kept)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        sizes = [c.n_levels - 1 for c in self.schema.categories]
        edges = self.schema.first_level + np.cumsum([0, *sizes])
        return tuple(slice(lo, hi) for lo, hi in itertools.pairwise(edges))

    def rows(self, x: Any, indicators: Codes) -> Floats:
        """Return the rows of the model (n, D) from numbers (n, p) and indicators (n, h + q)."""
        # indicators: for each group, the level's number in the group, −1 for none
        n, schema, n_filled = len(x), self.schema, len(self.schema.filled)
        out = np.zeros((n, self.n_features))
        out[:, : schema.n_numbers] = x
        empty = indicators[:, :n_filled] >= 0
        out[:, schema.filled] = np.where(empty, schema.fills, out[:, schema.filled])
        out[:, schema.n_numbers : schema.first_level] = empty
        for j, (block, reference) in enumerate(zip(self.blocks, self.reference, strict=True)):
            codes = indicators[:, n_filled + j]
            out[codes < 0, block] = np.nan
            on = np.flatnonzero((codes >= 0) & (codes != reference))
            out[on, block.start + codes[on] - (codes[on] > reference)] = 1.0
        return out

    def columns(self, rows: Floats) -> dict[str, Any]:
        """Return the columns of a table from rows of the model: the level of largest indicator."""
        schema, found = self.schema, dict[str, Any]()
        empty = dict(zip(schema.filled, rows[:, schema.n_numbers :].T, strict=False))
        for j, number in enumerate(schema.numbers):
            values = rows[:, j].copy()
            if j in empty:
                values[empty[j] > 0.5] = np.nan
            found[number.name] = values
        of_levels = zip(schema.categories, self.blocks, self.reference, strict=True)
        for category, block, reference in of_levels:
            found[category.name] = _levels(category, rows[:, block], reference)
        return {name: found[name] for name in schema.names if name in found}


def _levels(category: Category, indicators: Floats, reference: int) -> Any:
    """Return the level of largest indicator; the reference has what the others leave of 1."""
    left = 1 - indicators.sum(1, keepdims=True)
    shares = np.concatenate(
        [indicators[:, :reference], left, indicators[:, reference:]], axis=1
    )
    codes = np.where(np.isnan(shares).any(1), -1, np.argmax(np.nan_to_num(shares), axis=1))
    return np.array([*category.values, None], dtype=object)[codes]
