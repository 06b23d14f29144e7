"""Exact sums of a table, which its database computes with integers."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import polars as pl

from suffice.core.moments import Moments
from suffice.core.moments.collect import plan
from suffice.core.moments.exact_sums import HALF, ExactSums
from suffice.core.moments.int128 import Int128, Integers
from suffice.core.moments.moments import from_exact
from suffice.core.moments.rounding_grid import BITS, RoundingGrid
from suffice.core.moments.scatter import Storage
from suffice.data.rows.loading import encoded
from suffice.data.sql.engines import Expression
from suffice.data.sql.sums import LABEL, ROWS, TableSums, parts
from suffice.errors import DatabaseError, InvalidInputError

# |u lᵀ + l uᵀ| ≤ 2³⁹ per row, and the sum must stay below 2⁶³
MOST_ROWS = 1 << 23
_ROUND = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer, half to even


@dataclass(frozen=True, eq=False)
class ExactTableSums(TableSums):
    """The usable rows of a table, summed on a grid; ``pilots`` are the origins of the grid."""

    grid: RoundingGrid

    @functools.cached_property
    def steps(self) -> Expression:
        """Label and q = round((x − origin) / 2^e) of each usable row, as floats."""
        rows = self.rows
        columns = {LABEL: rows[LABEL]}
        for j, exponent in enumerate(self.grid.exponents.tolist()):
            columns[f"q{j}"] = _rounded(rows[f"z{j}"] * 2.0**-exponent)
        return rows.select(**columns)

    @functools.cached_property
    def halves(self) -> Expression:
        """Label, and the integers u and l with q = 2²⁰ u + l."""
        steps = self.steps
        columns = {LABEL: steps[LABEL]}
        for j in range(self.grid.n_features):
            q = steps[f"q{j}"]
            upper = _rounded(q * 0.5**HALF)
            columns[f"u{j}"] = upper.cast("int64")
            columns[f"l{j}"] = (q - upper * 2.0**HALF).cast("int64")
        return steps.select(**columns)

    def _moments(self, storage: str) -> tuple[Moments, int]:
        self._check_arithmetic()
        self._refuse_outside()
        n_classes = self._count(self.rows.group_by(LABEL).aggregate(n=self.rows.count()))
        kept, _ = plan(storage, n_classes, self.grid.n_features, fourth=False)
        exact = self._exact_sums(kept)
        n_rows = int(exact.counts.sum())
        if not n_rows:
            return Moments.empty(), 0
        return from_exact(exact, self.roles.features), n_rows

    def _check_arithmetic(self) -> None:
        """Raise unless the engine parses numbers and rounds like 64-bit floats."""
        # adding a float zero makes 2.5 a float in engines that parse it as a decimal number
        zero = self.table.count().cast("float64") * 0.0
        given = [*self.grid.origins.tolist(), *np.ldexp(1.0, -self.grid.exponents).tolist()]
        columns = {f"n{j}": zero + number for j, number in enumerate(given)}
        columns["two"] = _rounded(zero + 2.5)
        columns["four"] = _rounded(zero + 3.5)
        expected = [*given, 2.0, 4.0]
        answer: list[float] = []
        for part in parts(columns, self.engine.max_outputs):
            answer += self.ask(self.table.aggregate(**part)).row(0)
        if answer != expected:
            raise DatabaseError(
                f"{self.label}: its engine does not read and round the numbers of this grid as "
                "floats of 64 bits, so that its sums would not be exact: use on='local'"
            )

    def _refuse_outside(self) -> None:
        """Raise if a value is outside the range of the grid."""
        outputs = {}
        for j in range(self.grid.n_features):
            is_outside = self.steps[f"q{j}"].abs() >= float(1 << BITS)
            outputs[f"o{j}"] = is_outside.cast("int32").sum()
        answer = self._asked(self.steps, outputs, by_class=False)
        if int(answer[ROWS][0]) > MOST_ROWS:
            raise InvalidInputError(
                f"{self.label} has {int(answer[ROWS][0]):,} usable rows, and exact sums inside a "
                f"database hold at most {MOST_ROWS:,}: use on='local'"
            )
        for j, name in enumerate(self.roles.features):
            n_outside = int(answer[f"o{j}"][0] or 0)
            if n_outside:
                raise InvalidInputError(
                    f"{self.label}: {n_outside:,} of the values of column {name!r} lie outside "
                    "the range of the grid: correct them, or make a grid with more headroom and "
                    "sum all parts again"
                )

    def _exact_sums(self, storage: Storage) -> ExactSums:
        rows = self.halves
        d = self.grid.n_features
        sums = {}
        for j in range(d):
            sums[f"u{j}"] = _whole_sum(rows[f"u{j}"])
            sums[f"l{j}"] = _whole_sum(rows[f"l{j}"])
        products = {}
        for i, j in combinations_with_replacement(range(d), 2):
            cross = rows[f"u{i}"] * rows[f"l{j}"] + rows[f"l{i}"] * rows[f"u{j}"]
            products[f"uu{i}_{j}"] = _whole_sum(rows[f"u{i}"] * rows[f"u{j}"])
            products[f"ul{i}_{j}"] = _whole_sum(cross)
            products[f"ll{i}_{j}"] = _whole_sum(rows[f"l{i}"] * rows[f"l{j}"])
        if storage == "per-class":
            by_class = self._asked(rows, {**sums, **products}, by_class=True)
            groups = by_class
        else:
            by_class = self._asked(rows, sums, by_class=True)
            groups = self._asked(rows, products, by_class=False)
            self._check_same(by_class[ROWS].sum(), groups[ROWS].sum())
        classes, codes = encoded(by_class.get_column(LABEL))
        order = np.argsort(codes)
        counts = _integers(by_class, [ROWS])[order, 0]
        upper = _integers(by_class, [f"u{j}" for j in range(d)])[order]
        lower = _integers(by_class, [f"l{j}" for j in range(d)])[order]
        matrices = _products(groups, d)
        return ExactSums(
            grid=self.grid,
            classes=classes,
            counts=counts.astype(np.intp),
            weights=counts,
            sums=(Int128.of(upper) << HALF) + Int128.of(lower),
            products=matrices[order] if storage == "per-class" else matrices,
            storage=storage,
        )


def _rounded(column: Expression) -> Expression:
    """Return the nearest integers as floats."""
    return (column + _ROUND) - _ROUND


def _whole_sum(column: Expression) -> Expression:
    return column.sum().cast("int64")


def _integers(frame: pl.DataFrame, names: Sequence[str]) -> Integers:
    """Return columns of a frame as an integer array; sums of no rows are 0."""
    columns = [frame.get_column(n).cast(pl.Int64).fill_null(0).to_numpy() for n in names]
    return np.array(columns, np.int64).reshape(len(names), frame.height).T


def _products(frame: pl.DataFrame, d: int) -> Int128:
    """Return P = 2⁴⁰ Σ u uᵀ + 2²⁰ Σ (u lᵀ + l uᵀ) + Σ l lᵀ, a matrix for each row of the frame."""
    pairs = list(combinations_with_replacement(range(d), 2))
    upper, cross, lower = (
        Int128.of(_integers(frame, [f"{name}{i}_{j}" for i, j in pairs]))
        for name in ("uu", "ul", "ll")
    )
    numbers = (upper << 2 * HALF) + (cross << HALF) + lower
    i, j = np.triu_indices(d)
    products = Int128.zeros((frame.height, d, d))
    products.high[:, i, j] = numbers.high
    products.high[:, j, i] = numbers.high
    products.low[:, i, j] = numbers.low
    products.low[:, j, i] = numbers.low
    return products
