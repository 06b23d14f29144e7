"""From rows to sums: small inputs by plain NumPy, large ones by compiled chunks in threads.

Indicators m of levels, of class means p, are summed without a column per level:

    Σ w (m − p)(m − p)ᵀ = N − n nᵀ / w      N the weight of every pair of levels, n of each level
    Σ w (m − p)(x − μ)ᵀ = Σ w m (x − μ)ᵀ    the numbers summed up level by level
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from suffice.core.moments.scatter import (
    DiagonalScatter,
    FourthMoments,
    PerClassScatter,
    PooledScatter,
    Scatter,
    by_column,
)
from suffice.core.power_transform import PowerTransform, summed_log_slopes
from suffice.core.table import Table
from suffice.core.table.matrix import column_name
from suffice.core.threads import in_order
from suffice.errors import InvalidInputError, InvalidParameterError, require_word
from suffice.typing import Codes, Floats

STORAGES = ("auto", "per-class", "pooled", "diagonal")
AFFORDABLE = 1 << 20  # numbers in K matrices that "auto" storage keeps
SMALL = 200_000  # numbers; below this NumPy is quick enough and Numba is not imported
SMALLEST = 1e-300  # a sum of squares or fourth powers that underflow leaves its digits
_CHUNK_ROWS = 65_536
_BLOCK_ROWS = 4096
V = TypeVar("V")
Storage = Literal["per-class", "pooled", "diagonal"]
Power: TypeAlias = PowerTransform | None


def plan(
    storage: str,
    n_classes: int,
    n_features: int,
    *,
    fourth: bool | None,
) -> tuple[Storage, bool]:
    """Return the storage to fill and whether fourth moments go with it."""
    require_word(storage, STORAGES, "storage")
    affordable = "per-class" if n_classes * n_features**2 <= AFFORDABLE else "pooled"
    kept: Any = affordable if storage == "auto" else storage
    if fourth and kept != "per-class":
        raise InvalidParameterError(f"fourth=True needs storage='per-class', got {kept!r}")
    return kept, fourth if fourth is not None else kept == affordable == "per-class"


class ChunkSums(NamedTuple):
    """What one pass over some rows leaves: the last fields of ``Moments``."""

    weights: Floats  # (K,)
    means: Floats  # high part (K, d)
    means_low: Floats  # low part (K, d)
    scatter: Scatter
    fourth: FourthMoments | None
    power: Power = None
    log_slopes: Floats | None = None  # (K, d)


def collect(
    table: Table,
    storage: Storage,
    *,
    fourth: bool,
    power: Power = None,
    filled: bool = False,
) -> Iterator[ChunkSums]:
    """Yield the sums of consecutive chunks of rows; ``filled`` takes missing numbers as zeros."""
    mixed = table.indicators is not None
    few = table.x.size <= SMALL and (
        table.indicators is None or table.indicators.size <= SMALL
    )
    # most cells of rows with holes are small: blocks need not hold many rows of each
    summed = _plain if few else partial(_chunk, block=_BLOCK_ROWS if filled else None)

    def sums_between(rows: Table, lo: int, hi: int) -> ChunkSums:
        if mixed and (few or fourth):  # few rows, or products of four: as plain numbers
            rows, lo, hi = all_numbers(rows.take(slice(lo, hi))), 0, hi - lo
        sums = summed(rows, lo, hi, storage, fourth=fourth)
        return (
            sums if rows.indicators is None else with_indicators(sums, rows, lo, hi, storage)
        )

    def chunk(lo: int, hi: int) -> ChunkSums:
        if power is None and not filled:
            return sums_between(table, lo, hi)
        rows = table.take(slice(lo, hi))
        if filled:
            x = rows.x.copy(order="K")
            np.copyto(x, 0, where=np.isnan(x))
            rows = rows.with_rows(x)
        if power is None:
            return sums_between(rows, 0, hi - lo)
        sums = sums_between(rows.with_rows(power.about_centre(rows.x)), 0, hi - lo)
        return _moved(sums, power.centre)._replace(
            power=power.among(np.arange(power.n_features), rows.n_features),
            log_slopes=summed_log_slopes(power, rows),
        )

    yield from (
        [chunk(0, table.n_rows)] if few else in_threads(chunk, table.n_rows, table.n_classes)
    )


def _moved(sums: ChunkSums, by: Floats) -> ChunkSums:
    """Return the sums of rows with a constant added to their first features."""
    moved = np.zeros(sums.means.shape[1])
    moved[: len(by)] = by
    # a mean of 1e8 has its digits in two parts
    high, low = two_sum(np.where(sums.weights[:, None] > 0, moved, 0.0), sums.means)
    return sums._replace(means=high, means_low=low + sums.means_low)


def _plain(rows: Table, lo: int, hi: int, storage: Storage, *, fourth: bool) -> ChunkSums:
    """Sum by sorting rows by class: two passes, about the class mean."""
    order = lo + np.argsort(rows.codes[lo:hi], kind="stable")
    codes = rows.codes[order]
    x = rows.x[order].astype(np.float64, copy=False)
    w = np.ones(len(x)) if rows.weight is None else rows.weight[order]
    if not w.all():
        x, codes, w = x[w > 0], codes[w > 0], w[w > 0]
    present, starts = np.unique(codes, return_index=True)
    weights: Floats = np.bincount(codes, w, rows.n_classes).astype(np.float64)
    shape = (rows.n_classes, x.shape[1])
    shifts, offsets, z = np.zeros(shape), np.zeros(shape), x
    if len(x):
        shifts[present] = x[starts]
        z = x - shifts[codes]
        for _ in range(2):  # once more, for what rounding left
            rest = np.zeros(shape)
            rest[present] = (
                np.add.reduceat(w[:, None] * z, starts, axis=0) / weights[present, None]
            )
            z -= rest[codes]
            offsets += rest
    means, low = two_sum(shifts, offsets)
    parts = [
        (k, slice(*at)) for k, at in zip(present, pairwise([*starts, len(z)]), strict=True)
    ]
    return ChunkSums(
        weights, means, low, *_centred(z, w, parts, storage, shape[0], fourth=fourth)
    )


def _centred(
    z: Floats,
    w: Floats,
    parts: list[Any],
    storage: Storage,
    n_classes: int,
    *,
    fourth: bool,
) -> tuple[Scatter, FourthMoments | None]:
    """Return second and fourth moments of rows about their class means, sorted by class."""
    # S_k = Σ w (x − μ_k)(x − μ_k)ᵀ = Σ w z zᵀ over the rows of class k
    d, wz = z.shape[1], w[:, None] * z
    if storage == "pooled":
        return PooledScatter(wz.T @ z), None
    if storage == "diagonal":
        squares = np.zeros((n_classes, d))
        for k, rows in parts:
            squares[k] = np.einsum("ij,ij->j", wz[rows], z[rows])
        return DiagonalScatter(squares), None
    second = np.zeros((n_classes, d, d))
    thirds, fourths = np.zeros((2, n_classes if fourth else 0, d, d))
    for k, rows in parts:
        second[k] = wz[rows].T @ z[rows]
        if fourth:
            weighted = wz[rows] * z[rows]
            thirds[k], fourths[k] = weighted.T @ z[rows], weighted.T @ np.square(z[rows])
    return PerClassScatter(_symmetric(second)), FourthMoments(
        thirds, fourths
    ) if fourth else None


def in_threads(chunk: Callable[[int, int], V], n: int, n_classes: int) -> Iterator[V]:
    """Yield what is made of consecutive rows lo … hi−1; how they are cut depends on shapes only."""
    per_chunk = max(_CHUNK_ROWS, 512 * n_classes)
    n_chunks = 1 if n <= per_chunk else 4 * -(-n // (4 * per_chunk))
    edges = np.linspace(0, n, n_chunks + 1).astype(np.intp).tolist()
    yield from in_order(lambda i: chunk(edges[i], edges[i + 1]), range(n_chunks))


def _chunk(
    rows: Table,
    lo: int,
    hi: int,
    storage: Storage,
    *,
    fourth: bool,
    block: int | None = None,
) -> ChunkSums:
    """Sum by compiled loops, about a shift near the mean of each class."""
    from suffice.core.compiled import read_only
    from suffice.core.moments import loops as kernels

    (k, d), x = (rows.n_classes, rows.x.shape[1]), rows.x
    padded, full = -(-d // 4) * 4, storage == "per-class"
    by_column = not x.flags.c_contiguous and abs(x.strides[0]) < abs(x.strides[1])
    weight = np.zeros(0) if rows.weight is None else rows.weight
    given = read_only(x, rows.codes, weight)
    totals = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    squares, quartic = np.zeros((0 if full else k, d)), None
    if storage == "pooled":
        gram = np.zeros((padded, padded))
        kernels.pooled_chunk(*given, lo, hi, by_column, *totals, gram)
        return recentred(*totals, PooledScatter(_symmetric(gram[:d, :d])), None)
    if storage == "diagonal" and not by_column:
        kernels.diagonal_chunk(*given, lo, hi, *totals, squares)
        return recentred(*totals, DiagonalScatter(squares), None)
    grams, seen = np.zeros((k if full else 0, padded, padded)), np.zeros(k, bool)
    thirds, fourths = np.zeros((2, k if fourth else 0, padded, padded))
    block = block or max(_BLOCK_ROWS, 128 * k)
    step = block if fourth else max(hi - lo, 1)  # the second look at a block finds it in cache
    for first in range(lo, hi, step):
        read = *given, first, min(first + step, hi), block, by_column
        kernels.class_chunk(*read, seen, *totals, squares, grams)
        if fourth:
            kernels.fourth_chunk(*read, totals[1], thirds, fourths)
    if fourth:
        quartic = FourthMoments(thirds[:, :d, :d], _symmetric(fourths[:, :d, :d]))
    whole = PerClassScatter(_symmetric(grams[:, :d, :d])) if full else DiagonalScatter(squares)
    return recentred(*totals, whole, quartic)


def all_numbers(table: Table) -> Table:
    """Return a mixed table with an indicator column for every level."""
    p, levels = table.x.shape[1], _placed(table, 0, table.n_rows)
    dense = np.zeros((table.n_rows, table.n_features))
    dense[:, :p] = table.x
    rows, columns = np.nonzero(levels >= 0)
    dense[rows, p + levels[rows, columns]] = 1.0
    return replace(table, x=dense, indicators=None, schema=None)


def with_indicators(
    sums: ChunkSums,
    table: Table,
    lo: int,
    hi: int,
    storage: str,
) -> ChunkSums:
    """Return the sums of numbers and indicators, given those of the numbers of rows lo … hi."""
    from suffice.core.moments import loops as kernels

    k, p = sums.means.shape
    c, n_groups = table.n_features - p, {"diagonal": 0, "pooled": 1, "per-class": k}[storage]
    n, pairs, cross = np.zeros((k, c)), np.zeros((n_groups, c, c)), np.zeros((n_groups, c, p))
    w: Any = np.zeros(0) if table.weight is None else table.weight
    centre, levels = sums.means + sums.means_low, _placed(table, lo, hi)
    kernels.indicator_chunk(table.x, levels, table.codes, w, lo, hi, centre, n, pairs, cross)
    pairs += np.swapaxes(pairs, 1, 2)
    if n_groups:
        pairs[:, range(c), range(c)] = n if n_groups == k else n.sum(0, keepdims=True)
    # the mean of an indicator is the frequency of its level: p = n / w
    w = sums.weights[:, None]
    means = np.divide(n, w, out=np.zeros_like(n), where=w > 0)
    return sums._replace(
        means=np.concatenate([sums.means, means], axis=1),
        means_low=np.concatenate([sums.means_low, np.zeros_like(means)], axis=1),
        scatter=_joined(sums.scatter, n, means, pairs, cross),
    )


def _joined(numbers: Scatter, n: Floats, p: Floats, pairs: Floats, cross: Floats) -> Scatter:
    """Return the scatter of numbers and indicators together."""
    if isinstance(numbers, DiagonalScatter):
        # Σ w (m − p)² = n (1 − p)
        return DiagonalScatter(np.concatenate([numbers.values, n * (1 - p)], axis=1))
    if isinstance(numbers, PooledScatter):
        return PooledScatter(_blocks(numbers.values, cross[0], pairs[0] - p.T @ n))
    return PerClassScatter(
        _blocks(numbers.values, cross, pairs - n[:, :, None] * p[:, None, :])
    )


def _blocks(numbers: Floats, cross: Floats, inner: Floats) -> Floats:
    return np.block([[numbers, np.swapaxes(cross, -1, -2)], [cross, inner]])


def _placed(table: Table, lo: int, hi: int) -> Codes:
    """Return each row's indicators among all, −1 for none, (n, h + q)."""
    schema, indicators = table.schema, table.indicators
    assert schema is not None
    assert indicators is not None
    own = indicators[lo:hi]
    return np.where(own < 0, -1, own + schema.starts[:-1]).astype(np.int32)


