"""A table of a database as a source of rows and of sums, by its address or as Ibis knows it."""

import logging
import re
import sqlite3
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from suffice.core.text.lists import quoted, without_passwords
from suffice.data.chunks import frames_of, rows_per_block
from suffice.data.columns import DAYS, NUMBER, Roles, is_date, kind_of_type
from suffice.data.source import SAMPLE_ROWS, Scan, Source, Telling, TextStyle, cast, copy_of
from suffice.data.sql.engines import engine_of, frames_of_query, method_for, rows_of
from suffice.data.sql.sums import TableSums, as_float, label_of, pilots_of
from suffice.data.summed import Summed, sums_of_frames
from suffice.errors import DatabaseError, InvalidInputError, SufficeError, extra

_CANCELLED = ("QueryCanceled", "InterruptException")
_OUT_OF_RANGE = "22003"
_LOST = ("08", "57P")  # SQLSTATE: connection exceptions, and the server's own going away
_LOG = logging.getLogger("suffice")
_ADDRESS = re.compile(r"(postgres(?:ql)?|duckdb|sqlite):(.*)", re.DOTALL)
_FILES = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite"}
_PASSWORD = re.compile(r"(?://[^:/@]*:|password=)(.*(?=@)|[^&]*)")


@contextmanager
def asking(label: str) -> Iterator[None]:
    """Turn whatever a database raises into an error that names the table."""
    try:
        yield
    except SufficeError:
        raise
    except Exception as error:
        raise _told(error, label) from error


def _told(error: Exception, label: str) -> SufficeError:
    text = str(error).strip()
    reason = text.splitlines()[0] if text else type(error).__name__
    if type(error).__name__ in _CANCELLED or reason == "interrupted":
        cure = "nothing of it was kept; run it again, with more time if a limit stopped it"
        return DatabaseError(f"the query over {label} was cancelled ({reason}): {cure}")
    if _is_lost(error, reason):
        cure = "nothing of it was kept; connect again and repeat"
        return DatabaseError(
            f"the connection was lost while reading {label} ({reason}): {cure}"
        )
    return InvalidInputError(f"{label} cannot be read: the database says {reason!r}")


def _is_lost(error: Exception, reason: str) -> bool:
    state = getattr(error, "sqlstate", None) or ""
    if state:
        return state.startswith(_LOST)
    kind = type(error).__name__ in (
        "OperationalError",
        "InterfaceError",
        "ConnectionException",
    )
    return kind and any(word in reason for word in ("connection", "server closed", "closed"))


