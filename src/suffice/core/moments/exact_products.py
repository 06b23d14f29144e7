"""The exact products of rows, P = Σ q qᵀ, and their sums s = Σ q, as integers of 128 bits.

``rounding_grid.py`` rounds a row to steps of the grid, q. ``exact_sums.halves`` splits it:

    q = 2²⁰ hi + lo,  hi = round(q / 2²⁰)

``exact_sums.py`` also computes the scatter M from P and s. The code calls hi and lo ``upper`` and
``lower``.
The products of these halves are so small that floats add them without rounding. Matrix products add
few rows; the compiled loops of ``exact_product_loops.py`` add many rows, in threads.
"""

from __future__ import annotations

import functools

import numpy as np

from suffice.core.moments.collect import SMALL, in_threads
from suffice.core.moments.exact_sums import (
    HALF,
    MOST_WEIGHT,
    ExactSums,
    halves,
    refuse_large_weight,
)
from suffice.core.moments.int128 import Int128, Integers, Words
from suffice.core.moments.rounding_grid import BITS, RoundingGrid
from suffice.core.moments.scatter import Storage
from suffice.core.table import Table
from suffice.core.table.matrix import Matrix, column_name, is_by_column
from suffice.core.text.lists import quoted
from suffice.errors import InvalidInputError, InvalidParameterError, LostDetailWarning, warn
from suffice.typing import Codes, Floats

# (upper + lower)² ≤ 2⁴⁰, times a digit of the weight ≤ 7, sums to less than 2⁵³ in 1,024 rows
_BLOCK_ROWS = 512
_LOOP_ROWS = 4096  # number of rows in a block that a compiled loop sorts by class
_WIDE = 128  # with this many features, reading rows in random order costs no speed
_MOST_CLASSES = 1024  # chunks have 512 rows per class, and 2¹⁹ rows sum to less than 2⁶³
_WEIGHT_BITS = 3  # weights are split into digits from 0 to 7, which are summed one by one
# warn if the rounding errors of a feature exceed this share of its standard deviation
_LOST_SHARE = 1e-6


def exact_sums(
    table: Table, grid: RoundingGrid, storage: Storage, *, numbered: bool = True
) -> ExactSums:
    """Return the sums of rows, rounded to the grid.

    ``numbered`` says whether the table holds all of the user's rows, so that errors can give row
    numbers.
    """
    _check(table, storage)
    rows = table
    if table.has_absent_rows:
        rows = table.take(table.weights > 0)
        numbered = False
    empty = _empty(rows, grid, storage)
    if rows.x.size <= SMALL:
        return _by_blocks(rows, empty, numbered=numbered)

    def chunk(lo: int, hi: int) -> ExactSums:
        return _compiled(rows, empty, lo, hi, numbered=numbered)

    parts = in_threads(chunk, rows.n_rows, min(rows.n_classes, _MOST_CLASSES))
    return functools.reduce(lambda a, b: a + b, parts)


def warn_of_coarse_grid(
    grid: RoundingGrid, x: Floats, feature_names: tuple[str, ...] | None
) -> None:
    """Warn if rounding the rows ``x`` to the grid changes a feature noticeably."""
    if len(x) < 2:
        return
    values = x.astype(np.float64, copy=False)
    spreads = values.std(0)
    # no rounding error exceeds half a step, so the errors of fine grids need not be computed
    is_coarse = grid.steps / 2 > _LOST_SHARE * spreads
    for j in np.flatnonzero(is_coarse & (spreads > 0)).tolist():
        column = values[:, j]
        offsets = (column - grid.origins[j]) / grid.steps[j]
        rounded = np.rint(offsets) * grid.steps[j] + grid.origins[j]
        lost = float(np.sqrt(np.mean(np.square(rounded - column))))
        spread = float(spreads[j])
        if lost > _LOST_SHARE * spread:
            # mean square of the rounding errors, as a share of the variance
            share = min((lost / spread) ** 2, 1.0)
            warn(
                f"the grid is too coarse for feature {column_name(feature_names, j)}: rounding "
                f"to steps of {grid.steps[j]:g} loses {100 * share:.2g} % of its variance; make "
                "a grid with a smaller exponent",
                LostDetailWarning,
            )


