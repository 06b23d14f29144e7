"""A table of a database as a source of rows and of sums."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import polars as pl

from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.core.text.lists import quoted
from suffice.data.columns.kinds import DAYS, NUMBER, is_date, kind_of_type
from suffice.data.columns.roles import Roles
from suffice.data.options import SumSettings
from suffice.data.rows.loading import frames_of, rows_per_block
from suffice.data.source import (
    SAMPLE_ROWS,
    ColumnTypes,
    RowsDone,
    Scan,
    Source,
    cast,
    copy_of,
    original_of,
)
from suffice.data.sql.addresses import asking
from suffice.data.sql.engines import (
    Backend,
    Expression,
    Place,
    engine_of,
    frames_of_query,
    place_for,
    rows_of,
)
from suffice.data.sql.exact_sums import ExactTableSums
from suffice.data.sql.sums import TableSums, as_float, label_of, pilots_of
from suffice.data.sums.running import Summed, sums_of_frames
from suffice.errors import InvalidInputError

_OUT_OF_RANGE = "22003"  # SQLSTATE
_LOG = logging.getLogger("suffice")


@dataclass(frozen=True, slots=True, eq=False)
class TableSource:
    """An Ibis table, which may be a table or a query, as a source of rows."""

    label: str
    table: Expression
    backend: Backend
    sample: pl.DataFrame
    place: Literal["auto"] | Place = "auto"  # where the rows are summed

    @classmethod
    def of(cls, table: Expression, place: Literal["auto"] | Place = "auto") -> Self:
        try:
            backend = table.get_backend()
        except Exception as error:
            raise InvalidInputError(
                "the Ibis table belongs to no database: take it from a connection, as in "
                "ibis.duckdb.connect('file.db').table('rows')"
            ) from error
        label = f"{_name(table)} of {backend.name}"
        return cls(label, table, backend, _sampled(backend, table, label), place)

    @property
    def source(self) -> Source:
        return Source(
            label=self.label,
            sample=self.sample,
            scans=self.scans,
            count=self.count,
            rereads=True,
            summed=self.summed,
        )

    def count(self) -> int:
        with asking(self.label):
            answer = rows_of(self.backend, self.table.aggregate(n=self.table.count()))
            return int(answer["n"][0])

    def scans(self, columns: ColumnTypes) -> list[Scan]:
        self._refuse_text([name for name, dtype in columns.items() if dtype == pl.Float64])
        n_rows = rows_per_block(len(columns))
        rows = self._typed(columns)
        backend_of_thread = engine_of(self.backend).backend_of_thread(self.backend)

        def batches(_start: int, _n_rows: int | None) -> Iterator[pl.DataFrame]:
            with asking(self.label):
                for frame in frames_of_query(backend_of_thread(), rows, n_rows):
                    yield frame.select(cast(columns))

        no_rows = self.sample.clear().lazy().select(cast(columns))
        return [Scan(self.label, no_rows, batches=batches)]

    def summed(self, roles: Roles, settings: SumSettings, report: RowsDone) -> Summed:
        """Return the sums of all usable rows, from the database or from streamed rows."""
        # Databases can sum complete numeric columns only; levels, for example, need the rows.
        if settings.device is not None:
            only_from_rows = "sums on a device"
        elif settings.fourth:
            only_from_rows = "fourth moments"
        elif settings.exact is not None and self._exact_from_rows(roles, settings):
            only_from_rows = self._exact_from_rows(roles, settings)
        else:
            only_from_rows = _only_from_rows(roles, self.sample)
        if self._chosen_place(roles, only_from_rows) == "database":
            total, only_from_rows = self._summed_inside(roles, settings)
            if not only_from_rows:
                report(total.n_rows)
                return total
            self._chosen_place(roles, only_from_rows)
        frames = frames_of(self.source, roles)
        return sums_of_frames(frames, roles, settings, self.label, report=report)

    def _chosen_place(self, roles: Roles, only_from_rows: str) -> Place:
        """Return where to sum the rows, and log the reason."""
        place, reason = place_for(
            self.place, engine_of(self.backend), len(roles.features), only_from_rows
        )
        way = "sums inside the database" if place == "database" else "rows streamed out"
        _LOG.info("%s: %s: %s", self.label, way, reason)
        return place

    def _exact_from_rows(self, roles: Roles, settings: SumSettings) -> str:
        """Return which part of exact sums needs the rows, as text; empty if none does."""
        if self.place != "database":
            return "exact sums"
        if roles.weight is not None:
            return "weighted exact sums"
        return "exact sums of squares alone" if settings.storage == "diagonal" else ""

    def _table_sums(self, roles: Roles, settings: SumSettings) -> TableSums:
        def ask(query: Expression) -> pl.DataFrame:
            return rows_of(self.backend, query)

        if not isinstance(settings.exact, RoundingGrid):
            return TableSums(
                table=self.table,
                roles=roles,
                sample=self.sample,
                pilots=pilots_of(self.sample, roles.features),
                engine=engine_of(self.backend),
                ask=ask,
                label=self.label,
            )
        grid = settings.exact
        grid.rounded(
            np.zeros((0, len(roles.features))), roles.features
        )  # raises if the grid is not for these features
        return ExactTableSums(
            table=self.table,
            roles=roles,
            sample=self.sample,
            pilots=grid.origins,
            engine=engine_of(self.backend),
            ask=ask,
            label=self.label,
            grid=grid,
        )

    def _summed_inside(self, roles: Roles, settings: SumSettings) -> tuple[Summed, str]:
        """Return the sums that the database computed, and a text on what it could not sum."""
        self._refuse_text(roles.features)
        engine = engine_of(self.backend)
        sums = self._table_sums(roles, settings)
        with asking(self.label):
            try:
                with engine.session(self.backend):
                    total = sums.summed(settings.storage)
            except Exception as error:
                is_out_of_range = getattr(error, "sqlstate", "") == _OUT_OF_RANGE
                if not is_out_of_range or self.place == "database":
                    raise
                return Summed(), "products that are too small or too large for it"
        if not roles.allow_missing:
            return total, ""
        gaps = [name for name in roles.features if name in total.left_out.by_column]
        return total, _gaps_in(gaps)

    def _refuse_text(self, names: Sequence[str]) -> None:
        """Raise if a numeric column contains text, which the database would sum as zero."""
        is_misplaced = engine_of(self.backend).is_misplaced
        if is_misplaced is None or not names:
            return
        counts = {
            f"n{j}": is_misplaced(self.table[name]).sum() for j, name in enumerate(names)
        }
        with asking(self.label):
            answer = rows_of(self.backend, self.table.aggregate(**counts)).row(0)
        for name, count in zip(names, answer, strict=True):
            if count:
                raise InvalidInputError(
                    f"{self.label}: column {name!r} holds text among its numbers: correct the "
                    "cells, or leave the column out"
                )

    def _typed(self, columns: ColumnTypes) -> Expression:
        """Return the table with each column cast to a type that can be read without loss."""
        selected = {}
        for name, wanted in columns.items():
            column_name = original_of(name)
            is_copied = wanted is None or copy_of(column_name) in columns
            dtype = None if is_copied else wanted
            column = self.table[column_name]
            is_float = self.sample.schema[column_name] == pl.Float64
            is_decimal = column.type().is_decimal() and is_float
            if dtype == pl.Float64 or (dtype is None and is_decimal):
                column = as_float(column)
            elif dtype is not None and dtype != DAYS and kind_of_type(dtype) != NUMBER:
                column = label_of(column, self.sample, column_name)
            selected[column_name] = column
        return self.table.select(**selected)


def _sampled(backend: Backend, table: Expression, label: str) -> pl.DataFrame:
    """Return the first rows; columns of types without an equivalent become bytes."""
    rows = table.limit(SAMPLE_ROWS)
    readable: dict[str, pl.Series] = {}
    try:
        with asking(label):
            return rows_of(backend, rows)
    except InvalidInputError:
        for name in table.columns:
            with suppress(InvalidInputError), asking(label):
                readable[name] = rows_of(backend, rows.select(name)).to_series()
        if len(readable) in (0, len(table.columns)):
            raise
    height = min(len(column) for column in readable.values())
    unreadable = pl.Series([b""]).new_from_index(0, height)
    return pl.DataFrame(
        {name: readable.get(name, unreadable).head(height) for name in table.columns}
    )


def _only_from_rows(roles: Roles, sample: pl.DataFrame) -> str:
    """Return why the database cannot sum these columns, according to the first rows."""
    if roles.schema is not None and roles.schema.categories:
        return f"levels of {quoted([c.name for c in roles.schema.categories], 5)}"
    dates = [name for name in roles.features if is_date(sample.schema[name])]
    if dates:
        return f"dates of {quoted(dates, 5)}"
    if not roles.allow_missing:
        return ""
    gaps = []
    for name in roles.features:
        is_finite = sample.get_column(name).cast(float).is_finite().fill_null(value=False)
        if not is_finite.all():
            gaps.append(name)
    return _gaps_in(gaps)


def _gaps_in(names: Sequence[str]) -> str:
    return f"empty or infinite cells of {quoted(names, 5)}" if names else ""


def is_table(source: object) -> bool:
    """Return whether this is an Ibis table."""
    return type(source).__module__.startswith("ibis.") and hasattr(source, "get_backend")


def _name(table: Expression) -> str:
    try:
        return f"table {table.op().name!r}"
    except Exception:
        return "the query"
