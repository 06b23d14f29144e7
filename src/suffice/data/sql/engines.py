"""What is particular to each database engine, and nothing else about it."""

import io
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import polars as pl

from suffice.errors import InvalidInputError, InvalidParameterError, require_word

METHODS = ("auto", "database", "stream")
_BYTES = 1 << 23  # of text parsed at a time
_FETCHED = 1 << 13  # rows of SQLite at a time, which fit a cache
# keeps to ourselves that Ibis calls what DuckDB and pandas mean to give up
_quietly = partial(warnings.catch_warnings, action="ignore", category=DeprecationWarning)


@dataclass(frozen=True, slots=True)
class Engine:
    """Limits and habits of an engine; the defaults suit one that nothing is known of."""

    max_outputs: int = 1000  # columns of one answer
    widest_sums: int = 50  # features up to which sums inside beat streaming out; 0: never
    session: Callable[[Any], AbstractContextManager[Any]] = lambda _: nullcontext()
    batches: Callable[[Any, Any, int], Iterator[pl.DataFrame]] | None = None
    anywhere: Callable[[Any], Callable[[], Any]] = lambda backend: lambda: backend
    is_odd: Callable[[Any], Any] | None = None  # whether a cell is not of its column's type


def method_for(
    method: str,
    engine: Engine,
    n_features: int,
    of_rows: str = "",
) -> tuple[str, str]:
    """Return "database" or "stream", and why; ``of_rows`` says what only rows can give."""
    # an engine interprets d² / 2 products, our kernels are compiled: beyond some width rows win
    require_word(method, METHODS, "method")
    if of_rows and method == "database":
        msg = f"{of_rows} are not summed inside a database: use method='stream'"
        raise InvalidParameterError(msg)
    if method != "auto":
        return method, "asked for"
    if of_rows:
        return "stream", f"{of_rows} are summed from rows"
    if not engine.widest_sums:
        return "stream", "rows leave this engine without a copy, so that is quicker"
    wide = n_features > engine.widest_sums
    name, sign, edge = ("stream", ">", "from") if wide else ("database", "≤", "up to")
    return (
        name,
        f"{n_features} features {sign} {engine.widest_sums}, {edge} which that is quicker",
    )


def rows_of(backend: Any, query: Any) -> pl.DataFrame:
    """Return the few rows that answer a query."""
    found = list(frames_of_query(backend, query, 1 << 20))
    none = pl.DataFrame(query.schema().to_pyarrow().empty_table())
    return pl.concat(found, how="vertical_relaxed") if found else none


