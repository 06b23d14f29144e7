"""Sums of rows with missing numbers: by pattern of observed columns, or by column.

Each class and set of observed columns is a *cell*, whose holes are zeros: moments with a text key
in the place of the class. A cell of fewer rows than columns stays rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from suffice.core.moments import collect, merging
from suffice.core.moments.collect import all_numbers, in_threads, ratio, recentred, two_sum
from suffice.core.moments.merging import (
    ROUNDING,
    aligned,
    by_class,
    merged,
    over_classes,
    some_classes,
)
from suffice.core.moments.scatter import (
    SCATTERS,
    DiagonalScatter,
    PerClassScatter,
    PooledScatter,
)
from suffice.core.table import Table
from suffice.core.table.labels import encode
from suffice.core.table.sampling import places_within
from suffice.errors import ForgetError, InvalidInputError
from suffice.typing import Codes, Flags, Floats, Labels

if TYPE_CHECKING:
    from suffice.core.moments.moments import Moments

_DIGITS = 6  # of the class, in front of the columns in the key of a cell
_NEVER_ADDED = (
    "cannot forget these rows: some have a pattern of missing values, or numbers, that were never "
    "added"
)
_MOST_NUMBERS = 1 << 25  # in the matrices of all cells, where patterns are bounded


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Cells and single rows alike: each has a class, observed columns, a weight and a mean."""

    class_of: Codes  # (N,), ascending
    observed: Flags  # (N, d)
    counts: Codes  # rows of each  (N,)
    weights: Floats  # (N,)
    means: Floats  # (N, d), zero where not observed
    means_low: Floats  # (N, d)
    scatters: Floats  # of the cells (C, d, d), zero where not observed
    cells: Codes  # where the cells are among the units  (C,)


