"""From rows to exact sums: small inputs by NumPy, large ones by compiled chunks in threads."""

from __future__ import annotations

import functools

import numpy as np

from suffice.core.moments.collect import SMALL, in_threads
from suffice.core.moments.exact import MOST_WEIGHT, ExactSums
from suffice.core.moments.grid import BITS, RoundingGrid
from suffice.core.moments.int128 import Int128
from suffice.core.moments.scatter import Storage
from suffice.core.table import Table
from suffice.core.table.matrix import column_name
from suffice.core.text.lists import quoted
from suffice.errors import InvalidInputError, InvalidParameterError, warn
from suffice.typing import Array, Codes, Floats

HALF = 20  # bits: q = 2²⁰ upper + lower, and |upper|, |lower| ≤ 2¹⁹
_BLOCK_ROWS = 4096  # products of 2¹⁹ · 2¹⁹ · 7 add up below 2⁵³, free of rounding
_WIDE = 128  # features: their matrices are large, and change less often in larger blocks
_WIDE_BLOCK_ROWS = 16_384
_WEIGHT_BITS = 3  # weights are summed digit by digit, from 0 to 7
_LOST_SHARE = 1e-6  # of a standard deviation that rounding may change without a warning


def exact_sums(
    table: Table, grid: RoundingGrid, storage: Storage, *, numbered: bool = True
) -> ExactSums:
    """Return the sums of rows, rounded to the grid.

    ``numbered`` says whether the table holds all rows, so that errors can number them.
    """
    _check(table, storage)
    rows = table
    if table.has_absent_rows:
        rows = table.take(table.weights > 0)
        numbered = False
    empty = _empty(rows, grid, storage)
    if rows.x.size <= SMALL:
        return _with_numpy(rows, empty, numbered=numbered)

    def chunk(lo: int, hi: int) -> ExactSums:
        return _compiled(rows, empty, lo, hi, numbered=numbered)

    parts = in_threads(chunk, rows.n_rows, rows.n_classes)
    return functools.reduce(lambda a, b: a + b, parts)


def warn_of_coarse_grid(
    grid: RoundingGrid, x: Floats, feature_names: tuple[str, ...] | None
) -> None:
    """Warn where rounding to the grid changes rows ``x`` noticeably."""
    if len(x) < 2:
        return
    values = x.astype(np.float64, copy=False)
    spreads = values.std(0)
    # a value is off by at most half a step, and most grids are far finer than that matters
    is_coarse = grid.steps / 2 > _LOST_SHARE * spreads
    for j in np.flatnonzero(is_coarse & (spreads > 0)).tolist():
        column = values[:, j]
        offsets = (column - grid.origins[j]) / grid.steps[j]
        rounded = np.rint(offsets) * grid.steps[j] + grid.origins[j]
        lost = float(np.sqrt(np.mean(np.square(rounded - column))))
        spread = float(spreads[j])
        if lost > _LOST_SHARE * spread:
            # the share of the variance that rounding errors have, as in an analysis of variance
            share = min((lost / spread) ** 2, 1.0)
            warn(
                f"the grid is coarse for feature {column_name(feature_names, j)}: rounding to "
                f"steps of {grid.steps[j]:g} loses {100 * share:.2g} % of its variance; make a "
                "grid with a smaller exponent"
            )


def refuse_incomplete(table: Table) -> None:
    """Raise unless every column holds numbers."""
    if table.schema is None:
        return
    names = [category.name for category in table.schema.categories]
    if names:
        raise InvalidInputError(
            f"exact sums hold numbers, but {quoted(names, 5)} "
            f"{'holds' if len(names) == 1 else 'hold'} categories: leave "
            f"{'this column' if len(names) == 1 else 'these columns'} out, or collect ordinary sums"
        )
    raise InvalidInputError(
        "exact sums hold complete numbers, but missing values are marked by indicators here: "
        "leave out missing='indicator' and the rows without a value, or collect ordinary sums"
    )


def _check(table: Table, storage: Storage) -> None:
    if storage == "diagonal":
        raise InvalidParameterError(
            "exact sums need storage='per-class' or 'pooled', got 'diagonal'"
        )
    if table.weight is None:
        return
    is_whole = (table.weight == np.rint(table.weight)) & (table.weight < MOST_WEIGHT)
    if not is_whole.all():
        weight = table.weight[np.argmin(is_whole)]
        raise InvalidInputError(
            f"some row has weight {weight:g}, and exact sums need weights that are whole numbers "
            f"below {MOST_WEIGHT:,}: round them, or collect ordinary sums"
        )


def _empty(rows: Table, grid: RoundingGrid, storage: Storage) -> ExactSums:
    k = rows.n_classes
    d = grid.n_features
    n_groups = k if storage == "per-class" else 1
    return ExactSums(
        grid=grid,
        classes=rows.classes,
        counts=np.zeros(k, np.intp),
        weights=np.zeros(k, np.int64),
        sums=Int128.zeros((k, d)),
        products=Int128.zeros((n_groups, d, d)),
        storage=storage,
    )


def _total(
    empty: ExactSums, rows: Table, lo: int, hi: int, sums: Int128, products: Int128
) -> ExactSums:
    """Return the sums of rows lo … hi−1, given those of their values."""
    k = len(empty.classes)
    codes = rows.codes[lo:hi]
    counts: Codes = np.bincount(codes, minlength=k).astype(np.intp)
    weights = counts.astype(np.int64)
    if rows.weight is not None:
        weights = np.zeros(k, np.int64)
        np.add.at(weights, codes, rows.weight[lo:hi].astype(np.int64))
    return ExactSums(
        grid=empty.grid,
        classes=empty.classes,
        counts=counts,
        weights=weights,
        sums=sums,
        products=products,
        storage=empty.storage,
    )


