"""Sums of the usable rows of a table, which its database computes."""

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from suffice.core.moments import Moments
from suffice.core.moments.collect import SMALLEST, plan, ratio
from suffice.core.moments.scatter import (
    DiagonalScatter,
    PerClassScatter,
    PooledScatter,
    Scatter,
    Storage,
)
from suffice.core.moments.two_sum import two_sum
from suffice.core.text.lists import counted
from suffice.data.columns.kinds import NUMBER, kind_of_type
from suffice.data.columns.roles import Roles
from suffice.data.rows.left_out import RowsRead
from suffice.data.rows.loading import encoded
from suffice.data.sql.engines import Engine, Expression
from suffice.data.sums.running import Summed
from suffice.errors import DatabaseError, InvalidInputError
from suffice.typing import Floats

MAX = float(np.finfo(np.float64).max)
LABEL = "label"
ROWS = "n_rows"
SEEN = "n_seen"  # number of rows with positive weight
WEIGHT = "weight"
NEGATIVE = "n_negative"  # number of negative weights
_MOST_LOST = 1e4  # largest w δ² / S for which cancellation costs few digits


def pilots_of(sample: pl.DataFrame, features: Sequence[str]) -> Floats:
    """Return the median of each feature (d,), which is at most σ away from the mean."""
    pilots = []
    for name in features:
        x = np.asarray(sample.get_column(name).to_numpy(), np.float64)
        finite = np.sort(x[np.isfinite(x)])
        pilots.append(finite[len(finite) // 2] if len(finite) else 0.0)
    return np.array(pilots)


def as_float(column: Expression) -> Expression:
    """Return a numeric or Boolean column as float64."""
    if column.type().is_boolean():
        column = column.cast("int32")
    return column.cast("float64")


def is_finite(column: Expression) -> Expression:
    """Return whether a value is finite, by comparison with an interval that excludes NaN."""
    return as_float(column).between(-MAX, MAX)


def is_infinite(column: Expression) -> Expression:
    """Return whether a value is infinite."""
    x = as_float(column)
    # Engines sort NaN below or above all numbers; it passes neither test.
    return (x < -MAX) | (-x < -MAX)


def label_of(column: Expression, sample: pl.DataFrame, name: str) -> Expression:
    """Return the label column as integers, Booleans or text."""
    if kind_of_type(sample.schema[name]) != NUMBER:
        # Appending an empty text removes the collation, under which different labels could be
        # equal.
        return column.cast("string") + ""
    return column.cast("float64") if column.type().is_decimal() else column


def _not(condition: Expression) -> Expression:
    """Return whether a condition is false or NULL."""
    return ~condition.fill_null(False)  # noqa: FBT003


@dataclass(frozen=True, slots=True, eq=False)
class _ClassSums:
    """Sums of each class about the pilots, or about a centre of the class."""

    answer: pl.DataFrame  # result of the database, with a row for each class
    weights: Floats  # Σ w  (K,)
    offsets: Floats  # δ = Σ w z / w  (K, d)
    squares: Floats  # Σ w z²  (K, d)
    scatter: Scatter  # Σ w z zᵀ

    @classmethod
    def of(
        cls,
        answer: pl.DataFrame,
        d: int,
        storage: Storage,
        pooled: pl.DataFrame | None,
    ) -> "_ClassSums":
        """Return the sums in a result; ``pooled`` has the products of all classes together."""
        weights = _numbers(answer, [WEIGHT])[:, 0]
        squares = _numbers(answer, [f"q{j}_{j}" for j in range(d)])
        firsts = _numbers(answer, [f"s{j}" for j in range(d)])
        scatter: Scatter = DiagonalScatter(squares)
        if storage == "per-class":
            scatter = PerClassScatter(_matrices(answer, squares))
        elif pooled is not None:
            scatter = PooledScatter(_matrices(pooled, squares.sum(axis=0)[None])[0])
        return cls(answer, weights, ratio(firsts, weights[:, None]), squares, scatter)

    def keeps_digits(self) -> bool:
        """Return whether all spreads S = Σ w z² − w δ² keep enough digits."""
        # a later check raises an error for an overflow, with the name of the column
        with np.errstate(over="ignore", invalid="ignore"):
            lost = self.weights[:, None] * self.offsets**2
            left = self.squares - lost
        if self.scatter.storage == "pooled":
            lost = lost.sum(axis=0)
            left = left.sum(axis=0)
        return bool(np.all(lost <= _MOST_LOST * left) or not np.isfinite(left).all())


def _matrices(frame: pl.DataFrame, squares: Floats) -> Floats:
    """Return symmetric matrices (K, d, d) from their products and their squares (K, d)."""
    d = squares.shape[1]
    i, j = np.triu_indices(d, 1)
    names = [f"q{a}_{b}" for a, b in combinations(range(d), 2)]
    products = _numbers(frame, names)
    matrices = np.zeros((len(squares), d, d))
    matrices[:, i, j] = products
    matrices[:, j, i] = products
    matrices[:, np.arange(d), np.arange(d)] = squares
    return matrices


def _numbers(frame: pl.DataFrame, names: Sequence[str]) -> Floats:
    """Return columns of a frame as a float array; sums of no rows are 0."""
    columns = [frame.get_column(name).cast(float).fill_null(0.0).to_numpy() for name in names]
    return np.array(columns).reshape(len(names), frame.height).T


@dataclass(frozen=True, eq=False)
class TableSums:
    """The usable rows of a table, summed in the database about pilots: values near the means."""

    table: Expression
    roles: Roles
    sample: pl.DataFrame
    pilots: Floats  # (d,)
    engine: Engine
    ask: Callable[[Expression], pl.DataFrame]  # runs a query and returns its rows
    label: str

    @functools.cached_property
    def rows(self) -> Expression:
        """Label, weight w and z = x − pilot of each usable row."""
        roles = self.roles
        usable = self.table.filter([self._has_value(name) for name in self._needed])
        target = roles.target or ""
        columns = {LABEL: label_of(usable[target], self.sample, target)}
        if roles.weight is not None:
            columns[WEIGHT] = as_float(usable[roles.weight])
        for j, name in enumerate(roles.features):
            columns[f"z{j}"] = as_float(usable[name]) - float(self.pilots[j])
        return usable.select(**columns)

    @functools.cached_property
    def recentred_rows(self) -> Expression:
        """``rows`` with z = x − pilot − c for a centre c of each class, and the columns c."""
        rows = self.rows
        d = len(self.pilots)
        # c = (min z + max z) / 2 is the same in every query, and exact if z is constant
        centres = {f"c{j}": (rows[f"z{j}"].min() + rows[f"z{j}"].max()) / 2 for j in range(d)}
        joined = rows.inner_join(rows.group_by(LABEL).aggregate(**centres), LABEL)
        moved = {f"z{j}": joined[f"z{j}"] - joined[f"c{j}"] for j in range(d)}
        kept = [LABEL] if self.roles.weight is None else [LABEL, WEIGHT]
        return joined.select(*kept, *centres, **moved)

    @property
    def _needed(self) -> list[str]:
        others = (self.roles.target, self.roles.weight)
        return [*self.roles.features, *(name for name in others if name)]

    def _may_be_infinite(self, name: str) -> bool:
        dtype = self.sample.schema[name]
        return name != self.roles.target or dtype.is_float() or dtype.is_decimal()

    def _has_value(self, name: str) -> Expression:
        """Return whether a row has a usable value; numbers must be finite."""
        column = self.table[name]
        return is_finite(column) if self._may_be_infinite(name) else column.notnull()

    def _counts(self, rows: Expression) -> dict[str, Expression]:
        n = rows.count()
        if self.roles.weight is None:
            return {ROWS: n, SEEN: n, WEIGHT: n.cast("float64"), NEGATIVE: n - n}
        w = rows[WEIGHT]
        return {
            ROWS: n,
            SEEN: (w > 0).cast("int32").sum(),
            WEIGHT: w.sum(),
            NEGATIVE: _not(w.between(0.0, MAX)).cast("int32").sum(),
        }

    def summed(self, storage: str) -> Summed:
        """Return the moments of the usable rows, and the number of unusable rows."""
        moments, n_usable = self._moments(storage)
        n_rows = self._count(self.table)
        gaps: dict[str, int] = {}
        if n_rows != n_usable:
            gaps = self._gaps()
            self._refuse_infinite(gaps)
        return Summed(moments, RowsRead(n_rows, n_rows - n_usable, gaps))

    def _moments(self, storage: str) -> tuple[Moments, int]:
        # The first rows give the pilots. If a pilot is many standard deviations away from a class
        # mean, the sums are computed again about a centre of each class.
        n_classes = 1
        if storage == "auto":
            labels = self.rows.group_by(LABEL).aggregate(n=self.rows.count())
            n_classes = self._count(labels)
        kept, _ = plan(storage, n_classes, len(self.pilots), fourth=False)
        pilots = self.pilots
        sums = self._class_sums(kept, self.rows)
        if not sums.keeps_digits():
            pilots = np.zeros_like(pilots)
            centred = replace(self, pilots=pilots)
            sums = centred._class_sums(kept, centred.recentred_rows)
        moments = self._assembled(sums, pilots)
        self._refuse_vanishing(moments)
        return moments, int(sums.answer.get_column(ROWS).sum())

    def _refuse_vanishing(self, moments: Moments) -> None:
        """Raise if a column varies so little that its squares underflow."""
        rows = self.rows
        if self.roles.weight is not None:
            rows = rows.filter(rows[WEIGHT] > 0)
        for j in np.flatnonzero(moments.scatter.pooled_diagonal() < SMALLEST).tolist():
            width = rows[f"z{j}"].max() - rows[f"z{j}"].min()
            answer = self.ask(rows.group_by(LABEL).aggregate(width=width))
            widest = _numbers(answer, ["width"]).max(initial=0.0)
            if widest > 0:
                raise InvalidInputError(
                    f"{self.label}: column {self.roles.features[j]!r} varies by only {widest:.1g}, "
                    "and the squares of its values underflow to zero: rescale the column"
                )

    def _count(self, rows: Expression) -> int:
        return int(self.ask(rows.aggregate(n=rows.count()))["n"][0])

    def _class_sums(self, storage: Storage, rows: Expression) -> _ClassSums:
        """Return Σ w z, Σ w z², and the products Σ w z z' for ``storage``, of each class."""
        d = len(self.pilots)
        outputs: dict[str, Expression] = {}
        for j in range(d):
            outputs[f"s{j}"] = self._weighted_sum(rows, j)
        for j in range(d):
            outputs[f"q{j}_{j}"] = self._weighted_sum(rows, j, j)
        for j in range(d):
            if f"c{j}" in rows.columns:
                outputs[f"c{j}"] = rows[f"c{j}"].min()
        products = {
            f"q{i}_{j}": self._weighted_sum(rows, i, j) for i, j in combinations(range(d), 2)
        }
        if storage == "per-class":
            outputs.update(products)
        answer = self._asked(rows, outputs, by_class=True)
        pooled = None
        if storage == "pooled":
            pooled = self._asked(rows, products, by_class=False)
            self._check_same(answer.get_column(ROWS).sum(), pooled.get_column(ROWS).sum())
        return _ClassSums.of(answer, d, storage, pooled)

    def _weighted_sum(self, rows: Expression, *features: int) -> Expression:
        """Return Σ w z of a feature, or Σ w z z' of two features."""
        factors = [rows[f"z{j}"] for j in features]
        if self.roles.weight is not None:
            factors.insert(0, rows[WEIGHT])
        return functools.reduce(operator.mul, factors).sum()

    def _asked(
        self,
        rows: Expression,
        outputs: Mapping[str, Expression],
        *,
        by_class: bool,
    ) -> pl.DataFrame:
        """Return the outputs from as few queries as possible; raise if their row counts differ."""
        answers: list[pl.DataFrame] = []
        grouped = rows.group_by(LABEL) if by_class else rows
        counts = self._counts(rows)
        for part in parts(outputs, self.engine.max_outputs - 5):
            answer = self.ask(grouped.aggregate(**counts, **part))
            if by_class:
                answer = answer.sort(LABEL)
            if answers:
                self._check_same(_rows_by_class(answers[0]), _rows_by_class(answer))
                answer = answer.select(pl.selectors.by_name(*part))
            answers.append(answer)
        return pl.concat(answers, how="horizontal")

    def _check_same(self, first: object, other: object) -> None:
        """Raise if two queries saw different numbers of rows, because the table was changed."""
        if first != other:
            msg = (
                f"{self.label} changed while it was summed: run the command again when "
                "nothing writes to the table"
            )
            raise DatabaseError(msg)

    def _gaps(self) -> dict[str, int]:
        """Return the number of missing or infinite cells of each column that has any."""
        lacking = {name: _not(self._has_value(name)) for name in self._needed}
        return self._counted(lacking)

    def _refuse_infinite(self, gaps: Mapping[str, int]) -> None:
        """Raise if a column with unusable cells contains an infinite number."""
        # Columns with allowed missing numbers are summed from rows later; that error names the row.
        from_rows = self.roles.features if self.roles.allow_missing else ()
        suspects = [n for n in gaps if n not in from_rows and self._may_be_infinite(n)]
        infinite = self._counted({name: is_infinite(self.table[name]) for name in suspects})
        for name, count in infinite.items():
            raise InvalidInputError(
                f"{self.label} contains infinity in {counted(count, 'cell')} of column {name!r}: "
                "correct the cells, drop their rows, or set the cells to NULL"
            )

    def _counted(self, conditions: Mapping[str, Expression]) -> dict[str, int]:
        """Return the number of rows in which each condition holds, unless it is 0."""
        outputs = {}
        for j, condition in enumerate(conditions.values()):
            outputs[f"g{j}"] = condition.cast("int32").sum()
        counts: list[int | None] = []
        for part in parts(outputs, self.engine.max_outputs):
            if part:
                counts += self.ask(self.table.aggregate(**part)).row(0)
        return {name: int(n) for name, n in zip(conditions, counts, strict=True) if n}

    def _assembled(self, sums: _ClassSums, pilots: Floats) -> Moments:
        answer = sums.answer
        n_negative = int(answer.get_column(NEGATIVE).sum())
        if n_negative:
            raise InvalidInputError(
                f"{self.label}: the weight column {self.roles.weight!r} holds "
                f"{counted(n_negative, 'negative value')}: correct the weights, or leave these "
                "rows out"
            )
        counts = _numbers(answer, [SEEN])[:, 0].astype(np.intp)
        if not counts.sum():
            return Moments.empty()
        overflowing = np.flatnonzero(~np.isfinite(sums.squares).all(axis=0))
        if len(overflowing):
            name = self.roles.features[int(overflowing[0])]
            msg = f"{self.label}: the squares of column {name!r} overflow: rescale the column"
            raise InvalidInputError(msg)
        classes, codes = encoded(answer.get_column(LABEL))
        order = np.argsort(codes)
        w = sums.weights
        delta = sums.offsets
        centres = np.zeros_like(delta)
        centre_names = [name for name in answer.columns if name.startswith("c")]
        if centre_names:
            centres = _numbers(answer, centre_names)
        # μ = (pilot + c) + δ, with both sums kept in two parts
        high, low = two_sum(pilots, centres)
        means, means_low = two_sum(high, low + delta)
        has_weight = (w > 0)[:, None]
        # S = Σ w z zᵀ − w δ δᵀ
        scatter = sums.scatter.shifted(-w, delta)
        return Moments(
            classes=classes,
            feature_names=self.roles.features,
            counts=counts[order],
            weights=w[order],
            means=np.where(has_weight, means, 0.0)[order],
            means_low=np.where(has_weight, means_low, 0.0)[order],
            scatter=scatter.by_class(lambda parts: parts[order]),
            fourth=None,
        )


def _rows_by_class(answer: pl.DataFrame) -> list[tuple[object, ...]]:
    return answer.select([name for name in (LABEL, ROWS) if name in answer.columns]).rows()


def parts(
    outputs: Mapping[str, Expression],
    size: int,
) -> Iterator[dict[str, Expression]]:
    """Yield the outputs in groups of at most ``size``; without outputs, one empty group."""
    names = list(outputs)
    for start in range(0, max(len(names), 1), size):
        yield {name: outputs[name] for name in names[start : start + size]}