@dataclass(frozen=True, slots=True, eq=False)
class PatternSums:
    """Sums of each class and pattern of observed columns, and the rows of rare patterns."""

    cells: Moments  # a cell in the place of a class: see ``_keys``
    rows: Table  # of rare patterns, holes NaN
    lost: Codes  # numbers of each column given up, to keep few patterns  (d,)
    limit: int | None = None  # most patterns a class; None: all of them

    @classmethod
    def of_table(cls, table: Table, blank: Moments, limit: int | None) -> PatternSums:
        """Return the sums of rows with holes, each of some weight; ``blank`` are without rows."""
        return _settled(_no_cells(blank), table, np.zeros(table.n_features, np.intp), limit)

    @classmethod
    def of_complete(cls, m: Moments) -> PatternSums:
        """Return the same sums as those of the pattern without holes."""
        k, d = m.means.shape
        if isinstance(m.scatter, PerClassScatter):
            values = m.scatter.values
        else:  # only the sum over classes is ever read, and known: any class may hold it
            values = np.zeros((k, d, d))
            values[np.argmax(m.weights)] = m.pooled_scatter
        keys = _keys(np.arange(k), np.ones((k, d), bool))
        cells = replace(_plain(m), classes=keys, scatter=PerClassScatter(values))
        rows = Table(np.zeros((0, d)), m.classes, np.zeros(0, np.intp))
        return cls(some_classes(cells, np.flatnonzero(m.counts)), rows, np.zeros(d, np.intp))

    @property
    def class_of(self) -> Codes:  # (C,)
        return _decoded(self.cells)[0]

    @property
    def observed(self) -> Flags:  # (C, d)
        return _decoded(self.cells)[1]

    @property
    def units(self) -> Units:
        """Cells and rows, by class."""
        seen = ~np.isnan(self.rows.x)
        class_of = np.concatenate([self.class_of, self.rows.codes])
        order = np.argsort(class_of, kind="stable")
        cells, x = self.cells, np.where(seen, self.rows.x, 0.0)
        above = (self.observed, cells.counts, cells.weights, cells.means, cells.means_low)
        below = (seen, np.ones(len(seen), np.intp), self.rows.weights, x, np.zeros(seen.shape))
        both: Any = [np.concatenate(pair)[order] for pair in zip(above, below, strict=True)]
        which = np.argsort(order)[: cells.n_classes]
        return Units(*(class_of[order], *both, cells.scatters, which))

    def plus(self, other: Incomplete) -> Incomplete:
        if isinstance(other, ColumnSums):
            return self.by_column().plus(other)
        limits = [limit for limit in (self.limit, other.limit) if limit is not None]
        cells, rows = aligned(self.cells, other.cells), _stacked(self.rows, other.rows)
        return _settled(
            merged(*cells), rows, self.lost + other.lost, min(limits, default=None)
        )

    def minus(self, other: Incomplete, *, pooled: bool) -> Incomplete:
        """Return the sums without rows that were added before."""
        if isinstance(other, ColumnSums):
            return self.by_column().minus(other, pooled=pooled)
        rows, unfound = _difference(self.rows, other.rows)
        gone = _settled(other.cells, unfound, other.lost, None, at_least=1).cells
        total, part = aligned(self.cells, gone)
        if np.any((part.counts > total.counts) | (part.weights > total.weights * (1 + 1e-8))):
            raise ForgetError(_NEVER_ADDED)
        rest = merged(total, part, -1.0)
        rest = some_classes(_inherited(rest) if pooled else rest, np.flatnonzero(rest.counts))
        return replace(self, cells=rest, rows=rows, lost=np.maximum(self.lost - other.lost, 0))

    def settled(self, constant: Flags, peaks: Floats, *, pooled: bool) -> PatternSums:
        """Return the sums with exact zeros for what is constant in its class, (K, d)."""
        squares, single = (
            self.cells.diagonals,
            (self.cells.counts <= 1)[:, None] & (not pooled),
        )
        slack = np.where(single, 1e-8, ROUNDING) * peaks[self.class_of]
        kept = ~constant[self.class_of]
        if (kept & (np.where(single, np.abs(squares), -squares) > slack)).any() and not pooled:
            raise ForgetError(_NEVER_ADDED)
        kept &= ~single
        scatter = PerClassScatter(self.cells.scatters * (kept[:, :, None] & kept[:, None, :]))
        return replace(self, cells=replace(self.cells, scatter=scatter))

    def by_class(self, change: Callable[[Any], Any], classes: Labels) -> PatternSums:
        """Return the sums of other classes, by a change of the first axis."""
        place = _places(change, len(self.rows.classes))
        kept, here = np.flatnonzero(place[self.class_of] >= 0), place[self.rows.codes] >= 0
        keys = _keys(place[self.class_of[kept]], self.observed[kept])
        cells, rows = (
            replace(some_classes(self.cells, kept), classes=keys),
            self.rows.take(here),
        )
        rows = replace(rows, classes=classes, codes=place[rows.codes])
        return replace(self, cells=cells, rows=rows)

    def select(self, columns: Codes) -> PatternSums:
        """Return the sums of some features only: patterns that differed elsewhere merge."""
        keys = _keys(self.class_of, self.observed[:, columns])
        cells = _regrouped(self.cells.select(columns), keys)
        rows = self.rows.with_rows(self.rows.x[:, columns])
        return _settled(cells, rows, self.lost[columns], self.limit)

    def mapped(self, change: Floats) -> PatternSums:
        """Return the sums of T x, where T moves features and adds levels to each other."""
        lacking = (~self.observed).astype(np.float64) @ (change != 0).T > 0
        x, holes = np.where(np.isnan(self.rows.x), 0.0, self.rows.x), np.isnan(self.rows.x)
        x = np.where(holes.astype(np.float64) @ (change != 0).T > 0, np.nan, x @ change.T)
        cells = replace(
            merging.mapped(self.cells, change), classes=_keys(self.class_of, ~lacking)
        )
        lost = (self.lost @ (change != 0).T).astype(np.intp)
        return replace(self, cells=cells, rows=self.rows.with_rows(x), lost=lost)

    def by_column(self) -> ColumnSums:
        """Return the sums of each class and column alone."""
        units, k = self.units, len(self.rows.classes)
        weights, means, low, squares, _ = _column_sums(units, k, pairs=False)
        counts = np.zeros(weights.shape, np.intp)
        np.add.at(counts, units.class_of, units.counts[:, None] * units.observed)
        sums: Any = {"means": means, "means_low": low, "scatter": DiagonalScatter(squares)}
        sums |= {"classes": self.rows.classes, "counts": counts, "weights": weights}
        return ColumnSums(replace(self.cells, **sums))

    def sums(self) -> tuple[Floats, ...]:
        """Return weights and means of columns (K, d), products and weights of pairs (K, d, d)."""
        return _column_sums(self.units, len(self.rows.classes), pairs=True)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSums:
    """Sums of each class and column over the rows that have it: O(K d) numbers for any holes."""

    cells: Moments  # counts and weights are those of each column  (K, d)
    limit, lost = None, np.zeros(0, np.intp)  # no number is given up

    @classmethod
    def of_table(cls, table: Table, blank: Moments, limit: int | None) -> ColumnSums:
        if table.x.size <= collect.SMALL:
            return PatternSums(_no_cells(blank), _numbers(table), cls.lost, limit).by_column()
        none, p = cls.of_complete(blank).cells, table.x.shape[1]
        parts = in_threads(partial(_observed, table, none), table.n_rows, table.n_classes)
        cells = reduce(merged, parts)
        if table.indicators is not None:
            every = cls.of_complete(_sums(table, _plain(blank), "diagonal")).cells
            for sums in (every.counts, every.weights, every.scatter.values):
                sums[:, :p] = 0  # numbers are known already
            cells = merged(cells, every)
        return cls(cells)

    @classmethod
    def of_complete(cls, m: Moments) -> ColumnSums:
        weights = np.repeat(m.weights[:, None], m.n_features, axis=1)
        counts = np.repeat(m.counts[:, None], m.n_features, axis=1)
        scatter = DiagonalScatter(m.diagonals)
        return cls(replace(_plain(m), weights=weights, counts=counts, scatter=scatter))

    def by_column(self) -> ColumnSums:
        return self

    def plus(self, other: Incomplete) -> ColumnSums:
        return ColumnSums(merged(self.cells, other.by_column().cells))

    def minus(self, other: Incomplete, *, pooled: bool) -> ColumnSums:  # noqa: ARG002
        part, held = other.by_column().cells, self.cells.counts
        for k, j in np.argwhere(part.counts > held)[:1]:
            found = f"cannot forget {part.counts[k, j]} numbers of column {j}"
            raise ForgetError(f"{found}: only {held[k, j]} were ever added")
        return ColumnSums(merging.without_gone(merged(self.cells, part, -1.0)))

    def settled(self, constant: Flags, _: Floats, *, pooled: bool) -> ColumnSums:  # noqa: ARG002
        scatter = DiagonalScatter(np.where(constant, 0.0, self.cells.diagonals))
        return ColumnSums(replace(self.cells, scatter=scatter))

    def by_class(self, change: Callable[[Any], Any], classes: Labels) -> ColumnSums:
        return ColumnSums(by_class(self.cells, classes, change))

    def select(self, columns: Codes) -> ColumnSums:
        counts, weights = self.cells.counts[:, columns], self.cells.weights[:, columns]
        return ColumnSums(replace(self.cells.select(columns), counts=counts, weights=weights))

    def mapped(self, change: Floats) -> ColumnSums:
        counts, weights = (
            # a level that is new is known to be zero, for all rows of the class
            np.stack(
                [each[:, row if row.any() else ...].max(1) for row in change != 0], axis=1
            )
            for each in (self.cells.counts, self.cells.weights)
        )
        found = replace(merging.mapped(self.cells, change), counts=counts, weights=weights)
        # levels that were added to each other are one level:  Σ w (m − p)² = w p (1 − p)
        joined = weights * found.means * (1 - found.means)
        several = np.count_nonzero(change, axis=1) > 1
        scatter = DiagonalScatter(np.where(several, joined, found.diagonals))
        return ColumnSums(replace(found, scatter=scatter))

    @property
    def flat(self) -> Moments:
        """The same as moments of one feature with K d classes: those of class 0 come first."""
        labels = np.arange(self.cells.means.size)
        flat = by_class(self.cells, labels, lambda values: values.reshape(-1, 1))
        return replace(flat, counts=flat.counts.ravel(), weights=flat.weights.ravel())

    def sums(self) -> tuple[Floats, ...]:
        """Return weights, means and squares of columns, and the weights of squares, (K, d) each."""
        c = self.cells
        return c.weights, c.means, c.means_low, c.scatter.values, c.weights


