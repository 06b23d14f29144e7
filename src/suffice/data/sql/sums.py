"""The sums of a table, computed by its database: usable rows, queries, and their answers."""

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from suffice.core.moments import Moments
from suffice.core.moments.collect import SMALLEST, plan, ratio, two_sum
from suffice.core.moments.scatter import (
    DiagonalScatter,
    PerClassScatter,
    PooledScatter,
    Scatter,
    Storage,
)
from suffice.data.chunks import RowsRead, encoded
from suffice.data.columns import NUMBER, Roles, kind_of_type
from suffice.data.sql.engines import Engine
from suffice.data.summed import Summed
from suffice.errors import DatabaseError, InvalidInputError
from suffice.typing import Floats

MAX = float(np.finfo(np.float64).max)
LABEL, ROWS, SEEN, WEIGHT, ODD = "label", "n_rows", "n_seen", "weight", "n_odd"
_WORST = 1e4  # w δ² / S: what is lost to cancellation is so many times the rounding error


def pilots_of(sample: pl.DataFrame, features: Sequence[str]) -> Floats:
    """Return a middle value of each feature, shape (d,): no farther than σ from its mean."""
    columns = (np.asarray(sample.get_column(name).to_numpy(), np.float64) for name in features)
    known = [np.sort(x[np.isfinite(x)]) for x in columns]
    return np.array([x[len(x) // 2] if len(x) else 0.0 for x in known])


def as_float(column: Any) -> Any:
    """Return a numeric or Boolean column as float64."""
    return (column.cast("int32") if column.type().is_boolean() else column).cast("float64")


def finite(column: Any) -> Any:
    """Return whether there is a finite number; no engine finds NULL or NaN in an interval."""
    return as_float(column).between(-MAX, MAX)


def label_of(column: Any, sample: pl.DataFrame, name: str) -> Any:
    """Return the label column as whole numbers, truth values or text."""
    if kind_of_type(sample.schema[name]) != NUMBER:
        return column.cast("string") + ""  # a collation, by which two might be one, ends here
    return column.cast("float64") if column.type().is_decimal() else column


def _not(condition: Any) -> Any:
    """Return whether a condition fails, or is unknown."""
    return ~condition.fill_null(False)  # noqa: FBT003


class _Answer(NamedTuple):
    """Sums of each class about the pilots, or about its own centre near them."""

    head: pl.DataFrame  # what was asked, a row for each class
    weights: Floats  # Σ w  (K,)
    offsets: Floats  # δ = Σ w z / w  (K, d)
    squares: Floats  # Σ w z²  (K, d)
    scatter: Scatter  # Σ w z zᵀ


def _answer_of(head: pl.DataFrame, d: int, storage: Storage, pooled: Any = None) -> _Answer:
    weights = _numbers(head, [WEIGHT])[:, 0]
    squares = _numbers(head, [f"q{j}_{j}" for j in range(d)])
    offsets = ratio(_numbers(head, [f"s{j}" for j in range(d)]), weights[:, None])
    scatter: Scatter = DiagonalScatter(squares)
    if storage == "pooled" and pooled is not None:
        scatter = PooledScatter(_matrices(pooled, squares.sum(0)[None])[0])
    elif storage == "per-class":
        scatter = PerClassScatter(_matrices(head, squares))
    return _Answer(head, weights, offsets, squares, scatter)


def _keeps_digits(answer: _Answer) -> bool:
    """Return whether no spread S = Σ w z² − w δ² has lost more digits than it may."""
    with np.errstate(over="ignore", invalid="ignore"):  # told later, by column
        lost = answer.weights[:, None] * answer.offsets**2
        left = answer.squares - lost
    if answer.scatter.storage == "pooled":
        lost, left = lost.sum(0), left.sum(0)
    return bool(np.all(lost <= _WORST * left) or not np.isfinite(left).all())


def _matrices(frame: pl.DataFrame, squares: Floats) -> Floats:
    d = squares.shape[1]
    i, j = np.triu_indices(d, 1)
    matrices = np.zeros((len(squares), d, d))
    pairs = _numbers(frame, [f"q{a}_{b}" for a, b in zip(i, j, strict=True)])
    matrices[:, i, j] = matrices[:, j, i] = pairs
    matrices[:, np.arange(d), np.arange(d)] = squares
    return matrices


def _numbers(frame: pl.DataFrame, names: Sequence[str]) -> Floats:
    columns = [frame.get_column(name).cast(float).fill_null(0.0).to_numpy() for name in names]
    return np.array(columns).reshape(len(names), frame.height).T


@dataclass(frozen=True, eq=False)
class TableSums:
    """The usable rows of a table, to be summed about pilots inside their database."""

    table: Any
    roles: Roles
    sample: pl.DataFrame
    pilots: Floats  # (d,)
    engine: Engine
    ask: Callable[[Any], pl.DataFrame]  # an expression to its rows
    label: str

    @functools.cached_property
    def rows(self) -> Any:
        """Label, weight w and z = x − pilot of every usable row."""
        table, roles = self.table, self.roles
        usable = table.filter([self._known(name) for name in self._needed])
        columns = {LABEL: label_of(usable[roles.target], self.sample, roles.target or "")}
        if roles.weight is not None:
            columns[WEIGHT] = as_float(usable[roles.weight])
        for j, name in enumerate(roles.features):
            columns[f"z{j}"] = as_float(usable[name]) - float(self.pilots[j])
        return usable.select(**columns)

    @functools.cached_property
    def recentred_rows(self) -> Any:
        """The same rows with z about a centre c of their own class, which goes with them."""
        rows, d = self.rows, len(self.pilots)
        # c = (min z + max z) / 2, the same in every query, and z itself where z is constant
        centres = {f"c{j}": (rows[f"z{j}"].min() + rows[f"z{j}"].max()) / 2 for j in range(d)}
        both = rows.inner_join(rows.group_by(LABEL).aggregate(**centres), LABEL)
        moved = {f"z{j}": both[f"z{j}"] - both[f"c{j}"] for j in range(d)}
        kept = [LABEL] if self.roles.weight is None else [LABEL, WEIGHT]
        return both.select(*kept, *(f"c{j}" for j in range(d)), **moved)

    @property
    def _needed(self) -> list[str]:
        others = (self.roles.target, self.roles.weight)
        return [*self.roles.features, *(name for name in others if name)]

    def _known(self, name: str) -> Any:
        """Return whether a row has a value: a number must be finite, a label need not be one."""
        dtype, column = self.sample.schema[name], self.table[name]
        may_fail = name != self.roles.target or dtype.is_float() or dtype.is_decimal()
        return finite(column) if may_fail else column.notnull()

    def _counts(self, rows: Any) -> dict[str, Any]:
        n = rows.count()
        if self.roles.weight is None:
            return {ROWS: n, SEEN: n, WEIGHT: n.cast("float64"), ODD: n - n}
        w = rows[WEIGHT]
        odd = _not(w.between(0.0, MAX)).cast("int32").sum()
        return {ROWS: n, SEEN: (w > 0).cast("int32").sum(), WEIGHT: w.sum(), ODD: odd}

    def summed(self, storage: str) -> Summed:
        moments, n_usable = self._moments(storage)
        n_rows = self._count(self.table)
        gaps = {} if n_rows == n_usable else self._gaps()
        return Summed(moments, RowsRead(n_rows, n_rows - n_usable, gaps))

    def _moments(self, storage: str) -> tuple[Moments, int]:
        # pilots come from the first rows; where they turn out to be far from the mean of some
        # class, as seen from its spread, the sums are computed once more about its own middle
        labels = self.rows.group_by(LABEL).aggregate(n=self.rows.count())
        n_classes = self._count(labels) if storage == "auto" else 1
        kept, sums = plan(storage, n_classes, len(self.pilots), fourth=False)[0], self
        answer = self._answer(kept, self.rows)
        if not _keeps_digits(answer):
            sums = replace(self, pilots=np.zeros_like(self.pilots))
            answer = sums._answer(kept, sums.recentred_rows)
        moments = sums._assembled(answer)
        self._refuse_vanishing(moments)
        return moments, int(answer.head.get_column(ROWS).sum())

    def _refuse_vanishing(self, moments: Moments) -> None:
        """Raise where a column varies, but so little that its squares vanish."""
        low = np.flatnonzero(moments.scatter.pooled_diagonal() < SMALLEST)
        rows = (
            self.rows if self.roles.weight is None else self.rows.filter(self.rows[WEIGHT] > 0)
        )
        for j in low.tolist():
            width = rows[f"z{j}"].max() - rows[f"z{j}"].min()
            (found,) = _numbers(
                self.ask(rows.group_by(LABEL).aggregate(width=width)), ["width"]
            ).T
            if found.max() > 0:
                column = f"{self.roles.features[j]!r}, which varies by {found.max():.1g} only"
                msg = f"{self.label}: the squares of column {column}, vanish: rescale it"
                raise InvalidInputError(msg)

    def _count(self, rows: Any) -> int:
        return int(self.ask(rows.aggregate(n=rows.count()))["n"][0])

    def _answer(self, kept: Storage, rows: Any) -> _Answer:
        d = len(self.pilots)
        weighted = [] if self.roles.weight is None else [rows[WEIGHT]]

        def total(*features: int) -> Any:  # Σ w z, or Σ w z z'
            factors = weighted + [rows[f"z{j}"] for j in features]
            return functools.reduce(operator.mul, factors).sum()

        firsts = {f"s{j}": total(j) for j in range(d)}
        firsts |= {f"q{j}_{j}": total(j, j) for j in range(d)}
        products = {f"q{i}_{j}": total(i, j) for i, j in combinations(range(d), 2)}
        firsts |= {f"c{j}": rows[f"c{j}"].min() for j in range(d) if f"c{j}" in rows.columns}
        grouped = {**firsts, **products} if kept == "per-class" else firsts
        head = self._asked(rows, grouped, by_class=True)
        pooled = self._asked(rows, products, by_class=False) if kept == "pooled" else None
        if pooled is not None:
            self._check_same(head.get_column(ROWS).sum(), pooled.get_column(ROWS).sum())
        return _answer_of(head, d, kept, pooled)

    def _asked(self, rows: Any, outputs: Mapping[str, Any], *, by_class: bool) -> pl.DataFrame:
        """Return the answer, from as few queries as the engine allows; all must count the same."""
        answers: list[pl.DataFrame] = []
        grouped, counts = rows.group_by(LABEL) if by_class else rows, self._counts(rows)
        for part in _parts(outputs, self.engine.max_outputs - 5):
            answer = self.ask(grouped.aggregate(**counts, **part))
            answer = answer.sort(LABEL) if by_class else answer
            if answers:
                self._check_same(_counted(answers[0]), _counted(answer))
                answer = answer.select(pl.selectors.by_name(*part))
            answers.append(answer)
        return pl.concat(answers, how="horizontal")

    def _check_same(self, first: Any, other: Any) -> None:
        """Raise if rows came or went between two queries, so that nothing is counted twice."""
        if first != other:
            msg = f"{self.label} changed while it was summed: repeat it in a quiet moment"
            raise DatabaseError(msg)

    def _gaps(self) -> dict[str, int]:
        lacking = {name: _not(self._known(name)) for name in self._needed}
        outputs = {f"g{at}": c.cast("int32").sum() for at, c in enumerate(lacking.values())}
        parts = _parts(outputs, self.engine.max_outputs)
        counts = [n for part in parts for n in self.ask(self.table.aggregate(**part)).row(0)]
        return {name: int(n) for name, n in zip(lacking, counts, strict=True) if n}

    def _assembled(self, answer: _Answer) -> Moments:
        head, w, delta = answer.head, answer.weights, answer.offsets
        odd, counts = (
            int(head.get_column(ODD).sum()),
            _numbers(head, [SEEN])[:, 0].astype(np.intp),
        )
        if odd:
            which = f"{self.label}: {odd:,} values of the weight column {self.roles.weight!r}"
            raise InvalidInputError(
                f"{which} are negative: correct them, or leave those rows out"
            )
        if not counts.sum():
            return Moments.empty()
        bad = np.flatnonzero(~np.isfinite(answer.squares).all(0))
        if len(bad):
            name = self.roles.features[int(bad[0])]
            msg = f"{self.label}: the squares of column {name!r} overflow: rescale it"
            raise InvalidInputError(msg)
        classes, codes = encoded(head.get_column(LABEL))
        centres = [name for name in head.columns if name.startswith("c")]
        # μ = (pilot + c) + δ, each sum in two parts
        high, low = two_sum(self.pilots, _numbers(head, centres) if centres else 0.0 * delta)
        names, order, seen = self.roles.features, np.argsort(codes), (w > 0)[:, None]
        means, low = (np.where(seen, part, 0.0)[order] for part in two_sum(high, low + delta))
        # S = Σ w z zᵀ − w δ δᵀ
        scatter = answer.scatter.shifted(-w, delta).by_class(lambda sums: sums[order])
        return Moments(classes, names, counts[order], w[order], means, low, scatter, None)


def _counted(answer: pl.DataFrame) -> list[Any]:
    return answer.select([name for name in (LABEL, ROWS) if name in answer.columns]).rows()


def _parts(outputs: Mapping[str, Any], size: int) -> Iterator[dict[str, Any]]:
    names = list(outputs)
    for start in range(0, max(len(names), 1), size):
        yield {name: outputs[name] for name in names[start : start + size]}
