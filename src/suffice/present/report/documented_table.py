"""The labelled table that a report is about, with what a reader must know of it."""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from suffice.core.table.matrix import filled, has_missing, refuse_nonfinite, taken
from suffice.core.table.sampling import stratified_sample
from suffice.core.table.schema import Category, Column, LeftOut, Number
from suffice.core.table.table import Table
from suffice.core.text.lists import listed, plural
from suffice.errors import InvalidInputError
from suffice.evaluate.diagnostics.data import dates_in
from suffice.selection.validation.folds import row_group_codes
from suffice.typing import Codes, Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """What one column holds."""

    name: str
    kind: str  # in words
    empty: Any  # whether each row's cell is  (n,)
    values: Floats  # numbers, or codes of levels  (n,)
    levels: tuple[str, ...] = ()

    @property
    def distinct(self) -> int:
        return len(np.unique(self.values[~self.empty]))


@dataclass(frozen=True, eq=False)
class DocumentedTable:
    """Rows, what data, target and rows are called, and what a reader must know of them."""

    table: Table  # of float64 without gaps: categories as indicators, empty cells filled
    ids: Labels  # what a person finds each row by  (n,)
    name: str = "data"  # of the data set
    target: str = "class"  # of the column of labels
    id_name: str = "row"  # of the ids
    notes: tuple[str, ...] = ()  # what was encoded or left out, in words
    profiles: tuple[Profile, ...] = ()  # of the columns as they came
    source: Any = None  # the rows as they came, where the table is an encoding of them
    groups: Codes | None = None  # of rows that belong together  (n,)
    groups_name: str = "groups"  # of the column that they come from

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
        groups: Any = None,
        dates: Sequence[str] = (),
    ) -> Self:
        """Return users' rows: all of them, and all columns that say something."""
        if type(X).__module__.startswith("pyarrow"):
            X = pl.DataFrame(X)
        X = np.asarray(X) if isinstance(X, (list, tuple)) else X
        read = Table.of(X, y, sample_weight)
        twins = [name for name, n in Counter(read.names or ()).items() if n > 1]
        if twins:
            raise InvalidInputError(f"X has several columns {twins[0]!r}: rename all but one")
        if ids is None:  # the index of a pandas frame, or the place of each row
            ids = X.index if hasattr(X, "iloc") else np.arange(read.n_rows)
        word = target or str(getattr(y, "name", None) or "class")
        if read.weight is not None and not read.weight.all():
            kept = np.flatnonzero(read.weight)
            told: dict[str, Any] = {"name": name, "target": word, "dates": dates}
            told |= {"ids": np.asarray(ids)[kept], "sample_weight": read.weight[kept]}
            told["groups"] = None if groups is None else taken(groups, kept)
            made = cls.of(taken(X, kept), read.labels[kept], **told)
            note = f"{plural(read.n_rows - len(kept), 'row')} of weight zero left out"
            return replace(made, notes=(*made.notes, note))
        table, encoding = read.encoded()
        if np.isinf(table.x).any():
            refuse_nonfinite(table.x, table.names, table.weight)
        plain = encoding is None and not has_missing(table.x)
        names = table.names or tuple(f"x{j + 1}" for j in range(table.n_features))
        table = table.with_rows(np.asarray(filled(table.x), np.float64), names)
        profiles = _profiles(read, names, {*dates, *dates_in(X)})
        said: Any = {
            "notes": _said(read),
            "profiles": profiles,
            "source": None if plain else X,
        }
        if groups is not None:
            said["groups"] = row_group_codes(groups, table.labels)
            said["groups_name"] = str(getattr(groups, "name", None) or "groups")
        return cls(table, np.asarray(ids), name, word, **said)

    @property
    def rows(self) -> Any:
        """What classifiers learn from: the rows as they came."""
        return self.table.x if self.source is None else self.source

    @property
    def asked(self) -> Any:
        """The rows as a fitted classifier is asked about them, columns named."""
        return self.frame if self.source is None else self.source

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(map(str, getattr(self.source, "columns", self.names)))

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.names or ()

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """Classes as text, (K,)."""
        return tuple(map(str, self.table.classes.tolist()))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The features as a frame with names."""
        return pl.DataFrame(self.table.x, schema=list(self.names))

    def take(self, rows: Codes) -> Self:
        source = None if self.source is None else taken(self.source, rows)
        cut = [replace(p, empty=p.empty[rows], values=p.values[rows]) for p in self.profiles]
        few: dict[str, Any] = {"ids": self.ids[rows], "source": source, "profiles": tuple(cut)}
        few["groups"] = None if self.groups is None else self.groups[rows]
        return replace(self, table=self.table.take(rows), **few)

    def sampled(self, n_rows: int, seed: int) -> tuple[Self, Self | None]:
        """Return these rows, or a seeded sample of them and at most as many others."""
        if self.table.n_rows <= n_rows:
            return self, None
        kept = stratified_sample(self.table.codes, n_rows, seed)
        if self.groups is not None:  # other rows are of the same groups: they would flatter
            return self.take(kept), None
        others = np.delete(np.arange(self.table.n_rows), kept)
        drawn = np.random.default_rng(seed).permutation(others)[:n_rows]
        return self.take(kept), self.take(np.sort(drawn))


def _profiles(table: Table, names: Sequence[str], dates: Set[str]) -> tuple[Profile, ...]:
    """Return what each column holds, in the order of the rows as they came."""
    schema = table.schema
    columns: tuple[Column, ...] = (
        tuple(map(Number, names)) if schema is None else schema.columns
    )
    found, numbers, levels = [], iter(table.x.T), iter(())
    none = np.zeros(table.n_rows, bool)  # shared by all columns without gaps
    if schema is not None and table.indicators is not None:
        levels = iter(table.indicators.T[len(schema.filled) :])
    for column in columns:
        if isinstance(column, Number):
            x = np.asarray(next(numbers), np.float64)
            empty = np.isnan(x) if np.isnan(x.sum()) else none
            kind = "date" if column.name in dates else "number"
            found.append(Profile(column.name, kind, empty, x))
        elif isinstance(column, Category):
            codes: Codes = np.asarray(next(levels))
            empty = (codes < 0) | (column.missing & (codes == len(column.levels)))
            found.append(Profile(column.name, "category", empty, codes, column.level_names))
        else:
            found.append(Profile(column.name, f"not used: {column.reason}", none, none * 0.0))
    return tuple(found)


def _said(table: Table) -> tuple[str, ...]:
    """Return how the columns of a mixed or incomplete table are read, in words."""
    notes, columns = [], () if table.schema is None else table.schema.columns
    categories = [c for c in columns if isinstance(c, Category)]
    read = [c for c in categories if c.n_levels > 1]
    levels = [f"{c.name} ({plural(c.n_levels - c.missing, 'level')})" for c in read]
    if levels:
        empty = ", empty cells being a level" * any(c.missing for c in read)
        notes.append(
            f"categories, as indicators of all levels but one{empty}: {listed(levels)}"
        )
    left = [f"{c.name!r} ({c.reason})" for c in columns if isinstance(c, LeftOut)]
    left += [f"{c.name!r} (always the same)" for c in categories if c.n_levels < 2]
    return (*notes, *([f"columns left out: {listed(left)}"] if left else []))