def frames_of_query(backend: Any, rows: Any, n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of an expression in frames of about ``n_rows``, in bounded memory."""
    engine = engine_of(backend)
    if engine.batches is not None:
        # Ibis would open a cursor, for which PostgreSQL takes one processor only
        yield from engine.batches(backend, rows, n_rows)
        return
    for name, dtype in rows.schema().items():
        if dtype.is_interval():  # of which polars makes no error, but a panic
            raise InvalidInputError(f"column {name!r} holds intervals: leave it out")
    with _quietly():
        reader = backend.to_pyarrow_batches(rows, chunk_size=n_rows)
        batch = next(reader, None)
    while batch is not None:
        yield pl.DataFrame(batch)
        with _quietly():
            batch = next(reader, None)


@contextmanager
def _one_snapshot(backend: Any) -> Iterator[None]:
    """Let several queries see the same rows of PostgreSQL, and compile none of them."""
    # its just-in-time compiler takes longer over a thousand sums than it saves
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


def _copied(backend: Any, rows: Any, n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield rows by COPY, which is three times as quick as a cursor and as exact."""
    schema = dict(pl.DataFrame(rows.schema().to_pyarrow().empty_table()).schema)
    connection, copy = backend.con, f"COPY ({backend.compile(rows)}) TO STDOUT (FORMAT CSV)"
    with connection.cursor() as cursor, connection.transaction():
        cursor.execute("SET LOCAL datestyle TO ISO")
        with cursor.copy(copy) as lines:
            for block in _blocks(map(bytes, lines), n_rows):  # a message is one row
                yield _parsed(block, schema)


def _blocks(lines: Iterable[bytes], n_rows: int) -> Iterator[bytes]:
    held, size = list[bytes](), 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= _BYTES or len(held) >= n_rows:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _parsed(text: bytes, schema: dict[str, Any]) -> pl.DataFrame:
    kinds = (pl.Float64 if t.is_decimal() else t for t in schema.values())
    written = {f"c{j}": t if t.is_numeric() else pl.String for j, t in enumerate(kinds)}
    frame = pl.read_csv(io.BytesIO(text), has_header=False, schema=written, glob=False)
    columns = zip(frame, schema.items(), strict=True)
    return pl.DataFrame(
        [_meant(column, dtype).alias(name) for column, (name, dtype) in columns]
    )


def _meant(column: pl.Series, dtype: Any) -> pl.Series:
    """Return text as truth values or times, where it stands for them; the rest stays text."""
    if dtype == pl.Boolean:
        return column == "t"
    if dtype not in (pl.Date, pl.Datetime):
        return column
    known = column.set(column.str.ends_with("infinity"), None)
    days = dtype == pl.Date
    return (
        known.str.to_date("%F", strict=False) if days else known.str.to_datetime(strict=False)
    )


def _fetched(backend: Any, rows: Any, n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield rows of SQLite; Ibis would hold all, and whole numbers beside gaps as floats."""
    types = rows.schema()
    with closing(backend.con.execute(backend.compile(rows))) as cursor:
        while block := cursor.fetchmany(min(n_rows, _FETCHED)):
            columns = zip(types.items(), zip(*block, strict=True), strict=True)
            yield pl.DataFrame([_stored(values, *column) for column, values in columns])


def _stored(values: Sequence[Any], name: str, dtype: Any) -> pl.Series:
    """Return cells of SQLite, where each has a type of its own, if they suit their column."""
    found = {*map(type, values)} - {type(None)}
    if dtype.is_string():
        if bytes in found:
            values = [
                v.decode(errors="replace") if isinstance(v, bytes) else v for v in values
            ]
        return pl.Series(name, values, pl.String, strict=False)
    if dtype.is_numeric() and found <= {int, float}:
        whole = dtype.is_integer() and float not in found
        return pl.Series(name, values, pl.Int64 if whole else pl.Float64, strict=False)
    if dtype.is_boolean() and found <= {int, float}:
        return pl.Series(name, values, pl.Float64, strict=False).cast(pl.Boolean)
    if (dtype.is_date() or dtype.is_timestamp()) and found <= {str}:
        return pl.Series(name, [None if v is None else _moment(v, name) for v in values])
    if found <= {bytes}:
        return pl.Series(name, values, pl.Binary)
    kinds = " and ".join(sorted(kind.__name__ for kind in found))
    msg = f"column {name!r} is declared as {dtype}, and holds {kinds}: correct it, or leave it out"
    raise InvalidInputError(msg)


def _moment(text: str, name: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        msg = f"column {name!r} holds {text!r} among its dates: write them as 2026-11-16"
        raise InvalidInputError(msg) from error
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _from_any_thread(backend: Any) -> Callable[[], Any]:
    """Return what gives a connection to the same file in whatever thread it is called."""
    # a connection of SQLite answers only in the thread that opened it
    (path,) = [
        row[2] for row in backend.con.execute("PRAGMA database_list") if row[1] == "main"
    ]
    owner = threading.get_ident()

    def connection() -> Any:
        if threading.get_ident() == owner:
            return backend
        if not path:
            msg = "a table in the memory of SQLite cannot be streamed: put it into a file"
            raise InvalidInputError(msg)
        return type(backend)().connect(path)

    return connection


_KNOWN = {
    "duckdb": Engine(max_outputs=3000, widest_sums=0),
    # 1664 columns of an answer
    "postgres": Engine(
        max_outputs=1600, widest_sums=30, session=_one_snapshot, batches=_copied
    ),
    "sqlite": Engine(  # 2000 columns of an answer
        max_outputs=1900,
        widest_sums=10,
        batches=_fetched,
        anywhere=_from_any_thread,
        is_odd=lambda column: column.typeof().isin(["text", "blob"]),
    ),
}


def engine_of(backend: Any) -> Engine:
    """Return what is known of the engine of an Ibis backend."""
    return _KNOWN.get(backend.name, Engine())
