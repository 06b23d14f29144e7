"""From rows to sums: small inputs by plain NumPy, large ones by compiled chunks in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.moments.indicators import all_numbers, with_indicators
from suffice.moments.power_sums import PowerSums
from suffice.moments.scatter_storage import (
    DiagonalScatter,
    FourthMoments,
    PerClassScatter,
    PooledScatter,
    Scatter,
)
from suffice.power import PowerTransform
from suffice.table import Table
from suffice.table.matrix import column_name
from suffice.threads import in_order
from suffice.typing import Codes, Floats

STORAGES = ("auto", "per-class", "pooled", "diagonal")
AFFORDABLE = 1 << 20  # numbers in K matrices that "auto" storage keeps


def plan(
    storage: str, n_classes: int, n_features: int, *, fourth: bool | None
) -> tuple[Storage, bool]:
    """Return the storage to fill and whether fourth moments go with it."""
    if storage not in STORAGES:
        msg = f"storage must be one of {', '.join(map(repr, STORAGES))}, got {storage!r}"
        raise InvalidParameterError(msg)
    affordable = "per-class" if n_classes * n_features**2 <= AFFORDABLE else "pooled"
    kept: Any = affordable if storage == "auto" else storage
    if fourth and kept != "per-class":
        msg = f"fourth=True needs storage='per-class', got {kept!r}"
        raise InvalidParameterError(msg)
    return kept, fourth if fourth is not None else kept == affordable == "per-class"


V = TypeVar("V")
Storage = Literal["per-class", "pooled", "diagonal"]

SMALL = 200_000  # numbers; below this NumPy is quick enough and Numba is not imported
_CHUNK_ROWS = 65_536
SMALLEST = 1e-300  # a sum of squares or fourth powers that underflow leaves its digits
_BLOCK_ROWS = 4096


class ChunkSums(NamedTuple):
    """What one pass over some rows leaves: the last fields of ``Moments``."""

    weights: Floats  # (K,)
    means: Floats  # high part (K, d)
    means_low: Floats  # low part (K, d)
    scatter: Scatter
    fourth: FourthMoments | None
    power_sums: PowerSums | None = None


def collect(
    table: Table,
    storage: Storage,
    *,
    fourth: bool,
    power: PowerTransform | None = None,
    filled: bool = False,
) -> Iterator[ChunkSums]:
    """Yield the sums of consecutive chunks of rows; how they are cut depends on shapes only.

    Rows go through a power transform first; ``filled`` takes missing numbers as zeros.
    """
    mixed = table.indicators is not None
    few = table.x.size <= SMALL and (table.indicators is None or table.indicators.size <= SMALL)
    # most cells of rows with holes are small: blocks need not hold many rows of each
    summed = _plain if few else partial(_chunk, block=_BLOCK_ROWS if filled else None)

    def sums_of(rows: Table, lo: int, hi: int) -> ChunkSums:
        if mixed and fourth:  # products of four: as plain numbers
            return summed(all_numbers(rows.take(slice(lo, hi))), 0, hi - lo, storage, fourth=True)
        sums = summed(rows, lo, hi, storage, fourth=fourth)
        return with_indicators(sums, rows, lo, hi, storage, compiled=not few) if mixed else sums

    def chunk(lo: int, hi: int) -> ChunkSums:
        if power is None and not filled:
            return sums_of(table, lo, hi)
        rows = table.take(slice(lo, hi))
        if filled:
            x = rows.x.copy(order="K")
            np.copyto(x, 0, where=np.isnan(x))
            rows = rows.with_rows(x)
        if power is None:
            return sums_of(rows, 0, hi - lo)
        sums = _moved(sums_of(rows.with_rows(power.about_centre(rows.x)), 0, hi - lo), power.centre)
        kept = PowerSums.of_rows(power, rows)
        return sums._replace(power_sums=kept.extended(table.n_features))

    n = table.n_rows
    yield from [chunk(0, n)] if few else in_threads(chunk, n, table.n_classes)


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
    shifts, offsets = np.zeros(shape), np.zeros(shape)
    if len(x):
        shifts[present] = x[starts]
        z = x - shifts[codes]
        offsets[present] = _means(z, w, starts, weights[present])
        z -= offsets[codes]
        rest = np.zeros(shape)
        rest[present] = _means(z, w, starts, weights[present])
        z -= rest[codes]
        offsets += rest
    else:
        z = x
    means, low = two_sum(shifts, offsets)
    segments = [slice(a, b) for a, b in pairwise([*starts, len(z)])]
    scatter = _centred_scatter(z, w, present, segments, storage, rows.n_classes)
    quartic = _centred_fourth(z, w, present, segments, rows.n_classes) if fourth else None
    return ChunkSums(weights, means, low, scatter, quartic)


def _means(z: Floats, w: Floats, starts: Codes, weights: Floats) -> Floats:
    sums: Floats = np.add.reduceat(w[:, None] * z, starts, axis=0)
    return sums / weights[:, None]


def _centred_scatter(
    z: Floats, w: Floats, present: Codes, segments: list[slice], storage: Storage, n_classes: int
) -> Scatter:
    # S_k = Σ w (x − μ_k)(x − μ_k)ᵀ = Σ w z zᵀ over the rows of class k
    d = z.shape[1]
    wz = w[:, None] * z
    if storage == "pooled":
        return PooledScatter(wz.T @ z)
    if storage == "diagonal":
        squares = np.zeros((n_classes, d))
        for k, rows in zip(present, segments, strict=True):
            squares[k] = np.einsum("ij,ij->j", wz[rows], z[rows])
        return DiagonalScatter(squares)
    matrices = np.zeros((n_classes, d, d))
    for k, rows in zip(present, segments, strict=True):
        matrices[k] = wz[rows].T @ z[rows]
    return PerClassScatter(_symmetric(matrices))


def _centred_fourth(
    z: Floats, w: Floats, present: Codes, segments: list[slice], n_classes: int
) -> FourthMoments:
    d = z.shape[1]
    thirds, fourths = np.zeros((n_classes, d, d)), np.zeros((n_classes, d, d))
    squares = z**2
    for k, rows in zip(present, segments, strict=True):
        weighted = w[rows, None] * squares[rows]
        thirds[k], fourths[k] = weighted.T @ z[rows], weighted.T @ squares[rows]
    return FourthMoments(thirds, fourths)


def in_threads(chunk: Callable[[int, int], V], n: int, n_classes: int) -> Iterator[V]:
    """Yield what is made of consecutive rows lo … hi−1; how they are cut depends on shapes only."""
    per_chunk = max(_CHUNK_ROWS, 512 * n_classes)
    n_chunks = 1 if n <= per_chunk else 4 * -(-n // (4 * per_chunk))
    edges = np.linspace(0, n, n_chunks + 1).astype(np.intp).tolist()
    yield from in_order(lambda i: chunk(edges[i], edges[i + 1]), range(n_chunks))


def _chunk(
    rows: Table, lo: int, hi: int, storage: Storage, *, fourth: bool, block: int | None = None
) -> ChunkSums:
    from suffice.moments import kernels

    n_classes, d = rows.n_classes, rows.x.shape[1]
    padded = -(-d // 4) * 4
    w = np.zeros(0) if rows.weight is None else rows.weight
    by_column = not rows.x.flags.c_contiguous and abs(rows.x.strides[0]) < abs(rows.x.strides[1])
    weights = np.zeros(n_classes)
    shifts, sums = np.zeros((n_classes, d)), np.zeros((n_classes, d))
    if storage == "pooled":
        gram = np.zeros((padded, padded))
        kernels.pooled_chunk(rows.x, rows.codes, w, lo, hi, by_column, weights, shifts, sums, gram)
        raw: Scatter = PooledScatter(_symmetric(gram[:d, :d]))
    elif storage == "diagonal" and not by_column:
        squares = np.zeros((n_classes, d))
        kernels.diagonal_chunk(rows.x, rows.codes, w, lo, hi, weights, shifts, sums, squares)
        raw = DiagonalScatter(squares)
    else:
        most = block or max(_BLOCK_ROWS, 128 * n_classes)
        return _class_chunk(rows, lo, hi, storage, most, fourth=fourth)
    return recentred(weights, shifts, sums, raw, None)


def _class_chunk(
    rows: Table, lo: int, hi: int, storage: Storage, block: int, *, fourth: bool
) -> ChunkSums:
    from suffice.moments import kernels

    n_classes, d = rows.n_classes, rows.x.shape[1]
    padded = -(-d // 4) * 4
    by_column = abs(rows.x.strides[0]) < abs(rows.x.strides[1])

    def matrices(*, wanted: bool) -> Floats:
        return np.zeros((n_classes if wanted else 0, padded, padded))

    full = storage == "per-class"
    weights = np.zeros(n_classes)
    shifts, sums = np.zeros((n_classes, d)), np.zeros((n_classes, d))
    squares = np.zeros((0 if full else n_classes, d))
    grams = matrices(wanted=full)
    thirds, fourths = matrices(wanted=fourth), matrices(wanted=fourth)
    kernels.class_chunk(
        rows.x, rows.codes, np.zeros(0) if rows.weight is None else rows.weight,
        lo, hi, block, by_column,
        weights, shifts, sums, squares, grams, thirds, fourths,
    )  # fmt: skip
    if not full:
        return recentred(weights, shifts, sums, DiagonalScatter(squares), None)
    raw = PerClassScatter(_symmetric(grams[:, :d, :d]))
    quartic = FourthMoments(thirds[:, :d, :d], _symmetric(fourths[:, :d, :d])) if fourth else None
    return recentred(weights, shifts, sums, raw, quartic)


def refuse_vanishing(table: Table, total: Any) -> None:
    """Raise where numbers vary so little that their squares lose digits, or all become zero."""
    low = np.flatnonzero(total.scatter.pooled_diagonal()[: table.x.shape[1]] < SMALLEST)
    for lo in range(0, table.n_rows if len(low) else 0, _CHUNK_ROWS):
        rows = table.take(slice(lo, lo + _CHUNK_ROWS))
        gaps = np.abs(rows.x[:, low] - total.means[rows.codes][:, low])
        found = gaps[rows.weights > 0].max(0, initial=0.0)
        for j in np.flatnonzero(found)[:1]:
            msg = (
                f"the squares of numbers vanish: column {column_name(table.names, int(low[j]))} "
                f"differs from the means of its classes by {found[j]:.1g} only; rescale it"
            )
            raise InvalidInputError(msg)


def recentred(
    weights: Floats, shifts: Floats, sums: Floats, raw: Scatter, quartic: FourthMoments | None
) -> ChunkSums:
    """Move sums about a shift to sums about the mean: S = Σ w z zᵀ − w m mᵀ,  m = Σ w z / w."""
    with np.errstate(invalid="ignore", over="ignore"):  # told of the whole, by row and column
        offsets = ratio(sums, weights[:, None])
        means, low = two_sum(np.where(weights[:, None] > 0, shifts, 0.0), offsets)
        if quartic is not None:
            quartic = quartic.recentred(weights, sums, raw.per_class(), -offsets)
        return ChunkSums(weights, means, low, raw.shifted(-weights, offsets), quartic)


def _symmetric(lower: Floats) -> Floats:
    """Return the matrices whose lower triangles are given."""
    low = np.tril(lower)
    whole: Floats = low + np.swapaxes(np.tril(low, -1), -1, -2)
    return whole


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a + b rounded, and what rounding lost (Knuth 1969)."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


def ratio(top: Floats, bottom: Floats) -> Floats:
    """Return top / bottom, and 0 where nothing was seen."""
    shape = np.broadcast_shapes(np.shape(top), np.shape(bottom))
    return np.divide(top, bottom, out=np.zeros(shape), where=bottom != 0)