@dataclass(frozen=True, slots=True, eq=False)
class TableSource:
    """The rows of an Ibis table: any table or query of a database."""

    label: str
    table: Any
    backend: Any
    sample: pl.DataFrame
    method: str = "auto"

    @classmethod
    def of(cls, table: Any, method: str = "auto") -> Self:
        try:
            backend = table.get_backend()
        except Exception as error:
            cure = (
                "take it from a connection, as in ibis.duckdb.connect('file.db').table('rows')"
            )
            raise InvalidInputError(
                f"the Ibis table belongs to no database: {cure}"
            ) from error
        label = f"{_name(table)} of {backend.name}"
        return cls(label, table, backend, _sampled(backend, table, label), method)

    @property
    def source(self) -> Source:
        return Source(self.label, self.sample, self.scans, self.count, summed=self.summed)

    def count(self) -> int:
        with asking(self.label):
            return int(self._ask(self.table.aggregate(n=self.table.count()))["n"][0])

    def scans(self, columns: Mapping[str, Any]) -> list[Scan]:
        self._refuse_odd([name for name, dtype in columns.items() if dtype == pl.Float64])
        n_rows, rows = rows_per_block(len(columns)), self._typed(columns)
        backend = engine_of(self.backend).anywhere(self.backend)

        def batches(*_: Any) -> Iterator[pl.DataFrame]:
            with asking(self.label):
                for frame in frames_of_query(backend(), rows, n_rows):
                    yield frame.select(cast(columns))

        return [
            Scan(self.label, self.sample.clear().lazy().select(cast(columns)), batches=batches)
        ]

    def summed(self, roles: Roles, told: Telling, **options: Any) -> Summed:
        """Return the sums of every usable row, by the database or from its rows."""
        # an engine adds up complete columns of numbers; all else, such as levels, comes from rows
        of_rows = "fourth moments" if options["fourth"] else _of_rows(roles, self.sample)
        of_rows = "sums on a device" if options.get("device") else of_rows
        if self._stated(roles, of_rows) == "database":
            total, of_rows = self._summed_inside(roles, options["storage"])
            if not of_rows:
                told(total.n_rows)
                return total
            self._stated(roles, of_rows)
        return sums_of_frames(frames_of(self.source, roles), roles, told, **options)

    def _stated(self, roles: Roles, of_rows: str) -> str:
        name, reason = method_for(
            self.method, engine_of(self.backend), len(roles.features), of_rows
        )
        way = "sums inside the database" if name == "database" else "rows streamed out"
        _LOG.info("%s: %s: %s", self.label, way, reason)
        return name

    def _summed_inside(self, roles: Roles, storage: str) -> tuple[Summed, str]:
        """Return the sums that the database finds, or what of them it must leave to rows."""
        self._refuse_odd(roles.features)
        pilots, engine = pilots_of(self.sample, roles.features), engine_of(self.backend)
        rows = self.table, roles, self.sample, pilots
        with asking(self.label):
            try:
                with engine.session(self.backend):
                    total = TableSums(*rows, engine, self._ask, self.label).summed(storage)
            except Exception as error:
                if (
                    getattr(error, "sqlstate", "") != _OUT_OF_RANGE
                    or self.method == "database"
                ):
                    raise
                return Summed(), "products that are too small or too large for it"
        holes = [n for n in roles.features if n in total.left_out.by_column]
        return total, _holes_of(holes) if roles.holes else ""

    def _refuse_odd(self, names: Sequence[str]) -> None:
        """Raise where a column of numbers holds text, which an engine would take for zero."""
        is_odd = engine_of(self.backend).is_odd
        if is_odd is None or not names:
            return
        cells = {f"n{j}": is_odd(self.table[name]).sum() for j, name in enumerate(names)}
        with asking(self.label):
            counts = self._ask(self.table.aggregate(**cells)).row(0)
        if any(counts):
            name = next(name for name, count in zip(names, counts, strict=True) if count)
            msg = f"column {name!r} holds text among its numbers: correct it, or ignore the column"
            raise InvalidInputError(f"{self.label}: {msg}")

    def _ask(self, query: Any) -> pl.DataFrame:
        return rows_of(self.backend, query)

    def _typed(self, columns: Mapping[str, Any]) -> Any:
        named = {name.lstrip("\0"): dtype for name, dtype in columns.items()}
        found = {}
        for name, said in named.items():
            dtype, column = None if copy_of(name) in columns else said, self.table[name]
            decimal = column.type().is_decimal() and self.sample.schema[name] == pl.Float64
            if dtype == pl.Float64 or (dtype is None and decimal):
                column = as_float(column)
            elif not (dtype is None or dtype == DAYS or kind_of_type(dtype) == NUMBER):
                column = label_of(column, self.sample, name)
            found[name] = column
        return self.table.select(**found)


def _sampled(backend: Any, table: Any, label: str) -> pl.DataFrame:
    """Return the first rows; a column of values that cannot be read here is one of bytes."""
    rows, found = table.limit(SAMPLE_ROWS), dict[str, pl.Series]()
    try:
        with asking(label):
            return rows_of(backend, rows)
    except InvalidInputError:
        for name in table.columns:
            with suppress(InvalidInputError), asking(label):
                found[name] = rows_of(backend, rows.select(name)).to_series()
        if len(found) in (0, len(table.columns)):
            raise
    height = min(map(len, found.values()))
    unknown = pl.Series([b""]).new_from_index(0, height)
    return pl.DataFrame(
        {name: found.get(name, unknown).head(height) for name in table.columns}
    )


