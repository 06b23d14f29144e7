"""Sums of rows with missing numbers by class and pattern of observed columns.

A pattern is the set of the columns that are observed in a row. Each pair of a class and a pattern
is one class of ordinary ``Moments``, labelled by a text key (``pattern_keys.py``), with zeros in
the columns that are not observed. A pattern with fewer rows than columns keeps its rows instead of
sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from suffice.core.moments import schema_change
from suffice.core.moments.collect import ChunkSums, ratio
from suffice.core.moments.column_sums import (
    AvailableSums,
    ColumnSums,
    chunks_of_rows,
    total_of_chunks,
)
from suffice.core.moments.forgetting import (
    class_and_column_of_other_mean,
    has_foreign_products,
)
from suffice.core.moments.higher_moments import HigherMoments, PowerSums
from suffice.core.moments.indicators import all_numbers
from suffice.core.moments.merging import (
    aligned,
    merged,
    over_classes,
    some_classes,
    some_features,
    sums_only,
)
from suffice.core.moments.pattern_keys import (
    pattern_codes,
    pattern_keys,
    read_keys,
    smaller_patterns,
)
from suffice.core.moments.scatter import ROUNDING, DiagonalScatter, PerClassScatter
from suffice.core.moments.two_sum import two_sum
from suffice.core.table import Table
from suffice.core.table.sampling import places_within
from suffice.errors import ForgetError
from suffice.typing import Codes, Flags, Floats, Labels

if TYPE_CHECKING:
    from suffice.core.moments.moments import Moments

_NEVER_ADDED = (
    "cannot forget these rows: some of them, or their pattern of missing values, were never added; "
    "forget only rows that were added"
)
_MOST_NUMBERS = 1 << 25  # most numbers in all pattern matrices if ``max_patterns`` is set


@dataclass(frozen=True, slots=True, eq=False)
class PatternBlocks:
    """N blocks, each a pattern with sums or a single row; C of them are patterns with a scatter."""

    class_of: Codes  # (N,), ascending
    observed: Flags  # (N, d)
    counts: Codes  # number of rows  (N,)
    weights: Floats  # (N,)
    means: Floats  # (N, d), zero where not observed
    means_low: Floats  # (N, d)
    scatters: Floats  # scatters of the patterns (C, d, d), zero where not observed
    with_scatter: Codes  # position of each pattern among the blocks  (C,)


@dataclass(frozen=True, slots=True, eq=False)
class PatternSums:
    """Sums of each class and pattern of observed columns, and the rows of rare patterns."""

    by_pattern: Moments  # its classes are pairs of a class and a pattern
    single_rows: Table  # rows of rare patterns, NaN where missing
    lost: Codes  # values dropped from each column to stay within ``limit``  (d,)
    limit: int | None = None  # maximum number of patterns per class, None for no limit

    @classmethod
    def of_table(cls, table: Table, empty: Moments, limit: int | None) -> PatternSums:
        """Return the sums of rows with positive weight; ``empty`` has their columns and no rows."""
        return cls.with_higher_moments(table, empty, limit)[0]

    @classmethod
    def with_higher_moments(
        cls,
        table: Table,
        empty: Moments,
        limit: int | None,
    ) -> tuple[PatternSums, HigherMoments]:
        """Return the sums of rows with positive weight, and the higher moments of their columns."""
        no_loss = np.zeros(table.n_features, np.intp)
        patterns = no_patterns(empty)
        rows = _split_by_pattern(table, patterns.classes, least_rows=table.n_features)
        chunks = [] if rows.summed is None else chunks_of_rows(rows.summed, "per-class")
        sums = _added(patterns, rows, chunks, no_loss, limit)
        powers = [chunk.higher for chunk in chunks if isinstance(chunk.higher, PowerSums)]
        if not powers:  # NumPy's sums of small tables have no powers
            return sums, HigherMoments.of_incomplete(table)
        observed = rows.observed[:, : table.x.shape[1]]
        of_patterns = HigherMoments.of_groups([part.of_observed(observed) for part in powers])
        return sums, HigherMoments.of_parts(
            [of_patterns, HigherMoments.of_incomplete(rows.single)]
        )

    @classmethod
    def of_complete(cls, m: Moments) -> PatternSums:
        """Return the moments of complete rows as one pattern, with every column observed."""
        k, d = m.means.shape
        if isinstance(m.scatter, PerClassScatter):
            scatters = m.scatter.values
        # of a pooled scatter, only the sum over classes is read: any class can hold all of it
        else:
            scatters = np.zeros((k, d, d))
            scatters[np.argmax(m.weights)] = m.pooled_scatter
        patterns = replace(
            sums_only(m),
            classes=pattern_keys(np.arange(k), np.ones((k, d), bool)),
            scatter=PerClassScatter(scatters),
        )
        return cls(
            by_pattern=some_classes(patterns, np.flatnonzero(m.counts)),
            single_rows=Table(np.zeros((0, d)), m.classes, np.zeros(0, np.intp)),
            lost=np.zeros(d, np.intp),
        )

    @property
    def class_of(self) -> Codes:
        """Class of each pattern, (C,)."""
        return read_keys(self.by_pattern.classes, self.by_pattern.n_features)[0]

    @property
    def observed(self) -> Flags:
        """Whether each pattern has each column, (C, d)."""
        return read_keys(self.by_pattern.classes, self.by_pattern.n_features)[1]

    @property
    def n_classes(self) -> int:
        return self.single_rows.n_classes

    @property
    def n_patterns(self) -> int:
        """Number of pairs of a class and a pattern with sums, C."""
        return self.by_pattern.n_classes

    @property
    def blocks(self) -> PatternBlocks:
        """The patterns with sums, and the single rows, sorted by class."""
        patterns = self.by_pattern
        rows = self.single_rows
        observed = ~np.isnan(rows.x)
        values = np.where(observed, rows.x, 0.0)
        class_of = np.concatenate([self.class_of, rows.codes])
        order = np.argsort(class_of, kind="stable")
        place_after_sorting = np.argsort(order)
        return PatternBlocks(
            class_of=class_of[order],
            observed=np.concatenate([self.observed, observed])[order],
            counts=np.concatenate([patterns.counts, np.ones(rows.n_rows, np.intp)])[order],
            weights=np.concatenate([patterns.weights, rows.weights])[order],
            means=np.concatenate([patterns.means, values])[order],
            means_low=np.concatenate([patterns.means_low, np.zeros(values.shape)])[order],
            scatters=patterns.scatters,
            with_scatter=place_after_sorting[: self.n_patterns],
        )

    def plus(self, other: PatternSums) -> PatternSums:
        a, b = aligned(self.by_pattern, other.by_pattern)
        limits = [limit for limit in (self.limit, other.limit) if limit is not None]
        rows = _stacked(self.single_rows, other.single_rows)
        return _summed(
            merged(a, b),
            rows,
            self.lost + other.lost,
            min(limits, default=None),
            least_rows=rows.n_features,
        )

    def minus(
        self,
        other: PatternSums,
        peaks: Floats | None,
        *,
        pooled: bool,
    ) -> PatternSums:
        """Return the sums without the rows of ``other``, which were added before."""
        rows = _removed_rows(self.single_rows, other.single_rows)
        removed = _summed(other.by_pattern, rows.not_found, other.lost, None, least_rows=1)
        total, part = aligned(self.by_pattern, removed.by_pattern)
        has_more = (part.counts > total.counts) | (part.weights > total.weights * (1 + 1e-8))
        is_emptied = (part.counts == total.counts) & (total.counts > 0)
        if (
            has_more.any()
            or class_and_column_of_other_mean(total, part, is_emptied, peaks) is not None
        ):
            raise ForgetError(_NEVER_ADDED)
        rest = merged(total, part, -1.0)
        if pooled:
            rest = _inherited(rest)
        elif has_foreign_products(rest, _peaks_of(total, peaks), is_emptied[:, None]):
            raise ForgetError(_NEVER_ADDED)
        return replace(
            self,
            by_pattern=some_classes(rest, np.flatnonzero(rest.counts)),
            single_rows=rows.left,
            lost=np.maximum(self.lost - other.lost, 0),
        )

    def without_constant(
        self,
        is_constant: Flags,
        peaks: Floats,
        *,
        pooled: bool,
    ) -> PatternSums:
        """Return the sums with exact zeros for columns that are constant in their class, (K, d)."""
        squares = self.by_pattern.diagonals
        is_single = (self.by_pattern.counts <= 1)[:, None] & (not pooled)
        slack = np.where(is_single, 1e-8, ROUNDING) * peaks[self.class_of]
        varies = ~is_constant[self.class_of]
        # impossible: a sum of squares of a single row that is not zero, or one that is negative
        excess = np.where(is_single, np.abs(squares), -squares)
        if not pooled and (varies & (excess > slack)).any():
            raise ForgetError(_NEVER_ADDED)
        varies &= ~is_single
        mask = varies[:, :, None] & varies[:, None, :]
        scatter = PerClassScatter(self.by_pattern.scatters * mask)
        return replace(self, by_pattern=replace(self.by_pattern, scatter=scatter))

    def with_classes(self, classes: Labels, sources: Codes) -> PatternSums:
        """Return the sums with other classes.

        ``sources`` holds, for each new class, the old class whose rows it gets, or −1 for no rows.
        """
        new_class = np.full(self.n_classes, -1)
        new_class[sources[sources >= 0]] = np.flatnonzero(sources >= 0)
        kept = np.flatnonzero(new_class[self.class_of] >= 0)
        keys = pattern_keys(new_class[self.class_of[kept]], self.observed[kept])
        rows = self.single_rows.take(new_class[self.single_rows.codes] >= 0)
        return replace(
            self,
            by_pattern=replace(some_classes(self.by_pattern, kept), classes=keys),
            single_rows=replace(rows, classes=classes, codes=new_class[rows.codes]),
        )

    def select(self, columns: Codes) -> PatternSums:
        """Return the sums of some features; patterns that only other features distinguish merge."""
        keys = pattern_keys(self.class_of, self.observed[:, columns])
        patterns = _regrouped(some_features(self.by_pattern, columns), keys)
        rows = self.single_rows.with_rows(self.single_rows.x[:, columns])
        return _summed(patterns, rows, self.lost[columns], self.limit, least_rows=len(columns))

    def mapped(self, T: Floats) -> PatternSums:
        """Return the sums of T x, where T reorders features and merges levels."""
        is_source = (T != 0).T

        def lacks_source(is_missing: Flags) -> Flags:
            return np.asarray(is_missing.astype(np.float64) @ is_source > 0)

        keys = pattern_keys(self.class_of, ~lacks_source(~self.observed))
        is_missing = np.isnan(self.single_rows.x)
        x = np.where(is_missing, 0.0, self.single_rows.x) @ T.T
        x = np.where(lacks_source(is_missing), np.nan, x)
        return replace(
            self,
            by_pattern=replace(schema_change.mapped(self.by_pattern, T), classes=keys),
            single_rows=self.single_rows.with_rows(x),
            lost=(self.lost @ is_source).astype(np.intp),
        )

    def by_column(self) -> ColumnSums:
        """Return the sums of each class and column."""
        blocks = self.blocks
        sums = _available_sums(blocks, self.n_classes, pairs=False)
        counts = np.zeros(sums.weights.shape, np.intp)
        np.add.at(counts, blocks.class_of, blocks.counts[:, None] * blocks.observed)
        return ColumnSums(
            replace(
                self.by_pattern,
                classes=self.single_rows.classes,
                counts=counts,
                weights=sums.weights,
                means=sums.means,
                means_low=sums.means_low,
                scatter=DiagonalScatter(sums.products),
            )
        )

    def available_sums(self) -> AvailableSums:
        """Return the sums of each column and each pair of columns over the rows that have them."""
        return _available_sums(self.blocks, self.n_classes, pairs=True)


def no_patterns(empty: Moments) -> Moments:
    """Return sums without any pattern, with the features of ``empty``."""
    d = empty.n_features
    none = np.zeros(0, np.intp)
    return replace(
        some_classes(sums_only(empty), none),
        classes=pattern_keys(none, np.ones((0, d), bool)),
        scatter=PerClassScatter(np.zeros((0, d, d))),
    )


def float_rows(rows: Table) -> Table:
    """Return rows as float64 numbers, with an indicator column for every level."""
    if rows.schema is not None:
        rows = all_numbers(rows)
    return rows.with_rows(np.asarray(rows.x, np.float64))


class _SplitRows(NamedTuple):
    """Rows divided into those of frequent patterns, to be summed, and of rare ones, to be kept."""

    # all rows, in P classes for the summed patterns and one class for the rows of rare patterns
    summed: Table | None
    observed: Flags  # whether each summed pattern has each column  (P, d)
    single: Table


def _split_by_pattern(rows: Table, known: Labels, *, least_rows: int) -> _SplitRows:
    """Split off the rows of patterns that are neither frequent nor in ``known``."""
    codes, first_row = pattern_codes(rows)
    observed = np.ones((len(first_row), rows.n_features), bool)  # indicators are never missing
    observed[:, : rows.x.shape[1]] = ~np.isnan(rows.x[first_row])
    keys = pattern_keys(rows.codes[first_row], observed)
    counts = np.bincount(codes, minlength=len(keys))
    is_summed = (counts >= least_rows) | np.isin(keys, known)
    if not is_summed.any():
        return _SplitRows(summed=None, observed=observed[:0], single=rows)
    summed_keys = np.sort(keys[is_summed])
    # rows of rare patterns get one more class, whose sums are dropped
    places = np.where(is_summed, np.searchsorted(summed_keys, keys), len(summed_keys))
    return _SplitRows(
        summed=replace(rows, classes=np.append(summed_keys, ""), codes=places[codes]),
        observed=read_keys(summed_keys, rows.n_features)[1],
        single=rows.take(np.flatnonzero(~is_summed[codes])),
    )


def _added(
    patterns: Moments,
    rows: _SplitRows,
    chunks: Sequence[ChunkSums],
    lost: Codes,
    limit: int | None,
) -> PatternSums:
    """Add rows to the patterns; ``chunks`` holds the sums of ``rows.summed``."""
    if rows.summed is not None:
        sums = total_of_chunks(chunks, rows.summed, patterns)
        new_patterns = some_classes(sums, np.arange(len(rows.observed)))
        patterns, new_patterns = aligned(patterns, new_patterns)
        patterns = merged(patterns, new_patterns)
    sums_and_rows = PatternSums(patterns, float_rows(rows.single), lost, limit)
    return sums_and_rows if limit is None else _coarsened(sums_and_rows, limit)


def _summed(
    patterns: Moments,
    rows: Table,
    lost: Codes,
    limit: int | None,
    *,
    least_rows: int,
) -> PatternSums:
    """Add rows to the sums of their patterns; a new pattern needs ``least_rows`` rows."""
    split = _split_by_pattern(rows, patterns.classes, least_rows=least_rows)
    chunks = [] if split.summed is None else chunks_of_rows(split.summed, "per-class")
    return _added(patterns, split, chunks, lost, limit)


def _regrouped(patterns: Moments, keys: Labels) -> Moments:
    """Return the patterns with other keys, where patterns with the same key are merged."""
    labels, code_of = np.unique(keys, return_inverse=True)
    observed = read_keys(keys, patterns.n_features)[1]
    is_pair = observed[:, :, None] & observed[:, None, :]
    patterns = replace(
        patterns,
        means=patterns.means * observed,
        means_low=patterns.means_low * observed,
        scatter=PerClassScatter(patterns.scatters * is_pair),
    )
    total = over_classes(some_classes(patterns, np.zeros(0, np.intp)), labels)
    # merge the first pattern with each key, then the second, and so on
    turn_of = places_within(code_of, np.arange(len(code_of)))
    for turn in range(int(turn_of.max(initial=-1)) + 1):
        members = np.flatnonzero(turn_of == turn)
        part = replace(some_classes(patterns, members), classes=keys[members])
        total = merged(total, over_classes(part, labels))
    return total


def _peaks_of(patterns: Moments, peaks: Floats | None) -> Floats:
    """Return an upper bound of the sums of squares of each pattern; ``peaks`` are of classes."""
    squares = patterns.scatter.diagonals()
    return squares if peaks is None else np.maximum(squares, peaks.max(0, initial=0.0))


def _inherited(patterns: Moments) -> Moments:
    """Move the scatter of patterns without rows to patterns with rows and the same columns.

    Scatter that is pooled over classes may be stored in a class that has lost its rows.
    """
    observed = read_keys(patterns.classes, patterns.n_features)[1]
    group_of = np.unique(observed, axis=0, return_inverse=True)[1]
    has_rows = patterns.counts > 0
    heir_of_group = np.full(len(group_of), -1)
    heir_of_group[group_of[has_rows]] = np.flatnonzero(has_rows)
    heir_of = heir_of_group[group_of]
    scatters = patterns.scatters.copy()
    for empty in np.flatnonzero(~has_rows & (heir_of >= 0)):
        scatters[heir_of[empty]] += scatters[empty]
    return replace(patterns, scatter=PerClassScatter(scatters))


def _coarsened(sums: PatternSums, limit: int) -> PatternSums:
    """Return the sums with at most ``limit`` patterns per class; rare patterns lose columns."""
    rows = sums.single_rows
    k = rows.n_classes
    d = rows.n_features
    most = max(2, min(limit, _MOST_NUMBERS // max(k * d * d, 1)))
    class_of = sums.class_of
    has_many = np.bincount(class_of, minlength=k) > most
    has_many |= np.bincount(rows.codes, minlength=k) > most * d
    if not has_many.any():
        return sums
    observed = sums.observed.copy()
    x = rows.x.copy()
    lost = sums.lost.copy()
    for c in np.flatnonzero(has_many):
        of_class = np.flatnonzero(class_of == c)
        rows_of_class = np.flatnonzero(rows.codes == c)
        codes, first_row = pattern_codes(rows.take(rows_of_class))
        row_counts = np.bincount(codes, minlength=len(first_row))
        row_patterns = ~np.isnan(x[rows_of_class[first_row]])
        patterns = np.concatenate([observed[of_class], row_patterns])
        counts = np.append(sums.by_pattern.counts[of_class], row_counts)
        smaller = smaller_patterns(patterns, counts, most)
        lost += (counts[:, None] * (patterns & ~smaller)).sum(0)
        observed[of_class] = smaller[: len(of_class)]
        is_kept = smaller[len(of_class) :][codes]
        x[rows_of_class] = np.where(is_kept, x[rows_of_class], np.nan)
    regrouped = _regrouped(sums.by_pattern, pattern_keys(class_of, observed))
    of_full_class = has_many[rows.codes]
    summed = _summed(
        regrouped, rows.with_rows(x).take(of_full_class), lost, None, least_rows=1
    )
    return replace(summed, single_rows=rows.take(~of_full_class), limit=sums.limit)


def _available_sums(blocks: PatternBlocks, n_classes: int, *, pairs: bool) -> AvailableSums:
    """Return the sums over available cases, with products of all pairs if ``pairs``."""
    k = n_classes
    d = blocks.observed.shape[1]
    weights = np.zeros((k, d))
    means = np.zeros((k, d))
    means_low = np.zeros((k, d))
    products = np.zeros((k, d, d) if pairs else (k, d))
    product_weights = np.zeros_like(products)
    scatters = blocks.scatters if pairs else np.diagonal(blocks.scatters, axis1=1, axis2=2)
    np.add.at(products, blocks.class_of[blocks.with_scatter], scatters)
    edges = np.searchsorted(blocks.class_of, np.arange(k + 1))
    for c in np.flatnonzero(np.diff(edges)):
        members = slice(edges[c], edges[c + 1])
        observed = blocks.observed[members].astype(np.float64)
        w = blocks.weights[members, None] * observed
        # compute the mean relative to the first mean of each column, so that it keeps all digits
        pivot = blocks.means[members][observed.argmax(0), np.arange(d)]
        delta = observed * ((blocks.means[members] - pivot) + blocks.means_low[members])
        weights[c] = w.sum(0)
        offset = ratio((w * delta).sum(0), weights[c])
        means[c], means_low[c] = two_sum(pivot, offset)
        z = delta - observed * offset
        if pairs:
            products[c] += (w * z).T @ z
            product_weights[c] = w.T @ observed
        else:
            products[c] += (w * z * z).sum(0)
            product_weights[c] = weights[c]
    return AvailableSums(weights, means, means_low, products, product_weights)


def _stacked(a: Table, b: Table) -> Table:
    """Return a table with the rows of both."""
    has_no_weights = a.weight is None and b.weight is None
    return Table(
        x=np.concatenate([a.x, b.x]),
        classes=a.classes,
        codes=np.concatenate([a.codes, b.codes]),
        weight=None if has_no_weights else np.concatenate([a.weights, b.weights]),
    )


class _RemovedRows(NamedTuple):
    """The result of removing rows from a table."""

    left: Table  # rows that were not removed
    not_found: Table  # rows to remove that were not in the table


def _removed_rows(total: Table, part: Table) -> _RemovedRows:
    """Remove the rows of ``part`` from ``total``."""
    rows = _stacked(total, part)
    values = np.where(np.isnan(rows.x), np.nan, rows.x)  # give every NaN the same bits
    fields = np.column_stack([rows.codes, rows.weights, values])
    fields = np.ascontiguousarray(fields + 0.0)  # turn −0 into 0, which has other bits
    row_bytes = fields.view(f"V{fields.shape[1] * 8}").ravel()
    ids = np.unique(row_bytes, return_inverse=True)[1]
    total_ids = ids[: total.n_rows]
    part_ids = ids[total.n_rows :]
    n_ids = int(ids.max(initial=-1)) + 1
    n_common = np.minimum(
        np.bincount(total_ids, minlength=n_ids), np.bincount(part_ids, minlength=n_ids)
    )
    place_in_total = places_within(total_ids, np.arange(len(total_ids)))
    place_in_part = places_within(part_ids, np.arange(len(part_ids)))
    return _RemovedRows(
        left=total.take(place_in_total >= n_common[total_ids]),
        not_found=part.take(place_in_part >= n_common[part_ids]),
    )