def _digits(weight: Floats | None, n_rows: int) -> list[tuple[int, Floats]]:
    """Return the digits of weights to the base 8 and their places in bits, zeros left out."""
    if weight is None:
        return [(0, np.ones(n_rows))]
    whole = weight.astype(np.int64)
    digits = []
    for bits in range(0, MOST_WEIGHT.bit_length(), _WEIGHT_BITS):
        digit = (whole >> bits) & ((1 << _WEIGHT_BITS) - 1)
        if digit.any():
            digits.append((bits, digit.astype(np.float64)))
    return digits


def _with_numpy(rows: Table, empty: ExactSums, *, numbered: bool) -> ExactSums:
    q = empty.grid.rounded(rows.x, rows.names, 0 if numbered else None)
    upper = np.rint(np.ldexp(q, -HALF))
    lower = q - np.ldexp(upper, HALF)
    sums = Int128.zeros(empty.sums.shape)
    products = Int128.zeros(empty.products.shape)
    for bits, digits in _digits(rows.weight, rows.n_rows):
        for k in range(rows.n_classes):
            members = np.flatnonzero((rows.codes == k) & (digits > 0))
            g = k if empty.storage == "per-class" else 0
            for start in range(0, len(members), _BLOCK_ROWS):
                block = members[start : start + _BLOCK_ROWS]
                w = digits[block, None]
                block_sums, block_products = _block_sums(upper[block], lower[block], w)
                _add_at(sums, k, block_sums << bits)
                _add_at(products, g, block_products << bits)
    return _total(empty, rows, 0, rows.n_rows, sums, products)


def _block_sums(upper: Floats, lower: Floats, w: Floats) -> tuple[Int128, Int128]:
    """Return Σ w q and Σ w q qᵀ of at most 4,096 rows, q = 2²⁰ upper + lower."""
    high_sums = Int128.of((w * upper).sum(0)) << HALF
    sums = high_sums + Int128.of((w * lower).sum(0))
    # Σ w q qᵀ = 2⁴⁰ Σ w u uᵀ + 2²⁰ Σ w (u lᵀ + l uᵀ) + Σ w l lᵀ
    cross = (w * upper).T @ lower
    products = (
        (Int128.of((w * upper).T @ upper) << 2 * HALF)
        + (Int128.of(cross + cross.T) << HALF)
        + Int128.of((w * lower).T @ lower)
    )
    return sums, products


def _add_at(total: Int128, k: int, part: Int128) -> None:
    """Add a part to place k of the first axis of a total that nobody else holds."""
    changed = total[k] + part
    total.high[k] = changed.high
    total.low[k] = changed.low


def _compiled(rows: Table, empty: ExactSums, lo: int, hi: int, *, numbered: bool) -> ExactSums:
    """Return the sums of rows lo … hi−1 by a compiled loop."""
    sums = empty.sums
    products = empty.products
    if rows.weight is None:
        sums, products = _loop_sums(rows, empty, lo, hi, np.zeros(0), numbered=numbered)
        return _total(empty, rows, lo, hi, sums, products)
    for bits, digits in _digits(rows.weight, rows.n_rows):
        digit_sums, digit_products = _loop_sums(rows, empty, lo, hi, digits, numbered=numbered)
        sums = sums + (digit_sums << bits)
        products = products + (digit_products << bits)
    return _total(empty, rows, lo, hi, sums, products)


def _loop_sums(
    rows: Table, empty: ExactSums, lo: int, hi: int, digits: Floats, *, numbered: bool
) -> tuple[Int128, Int128]:
    from suffice.core.compiled import read_only
    from suffice.core.moments import exact_loops

    d = empty.n_features
    padded = -(-d // 4) * 4
    sums = np.zeros((2, rows.n_classes, d), np.int64)
    grams = np.zeros((3, empty.products.shape[0], padded, padded), np.int64)
    x, codes, w = read_only(rows.x, rows.codes, digits)
    is_inside, _ = exact_loops.exact_chunk(
        x,
        codes,
        w,
        lo,
        hi,
        max(_WIDE_BLOCK_ROWS if d > _WIDE else _BLOCK_ROWS, 128 * rows.n_classes),
        not x.flags.c_contiguous and abs(x.strides[0]) < abs(x.strides[1]),
        empty.grid.origins,
        np.ldexp(1.0, -empty.grid.exponents),
        float(1 << BITS),
        empty.storage == "pooled",
        sums,
        grams,
    )
    if not is_inside:
        empty.grid.rounded(rows.x[lo:hi], rows.names, lo if numbered else None)  # raises
    total = (Int128.of(sums[0]) << HALF) + Int128.of(sums[1])
    return total, _joined_products(grams[:, :, :d, :d])


def _joined_products(grams: Array) -> Int128:
    """Return P from the lower triangles of Σ u uᵀ, Σ l lᵀ and Σ (u + l)(u + l)ᵀ."""
    upper = Int128.of(_symmetric(grams[0]))
    lower = Int128.of(_symmetric(grams[1]))
    both = Int128.of(_symmetric(grams[2]))
    # u lᵀ + l uᵀ = (u + l)(u + l)ᵀ − u uᵀ − l lᵀ
    cross = both - upper - lower
    return (upper << 2 * HALF) + (cross << HALF) + lower


def _symmetric(lower: Array) -> Array:
    low = np.tril(lower)
    return np.asarray(low + np.swapaxes(np.tril(low, -1), -1, -2))
