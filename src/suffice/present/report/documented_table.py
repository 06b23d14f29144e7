"""The labelled table of a report, with names, ids and notes."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from suffice.core.table.column_kinds import columns_at
from suffice.core.table.matrix import filled, has_missing, refuse_nonfinite, taken
from suffice.core.table.sampling import stratified_sample
from suffice.core.table.schema import Category, Column, LeftOut, Number
from suffice.core.table.table import Table
from suffice.core.text.dates import date_text
from suffice.core.text.lists import counted, listed
from suffice.errors import InvalidInputError
from suffice.evaluate.diagnostics.data import dates_in
from suffice.selection.validation.time_order import time_codes
from suffice.selection.validation.whole_groups import row_group_codes
from suffice.typing import (
    Array,
    Codes,
    Flags,
    Floats,
    Labels,
    LabelsLike,
    RowsLike,
    WeightsLike,
)


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The name, kind and values of one original column."""

    name: str
    kind: str  # "number", "date", "category", or "not used: …"
    empty: Flags  # whether the cell of each row is empty  (n,)
    values: Floats | Codes  # numbers, or codes of levels  (n,)
    levels: tuple[str, ...] = ()

    def cell(self, row: int) -> float | str | None:
        """Return the cell of a row as a number, a level or a date; None if it is empty."""
        if self.empty[row] or self.kind.startswith("not used"):
            return None
        if self.levels:
            return self.levels[int(self.values[row])]
        value = float(self.values[row])
        if self.kind == "date":
            return date_text(value)
        return value

    @property
    def distinct(self) -> int:
        return len(np.unique(self.values[~self.empty]))