def refuse_vanishing(table: Table, total: Any) -> None:
    """Raise where numbers vary so little that their squares lose digits, or all become zero."""
    low = np.flatnonzero(total.scatter.pooled_diagonal()[: table.x.shape[1]] < SMALLEST)
    for lo in range(0, table.n_rows if len(low) else 0, _CHUNK_ROWS):
        rows = table.take(slice(lo, lo + _CHUNK_ROWS))
        gaps = np.abs(rows.x[:, low] - total.means[rows.codes][:, low])
        found = gaps[rows.weights > 0].max(0, initial=0.0)
        for j in np.flatnonzero(found)[:1]:
            column = column_name(table.names, int(low[j]))
            odd = (
                f"column {column} differs from the means of its classes by {found[j]:.1g} only"
            )
            raise InvalidInputError(f"the squares of numbers vanish: {odd}; rescale it")


def recentred(
    weights: Floats,
    shifts: Floats,
    sums: Floats,
    raw: Scatter,
    quartic: FourthMoments | None,
) -> ChunkSums:
    """Move sums about a shift to sums about the mean: S = Σ w z zᵀ − w m mᵀ,  m = Σ w z / w."""
    with np.errstate(invalid="ignore", over="ignore"):  # told of the whole, by row and column
        offsets = ratio(sums, by_column(weights))
        means, low = two_sum(np.where(by_column(weights > 0), shifts, 0.0), offsets)
        if quartic is not None:
            quartic = quartic.recentred(weights, sums, raw.per_class(), -offsets)
        return ChunkSums(weights, means, low, raw.shifted(-weights, offsets), quartic)


def _symmetric(lower: Floats) -> Floats:
    """Return the matrices whose lower triangles are given."""
    low = np.tril(lower)
    return np.asarray(low + np.swapaxes(np.tril(low, -1), -1, -2))


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a + b rounded, and what rounding lost (Knuth 1969)."""
    high = a + b
    part = high - a
    # (a − (high − part)) + (b − part), in as few arrays as can be
    low = part - high
    low += a
    part -= b
    low -= part
    return high, low


def ratio(top: Floats, bottom: Floats) -> Floats:
    """Return top / bottom, and 0 where nothing was seen."""
    shape = np.broadcast_shapes(np.shape(top), np.shape(bottom))
    return np.divide(top, bottom, out=np.zeros(shape), where=bottom != 0)
