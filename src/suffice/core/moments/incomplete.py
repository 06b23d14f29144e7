"""Moments of rows with missing numbers: by pattern of observed columns, or by column.

A pattern is the set of the columns that are observed in a row. The means and the scatter of such
moments use the available cases: the mean of a column is over the rows that have the column, and
the scatter of two columns is over the rows that have both columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from suffice.core.moments import collect
from suffice.core.moments.collect import ratio
from suffice.core.moments.column_sums import AvailableSums, ColumnSums
from suffice.core.moments.forgetting import (
    class_and_column_of_other_mean,
    spread_left,
    without,
)
from suffice.core.moments.higher_moments import HigherMoments
from suffice.core.moments.merging import merged, without_empty_classes
from suffice.core.moments.pattern_sums import PatternSums, float_rows, no_patterns
from suffice.core.moments.scatter import SCATTERS, PooledScatter, Storage
from suffice.core.table import Table
from suffice.core.table.matrix import column_name
from suffice.core.text.lists import counted
from suffice.errors import ForgetError
from suffice.typing import Floats

if TYPE_CHECKING:
    from suffice.core.moments.moments import Moments

Incomplete: TypeAlias = PatternSums | ColumnSums


def incomplete_sums(
    table: Table,
    empty: Moments,
    storage: Storage,
    max_patterns: int | None,
) -> tuple[Incomplete, HigherMoments | None]:
    """Return the sums of rows with positive weight, and the higher moments of their columns.

    ``empty`` has the columns of the table and no rows.
    """
    if storage != "diagonal":
        return PatternSums.with_higher_moments(table, empty, max_patterns)
    if table.x.size > collect.SMALL:
        # higher moments would cost more than all other sums, as for complete rows
        return ColumnSums.of_table(table, empty), None
    no_loss = np.zeros(table.n_features, np.intp)
    columns = PatternSums(no_patterns(empty), float_rows(table), no_loss).by_column()
    return columns, HigherMoments.of_incomplete(table)


def combined(a: Moments, b: Moments) -> Moments:
    """Return a + b of aligned moments, with or without missing numbers."""
    if a.patterns is None and b.patterns is None:
        return merged(a, b)
    total = merged(replace(a, fourth=None), b)  # adds weights, counts and log slopes
    patterns_a = _incomplete(a)
    patterns_b = _incomplete(b)
    patterns: Incomplete
    if isinstance(patterns_a, PatternSums) and isinstance(patterns_b, PatternSums):
        patterns = patterns_a.plus(patterns_b)
    else:
        patterns = patterns_a.by_column().plus(patterns_b.by_column())
    return with_patterns(total, patterns, total.storage)


def forgotten(a: Moments, b: Moments) -> Moments:
    """Return a − b of aligned moments, or raise if b was never added or digits would be lost."""
    if a.patterns is None and b.patterns is None:
        return without(a, b)
    rest = merged(replace(a, fourth=None), b, -1.0)
    pooled = rest.storage == "pooled"
    before = _incomplete(a)
    removed = _incomplete(b)
    after: Incomplete
    if isinstance(before, PatternSums) and isinstance(removed, PatternSums):
        after = before.minus(removed, a.peaks, pooled=pooled)
    else:
        after = before.by_column().minus(removed.by_column())
    _refuse_other_columns(before, removed, a)
    columns_before = replace(_column_moments(before, a, pooled=pooled), peaks=a.peaks)
    spread = spread_left(columns_before, _column_moments(after, a, pooled=pooled))
    if isinstance(after, PatternSums):
        after = after.without_constant(spread.is_constant, spread.peaks, pooled=pooled)
    else:
        after = after.without_constant(spread.is_constant)
    rest = with_patterns(replace(rest, peaks=spread.peaks), after, rest.storage)
    return without_empty_classes(rest)


def _refuse_other_columns(before: Incomplete, removed: Incomplete, m: Moments) -> None:
    """Raise if a class would lose all numbers of a column by removing other numbers."""
    total = before.by_column().column_sums
    part = removed.by_column().column_sums
    is_emptied = (part.counts == total.counts) & (total.counts > 0)
    other = class_and_column_of_other_mean(total, part, is_emptied, m.peaks)
    if other is None:
        return
    k, j = other
    raise ForgetError(
        f"cannot forget {counted(part.counts[k, j], 'number')} of class {m.classes[k].item()!r} in "
        f"column {column_name(m.feature_names, j)}: the sums also have "
        f"{counted(total.counts[k, j], 'number')} of this class and column, but with mean "
        f"{total.means[k, j]:.12g} instead of {part.means[k, j]:.12g}. Some of the numbers to "
        "forget were never added: pass only rows that were added"
    )


def _incomplete(m: Moments) -> Incomplete:
    """Return the sums by pattern or by column; complete rows give one pattern."""
    if m.patterns is not None:
        return m.patterns
    return ColumnSums.of_complete(m) if m.storage == "diagonal" else PatternSums.of_complete(m)


def _column_moments(sums: Incomplete, m: Moments, *, pooled: bool) -> Moments:
    columns = replace(sums.by_column().column_sums, feature_names=m.feature_names)
    if not pooled:
        return columns
    # pooled sums give the variance over all classes only
    return replace(columns, scatter=PooledScatter(np.diag(columns.scatter.pooled_diagonal())))


def with_patterns(m: Moments, patterns: Incomplete, storage: str) -> Moments:
    """Return moments with the weights of ``m``, and with means and scatter of available cases."""
    sums = patterns.available_sums()
    # M_ij = S_ij w_k / w_ij, where S_ij and w_ij are over the rows that have columns i and j
    if storage == "pooled":
        mean_products = ratio(sums.products.sum(0), sums.product_weights.sum(0))
        scatter = mean_products * m.weights.sum()
    else:
        mean_products = ratio(sums.products, sums.product_weights)
        scatter = mean_products * m.weights.reshape(-1, *[1] * (sums.products.ndim - 1))
    means = sums.means
    means_low = sums.means_low
    is_absent = (sums.weights == 0) & (m.weights > 0)[:, None]
    if is_absent.any():
        means = np.where(is_absent, _overall_means(sums), means)
        means_low = np.where(is_absent, 0.0, means_low)
        if storage != "pooled":
            # a column without values in a class gets the variance within the other classes
            # (einsum gives a view of the diagonals, so that the addition changes the scatter)
            squares = scatter if scatter.ndim == 2 else np.einsum("kjj->kj", scatter)
            weight = (m.weights[:, None] * ~is_absent).sum(0)
            variances = ratio(squares.sum(0), weight)
            squares += np.where(is_absent, m.weights[:, None] * variances, 0.0)
    return replace(
        m,
        means=means,
        means_low=means_low,
        scatter=SCATTERS[storage](scatter),
        fourth=None,
        patterns=patterns,
    )


def _overall_means(sums: AvailableSums) -> Floats:
    """Return the mean of each column over all rows that have it, (d,)."""
    pivot = sums.means[sums.weights.argmax(0), np.arange(sums.means.shape[1])]
    gaps = sums.weights * (sums.means - pivot)
    return np.asarray(pivot + ratio(gaps.sum(0), sums.weights.sum(0)))