Incomplete: TypeAlias = PatternSums | ColumnSums  # what moments know of rows with holes


def incomplete(m: Moments) -> Incomplete:
    """Return what moments know of rows with holes, those of complete rows included."""
    return m.patterns or kind_of(m.storage).of_complete(m)


def kind_of(storage: str) -> type[Incomplete]:
    """Return how rows with holes are summed up where scatter is kept so."""
    return ColumnSums if storage == "diagonal" else PatternSums


def combined(a: Moments, b: Moments) -> Moments:
    """Return a + b of aligned moments, with or without holes."""
    if a.patterns is None and b.patterns is None:
        return merged(a, b)
    plain = merged(replace(a, fourth=None), b)  # weights, counts and powers add as ever
    return with_patterns(plain, incomplete(a).plus(incomplete(b)), plain.storage)


def forgotten(a: Moments, b: Moments) -> Moments:
    """Return a − b of aligned moments, or say that b was never added, or what would be lost."""
    if a.patterns is None and b.patterns is None:
        return merging.without(a, b)
    plain = merged(replace(a, fourth=None), b, -1.0)
    pooled = plain.storage == "pooled"
    before = incomplete(a)
    rest = before.minus(incomplete(b), pooled=pooled)
    cells = (each.by_column().cells for each in (before, rest))
    both = [replace(each, feature_names=a.feature_names) for each in cells]
    if pooled:  # what a class varies by is not known
        sums = [PooledScatter(np.diag(each.scatter.pooled_diagonal())) for each in both]
        both = [
            replace(each, scatter=scatter) for each, scatter in zip(both, sums, strict=True)
        ]
    constant, peaks = merging.spread_left(replace(both[0], peaks=a.peaks), both[1])
    rest = rest.settled(constant, peaks, pooled=pooled)
    whole = with_patterns(replace(plain, peaks=peaks), rest, plain.storage)
    return merging.without_gone(whole)


