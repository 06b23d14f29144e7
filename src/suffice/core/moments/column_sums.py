"""Sums of rows with missing numbers by class and column, in arrays of K × d numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from suffice.core.moments.collect import (
    ChunkSums,
    collect,
    in_threads,
    recentred,
)
from suffice.core.moments.merging import (
    by_class,
    merged,
    some_features,
    sums_only,
    with_classes,
    with_sums,
)
from suffice.core.moments.scatter import DiagonalScatter, Storage
from suffice.core.moments.schema_change import mapped
from suffice.core.table import Table
from suffice.errors import ForgetError
from suffice.typing import Array, Codes, Flags, Floats, Labels

if TYPE_CHECKING:
    from suffice.core.moments.moments import Moments


class AvailableSums(NamedTuple):
    """Sums of each column over the rows that have it, and of pairs over the rows that have both."""

    weights: Floats  # Σ w of the rows that have the column  (K, d)
    means: Floats  # high part (K, d)
    means_low: Floats  # low part (K, d)
    products: Floats  # Σ w z zᵀ (K, d, d), or squares only (K, d)
    product_weights: Floats  # Σ w of the rows in each entry of ``products``, same shape


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSums:
    """Sums of each class and column, over the rows that have the column."""

    column_sums: (
        Moments  # with diagonal scatter; counts and weights have an entry per column  (K, d)
    )

    @classmethod
    def of_table(cls, table: Table, empty: Moments) -> ColumnSums:
        """Return the sums of rows with positive weight; ``empty`` has their columns and no rows."""
        start = cls.of_complete(empty).column_sums

        def sums_between(lo: int, hi: int) -> Moments:
            return _observed_sums(table, start, lo, hi)

        total = reduce(merged, in_threads(sums_between, table.n_rows, table.n_classes))
        if table.indicators is None:
            return cls(total)
        # indicators are never missing, so they are summed like complete rows
        complete = cls.of_complete(
            sums_of_rows(table, sums_only(empty), "diagonal")
        ).column_sums
        n_numbers = table.x.shape[1]
        for sums in (complete.counts, complete.weights, complete.scatter.values):
            sums[:, :n_numbers] = 0
        return cls(merged(total, complete))

    @classmethod
    def of_complete(cls, m: Moments) -> ColumnSums:
        """Return the moments of complete rows as sums by column."""
        return cls(
            replace(
                sums_only(m),
                weights=np.repeat(m.weights[:, None], m.n_features, axis=1),
                counts=np.repeat(m.counts[:, None], m.n_features, axis=1),
                scatter=DiagonalScatter(m.diagonals),
            )
        )

    @property
    def limit(self) -> None:
        """Largest number of patterns per class: None, since patterns are not kept."""
        return None

    @property
    def lost(self) -> Codes:
        """Number of values dropped from each column to limit the patterns: always 0, (d,)."""
        return np.zeros(self.column_sums.n_features, np.intp)

    def by_column(self) -> ColumnSums:
        return self

    def plus(self, other: ColumnSums) -> ColumnSums:
        return ColumnSums(merged(self.column_sums, other.column_sums))

    def minus(self, other: ColumnSums) -> ColumnSums:
        """Return the sums without the rows of ``other``, which were added before."""
        total = self.column_sums
        part = other.column_sums
        has_more = part.counts > total.counts
        if has_more.any():
            k, j = np.argwhere(has_more)[0]
            raise ForgetError(
                f"cannot forget {part.counts[k, j]} numbers of column {j}: only "
                f"{total.counts[k, j]} were ever added"
            )
        rest = merged(total, part, -1.0)
        has_rows = rest.counts > 0
        if has_rows.all():
            return ColumnSums(rest)
        return ColumnSums(
            by_class(rest, rest.classes, lambda values: np.where(has_rows, values, 0))
        )

    def without_constant(self, is_constant: Flags) -> ColumnSums:
        """Return the sums with exact zeros for columns that are constant in their class, (K, d)."""
        squares = np.where(is_constant, 0.0, self.column_sums.diagonals)
        return ColumnSums(replace(self.column_sums, scatter=DiagonalScatter(squares)))

    def with_classes(self, classes: Labels, sources: Codes) -> ColumnSums:
        return ColumnSums(with_classes(self.column_sums, classes, sources))

    def select(self, columns: Codes) -> ColumnSums:
        """Return the sums of some features only."""
        sums = self.column_sums
        return ColumnSums(
            replace(
                some_features(sums, columns),
                counts=sums.counts[:, columns],
                weights=sums.weights[:, columns],
            )
        )

    def mapped(self, T: Floats) -> ColumnSums:
        """Return the sums of T x, where T reorders features and merges levels."""
        sums = self.column_sums
        counts = _largest_of_sources(sums.counts, T)
        weights = _largest_of_sources(sums.weights, T)
        moved = mapped(sums, T)
        # the indicator m of a merged level has the mean p:  Σ w (m − p)² = w p (1 − p)
        joined = weights * moved.means * (1 - moved.means)
        is_joined = np.count_nonzero(T, axis=1) > 1
        squares = np.where(is_joined, joined, moved.diagonals)
        return ColumnSums(
            replace(moved, counts=counts, weights=weights, scatter=DiagonalScatter(squares))
        )

    @property
    def flat(self) -> Moments:
        """Moments of one feature in K × d classes: the d columns of class 0, then of class 1, …."""
        labels = np.arange(self.column_sums.means.size)
        flat = by_class(self.column_sums, labels, lambda values: values.reshape(-1, 1))
        return replace(flat, counts=flat.counts.ravel(), weights=flat.weights.ravel())

    def available_sums(self) -> AvailableSums:
        sums = self.column_sums
        return AvailableSums(
            weights=sums.weights,
            means=sums.means,
            means_low=sums.means_low,
            products=sums.scatter.values,
            product_weights=sums.weights,
        )


def sums_of_rows(table: Table, empty: Moments, storage: Storage) -> Moments:
    """Return the sums of each class, of which all rows must lack the same columns.

    The sums of the missing columns are 0.
    """
    return total_of_chunks(chunks_of_rows(table, storage), table, empty)


def chunks_of_rows(table: Table, storage: Storage) -> list[ChunkSums]:
    """Return the sums of chunks of rows, for ``sums_of_rows``."""
    # a later check reports an overflow with its row and column
    with np.errstate(invalid="ignore", over="ignore"):
        return list(collect(table, storage, fourth=False, has_missing=True))


def total_of_chunks(chunks: Iterable[ChunkSums], table: Table, empty: Moments) -> Moments:
    """Return the total of the sums of all chunks of a table."""
    no_rows = np.zeros(table.n_classes, np.intp)
    start = replace(empty, classes=table.classes, counts=no_rows)
    # a later check reports an overflow with its row and column
    with np.errstate(invalid="ignore", over="ignore"):
        total = reduce(merged, (with_sums(start, sums) for sums in chunks))
    if table.weight is None:  # without weights, each row adds 1 to the weight of its class
        return replace(total, counts=total.weights.astype(np.intp))
    return replace(total, counts=np.bincount(table.codes, minlength=table.n_classes))


def _observed_sums(table: Table, empty: Moments, lo: int, hi: int) -> Moments:
    """Return the sums of rows lo … hi−1, with counts and weights of each column."""
    from suffice.core.moments import loops

    shape = (table.n_classes, table.n_features)
    counts = np.zeros(shape)
    weights = np.zeros(shape)
    shifts = np.zeros(shape)
    sums = np.zeros(shape)
    squares = np.zeros(shape)
    row_weights = np.zeros(0) if table.weight is None else table.weight
    loops.observed_chunk(
        table.x, table.codes, row_weights, lo, hi, counts, weights, shifts, sums, squares
    )
    chunk_sums = recentred(weights, shifts, sums, DiagonalScatter(squares), None)
    return replace(with_sums(empty, chunk_sums), counts=counts.astype(np.intp))


def _largest_of_sources(values: Array, T: Floats) -> Array:
    """Return, for each new feature, the largest value (K, d) of the features it comes from.

    A feature that comes from no old feature is a new level. Its indicator is zero in all rows, so
    it is never missing: it gets the largest value of all features.
    """
    columns = []
    for is_source in T != 0:
        candidates = values[:, is_source] if is_source.any() else values
        columns.append(candidates.max(1))
    return np.stack(columns, axis=1)
