"""Categories as 0/1 indicators; those of a category sum to 1, so one reference level has none."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from suffice.core.table.schema import Category, LevelCodes, Schema
from suffice.errors import FileFormatError
from suffice.typing import Array, Codes, Floats


@dataclass(frozen=True)
class Encoding:
    """Encode the columns of a table as the D features of a model, and decode the features.

    One level of each category, the reference, has no feature: a row with the reference level has 0
    in all indicators of the category. The indicators of a row are NaN if its level is unknown, or
    if its value is missing and the category has no level for missing values.

    With ``late_fills``, no feature is NaN: an empty number takes the fill value of its column, and
    an unknown level becomes the reference level.
    """

    schema: Schema
    reference: tuple[int, ...]  # code of each category's reference level
    # fill value of each numeric column; None leaves missing numbers NaN
    late_fills: tuple[float, ...] | None = None

    @classmethod
    def of(cls, schema: Schema, level_weights: Floats) -> Self:
        """Return the encoding whose reference levels are the heaviest, given level weights (C,)."""
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
        """Positions of the model's features among the features of the schema."""
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
        """The slice of each category in the model's features."""
        sizes = [c.n_levels - 1 for c in self.schema.categories]
        edges = self.schema.first_level + np.cumsum([0, *sizes])
        return tuple(slice(lo, hi) for lo, hi in itertools.pairwise(edges))

    @cached_property
    def column_groups(self) -> list[Codes]:
        """Positions of each used column's features in the model, in the order of the columns."""
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

        ``indicators`` holds the code of the level in each group, or −1 for no level.
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
            # the features of the levels after the reference move up by one place
            rows[on, block.start + codes[on] - (codes[on] > reference)] = 1.0
        if self.late_fills is not None:
            numbers = rows[:, : schema.n_numbers]
            numbers[:] = np.where(np.isnan(numbers), self.late_fills, numbers)
            levels = rows[:, schema.first_level :]
            levels[np.isnan(levels)] = 0.0
        return rows

    def columns(self, rows: Floats) -> dict[str, Array]:
        """Return the columns of a table, given rows of the model.

        A categorical column gets the level with the largest indicator.
        """
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
    """Return the level with the largest indicator; the reference has 1 − Σ indicators."""
    rest = 1 - indicators.sum(1, keepdims=True)
    shares = np.concatenate(
        [indicators[:, :reference], rest, indicators[:, reference:]], axis=1
    )
    codes = np.where(np.isnan(shares).any(1), -1, np.argmax(np.nan_to_num(shares), axis=1))
    return np.array([*category.values, None], dtype=object)[codes]
