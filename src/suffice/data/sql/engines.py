"""Limits and special functions of each database engine."""

import io
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from suffice.core.text.lists import quote
from suffice.data.source import ColumnType
from suffice.data.sql.files import sqlite_file
from suffice.errors import InvalidInputError, InvalidParameterError

_BYTES = 1 << 23  # number of bytes of text parsed at a time
_FETCHED = 1 << 13  # number of rows fetched from SQLite at a time, which fit into the cache

# Types of Ibis, an optional dependency.
Backend: TypeAlias = Any
Expression: TypeAlias = Any  # a table, a column or an aggregate
IbisType: TypeAlias = Any
Place: TypeAlias = Literal["database", "local"]  # where rows are summed


@contextmanager
def _without_deprecations() -> Iterator[None]:
    """Hide warnings that Ibis calls deprecated functions of DuckDB and pandas."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        yield


def _no_session(_backend: Backend) -> AbstractContextManager[None]:
    return nullcontext()


def _same_in_every_thread(backend: Backend) -> Callable[[], Backend]:
    return lambda: backend


@dataclass(frozen=True, slots=True)
class Engine:
    """Limits and special functions of an engine; the defaults suit an unknown engine."""

    max_outputs: int = 1000  # most columns of a query's result
    # most features for which sums in the database are faster than streaming; 0 if they never are
    widest_sums: int = 50
    # Makes several queries see the same rows.
    session: Callable[[Backend], AbstractContextManager[None]] = _no_session
    # Yields the rows of a query; None if Ibis yields them.
    batches: Callable[[Backend, Expression, int], Iterator[pl.DataFrame]] | None = None
    # Returns a function that opens a connection in the thread that calls it.
    backend_of_thread: Callable[[Backend], Callable[[], Backend]] = _same_in_every_thread
    # Returns whether a cell has another type than its column; None if this cannot happen.
    is_misplaced: Callable[[Expression], Expression] | None = None


def place_for(
    place: Literal["auto"] | Place,
    engine: Engine,
    n_features: int,
    only_from_rows: str = "",
) -> tuple[Place, str]:
    """Return where to sum, and why; ``only_from_rows`` is a text on what needs the rows."""
    if only_from_rows and place == "database":
        msg = f"{only_from_rows} cannot be summed inside a database: use on='local'"
        raise InvalidParameterError(msg)
    if place != "auto":
        return place, "set by the user"
    if only_from_rows:
        return "local", f"{only_from_rows} are summed from rows"
    # Wide tables are streamed, because the database interprets d² / 2 products, whereas loops here
    # are compiled.
    if not engine.widest_sums:
        return "local", "rows leave this engine without a copy, so that is quicker"
    if n_features > engine.widest_sums:
        reason = f"that is quicker with more than {engine.widest_sums} features"
        return "local", reason
    reason = f"that is quicker with at most {engine.widest_sums} features"
    return "database", reason


def rows_of(backend: Backend, query: Expression) -> pl.DataFrame:
    """Return the rows of a small query result."""
    frames = list(frames_of_query(backend, query, 1 << 20))
    if not frames:
        return pl.DataFrame(query.schema().to_pyarrow().empty_table())
    return pl.concat(frames, how="vertical_relaxed")


def frames_of_query(backend: Backend, rows: Expression, n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of an expression in frames of about ``n_rows``, in bounded memory."""
    engine = engine_of(backend)
    if engine.batches is not None:
        # Ibis would use a cursor, which PostgreSQL serves with one processor only.
        yield from engine.batches(backend, rows, n_rows)
        return
    for name, dtype in rows.schema().items():
        if dtype.is_interval():  # polars would panic on intervals
            raise InvalidInputError(
                f"column {name!r} holds intervals, which cannot be used as numbers: leave the "
                "column out"
            )
    with _without_deprecations():
        reader = backend.to_pyarrow_batches(rows, chunk_size=n_rows)
        batch = next(reader, None)
    while batch is not None:
        yield pl.DataFrame(batch)
        with _without_deprecations():
            batch = next(reader, None)


@contextmanager
def _one_snapshot(backend: Backend) -> Iterator[None]:
    """Make several queries see the same rows of PostgreSQL, without just-in-time compilation."""
    # Compiling a thousand sums takes longer than it saves.
    import psycopg

    connection = backend.con
    if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        yield
        return
    before = connection.isolation_level
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    try:
        with connection.transaction():
            connection.execute("SET LOCAL jit = off")
            yield
    finally:
        if not connection.closed:
            connection.isolation_level = before