def _of_rows(roles: Roles, sample: pl.DataFrame) -> str:
    """Return what of these columns an engine cannot add up, as far as the first rows tell."""
    if roles.schema is not None and roles.schema.categories:
        return f"levels of {quoted([c.name for c in roles.schema.categories], 5)}"
    columns = {name: sample.get_column(name) for name in roles.features}
    dates = [name for name, column in columns.items() if is_date(column.dtype)]
    if dates:
        return f"dates of {quoted(dates, 5)}"
    finite = {n: c.cast(float).is_finite().fill_null(value=False) for n, c in columns.items()}
    return (
        _holes_of([n for n, known in finite.items() if not known.all()]) if roles.holes else ""
    )


def _holes_of(names: Sequence[str]) -> str:
    return f"empty or infinite cells of {quoted(names, 5)}" if names else ""


def is_table(source: Any) -> bool:
    """Return whether this is an Ibis table."""
    return type(source).__module__.startswith("ibis.") and hasattr(source, "get_backend")


def _name(table: Any) -> str:
    try:
        return f"table {table.op().name!r}"
    except Exception:
        return "the query"


def is_database(source: Any) -> bool:
    """Return whether this is the address of a database."""
    named = isinstance(source, (str, Path))
    return named and bool(_ADDRESS.match(str(source)) or Path(source).suffix.lower() in _FILES)


def table_at(address: str | Path, said: TextStyle) -> Any:
    """Return the table, or the rows of the query, that was asked for, as an Ibis table."""
    shown = without_passwords(str(address))
    backend = _connected(str(address), shown)
    with asking(shown):
        if said.query:
            return backend.sql(said.query)
        known = backend.list_tables()
        name = said.table or (known[0] if len(known) == 1 else "")
        schema, _, bare = name.rpartition(".")
        if name in known or schema:
            there = {"database": schema} if name not in known else {}
            return backend.table(bare if there else name, **there)
    found = (
        f"has no table {name!r}"
        if name
        else "has more than one table"
        if known
        else "is empty"
    )
    cure = f"name one of {quoted(known, 10)}, or a query" if known else "check the address"
    raise InvalidInputError(f"{shown} {found}: {cure}")


def _connected(address: str, shown: str) -> Any:
    """Return a connection, which is closed with whoever holds it last."""
    ibis, psycopg = (extra(name, "sql", "a database") for name in ("ibis", "psycopg"))
    found = _ADDRESS.match(address)
    kind, place = found.groups() if found else (_FILES[Path(address).suffix.lower()], address)
    file = Path(place.removeprefix("//"))
    if not kind.startswith("postgres") and not file.is_file():
        raise InvalidInputError(f"there is no file {str(file)!r}: check the address")
    try:
        if kind == "sqlite":
            # whichever thread collects the garbage closes it
            backend = ibis.sqlite.from_connection(
                sqlite3.connect(file, check_same_thread=False)
            )
        elif kind == "duckdb":
            backend = ibis.duckdb.connect(file, read_only=True)
        else:
            backend = ibis.postgres.from_connection(psycopg.connect(address, autocommit=True))
    except Exception as error:
        # whatever was raised may hold the password, and so does its traceback
        reason = without_secret(str(error).strip().splitlines()[0], address)
        msg = f"no connection to {shown} ({reason}): check the address and the credentials"
        raise InvalidInputError(msg) from None
    weakref.finalize(backend, backend.con.close)
    return backend


def without_secret(text: str, address: str) -> str:
    """Return what was said, unless it may repeat a part of the password."""
    secret = _PASSWORD.search(address)
    parts = re.split(r"[@:/?#%]", secret[1]) if secret else []
    return "the reason may name the password" if any(p and p in text for p in parts) else text
