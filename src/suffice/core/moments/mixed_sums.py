"""Sums of a table with numbers, categories and counts, for naive Bayes over all columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from suffice.core.moments.count_sums import CountSums
from suffice.core.moments.moments import Moments
from suffice.core.table.column_kinds import (
    ColumnKinds,
    CountColumns,
    columns_at,
    count_matrix,
    names_of_columns,
)
from suffice.core.table.indicator_encoding import Encoding
from suffice.core.table.matrix import refuse_nonfinite
from suffice.core.table.schema import Column, Number, Schema
from suffice.core.text.lists import counted
from suffice.errors import FeatureMismatchError
from suffice.typing import Codes, Floats, Labels, LabelsLike, RowsLike, WeightsLike


@dataclass(frozen=True, slots=True, eq=False)
class CountBlock:
    """The sums of the count columns whose names match one pattern."""

    pattern: str
    kind: str  # "multinomial", "bernoulli" or "poisson"
    sums: CountSums


@dataclass(frozen=True, slots=True, eq=False)
class MixedSums:
    """The sums of each class over Gaussian, categorical and count columns.

    ``a + b`` describes the rows of ``a`` and ``b``; ``total - part`` describes the rows of
    ``total`` without the rows of ``part``.

    Examples
    --------
    >>> import numpy as np, suffice as sf
    >>> x = np.array([[1.5, 2, 0], [0.5, 3, 1], [4.0, 0, 2], [5.0, 1, 3]])
    >>> sums = sf.MixedSums.of(x, ["a", "a", "b", "b"], kinds={"x[12]": "poisson"})
    >>> sums.numbers.means.ravel().tolist(), sums.blocks[0].sums.sums.tolist()
    ([1.0, 4.5], [[5.0, 1.0], [1.0, 5.0]])
    """

    columns: tuple[str, ...]  # all columns, in their order
    has_names: bool  # whether the rows had column names
    numbers: Moments | None  # sums of the Gaussian and categorical columns, if any
    blocks: tuple[CountBlock, ...]

    @classmethod
    def of(
        cls,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike = None,
        *,
        kinds: Mapping[str, str] | None = None,
        threshold: float = 0.0,
        classes: LabelsLike | None = None,
        names: Sequence[str] | None = None,
    ) -> MixedSums:
        """Return the sums of rows ``X`` with labels ``y``; each column is read once.

        Parameters
        ----------
        X : array or frame (n, d)
            Numbers, categories and counts.
        y : array (n,)
            Labels: integers, floats that are integers, booleans or text.
        sample_weight : array (n,), optional
            Weights; rows with weight zero are ignored.
        kinds : mapping from pattern to kind, optional
            Distribution of the columns whose names match a pattern such as ``"words*"``:
            "gaussian", "categorical", "multinomial", "bernoulli" or "poisson". Other numeric
            columns are Gaussian, and other text columns are categorical.
        threshold : float of at least 0, default=0.0
            For "bernoulli" columns: a feature is present if its count is above the threshold.
        classes : array, optional
            All classes, if some of them may be absent from ``y``.
        names : sequence of d names, optional
            Names of the columns of an array.
        """
        columns = names_of_columns(X, names)
        parted = ColumnKinds.of(kinds, columns)
        numbers = None
        if len(parted.numbers):
            numbers = _sums_of_numbers(X, y, sample_weight, parted, classes)
        blocks = []
        for block in parted.counts:
            sums = _sums_of_counts(X, y, sample_weight, block, columns, threshold, classes)
            blocks.append(CountBlock(block.pattern, block.kind, sums))
        has_names = names is not None or hasattr(X, "columns")
        return cls(columns, has_names, numbers, tuple(blocks))

    @property
    def parts(self) -> list[Moments | CountSums]:
        """The sums of each group of columns, all with the same classes and weights."""
        of_counts: list[Moments | CountSums] = [block.sums for block in self.blocks]
        return of_counts if self.numbers is None else [self.numbers, *of_counts]

    @property
    def classes(self) -> Labels:
        """Sorted labels, (K,)."""
        return self.parts[0].classes

    @property
    def counts(self) -> Codes:
        """Number of rows with positive weight in each class, (K,)."""
        return self.parts[0].counts

    @property
    def weights(self) -> Floats:
        """Σ w of each class, (K,)."""
        return self.parts[0].weights

    @property
    def total_weight(self) -> float:
        """Σ w of all rows."""
        return float(self.weights.sum())

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, if the rows had names or some columns are categories."""
        return self.columns if self.has_names or self.schema is not None else None

    @property
    def schema(self) -> Schema | None:
        """All columns in order, with counts as numbers, or None if all columns are numeric."""
        if self.numbers is None or self.numbers.schema is None:
            return None
        column_of: dict[str, Column] = {c.name: c for c in self.numbers.schema.columns}
        return Schema(tuple(column_of.get(name, Number(name)) for name in self.columns))

    @property
    def encoding(self) -> Encoding | None:
        """The encoding of the columns for a model, or None if all columns are numeric."""
        schema = self.schema
        if schema is None or self.numbers is None or self.numbers.encoding is None:
            return None
        return Encoding(schema, self.numbers.encoding.reference)

    def __repr__(self) -> str:
        n_classes = counted(len(self.classes), "class")
        n_columns = counted(len(self.columns), "column")
        n_rows = counted(int(self.counts.sum()), "row")
        n_counts = sum(block.sums.n_features for block in self.blocks)
        return f"MixedSums({n_classes} × {n_columns}, {n_rows}, {n_counts} of counts)"

    # --- algebra -----------------------------------------------------------------------------

    def __add__(self, other: MixedSums) -> MixedSums:
        if not isinstance(other, MixedSums):
            return NotImplemented
        self._require_alike(other)
        numbers = self.numbers
        if numbers is not None and other.numbers is not None:
            numbers = numbers + other.numbers
        blocks = []
        for block in self.blocks:
            sums = block.sums + other._block(block).sums
            blocks.append(replace(block, sums=sums))
        return replace(self, numbers=numbers, blocks=tuple(blocks))

    def __radd__(self, other: object) -> MixedSums:
        if isinstance(other, int) and other == 0:  # sum() starts from 0
            return self
        return NotImplemented

    def __sub__(self, other: MixedSums) -> MixedSums:
        if not isinstance(other, MixedSums):
            return NotImplemented
        self._require_alike(other)
        numbers = self.numbers
        if numbers is not None and other.numbers is not None:
            numbers = numbers - other.numbers
        blocks = []
        for block in self.blocks:
            sums = block.sums - other._block(block).sums
            blocks.append(replace(block, sums=sums))
        return replace(self, numbers=numbers, blocks=tuple(blocks))

    def _block(self, like: CountBlock) -> CountBlock:
        return next(block for block in self.blocks if block.pattern == like.pattern)

    def _require_alike(self, other: MixedSums) -> None:
        if set(self.columns) != set(other.columns):
            differing = sorted(set(self.columns) ^ set(other.columns))
            raise FeatureMismatchError(
                f"only one side has the column {differing[0]!r}: collect the same columns on "
                "both sides"
            )
        kinds = {block.pattern: block.kind for block in self.blocks}
        other_kinds = {block.pattern: block.kind for block in other.blocks}
        if kinds != other_kinds:
            raise FeatureMismatchError(
                f"one side counts columns by {kinds}, the other by {other_kinds}: collect both "
                "with the same kinds"
            )


def _sums_of_numbers(
    X: RowsLike,
    y: LabelsLike,
    weight: WeightsLike,
    parted: ColumnKinds,
    classes: LabelsLike | None,
) -> Moments:
    """Return the sums of the Gaussian and categorical columns."""
    names = tuple(parted.names[j] for j in parted.numbers)
    moments = Moments.of(
        columns_at(X, parted.numbers),
        y,
        weight,
        storage="diagonal",
        fourth=False,
        classes=classes,
        categorical=parted.categorical or None,
        names=names,
    )
    return moments if moments.schema is not None else replace(moments, feature_names=names)


def _sums_of_counts(
    X: RowsLike,
    y: LabelsLike,
    weight: WeightsLike,
    block: CountColumns,
    columns: Sequence[str],
    threshold: float,
    classes: LabelsLike | None,
) -> CountSums:
    """Return the sums of the columns that match one pattern."""
    names = tuple(columns[j] for j in block.places)
    matrix = count_matrix(X, block, columns)
    refuse_nonfinite(matrix, names)
    return CountSums.of(
        np.ascontiguousarray(matrix),
        y,
        weight,
        threshold=threshold if block.kind == "bernoulli" else None,
        classes=classes,
        names=names,
    )