def with_patterns(m: Moments, patterns: Incomplete, storage: str) -> Moments:
    """Return moments of rows with holes: weights of all rows, other sums read out of patterns."""
    means, low, sums = _filled(m.weights, patterns.sums(), pooled=storage == "pooled")
    scatter = SCATTERS[storage](sums)
    return replace(
        m, patterns=patterns, fourth=None, means=means, means_low=low, scatter=scatter
    )


def _settled(
    cells: Moments,
    rows: Table,
    lost: Codes,
    limit: int | None,
    at_least: int | None = None,
) -> PatternSums:
    """Sum the rows whose cell is known or has many; keep few patterns where that was asked for."""
    codes, first = _cell_codes(rows)
    seen = np.ones((len(first), rows.n_features), bool)  # indicators have no holes
    seen[:, : rows.x.shape[1]] = ~np.isnan(rows.x[first])
    keys = _keys(rows.codes[first], seen)
    enough = np.bincount(codes, minlength=len(keys)) >= (at_least or rows.n_features)
    summed = enough | np.isin(keys, cells.classes)
    if summed.any():
        # rows that stay go to one more class, which is dropped
        labels = np.append(keys[summed], "")
        order = np.argsort(labels[:-1])  # labels of moments are sorted
        place = np.full(len(keys), len(order))
        place[np.flatnonzero(summed)[order]] = np.arange(len(order))
        table = replace(rows, classes=labels, codes=place[codes])
        new = some_classes(_sums(table, cells, "per-class"), np.arange(len(order)))
        new = replace(new, classes=labels[:-1][order])
        cells = merged(*aligned(cells, new))
        rows = rows.take(np.flatnonzero(~summed[codes]))
    found = PatternSums(cells, _numbers(rows), lost, limit)
    return found if limit is None else _coarsened(found, limit)


