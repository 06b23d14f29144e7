"""The sums of a table, computed by its database: queries sent, answers checked and assembled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from suffice.errors import DatabaseError
from suffice.moments.plan import affordable_storage, plan
from suffice.sources.rules import LeftOut
from suffice.sources.sql.assembly import Answer, assembled, keeps_digits
from suffice.sources.sql.queries import LABEL, ROWS, Queries
from suffice.sources.summed import Summed

if TYPE_CHECKING:
    from suffice.moments import Moments
    from suffice.moments.collect import Storage
    from suffice.sources.sql.engines import Engine

Ask = Callable[[Any], pl.DataFrame]  # an expression to its rows


@dataclass(frozen=True, slots=True, eq=False)
class TableSums:
    """A table to be summed inside its database."""

    queries: Queries
    engine: Engine
    ask: Ask
    label: str

    def summed(self, storage: str) -> Summed:
        """Return the sums of every usable row, and what was left out."""
        moments, n_usable = self._moments(storage)
        n_rows = int(self.ask(self.queries.table.aggregate(n=self.queries.table.count()))["n"][0])
        if n_rows == n_usable:
            return Summed(moments, LeftOut(n_rows))
        return Summed(moments, LeftOut(n_rows, n_rows - n_usable, self._gaps()))

    def _moments(self, storage: str) -> tuple[Moments, int]:
        # pilots come from the first rows; where they turn out to be far from the mean of some
        # class, as seen from its spread, the sums are computed once more about its own middle
        answer, queries = self._answer(storage, recentred=False), self.queries
        if not keeps_digits(answer):
            queries = replace(queries, pilots=np.zeros_like(queries.pilots))
            answer = replace(self, queries=queries)._answer(storage, recentred=True)
        return assembled(answer, queries, storage, self.label), int(answer.rows.sum())

    def _answer(self, storage: str, *, recentred: bool) -> Answer:
        kept, d = self._kept(storage), len(self.queries.pilots)
        firsts, products = self._firsts(recentred=recentred), self._products()
        if kept == "per-class":
            answers = self._asked({**firsts, **products}, by_class=True, recentred=recentred)
            return Answer.of(pl.concat(answers, how="horizontal"), d, kept)
        head = pl.concat(self._asked(firsts, by_class=True, recentred=recentred), how="horizontal")
        if kept == "diagonal":
            return Answer.of(head, d, kept)
        pooled = list(self._asked(products, by_class=False, recentred=recentred))
        self._check_same(head, pooled)
        return Answer.of(head, d, kept, pl.concat(pooled, how="horizontal"))

    def _kept(self, storage: str) -> Storage:
        """Return what to sum, before the number of classes is known for sure."""
        target = self.queries.roles.target or ""
        known = self.queries.sample.get_column(target).drop_nulls().n_unique()
        d = len(self.queries.pilots)
        kept, _ = plan(storage, known, d, fourth=False)
        # the table may have more classes than its first rows
        return affordable_storage(4 * known, d) if storage == "auto" else kept

    def _firsts(self, *, recentred: bool) -> dict[str, Any]:
        """Return Σ w z and Σ w z² of each feature, and the class's own centre."""
        d, output = len(self.queries.pilots), self.queries.output
        firsts = {f"s{j}": output(f"z{j}") for j in range(d)}
        firsts |= {f"q{j}_{j}": output(f"z{j}", f"z{j}") for j in range(d)}
        if recentred:
            firsts |= {f"c{j}": _same(f"c{j}") for j in range(d)}
        return firsts

    def _products(self) -> dict[str, Any]:
        """Return Σ w z z' of each pair of features."""
        pairs = combinations(range(len(self.queries.pilots)), 2)
        return {f"q{i}_{j}": self.queries.output(f"z{i}", f"z{j}") for i, j in pairs}

    def _asked(
        self, outputs: Mapping[str, Any], *, by_class: bool, recentred: bool
    ) -> Iterator[pl.DataFrame]:
        """Yield the answers, in as few queries as the engine allows; all must count the same."""
        first: pl.DataFrame | None = None
        for part in _parts(outputs, self.engine.max_outputs - 5):
            query = self.queries.sums(part, by_class=by_class, recentred=recentred)
            answer = self.ask(query)
            answer = answer.sort(LABEL) if by_class else answer
            if first is None:
                first = answer
                yield answer
                continue
            self._check_same(first, [answer])
            yield answer.select(pl.selectors.by_name(*part))

    def _check_same(self, first: pl.DataFrame, others: list[pl.DataFrame]) -> None:
        """Raise if rows came or went between two queries, so that nothing is counted twice."""
        n = first.get_column(ROWS).sum()
        if any(n != other.get_column(ROWS).sum() for other in others if ROWS in other.columns):
            msg = f"{self.label} changed while it was summed: repeat it in a quiet moment"
            raise DatabaseError(msg)

    def _gaps(self) -> dict[str, int]:
        """Return how many values each column lacks, where it lacks any."""
        names = dict(enumerate(self.queries.gaps.items()))
        outputs = {f"g{at}": condition for at, (_, condition) in names.items()}
        counts: dict[str, int] = {}
        for part in _parts(outputs, self.engine.max_outputs):
            totals = {name: condition.cast("int32").sum() for name, condition in part.items()}
            counts |= self.ask(self.queries.table.aggregate(**totals)).row(0, named=True)
        return {names[int(at[1:])][0]: int(n) for at, n in counts.items() if n}


def _same(name: str) -> Any:
    return lambda rows: rows[name].min()


def _parts(outputs: Mapping[str, Any], size: int) -> Iterator[dict[str, Any]]:
    names = list(outputs)
    for start in range(0, max(len(names), 1), size):
        yield {name: outputs[name] for name in names[start : start + size]}
