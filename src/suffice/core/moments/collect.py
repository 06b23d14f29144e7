"""Sums of rows: NumPy sums small tables, and compiled loops in threads sum large tables."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple, TypeVar, cast

import numpy as np

from suffice.core.moments.higher_moments import HigherMoments, PowerSums
from suffice.core.moments.indicators import all_numbers, indicator_sums, joined_scatter
from suffice.core.moments.scatter import (
    DiagonalScatter,
    FourthMoments,
    PerClassScatter,
    PooledScatter,
    Scatter,
    Storage,
    as_columns,
    fourth_moments_of,
    scatter_of,
    symmetric,
)
from suffice.core.moments.scatter_as_rows import RowScatter
from suffice.core.moments.two_sum import two_sum
from suffice.core.power_transform import PowerTransform
from suffice.core.table import Table
from suffice.core.table.matrix import column_name, is_by_column
from suffice.core.threads import in_order
from suffice.errors import InvalidInputError, InvalidParameterError, require_word
from suffice.typing import Array, Codes, Floats

STORAGES = ("auto", "per-class", "pooled", "diagonal", "rows")
# storage="auto" keeps one matrix per class if all of these hold at most this many numbers
AFFORDABLE = 1 << 20
LARGEST_POOLED = 1 << 29  # most numbers (4 GiB) in a pooled matrix that storage="auto" keeps
# tables with at most this many numbers are summed by NumPy, so that Numba is not imported
SMALL = 200_000
SMALLEST = 1e-300  # smaller sums of squares or of fourth powers have lost digits by underflow
_CHUNK_ROWS = 65_536
_BLOCK_ROWS = 4096
# with fewer rows per class, copying the class means to all rows beats a loop over classes
_FEW_ROWS = 16
V = TypeVar("V")


def plan(
    storage: str,
    n_classes: int,
    n_features: int,
    *,
    fourth: bool | None,
) -> tuple[Storage, bool]:
    """Return the storage to fill, and whether to collect fourth moments."""
    require_word(storage, STORAGES, "storage")
    if storage == "rows":  # the rows themselves give the fourth moments
        return "rows", False
    is_affordable = is_affordable_per_class(n_classes, n_features)
    if storage != "auto":
        chosen = cast("Storage", storage)
    elif is_affordable:
        chosen = "per-class"
    else:
        _refuse_large_matrix(n_features)
        chosen = "pooled"
    if fourth and chosen != "per-class":
        raise InvalidParameterError(f"fourth=True needs storage='per-class', got {chosen!r}")
    if fourth is None:
        fourth = chosen == "per-class" and is_affordable
    return chosen, fourth


def _refuse_large_matrix(d: int) -> None:
    """Raise if storage="auto" would keep a matrix of more than ``LARGEST_POOLED`` numbers."""
    if d**2 > LARGEST_POOLED:
        raise InvalidParameterError(
            f"storage='auto' would keep a matrix of {d:,} × {d:,} numbers, "
            f"{8 * d**2 / 2**30:,.1f} GiB: select fewer columns, collect sums for naive Bayes with "
            "storage='diagonal', or ask for the matrix with storage='pooled'"
        )


def is_affordable_per_class(n_classes: int, n_features: int) -> bool:
    """Return whether a matrix for each class is small."""
    return n_classes * n_features**2 <= AFFORDABLE


def smallest_storage(storage: str, n_rows: int, n_classes: int, n_features: int) -> str:
    """Return ``"rows"`` if the rows hold fewer numbers than large matrices, else ``storage``."""
    if storage == "diagonal" or is_affordable_per_class(n_classes, n_features):
        return storage
    return "rows" if 0 < n_rows < n_features else storage


class ChunkSums(NamedTuple):
    """Sums of a chunk of rows; ``Moments`` has a field with the same name for each field."""

    weights: Floats  # (K,)
    means: Floats  # high part (K, d)
    means_low: Floats  # low part (K, d)
    scatter: Scatter
    fourth: FourthMoments | None
    power: PowerTransform | None = None
    log_slopes: Floats | None = None  # (K, d)
    higher: HigherMoments | PowerSums | None = None  # of the numeric columns


def is_small(table: Table) -> bool:
    """Return whether plain NumPy sums the table quickly enough."""
    n_indicators = 0 if table.indicators is None else table.indicators.size
    return bool(table.x.size <= SMALL and n_indicators <= SMALL)


def collect(
    table: Table,
    storage: Storage,
    *,
    fourth: bool,
    power: PowerTransform | None = None,
    has_missing: bool = False,
    higher: bool = True,
) -> Iterator[ChunkSums]:
    """Yield the sums of consecutive chunks of rows.

    If ``has_missing``, all rows of a class must lack the same columns, whose sums become zero.
    Unless ``higher``, the third and fourth moments of single columns are not collected.
    """
    if storage == "rows" or is_small(table):
        rows = _zero_filled(table) if has_missing else table
        numbers = rows if power is None else rows.with_rows(power.about_centre(rows.x))
        if storage == "rows":
            sums = _kept_rows(numbers)
        else:
            sums = _numpy_sums(numbers, storage, fourth=fourth, higher=higher)
        yield sums if power is None else _of_transformed(sums, power, rows)
        return
    # with missing values, classes are pairs of a class and a pattern, of which most have few rows
    block = 4 * _BLOCK_ROWS if has_missing else max(_BLOCK_ROWS, 128 * table.n_classes)

    def chunk(lo: int, hi: int) -> ChunkSums:
        rows = table
        if power is not None:
            rows = table.take(slice(lo, hi))
            hi -= lo
            lo = 0
        sums = _compiled_sums(
            rows if power is None else rows.with_rows(power.about_centre(rows.x)),
            lo,
            hi,
            storage,
            fourth=fourth,
            block=block,
            has_missing=has_missing,
            higher=higher,
        )
        return sums if power is None else _of_transformed(sums, power, rows)

    yield from in_threads(chunk, table.n_rows, table.n_classes)


def _compiled_sums(
    rows: Table,
    lo: int,
    hi: int,
    storage: Storage,
    *,
    fourth: bool,
    block: int,
    has_missing: bool,
    higher: bool,
) -> ChunkSums:
    """Return the sums of rows lo … hi−1, computed by compiled loops."""
    if rows.indicators is not None and fourth:
        rows = all_numbers(rows.take(slice(lo, hi)))
        hi -= lo
        lo = 0
    if storage == "pooled":
        sums = _pooled_sums(rows, lo, hi)
    else:
        sums = _class_sums(
            rows, lo, hi, storage, fourth=fourth, block=block, has_missing=has_missing
        )
    if not higher:
        sums = sums._replace(higher=None)
    return sums if rows.indicators is None else _with_indicators(sums, rows, lo, hi)


def _zero_filled(rows: Table) -> Table:
    """Return the rows with missing numbers replaced with zeros."""
    filled = rows.x.copy(order="K")
    np.copyto(filled, 0, where=np.isnan(filled))
    return rows.with_rows(filled)


def log_slope_sums(power: PowerTransform, table: Table) -> Floats:
    """Return Σ w log dt_j/dx_j of each class, over the observed numbers, (K, d)."""
    log_slopes = power.log_slopes(table.x)
    log_slopes = np.where(np.isnan(table.x), 0.0, log_slopes)
    if table.weight is not None:
        w = table.weight[:, None]
        log_slopes = np.where(w > 0, log_slopes, 0.0) * w
    sums = np.zeros((table.n_classes, table.n_features))
    for j, column in enumerate(log_slopes.T):
        sums[:, j] = np.bincount(table.codes, column, table.n_classes)
    return sums


def _of_transformed(sums: ChunkSums, power: PowerTransform, rows: Table) -> ChunkSums:
    """Return the sums of the transformed rows t(x), given the sums of t(x) − c."""
    shift = np.zeros(sums.means.shape[1])
    shift[: len(power.centre)] = power.centre
    # c may be 1e8 times as large as the mean of t(x) − c: two floats keep the digits of both terms
    high, low = two_sum(np.where(sums.weights[:, None] > 0, shift, 0.0), sums.means)
    higher = HigherMoments.of_chunks([sums.higher])
    if higher is not None:
        higher = higher.moved(shift[: len(higher.weights)])
    return sums._replace(
        means=high,
        means_low=low + sums.means_low,
        higher=higher,
        power=power.among(np.arange(power.n_features), rows.n_features),
        log_slopes=log_slope_sums(power, rows),
    )


def _sorted_by_class(rows: Table) -> tuple[Array, Floats, Codes]:
    """Return copies of the rows with positive weight, sorted by class, with weights and codes."""
    if rows.indicators is not None:
        rows = all_numbers(rows)
    order = np.argsort(rows.codes, kind="stable")
    if rows.weight is None:
        w = np.ones(len(order))
    else:
        order = order[rows.weight[order] > 0]
        w = rows.weight[order]
    return rows.x[order], w, rows.codes[order]


def _kept_rows(rows: Table) -> ChunkSums:
    """Return the sums of the rows, with the rows themselves stored in place of a scatter."""
    n_numbers = rows.x.shape[1]
    x, w, codes = _sorted_by_class(rows)
    scatter = RowScatter.of(x, w, codes, rows.n_classes)
    means, means_low = scatter.means()
    return ChunkSums(
        weights=np.bincount(scatter.codes, w, rows.n_classes).astype(np.float64),
        means=means,
        means_low=means_low,
        scatter=scatter,
        fourth=None,
        higher=HigherMoments.of_rows(scatter.rows[:, :n_numbers], w),
    )


def _numpy_sums(rows: Table, storage: Storage, *, fourth: bool, higher: bool) -> ChunkSums:
    """Return the sums of rows about the class means, computed by NumPy."""
    n_numbers = rows.x.shape[1]
    x, w, codes = _sorted_by_class(rows)
    x = x.astype(np.float64, copy=False)
    # sum numeric columns only, since the higher moments of indicators are rarely read
    has_higher = higher and n_numbers > 0
    higher_moments = HigherMoments.of_rows(x[:, :n_numbers], w) if has_higher else None
    present, starts = np.unique(codes, return_index=True)
    weights: Floats = np.bincount(codes, w, rows.n_classes).astype(np.float64)
    rows_of = {}
    for k, (start, end) in zip(present, pairwise([*starts, len(x)]), strict=True):
        rows_of[int(k)] = slice(start, end)
    shape = (rows.n_classes, x.shape[1])
    shifts = np.zeros(shape)  # the first row of each class
    offsets = np.zeros(shape)  # class mean minus shift
    z = x  # x is a copy, so it can be centred in place
    # μ_k = s_k + Σ w (x − s_k) / w_k,  s_k the first row of class k
    if len(x):
        shifts[present] = x[starts]
        _subtract_by_class(z, shifts, codes, rows_of)
        for _ in range(2):  # the second pass corrects the rounding of the first
            wz = z if rows.weight is None else w[:, None] * z
            class_sums = np.add.reduceat(wz, starts, axis=0)
            correction = np.zeros(shape)
            correction[present] = class_sums / weights[present, None]
            _subtract_by_class(z, correction, codes, rows_of)
            offsets += correction
    means, means_low = two_sum(shifts, offsets)
    wz = z if rows.weight is None else w[:, None] * z
    scatter = scatter_of(z, wz, rows_of, storage, rows.n_classes)
    fourth_moments = None
    if fourth and scatter.storage == "per-class":
        fourth_moments = fourth_moments_of(z, wz, rows_of, rows.n_classes)
    return ChunkSums(
        weights=weights,
        means=means,
        means_low=means_low,
        scatter=scatter,
        fourth=fourth_moments,
        higher=higher_moments,
    )


def _subtract_by_class(
    z: Floats,
    values: Floats,
    codes: Array,
    rows_of: dict[int, slice],
) -> None:
    """Subtract ``values`` (K, d) from the rows of each class, which are sorted by class."""
    if len(codes) < _FEW_ROWS * len(rows_of):
        z -= values[codes]
        return
    for k, rows in rows_of.items():
        z[rows] -= values[k]


def in_threads(
    sums_between: Callable[[int, int], V],
    n_rows: int,
    n_classes: int,
) -> Iterator[V]:
    """Yield the sums of consecutive chunks of rows; the number of threads does not change them."""
    per_chunk = max(_CHUNK_ROWS, 512 * n_classes)
    n_chunks = 1 if n_rows <= per_chunk else 4 * -(-n_rows // (4 * per_chunk))
    edges = np.linspace(0, n_rows, n_chunks + 1).astype(np.intp).tolist()
    yield from in_order(lambda i: sums_between(edges[i], edges[i + 1]), range(n_chunks))


def _pooled_sums(rows: Table, lo: int, hi: int) -> ChunkSums:
    """Sum rows lo … hi−1 by a compiled loop that adds all products to one matrix."""
    from suffice.core.moments import loops

    k = rows.n_classes
    d = rows.x.shape[1]
    weights = np.zeros(k)
    shifts = np.zeros((k, d))  # near the mean of each class
    sums = np.zeros((k, d))
    gram = np.zeros((_padded(d), _padded(d)))
    x, codes, w = _loop_inputs(rows)
    origin = np.zeros(d)
    cubes = np.zeros(d)
    fourths = np.zeros(d)
    by_column = is_by_column(x)
    loops.pooled_chunk(
        x, codes, w, lo, hi, by_column, weights, shifts, sums, gram, origin, cubes, fourths
    )
    scatter = PooledScatter(symmetric(gram[:d, :d]))
    higher = HigherMoments.of_pooled(
        weights, shifts, sums, np.diagonal(gram)[:d], origin, cubes, fourths
    )
    return recentred(weights, shifts, sums, scatter, None)._replace(higher=higher)


def _class_sums(
    rows: Table,
    lo: int,
    hi: int,
    storage: Storage,
    *,
    fourth: bool,
    block: int,
    has_missing: bool,
) -> ChunkSums:
    """Sum rows lo … hi−1 by compiled loops, class by class."""
    from suffice.core.moments import loops

    k = rows.n_classes
    d = rows.x.shape[1]
    weights = np.zeros(k)
    shifts = np.zeros((k, d))  # near the mean of each class
    sums = np.zeros((k, d))
    # ``class_chunk`` fills one of these two arrays, and the other is empty
    squares = np.zeros((k if storage == "diagonal" else 0, d))
    grams = np.zeros((k if storage == "per-class" else 0, _padded(d), _padded(d)))
    x, codes, w = _loop_inputs(rows)
    by_column = is_by_column(x)
    cubes = np.zeros((k, d))
    fourth_powers = np.zeros((k, d))
    if storage == "diagonal" and not by_column and not has_missing:
        # ``class_chunk`` collects no higher moments, which would cost more than all other sums
        loops.diagonal_chunk(x, codes, w, lo, hi, weights, shifts, sums, squares)
        return recentred(weights, shifts, sums, DiagonalScatter(squares), None)
    thirds = np.zeros((k if fourth else 0, _padded(d), _padded(d)))
    fourths = np.zeros_like(thirds)
    has_shift = np.zeros(k, bool)
    # fourth moments read each block a second time: after small steps, it is still in the cache
    step = block if fourth else max(hi - lo, 1)
    for first in range(lo, hi, step):
        place = (first, min(first + step, hi), block, by_column)
        loops.class_chunk(
            x,
            codes,
            w,
            *place,
            has_missing,
            has_shift,
            weights,
            shifts,
            sums,
            squares,
            grams,
            cubes,
            fourth_powers,
        )
        if fourth:
            loops.fourth_chunk(x, codes, w, *place, shifts, thirds, fourths)
    if storage == "diagonal":
        return recentred(weights, shifts, sums, DiagonalScatter(squares), None)
    scatter = PerClassScatter(symmetric(grams[:, :d, :d]))
    fourth_moments = None
    if fourth:
        fourth_moments = FourthMoments(thirds[:, :d, :d], symmetric(fourths[:, :d, :d]))
    squares = scatter.diagonals().copy()  # a copy, so that the matrices can be freed
    higher = PowerSums(weights, shifts, sums, squares, cubes, fourth_powers)
    return recentred(weights, shifts, sums, scatter, fourth_moments)._replace(higher=higher)


def _loop_inputs(rows: Table) -> tuple[Array, Array, Array]:
    """Return rows, codes and weights for compiled loops; the weights are empty if all are 1."""
    from suffice.core.compiled import read_only

    weights = np.zeros(0) if rows.weight is None else rows.weight
    x, codes, weights = read_only(rows.x, rows.codes, weights)
    return x, codes, weights


def _padded(d: int) -> int:
    """Return d rounded up to a multiple of 4: the loops multiply blocks of 4 × 4 columns."""
    return -(-d // 4) * 4


def _with_indicators(sums: ChunkSums, rows: Table, lo: int, hi: int) -> ChunkSums:
    """Add the sums of the indicators of rows lo … hi−1 to the sums of their numbers."""
    storage = sums.scatter.storage
    indicators = indicator_sums(rows, lo, hi, sums.means + sums.means_low, storage)
    # the mean of an indicator is the frequency of its level: p = n / w
    frequencies = ratio(indicators.weights, sums.weights[:, None])
    return sums._replace(
        means=np.concatenate([sums.means, frequencies], axis=1),
        means_low=np.concatenate([sums.means_low, np.zeros_like(frequencies)], axis=1),
        scatter=joined_scatter(sums.scatter, indicators, frequencies),
    )


def refuse_vanishing(table: Table, means: Floats, squares: Floats) -> None:
    """Raise if a column varies so little that its sum of squares underflows.

    ``squares`` is Σ w (x − μ)², (d,).
    """
    vanishing = np.flatnonzero(squares[: table.x.shape[1]] < SMALLEST)
    if not len(vanishing):
        return
    for lo in range(0, table.n_rows, _CHUNK_ROWS):
        rows = table.take(slice(lo, lo + _CHUNK_ROWS))
        deviations = np.abs(rows.x[:, vanishing] - means[rows.codes][:, vanishing])
        largest = deviations[rows.weights > 0].max(0, initial=0.0)
        if largest.any():
            j = int(np.flatnonzero(largest)[0])
            if np.square(largest[j]) >= SMALLEST:
                raise InvalidInputError(
                    "products of sample_weight and squares underflow to zero: the largest weight "
                    f"is {rows.weights.max():.3g}; multiply all weights by a constant"
                )
            raise InvalidInputError(
                f"the squares of column {column_name(table.names, int(vanishing[j]))} underflow to "
                f"zero, because it differs from the means of its classes by {largest[j]:.1g} only; "
                "rescale it"
            )


def recentred(
    weights: Floats,
    shifts: Floats,
    sums: Floats,
    products: Scatter,
    fourth: FourthMoments | None,
) -> ChunkSums:
    """Turn sums about a shift into sums about the mean: M = Σ w z zᵀ − w m mᵀ,  m = Σ w z / w."""
    # a later check reports an overflow with its row and column
    with np.errstate(invalid="ignore", over="ignore"):
        offsets = ratio(sums, as_columns(weights))
        means, means_low = two_sum(np.where(as_columns(weights > 0), shifts, 0.0), offsets)
        if fourth is not None:
            fourth = fourth.recentred(weights, sums, products.per_class(), -offsets)
        scatter = products.shifted(-weights, offsets)
    return ChunkSums(weights, means, means_low, scatter, fourth)


def ratio(top: Array, bottom: Array) -> Floats:
    """Return top / bottom, and 0 where bottom is 0."""
    shape = np.broadcast_shapes(np.shape(top), np.shape(bottom))
    return np.divide(top, bottom, out=np.zeros(shape), where=bottom != 0)
