"""Sums of indicator columns from the levels of each row, without a column per level.

With m the indicators of a row and p their class means, the frequencies,

    Σ w (m − p)(m − p)ᵀ = N − n nᵀ / w      N the weight of every pair of levels, n of each level
    Σ w (m − p)(x − μ)ᵀ = Σ w m (x − μ)ᵀ    the numbers summed up level by level

so that a row costs one addition for each pair of columns, however many levels there are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.moments.scatter_storage import DiagonalScatter, PerClassScatter, PooledScatter, Scatter
from suffice.table import Table
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.moments.collect import ChunkSums


def all_numbers(table: Table) -> Table:
    """Return a mixed table with an indicator column for every level."""
    schema, x = table.schema, np.asarray(table.x, np.float64)
    assert schema is not None
    dense = np.concatenate(
        [x, _dense(_placed(table, 0, table.n_rows), schema.n_indicators)], axis=1
    )
    return replace(table, x=dense, indicators=None, schema=None)


def with_indicators(
    sums: ChunkSums, table: Table, lo: int, hi: int, storage: str, *, compiled: bool
) -> ChunkSums:
    """Return the sums of numbers and indicators, given those of the numbers of rows lo … hi."""
    levels = _placed(table, lo, hi)
    n_indicators = table.n_features - table.x.shape[1]
    tables = _compiled if compiled else _plain
    frequencies, pairs, cross = tables(sums, table, lo, hi, levels, n_indicators, storage)
    # the mean of an indicator is the frequency of its level: p = n / w
    w = sums.weights[:, None]
    means = np.divide(frequencies, w, out=np.zeros_like(frequencies), where=w > 0)
    scatter = _joined(sums.scatter, frequencies, means, pairs, cross)
    return sums._replace(
        means=np.concatenate([sums.means, means], axis=1),
        means_low=np.concatenate([sums.means_low, np.zeros_like(means)], axis=1),
        scatter=scatter,
    )


def _joined(numbers: Scatter, n: Floats, p: Floats, pairs: Floats, cross: Floats) -> Scatter:
    """Return the scatter of numbers and indicators together."""
    if isinstance(numbers, DiagonalScatter):
        # Σ w (m − p)² = n (1 − p)
        return DiagonalScatter(np.concatenate([numbers.values, n * (1 - p)], axis=1))
    if isinstance(numbers, PooledScatter):
        inner = pairs[0] - p.T @ n
        return PooledScatter(_blocks(numbers.values, cross[0], inner))
    inner = pairs - n[:, :, None] * p[:, None, :]
    return PerClassScatter(_blocks(numbers.values, cross, inner))


def _blocks(numbers: Floats, cross: Floats, inner: Floats) -> Floats:
    top = np.concatenate([numbers, np.swapaxes(cross, -1, -2)], axis=-1)
    return np.concatenate([top, np.concatenate([cross, inner], axis=-1)], axis=-2)


def _placed(table: Table, lo: int, hi: int) -> Codes:
    """Return each row's indicators among all, −1 for none, (n, h + q)."""
    schema, indicators = table.schema, table.indicators
    assert schema is not None
    assert indicators is not None
    own = indicators[lo:hi]
    placed: Codes = np.where(own < 0, -1, own + schema.starts[:-1]).astype(np.int32)
    return placed


def _dense(levels: Codes, n_indicators: int) -> Floats:
    out = np.zeros((len(levels), n_indicators + 1))
    np.put_along_axis(out, levels.astype(np.intp), 1.0, axis=1)  # −1 falls into the last column
    return out[:, :-1]


def _plain(
    sums: ChunkSums, table: Table, lo: int, hi: int, levels: Codes, n_indicators: int, storage: str
) -> tuple[Floats, Floats, Floats]:
    """Return frequencies (K, C), pairs (G, C, C) and cross sums (G, C, p) by dense products."""
    codes, k = table.codes[lo:hi], table.n_classes
    w = np.ones(hi - lo) if table.weight is None else table.weight[lo:hi]
    m = _dense(levels, n_indicators)
    z = (table.x[lo:hi] - sums.means[codes]) - sums.means_low[codes]
    z = np.where(w[:, None] > 0, z, 0.0)  # rows of weight zero are absent, whatever they hold
    wm = w[:, None] * m
    rows = [np.flatnonzero(codes == at) for at in range(k)]
    frequencies = np.stack([wm[r].sum(0) for r in rows]) if k else np.zeros((0, n_indicators))
    if storage == "diagonal":
        return frequencies, np.zeros(0), np.zeros(0)
    groups = [np.arange(hi - lo)] if storage == "pooled" else rows
    pairs = [wm[r].T @ m[r] for r in groups]
    cross = [wm[r].T @ z[r] for r in groups]
    c, p = n_indicators, table.x.shape[1]
    return (
        frequencies,
        np.stack(pairs) if pairs else np.zeros((0, c, c)),
        np.stack(cross) if cross else np.zeros((0, c, p)),
    )


def _compiled(
    sums: ChunkSums, table: Table, lo: int, hi: int, levels: Codes, n_indicators: int, storage: str
) -> tuple[Floats, Floats, Floats]:
    """Return the same in one pass over the rows."""
    from suffice.moments import kernels

    k, p, c = table.n_classes, table.x.shape[1], n_indicators
    n_groups = {"diagonal": 0, "pooled": 1}.get(storage, k)
    frequencies = np.zeros((k, c))
    pairs, cross = np.zeros((n_groups, c, c)), np.zeros((n_groups, c, p))
    w: Any = np.zeros(0) if table.weight is None else table.weight
    centre = sums.means + sums.means_low
    kernels.indicator_chunk(
        table.x, levels, table.codes, w, lo, hi, centre, frequencies, pairs, cross
    )
    pairs += np.swapaxes(pairs, 1, 2)
    if n_groups:
        diagonal = frequencies if n_groups == k else frequencies.sum(0, keepdims=True)
        pairs[:, range(c), range(c)] = diagonal
    return frequencies, pairs, cross
