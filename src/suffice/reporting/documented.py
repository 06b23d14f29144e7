"""The labelled table that a report is about, with what a reader must know of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from suffice.errors import InvalidInputError
from suffice.table.sampling import stratified_sample
from suffice.table.table import Table
from suffice.text.lists import listed, plural

if TYPE_CHECKING:
    from suffice.typing import Codes, Labels


@dataclass(frozen=True, eq=False)
class DocumentedTable:
    """Rows without gaps, what data, target and rows are called, and what was left out."""

    table: Table  # with names, of float64
    ids: Labels  # what a person finds each row by  (n,)
    name: str = "data"  # of the data set
    target: str = "class"  # of the column of labels
    id_name: str = "row"  # of the ids
    notes: tuple[str, ...] = ()  # what was left out, in words

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        ids: Any = None,
        name: str = "data",
        target: str | None = None,
    ) -> DocumentedTable:
        """Return users' rows: numeric columns, and rows without a gap in them."""
        numeric, left_out = _numeric(X)
        table = Table.of(numeric, y, sample_weight)
        names = table.names or tuple(f"x{j + 1}" for j in range(table.n_features))
        table = table.with_rows(np.asarray(table.x, np.float64), names)
        known = _ids(X, table.n_rows) if ids is None else np.asarray(ids)
        word = target or str(getattr(y, "name", None) or "class")
        return cls(table, known, name, word, notes=left_out)._without_gaps()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, (d,)."""
        return self.table.names or ()

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """Classes as text, (K,)."""
        return tuple(map(str, self.table.classes.tolist()))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The features as a frame with names."""
        return pl.DataFrame(self.table.x, schema=list(self.names))

    def take(self, rows: Codes) -> DocumentedTable:
        """Return some of the rows."""
        return replace(self, table=self.table.take(rows), ids=self.ids[rows])

    def sampled(self, n_rows: int, seed: int) -> DocumentedTable:
        """Return these rows, or a seeded sample that keeps the share of every class."""
        if self.table.n_rows <= n_rows:
            return self
        return self.take(stratified_sample(self.table.codes, n_rows, seed))

    def _without_gaps(self) -> DocumentedTable:
        """Return the rows without gaps, and say how many have one."""
        missing = ~np.isfinite(self.table.x)
        usable = ~missing.any(1)
        if usable.all():
            return self
        gaps, n_rows = missing.sum(0), self.table.n_rows
        worst = [f"{self.names[j]} ({gaps[j]:,})" for j in np.argsort(-gaps) if gaps[j]]
        lost = n_rows - int(usable.sum())
        note = f"{lost:,} of {plural(n_rows, 'row')} left out: no number in {listed(worst)}"
        if lost == n_rows:
            msg = f"no row can be used: {note}"
            raise InvalidInputError(msg)
        kept = self.take(np.flatnonzero(usable))
        present = np.unique(kept.table.codes)
        codes = np.searchsorted(present, kept.table.codes)
        table = replace(kept.table, classes=self.table.classes[present], codes=codes)
        return replace(kept, table=table, notes=(*self.notes, note))


def _numeric(X: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the columns of a frame that hold numbers, and what to say of the others."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X, ()
    kinds = frame.schema.items()
    numeric = [name for name, kind in kinds if kind.is_numeric() or kind == nw.Boolean]
    others = [repr(name) for name, _ in kinds if name not in numeric]
    if not others:
        return X, ()
    if not numeric:
        msg = f"no column of X holds numbers: {listed(others)} hold text or dates"
        raise InvalidInputError(msg)
    return frame.select(numeric).to_native(), (f"columns left out: {listed(others)} (no numbers)",)


def _ids(X: Any, n_rows: int) -> Labels:
    """Return the index of a pandas frame, or the place of each row, counted from zero."""
    index = getattr(X, "index", None)
    if index is not None and hasattr(index, "to_numpy"):
        return np.asarray(index.to_numpy())
    return np.arange(n_rows)