def _sums(table: Table, blank: Moments, storage: Any) -> Moments:
    """Return the sums of rows by cell, holes as zeros."""
    parts = collect.collect(table, storage, fourth=False, filled=True)
    with np.errstate(invalid="ignore", over="ignore"):
        labels, none = table.classes, np.zeros(table.n_classes, np.intp)
        each = (
            replace(blank, classes=labels, counts=none, **part._asdict()) for part in parts
        )
        total = reduce(merged, each)
    return replace(total, counts=np.bincount(table.codes, minlength=table.n_classes))


def _no_cells(blank: Moments) -> Moments:
    none, d = np.zeros(0, np.intp), blank.n_features
    keys, scatter = _keys(none, np.ones((0, d), bool)), PerClassScatter(np.zeros((0, d, d)))
    return replace(some_classes(_plain(blank), none), classes=keys, scatter=scatter)


def _numbers(rows: Table) -> Table:
    rows = rows if rows.schema is None else all_numbers(rows)
    return rows.with_rows(np.asarray(rows.x, np.float64))


def _observed(table: Table, blank: Moments, lo: int, hi: int) -> Moments:
    """Return the sums of rows lo … hi, with counts and weights of each column."""
    from suffice.core.moments import loops as kernels

    counts, weights, shifts, sums, squares = np.zeros((5, table.n_classes, table.n_features))
    w = np.zeros(0) if table.weight is None else table.weight
    kernels.observed_chunk(
        table.x, table.codes, w, lo, hi, counts, weights, shifts, sums, squares
    )
    found = recentred(weights, shifts, sums, DiagonalScatter(squares), None)
    return replace(blank, counts=counts.astype(np.intp), **found._asdict())


