"""Sums of the indicators of levels, computed without a column for each level.

The class means p of the indicators m are the frequencies of the levels. With n the weight of each
level and N the weight of each pair of levels, the scatter about the means is

    Σ w (m − p)(m − p)ᵀ = N − n nᵀ / w
    Σ w (m − p)(x − μ)ᵀ = Σ w m (x − μ)ᵀ    sums of the numbers, level by level
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from suffice.core.moments.joint_levels import JointLevels
from suffice.core.moments.scatter import (
    DiagonalScatter,
    PerClassScatter,
    PooledScatter,
    Scatter,
    Storage,
)
from suffice.core.table import Table
from suffice.typing import Floats


class IndicatorSums(NamedTuple):
    """Weights of levels and of pairs of levels.

    The number of matrices G is the number of classes K, or 1 for pooled and 0 for diagonal storage.
    """

    weights: Floats  # n, the weight of the rows with each level  (K, C)
    pairs: Floats  # N, the weight of the rows with both levels  (G, C, C)
    cross: Floats  # Σ w m (x − μ)ᵀ  (G, C, p)


def indicator_sums(
    table: Table,
    lo: int,
    hi: int,
    centre: Floats,
    storage: Storage,
) -> IndicatorSums:
    """Return the sums of the indicators of rows lo … hi−1; ``centre`` holds the means μ (K, p)."""
    from suffice.core.moments import loops

    assert table.schema is not None
    assert table.indicators is not None
    k, p = centre.shape
    starts = table.schema.starts
    levels = np.asarray(table.indicators[lo:hi], np.int32, order="F")
    row_weights = np.zeros(0) if table.weight is None else table.weight
    weights = np.zeros((k, starts[-1]))
    n_matrices = {"diagonal": 0, "pooled": 1, "per-class": k}[storage]
    if n_matrices < k:
        loops.level_chunk(levels, table.codes, row_weights, lo, hi, starts, weights)
    if n_matrices == 0:
        return IndicatorSums(weights, np.zeros((0, 0, 0)), np.zeros((0, 0, 0)))
    joint = JointLevels.of(starts, levels, n_matrices)
    # p numbers and the weight, padded to a multiple of 4 so that the loop adds four at once
    sums = np.zeros((n_matrices * joint.joint_starts[-1], -(-(p + 1) // 4) * 4))
    tables = np.zeros(n_matrices * joint.table_starts[-1])
    loops.joint_chunk(
        table.x,
        levels,
        table.codes,
        row_weights,
        lo,
        hi,
        centre,
        joint.group_of,
        joint.strides,
        joint.empty_codes,
        joint.joint_starts,
        joint.table_starts,
        sums,
        tables,
    )
    sums = sums.reshape(n_matrices, joint.joint_starts[-1], -1)
    tables = tables.reshape(n_matrices, joint.table_starts[-1])
    by_level = joint.of_levels(sums)
    if n_matrices == k:
        weights = by_level[:, :, p]
    pairs = joint.pairs_of_levels(sums[:, :, p], tables)
    return IndicatorSums(weights, pairs, by_level[:, :, :p])


def joined_scatter(
    numbers: Scatter,
    indicators: IndicatorSums,
    frequencies: Floats,
) -> Scatter:
    """Return the scatter of numbers and indicators; ``frequencies`` holds p (K, C)."""
    n = indicators.weights
    p = frequencies
    if isinstance(numbers, DiagonalScatter):
        # Σ w (m − p)² = n (1 − p)
        return DiagonalScatter(np.concatenate([numbers.values, n * (1 - p)], axis=1))
    if isinstance(numbers, PooledScatter):
        inner = indicators.pairs[0] - p.T @ n
        return PooledScatter(_blocks(numbers.values, indicators.cross[0], inner))
    inner = indicators.pairs - n[:, :, None] * p[:, None, :]
    return PerClassScatter(_blocks(numbers.values, indicators.cross, inner))


def _blocks(numbers: Floats, cross: Floats, inner: Floats) -> Floats:
    return np.block([[numbers, np.swapaxes(cross, -1, -2)], [cross, inner]])


def all_numbers(table: Table) -> Table:
    """Return a mixed table with an indicator column for every level."""
    n_numbers = table.x.shape[1]
    x = np.zeros((table.n_rows, table.n_features))
    x[:, :n_numbers] = table.x
    levels = table.indicator_features()
    rows, groups = np.nonzero(levels >= 0)
    x[rows, n_numbers + levels[rows, groups]] = 1.0
    return replace(table, x=x, indicators=None, schema=None)