@dataclass(frozen=True, eq=False)
class DocumentedTable:
    """A labelled table with the name of the data, the name of the target, and ids of rows."""

    # rows as complete float64 numbers, with indicators for categories and filled empty cells
    table: Table
    ids: Labels  # id of each row  (n,)
    name: str = "data"  # name of the dataset
    target: str = "class"  # name of the label column
    id_name: str = "row"  # name of the ids
    notes: tuple[str, ...] = ()  # sentences on what was encoded or left out
    profiles: tuple[Profile, ...] = ()  # the original columns
    # The original rows, if ``table`` is an encoding of these rows.
    source: RowsLike | None = None
    groups: Codes | None = None  # group of each row  (n,)
    groups_name: str = "groups"  # name of the group column
    time: Codes | None = None  # rank of each row's time, if the user passed times  (n,)
    # codes of the original texts, for columns whose rare levels were merged (n,)
    text_codes: Mapping[str, Codes] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        X: Any,
        y: LabelsLike,
        *,
        sample_weight: WeightsLike = None,
        ids: LabelsLike | None = None,
        name: str = "data",
        target: str | None = None,
        groups: LabelsLike | None = None,
        time: LabelsLike | None = None,
        text_codes: Mapping[str, Codes] | None = None,
        dates: Sequence[str] = (),
    ) -> Self:
        """Return the rows with positive weight and the informative columns of a user's table."""
        if type(X).__module__.startswith("pyarrow"):
            X = pl.DataFrame(X)
        if isinstance(X, (list, tuple)):
            X = np.asarray(X)
        read = Table.of(X, y, sample_weight)
        _refuse_repeated_names(read.names or ())
        if not target:
            target = str(getattr(y, "name", None) or "class")
        if ids is None:
            ids = X.index if hasattr(X, "iloc") else np.arange(read.n_rows)
        if read.weight is not None and not read.weight.all():
            kept = np.flatnonzero(read.weight)
            without_zeros = cls.of(
                taken(X, kept),
                read.labels[kept],
                sample_weight=read.weight[kept],
                ids=np.asarray(ids)[kept],
                name=name,
                target=target,
                groups=None if groups is None else taken(groups, kept),
                time=None if time is None else taken(time, kept),
                text_codes={name: codes[kept] for name, codes in (text_codes or {}).items()},
                dates=dates,
            )
            n_rows = counted(read.n_rows - len(kept), "row")
            note = f"rows with weight zero are left out: {n_rows}"
            return replace(without_zeros, notes=(*without_zeros.notes, note))
        table, encoding = read.encoded()
        if np.isinf(table.x).any():
            refuse_nonfinite(table.x, table.names, table.weight)
        is_plain = encoding is None and not has_missing(table.x)
        names = table.names or tuple(f"x{j + 1}" for j in range(table.n_features))
        table = table.with_rows(np.asarray(filled(table.x), np.float64), names)
        return cls(
            table=table,
            ids=np.asarray(ids),
            name=name,
            target=target,
            notes=_notes_on_columns(read),
            profiles=_profiles(read, names, {*dates, *dates_in(X)}),
            source=None if is_plain else X,
            groups=None if groups is None else row_group_codes(groups, table.labels),
            groups_name=str(getattr(groups, "name", None) or "groups"),
            time=None if time is None else time_codes(np.asarray(time), table.n_rows),
            text_codes=text_codes or {},
        )

    @property
    def rows(self) -> RowsLike:
        """The rows for training classifiers, in their original form."""
        return self.table.x if self.source is None else self.source

    @property
    def named_rows(self) -> RowsLike:
        """The rows with named columns, in the form that a fitted classifier reads."""
        return self.frame if self.source is None else self.source

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(map(str, getattr(self.source, "columns", self.names)))

    def identities(self, profile: Profile) -> Array:
        """Return the values of a complete column, as they were before levels were merged, (n,)."""
        if not profile.levels or self.source is None:
            return profile.values
        if profile.name in self.text_codes:
            return self.text_codes[profile.name]
        place = [each.name for each in self.profiles].index(profile.name)
        column = columns_at(self.source, np.array([place]))
        return np.asarray(column).astype(np.str_).ravel()

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.names or ()

    @property
    def dates(self) -> frozenset[str]:
        """Names of the columns of dates, whose values are days since 1970."""
        return frozenset(profile.name for profile in self.profiles if profile.kind == "date")

    @property
    def rows_are_numbered(self) -> bool:
        """Whether the ids are row numbers from 0, rather than values of a column or an index."""
        is_whole = self.ids.dtype.kind in "iu"
        return self.id_name == "row" and is_whole and bool(self.ids.min() == 0)

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """Classes as text, (K,)."""
        return tuple(map(str, self.table.classes.tolist()))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The features as a frame with column names."""
        return pl.DataFrame(self.table.x, schema=list(self.names))

    def take(self, rows: Codes) -> Self:
        profiles = [
            replace(profile, empty=profile.empty[rows], values=profile.values[rows])
            for profile in self.profiles
        ]
        return replace(
            self,
            table=self.table.take(rows),
            ids=self.ids[rows],
            source=None if self.source is None else taken(self.source, rows),
            profiles=tuple(profiles),
            groups=None if self.groups is None else self.groups[rows],
            time=None if self.time is None else self.time[rows],
            text_codes={name: codes[rows] for name, codes in self.text_codes.items()},
        )

    def sampled(self, n_rows: int, seed: int) -> tuple[Self, Self | None]:
        """Return all rows and None, or a random sample and at most as many other rows."""
        if self.table.n_rows <= n_rows:
            return self, None
        kept = stratified_sample(self.table.codes, n_rows, seed)
        if self.groups is not None:
            # other rows of the same groups would give too small an error
            return self.take(kept), None
        others = np.delete(np.arange(self.table.n_rows), kept)
        drawn = np.random.default_rng(seed).permutation(others)[:n_rows]
        return self.take(kept), self.take(np.sort(drawn))


def _refuse_repeated_names(names: Sequence[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise InvalidInputError(
                f"X has {times} columns called {name!r}, but a report needs different names: "
                "rename all but one"
            )


def _profiles(table: Table, names: Sequence[str], dates: Set[str]) -> tuple[Profile, ...]:
    """Return the profile of each column, in the order of the original rows."""
    schema = table.schema
    columns: Sequence[Column] = [Number(name) for name in names]
    if schema is not None:
        columns = schema.columns
    numbers = iter(table.x.T)
    levels = iter(())
    if schema is not None and table.indicators is not None:
        levels = iter(table.indicators.T[len(schema.filled) :])
    # one array for all columns without empty cells, which saves memory
    nothing_empty = np.zeros(table.n_rows, bool)
    profiles = []
    for column in columns:
        if isinstance(column, Number):
            x = np.asarray(next(numbers), np.float64)
            empty = np.isnan(x) if np.isnan(x.sum()) else nothing_empty
            kind = "date" if column.name in dates else "number"
            profiles.append(Profile(column.name, kind, empty, x))
        elif isinstance(column, Category):
            codes: Codes = np.asarray(next(levels))
            empty = codes < 0
            if column.missing:  # the last level means an empty cell
                empty = empty | (codes == len(column.levels))
            profiles.append(Profile(column.name, "category", empty, codes, column.level_names))
        else:
            kind = f"not used: {column.reason}"
            zeros = np.zeros(table.n_rows)
            profiles.append(Profile(column.name, kind, nothing_empty, zeros))
    return tuple(profiles)


def _notes_on_columns(table: Table) -> tuple[str, ...]:
    """Return sentences on how the columns of a mixed or incomplete table are read."""
    if table.schema is None:
        return ()
    categories = [c for c in table.schema.columns if isinstance(c, Category)]
    notes = []
    encoded = [column for column in categories if column.n_levels > 1]
    if encoded:
        notes.append(_note_on_categories(encoded))
    constant = [column for column in categories if column.n_levels < 2]
    left_out = [c for c in table.schema.columns if isinstance(c, LeftOut)]
    names = [f"{column.name!r} ({column.reason})" for column in left_out]
    names.extend(f"{column.name!r} (always the same)" for column in constant)
    if names:
        notes.append(f"these columns are left out: {listed(names)}")
    return tuple(notes)


def _note_on_categories(columns: Sequence[Category]) -> str:
    names = []
    for column in columns:
        n_levels = counted(column.n_levels - column.missing, "level")
        if column.missing:
            n_levels = f"{n_levels} and missing"
        names.append(f"{column.name} ({n_levels})")
    return f"these categories are encoded as indicators of all levels but one: {listed(names)}"