def _copied(backend: Backend, rows: Expression, n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield rows of PostgreSQL by COPY, which is three times as fast as a cursor."""
    schema = dict(pl.DataFrame(rows.schema().to_pyarrow().empty_table()).schema)
    connection = backend.con
    copy = f"COPY ({backend.compile(rows)}) TO STDOUT (FORMAT CSV)"
    with connection.cursor() as cursor, connection.transaction():
        cursor.execute("SET LOCAL datestyle TO ISO")
        with cursor.copy(copy) as lines:
            for block in _line_blocks(map(bytes, lines), n_rows):  # each message is one row
                yield _parsed(block, schema)


def _line_blocks(lines: Iterable[bytes], n_rows: int) -> Iterator[bytes]:
    block: list[bytes] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size >= _BYTES or len(block) >= n_rows:
            yield b"".join(block)
            block = []
            size = 0
    if block:
        yield b"".join(block)


def _parsed(text: bytes, schema: dict[str, pl.DataType]) -> pl.DataFrame:
    """Return CSV rows as columns with the types of a schema."""
    types: dict[str, ColumnType] = {}
    for j, dtype in enumerate(schema.values()):
        if dtype.is_decimal():
            types[f"c{j}"] = pl.Float64
        else:
            types[f"c{j}"] = dtype if dtype.is_numeric() else pl.String
    frame = pl.read_csv(io.BytesIO(text), has_header=False, schema=types, glob=False)
    columns = []
    for column, (name, dtype) in zip(frame, schema.items(), strict=True):
        columns.append(_values_of_text(column, dtype).alias(name))
    return pl.DataFrame(columns)


def _values_of_text(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return text as Booleans or times if that is the type; other text is unchanged."""
    if dtype == pl.Boolean:
        return column == "t"
    if dtype not in (pl.Date, pl.Datetime):
        return column
    finite = column.set(column.str.ends_with("infinity"), None)
    if dtype == pl.Date:
        return finite.str.to_date("%F", strict=False)
    return finite.str.to_datetime(strict=False)


def _fetched(backend: Backend, rows: Expression, n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield rows of SQLite in blocks; Ibis would load all rows and make integers floats."""
    types = rows.schema()
    with closing(backend.con.execute(backend.compile(rows))) as cursor:
        while True:
            block = cursor.fetchmany(min(n_rows, _FETCHED))
            if not block:
                return
            columns = []
            for (name, dtype), values in zip(
                types.items(), zip(*block, strict=True), strict=True
            ):
                columns.append(_stored(values, name, dtype))
            yield pl.DataFrame(columns)


def _stored(values: Sequence[object], name: str, dtype: IbisType) -> pl.Series:
    """Return cells of SQLite as a column; raise if the type of a cell does not fit the column."""
    kinds = {type(value) for value in values if value is not None}
    if dtype.is_string():
        if bytes in kinds:
            values = [
                v.decode(errors="replace") if isinstance(v, bytes) else v for v in values
            ]
        return pl.Series(name, values, pl.String, strict=False)
    if dtype.is_numeric() and kinds <= {int, float}:
        is_whole = dtype.is_integer() and float not in kinds
        return pl.Series(name, values, pl.Int64 if is_whole else pl.Float64, strict=False)
    if dtype.is_boolean() and kinds <= {int, float}:
        return pl.Series(name, values, pl.Float64, strict=False).cast(pl.Boolean)
    if (dtype.is_date() or dtype.is_timestamp()) and kinds <= {str}:
        return pl.Series(name, [None if v is None else _moment(str(v), name) for v in values])
    if kinds <= {bytes}:
        return pl.Series(name, values, pl.Binary)
    names = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise InvalidInputError(
        f"column {name!r} is declared as {dtype}, but holds {names}: correct the cells, or leave "
        "the column out"
    )


def _moment(text: str, name: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        msg = f"column {name!r} holds {quote(text)} among its dates: write all dates as 2026-11-16"
        raise InvalidInputError(msg) from error
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _from_any_thread(backend: Backend) -> Callable[[], Backend]:
    """Return a function that opens a connection to the same file in the calling thread."""
    # A SQLite connection works only in the thread that opened it.
    databases = backend.con.execute("PRAGMA database_list").fetchall()
    (path,) = [path for _, name, path in databases if name == "main"]
    owner = threading.get_ident()

    def connection() -> Backend:
        if threading.get_ident() == owner:
            return backend
        if not path:
            msg = (
                "a table in the memory of SQLite cannot be streamed: write the table to a file"
            )
            raise InvalidInputError(msg)
        # The writer of predictions may request batches from several threads, though one at a time.
        return type(backend).from_connection(sqlite_file(Path(path)))

    return connection


def _is_text_or_blob(column: Expression) -> Expression:
    return column.typeof().isin(["text", "blob"])


_ENGINES = {
    "duckdb": Engine(max_outputs=3000, widest_sums=0),
    "postgres": Engine(
        max_outputs=1600,  # PostgreSQL's limit is 1664
        widest_sums=30,
        session=_one_snapshot,
        batches=_copied,
    ),
    "sqlite": Engine(
        max_outputs=1900,  # SQLite's limit is 2000
        widest_sums=10,
        batches=_fetched,
        backend_of_thread=_from_any_thread,
        is_misplaced=_is_text_or_blob,
    ),
}


def engine_of(backend: Backend) -> Engine:
    """Return the limits and functions for the engine of an Ibis backend."""
    return _ENGINES.get(backend.name, Engine())