def refuse_incomplete(table: Table) -> None:
    """Raise unless every column is numeric and complete."""
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
        "exact sums do not support missing='indicator': leave it out and drop the rows with "
        "missing values, or collect ordinary sums"
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
            f"some row has weight {weight:g}, and exact sums need weights that are integers "
            f"below {MOST_WEIGHT:,}: round them, or collect ordinary sums"
        )
    refuse_large_weight(int(table.weight.sum()))


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
    """Return the exact sums of rows lo … hi−1, given their sums and products."""
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


def _digits(weight: Floats) -> list[tuple[int, Floats]]:
    """Return (bits, digit) pairs with weight = Σ digit · 2^bits and digits from 0 to 7.

    A digit that is zero in all weights is left out.
    """
    whole = weight.astype(np.int64)
    digits = []
    for bits in range(0, MOST_WEIGHT.bit_length(), _WEIGHT_BITS):
        digit = (whole >> bits) & ((1 << _WEIGHT_BITS) - 1)
        if digit.any():
            digits.append((bits, digit.astype(np.float64)))
    return digits


def _by_blocks(rows: Table, empty: ExactSums, *, numbered: bool) -> ExactSums:
    """Return the sums of rows, by matrix products of blocks of rows of one class."""
    grid = empty.grid
    if rows.x.shape[1] != grid.n_features:
        grid.rounded(rows.x, rows.names)  # raises, since the number of features differs
    order = np.argsort(rows.codes, kind="stable")
    edges = np.searchsorted(rows.codes[order], np.arange(rows.n_classes + 1))
    sums = Int128.zeros(empty.sums.shape)
    products = Int128.zeros(empty.products.shape)
    d = grid.n_features
    grams = np.empty((3, d, d), np.int64)  # reused for all classes
    no_digits: list[tuple[int, Floats | None]] = [(0, None)]
    for bits, digits in no_digits if rows.weight is None else _digits(rows.weight):
        for k in np.flatnonzero(np.diff(edges)).tolist():
            members = order[edges[k] : edges[k + 1]]
            class_sums = _class_sums(rows.x, members, digits, grid, grams)
            if class_sums is None:
                grid.rounded(rows.x, rows.names, 0 if numbered else None)  # raises
                continue
            g = k if empty.storage == "per-class" else 0
            _add_at(sums, k, _joined_sums(class_sums) << bits)
            _add_at(products, g, _joined_products(grams) << bits)
    return _total(empty, rows, 0, rows.n_rows, sums, products)


def _class_sums(
    x: Matrix, members: Codes, digits: Floats | None, grid: RoundingGrid, grams: Integers
) -> Integers | None:
    """Return Σ upper and Σ lower of some rows, (2, d), and write three products to ``grams``.

    Each row is multiplied by the current digit of its weight. Return None if a value lies outside
    the grid.
    """
    sums = np.zeros((2, grid.n_features), np.int64)
    product = np.empty(grams.shape[1:])
    for start in range(0, len(members), _BLOCK_ROWS):
        block = members[start : start + _BLOCK_ROWS]
        q = grid.in_steps(x[block])
        if not grid.holds(q):
            return None
        upper, lower = halves(q)
        w = None if digits is None else digits[block, None]
        sums[0] += _weighed(upper, w).sum(0).astype(np.int64)
        sums[1] += _weighed(lower, w).sum(0).astype(np.int64)
        for gram, part in zip(grams, (upper, lower, upper + lower), strict=True):
            np.matmul(_weighed(part, w).T, part, out=product)
            if start == 0:
                np.copyto(gram, product, casting="unsafe")  # the floats are integers
            else:
                gram += product.astype(np.int64)
    return sums


