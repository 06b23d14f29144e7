"""The expressions that a database is asked for: which rows are usable, and their sums."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.sources.kinds import NUMBER, kind_of
from suffice.typing import Floats

if TYPE_CHECKING:
    import polars as pl

    from suffice.sources.columns import Roles

_DIGITS = 15  # that every engine reads as the same number


def pilots_of(sample: pl.DataFrame, features: Sequence[str]) -> Floats:
    """Return a pilot for each feature, shape (d,), from some first rows."""
    return np.array([_pilot(sample.get_column(name).to_numpy()) for name in features])


def _pilot(values: object) -> float:
    """Return the mean to as many digits as bring it within a tenth of a standard deviation."""
    x = np.asarray(values, np.float64)
    x = x[np.isfinite(x)]
    if not len(x):
        return 0.0
    if x.min() == x.max():
        return float(x[0])
    with np.errstate(over="ignore", invalid="ignore"):
        mean, spread = float(x.mean()), float(x.std())
    if not (math.isfinite(mean) and 0 < spread < math.inf):
        return float(x[0])
    wanted = math.log10(max(abs(mean) / spread, 1.0)) + 2
    return float(f"{mean:.{min(math.ceil(wanted), _DIGITS)}g}")


MAX = float(np.finfo(np.float64).max)

LABEL, ROWS, SEEN, WEIGHT, ODD = "label", "n_rows", "n_seen", "weight", "n_odd"


def number(column: Any) -> Any:
    """Return a numeric or Boolean column as float64."""
    if column.type().is_boolean():
        column = column.cast("int32")
    return column.cast("float64")


def finite(column: Any) -> Any:
    """Return whether there is a finite number; no engine finds NULL or NaN in an interval."""
    return number(column).between(-MAX, MAX)


def label_of(column: Any, sample: pl.DataFrame, name: str) -> Any:
    """Return the label column as whole numbers, truth values or text."""
    if kind_of(sample.schema[name]) != NUMBER:
        return column.cast("string")
    return column.cast("float64") if column.type().is_decimal() else column


@dataclass(frozen=True, eq=False)
class Queries:
    """Sums over the usable rows of a table, about pilots."""

    table: Any
    roles: Roles
    sample: pl.DataFrame
    pilots: Floats  # (d,)

    @property
    def gaps(self) -> dict[str, Any]:
        """By column, the condition under which it lacks a value."""
        table, roles = self.table, self.roles
        lacking = {name: _not(finite(table[name])) for name in roles.features}
        for name in (roles.target, roles.weight):
            if name is not None:
                lacking[name] = table[name].isnull()
        return lacking

    @property
    def n_classes(self) -> Any:
        """The number of distinct labels, as a query."""
        labels = self.rows.group_by(LABEL).aggregate(n=self.rows.count())
        return labels.aggregate(n=labels.count())

    @functools.cached_property
    def rows(self) -> Any:
        """Label, weight w and z = x − pilot of every usable row."""
        table, roles = self.table, self.roles
        present = [table[name].notnull() for name in (roles.target, roles.weight) if name]
        usable = table.filter([finite(table[name]) for name in roles.features] + present)
        label = label_of(usable[roles.target], self.sample, roles.target or "")
        columns = {LABEL: label}
        if roles.weight is not None:
            columns[WEIGHT] = number(usable[roles.weight])
        for j, name in enumerate(roles.features):
            columns[f"z{j}"] = number(usable[name]) - float(self.pilots[j])
        return usable.select(**columns)

    @functools.cached_property
    def recentred_rows(self) -> Any:
        """The same rows with z about a centre c of their own class, which goes with them."""
        rows, d = self.rows, len(self.pilots)
        centres = rows.group_by(LABEL).aggregate(
            **{f"c{j}": _centre(rows[f"z{j}"]) for j in range(d)}
        )
        both = rows.inner_join(centres, LABEL)
        moved = {f"z{j}": both[f"z{j}"] - both[f"c{j}"] for j in range(d)}
        kept = [LABEL] if self.roles.weight is None else [LABEL, WEIGHT]
        return both.select(*kept, *(f"c{j}" for j in range(d)), **moved)

    def sums(self, outputs: Mapping[str, Any], *, by_class: bool, recentred: bool) -> Any:
        """Return the query of some outputs, with the counts that every query reports."""
        rows = self.recentred_rows if recentred else self.rows
        asked = {**self._counts(rows), **{name: make(rows) for name, make in outputs.items()}}
        return rows.group_by(LABEL).aggregate(**asked) if by_class else rows.aggregate(**asked)

    def _counts(self, rows: Any) -> dict[str, Any]:
        n = rows.count()
        if self.roles.weight is None:
            return {ROWS: n, SEEN: n, WEIGHT: n.cast("float64"), ODD: n - n}
        w = rows[WEIGHT]
        odd = _not(w.between(0.0, MAX)).cast("int32").sum()
        return {ROWS: n, SEEN: (w > 0).cast("int32").sum(), WEIGHT: w.sum(), ODD: odd}

    def output(self, *factors: str) -> Any:
        """Return what makes Σ w · factors of the rows."""
        weighted = () if self.roles.weight is None else (WEIGHT,)

        def total(rows: Any) -> Any:
            columns = [rows[name] for name in (*weighted, *factors)]
            return functools.reduce(operator.mul, columns).sum()

        return total


def _centre(z: Any) -> Any:
    """Return the middle of the range: the same in every query, and z itself where z is constant."""
    return (z.min() + z.max()) / 2


def _not(condition: Any) -> Any:
    """Return whether a condition fails, or is unknown."""
    return ~condition.fill_null(False)  # noqa: FBT003