def _cell_codes(rows: Table) -> tuple[Codes, Codes]:
    """Return the cell of each row (n,), and a row of each cell."""
    codes, d = rows.codes, rows.x.shape[1]
    for i, word in enumerate(hole_words(rows.x, "<u4").T):
        codes = encode(codes.astype(np.int64) << min(d - 32 * i, 32) | word)[1]
    first = np.empty(int(codes.max(initial=-1)) + 1, np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes, first


def hole_words(x: Any, dtype: str) -> Any:
    """Return which columns each row lacks, as the bits of unsigned integers, (n, words)."""
    bits = np.packbits(np.isnan(x), axis=1, bitorder="little")
    words = np.zeros((len(x), max(-(-bits.shape[1] // np.dtype(dtype).itemsize), 1)), dtype)
    words.view(np.uint8)[:, : bits.shape[1]] = bits
    return words


def _keys(class_of: Codes, observed: Flags) -> Labels:
    """Return the label of each cell: digits of its class, then 1 or 0 for each column."""
    if class_of.max(initial=0) >= 10**_DIGITS:
        msg = f"empty cells in more than {10**_DIGITS:,} classes: use missing='indicator'"
        raise InvalidInputError(msg)
    digits = class_of[:, None] // 10 ** np.arange(_DIGITS - 1, -1, -1) % 10
    chars = np.concatenate([digits, observed], axis=1).astype(np.uint32) + ord("0")
    return np.ascontiguousarray(chars).view(f"U{chars.shape[1]}").reshape(len(chars))


def _decoded(cells: Moments) -> tuple[Codes, Flags]:
    """Return the class (C,) and the observed columns (C, d) of each cell."""
    width = _DIGITS + cells.n_features
    chars = np.ascontiguousarray(cells.classes.astype(f"U{width}")).view(np.uint32)
    digits = chars.reshape(-1, width).astype(np.intp) - ord("0")
    return digits[:, :_DIGITS] @ 10 ** np.arange(_DIGITS - 1, -1, -1), digits[:, _DIGITS:] == 1


def _regrouped(cells: Moments, keys: Labels) -> Moments:
    """Return the cells under other keys, those of one key merged."""
    labels, code = np.unique(keys, return_inverse=True)
    seen = _decoded(replace(cells, classes=keys))[1]
    pairs = PerClassScatter(cells.scatters * (seen[:, :, None] & seen[:, None, :]))
    means: Any = {"means": cells.means * seen, "means_low": cells.means_low * seen}
    cells = replace(cells, scatter=pairs, **means)
    total = over_classes(some_classes(cells, np.zeros(0, np.intp)), labels)
    turn = places_within(code, np.arange(len(code)))
    for r in range(int(turn.max(initial=-1)) + 1):
        part = replace(some_classes(cells, turn == r), classes=keys[turn == r])
        total = merged(total, over_classes(part, labels))
    return total


def _inherited(cells: Moments) -> Moments:
    """Return cells whose scatter, where no row is left, another of the same columns holds."""
    observed, values = _decoded(cells)[1], cells.scatters.copy()
    group = np.unique(observed, axis=0, return_inverse=True)[1]
    heir = np.full(len(group), -1)
    heir[group[cells.counts > 0]] = np.flatnonzero(cells.counts)
    for gone in np.flatnonzero((cells.counts == 0) & (heir[group] >= 0)):
        values[heir[group[gone]]] += values[gone]
    return replace(cells, scatter=PerClassScatter(values))


def _coarsened(found: PatternSums, limit: int) -> PatternSums:
    """Return the sums with at most ``limit`` patterns a class, rare ones cut to a smaller one."""
    k, d = len(found.rows.classes), found.rows.n_features
    most = max(2, min(limit, _MOST_NUMBERS // max(k * d * d, 1)))
    class_of, observed, rows = found.class_of, found.observed.copy(), found.rows
    full = np.bincount(class_of, minlength=k) > most
    full |= np.bincount(rows.codes, minlength=k) > most * d
    if not full.any():
        return found
    x, lost = rows.x.copy(), found.lost.copy()
    for c in np.flatnonzero(full):
        mine, here = np.flatnonzero(class_of == c), np.flatnonzero(rows.codes == c)
        codes, first = _cell_codes(rows.take(here))
        patterns = np.concatenate([observed[mine], ~np.isnan(x[here[first]])])
        counts = np.append(found.cells.counts[mine], np.bincount(codes, minlength=len(first)))
        smaller = _smaller_patterns(patterns, counts, most)
        lost += (counts[:, None] * (patterns & ~smaller)).sum(0)
        observed[mine] = smaller[: len(mine)]
        x[here] = np.where(smaller[len(mine) :][codes], x[here], np.nan)
    cells = _regrouped(found.cells, _keys(class_of, observed))
    kept = np.flatnonzero(~full[rows.codes])
    summed = _settled(cells, rows.with_rows(x).take(full[rows.codes]), lost, None, at_least=1)
    return replace(summed, rows=rows.take(kept), limit=found.limit)


def _smaller_patterns(patterns: Flags, counts: Codes, most: int) -> Flags:
    """Return for each pattern itself, if it is frequent, or one inside it that loses least."""
    # half of those kept are the most frequent; the others are unions of blocks of neighbouring
    # columns, few enough that all of them are affordable: one fits any row
    blocks = np.array_split(np.arange(patterns.shape[1]), max(int(np.log2(most / 2)), 1))
    whole = patterns.copy()
    for block in blocks:
        whole[:, block] &= patterns[:, block].all(1, keepdims=True)
    frequent = np.argsort(-counts, kind="stable")[: most // 2]
    kept = patterns[frequent].astype(np.float64)
    # a pattern fits where it has no column that the row lacks
    sizes = np.where((~patterns).astype(np.float64) @ kept.T == 0, kept.sum(1), -1.0)
    best, better = sizes.argmax(1), sizes.max(1) >= whole.sum(1)
    return np.where(better[:, None], patterns[frequent][best], whole)


def _column_sums(units: Units, k: int, *, pairs: bool) -> tuple[Floats, ...]:
    """Return weights, means (high, low), squares of columns and their weights; or of ``pairs``."""
    d = units.observed.shape[1]
    weights, means, low = np.zeros((3, k, d))
    products, shared = np.zeros((2, k, d, d) if pairs else (2, k, d))
    scatters = units.scatters if pairs else np.diagonal(units.scatters, axis1=1, axis2=2)
    np.add.at(products, units.class_of[units.cells], scatters)
    edges = np.searchsorted(units.class_of, np.arange(k + 1))
    for c in np.flatnonzero(np.diff(edges)):
        at = slice(edges[c], edges[c + 1])
        seen = units.observed[at].astype(np.float64)
        w = units.weights[at, None] * seen
        pivot = units.means[at][seen.argmax(0), np.arange(d)]
        delta = seen * ((units.means[at] - pivot) + units.means_low[at])
        weights[c] = w.sum(0)
        offset = ratio((w * delta).sum(0), weights[c])
        means[c], low[c] = two_sum(pivot, offset)
        z = delta - seen * offset
        products[c] += (w * z).T @ z if pairs else (w * z * z).sum(0)
        shared[c] = w.T @ seen if pairs else weights[c]
    return weights, means, low, products, shared


def _filled(total: Floats, found: tuple[Floats, ...], *, pooled: bool) -> tuple[Floats, ...]:
    """Return means, and sums scaled to the weight of each class; what it lacks from the others."""
    weights, means, low, sums, shared = found
    # S_ij w_k / w_ij: the available cases
    if pooled:
        scaled = ratio(sums.sum(0), shared.sum(0)) * total.sum()
    else:
        scaled = ratio(sums, shared) * total.reshape(-1, *[1] * (sums.ndim - 1))
    gone = (weights == 0) & (total > 0)[:, None]
    if not gone.any():
        return means, low, scaled
    pivot = means[weights.argmax(0), np.arange(means.shape[1])]
    mean = pivot + ratio((weights * (means - pivot)).sum(0), weights.sum(0))
    if not pooled:
        squares = scaled if sums.ndim == 2 else np.einsum("kjj->kj", scaled)
        variance = ratio(squares.sum(0), (total[:, None] * ~gone).sum(0))
        squares += np.where(gone, total[:, None] * variance, 0.0)
    return np.where(gone, mean, means), np.where(gone, 0.0, low), scaled


def _plain(m: Moments) -> Moments:
    bare = ("feature_names", "fourth", "power", "log_slopes", "schema", "patterns", "peaks")
    nothing: dict[str, Any] = dict.fromkeys(bare)
    return replace(m, **nothing)


def _places(change: Callable[[Any], Any], k: int) -> Codes:
    """Return where a change of the first axis puts each of k classes; −1 where nowhere."""
    old = change(np.arange(1, k + 1))
    places = np.full(k, -1)
    places[old[old > 0] - 1] = np.flatnonzero(old > 0)
    return places


def _stacked(a: Table, b: Table) -> Table:
    plain = a.weight is None and b.weight is None
    weight = None if plain else np.concatenate([a.weights, b.weights])
    x, codes = np.concatenate([a.x, b.x]), np.concatenate([a.codes, b.codes])
    return Table(x, a.classes, codes, weight)


def _difference(total: Table, part: Table) -> tuple[Table, Table]:
    """Return the rows of ``total`` less those of ``part``, and those of ``part`` not among them."""
    both = _stacked(total, part)
    # −0 and 0 are one number, and every NaN is the same
    fields = np.column_stack(
        [both.codes, both.weights, np.where(np.isnan(both.x), np.nan, both.x)]
    )
    fields = np.ascontiguousarray(fields + 0.0)
    ids = np.unique(fields.view(f"V{fields.shape[1] * 8}").ravel(), return_inverse=True)[1]
    of_total, of_part = ids[: total.n_rows], ids[total.n_rows :]
    n = int(ids.max(initial=-1)) + 1
    common = np.minimum(np.bincount(of_total, minlength=n), np.bincount(of_part, minlength=n))
    rest, unfound = (
        places_within(each, np.arange(len(each))) >= common[each]
        for each in (of_total, of_part)
    )
    return total.take(rest), part.take(unfound)