def _weighed(values: Floats, w: Floats | None) -> Floats:
    return values if w is None else w * values


def _add_at(total: Int128, k: int, part: Int128) -> None:
    """Add a part to entry k of a total, in place; no other object may share the total."""
    high = total.high[k]
    low = total.low[k]
    low += part.low
    high += part.high
    high += low < part.low  # the carry


def _compiled(rows: Table, empty: ExactSums, lo: int, hi: int, *, numbered: bool) -> ExactSums:
    """Return the sums of rows lo … hi−1 by a compiled loop."""
    if rows.weight is None:
        sums, products = _loop_sums(rows, empty, lo, hi, np.zeros(0), numbered=numbered)
        return _total(empty, rows, lo, hi, sums, products)
    sums = empty.sums
    products = empty.products
    for bits, digits in _digits(rows.weight):
        digit_sums, digit_products = _loop_sums(rows, empty, lo, hi, digits, numbered=numbered)
        sums = sums + (digit_sums << bits)
        products = products + (digit_products << bits)
    return _total(empty, rows, lo, hi, sums, products)


def _loop_sums(
    rows: Table, empty: ExactSums, lo: int, hi: int, digits: Floats, *, numbered: bool
) -> tuple[Int128, Int128]:
    from suffice.core.compiled import read_only
    from suffice.core.moments import exact_product_loops

    d = empty.n_features
    padded = -(-d // 4) * 4
    sums = np.zeros((2, rows.n_classes, d), np.int64)
    grams = np.zeros((3, empty.products.shape[0], padded, padded), np.int64)
    x, codes, w = read_only(rows.x, rows.codes, digits)
    by_column = is_by_column(x)
    block = max(_LOOP_ROWS, 128 * rows.n_classes)
    if d > _WIDE and not by_column:
        block = hi - lo
    is_inside, _ = exact_product_loops.exact_chunk(
        x,
        codes,
        w,
        lo,
        hi,
        block,
        by_column,
        empty.grid.origins,
        np.ldexp(1.0, -empty.grid.exponents),
        float(1 << BITS),
        empty.storage == "pooled",
        sums,
        grams,
    )
    if not is_inside:
        empty.grid.rounded(rows.x[lo:hi], rows.names, lo if numbered else None)  # raises
    products = Int128.zeros(empty.products.shape)
    for g in range(grams.shape[1]):
        lower = _joined_products(grams[:, g, :d, :d])
        products.high[g] = _symmetric(lower.high)
        products.low[g] = _symmetric(lower.low)
    return _joined_sums(sums), products


def _joined_sums(parts: Integers) -> Int128:
    """Return Σ q from Σ upper and Σ lower."""
    return (Int128.of(parts[0]) << HALF) + Int128.of(parts[1])


def _joined_products(grams: Integers) -> Int128:
    """Return P = Σ q qᵀ from Σ u uᵀ, Σ l lᵀ and Σ (u + l)(u + l)ᵀ."""
    upper, lower, both = grams
    digit = np.int64((1 << HALF) - 1)
    # u lᵀ + l uᵀ = (u + l)(u + l)ᵀ − u uᵀ − l lᵀ
    cross = both - upper
    cross -= lower
    # P = 2⁴⁰ upper + 2²⁰ cross + lower; carry the bits above the 20th to the next term
    cross += lower >> HALF
    top = cross >> HALF
    top += upper
    cross &= digit
    low = top << HALF
    low |= cross
    low <<= HALF
    low |= lower & digit
    top >>= 64 - 2 * HALF
    return Int128(high=top.view(np.uint64), low=low.view(np.uint64))


def _symmetric(lower: Words) -> Words:
    low = np.tril(lower)
    return np.asarray(low + np.swapaxes(np.tril(low, -1), -1, -2))
