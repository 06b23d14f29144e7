"""Open a table or query at the address of a database."""

import re
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from suffice.core.text.lists import quoted, without_passwords
from suffice.data.sql.engines import Backend, Expression
from suffice.data.sql.files import duckdb_file, sqlite_file
from suffice.errors import DatabaseError, InvalidInputError, SufficeError, extra

_CANCELLED = ("QueryCanceled", "InterruptException")
_CONNECTION_ERRORS = ("OperationalError", "InterfaceError", "ConnectionException")
# SQLSTATE codes: connection exceptions, and shutdown of the server
_LOST_STATES = ("08", "57P")
_ADDRESS = re.compile(r"(postgres(?:ql)?|duckdb|sqlite):(.*)", re.DOTALL)
_FILES = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite"}
_PASSWORD = re.compile(r"(?://[^:/@]*:|password=)(.*(?=@)|[^&]*)")


@contextmanager
def asking(label: str) -> Iterator[None]:
    """Convert any database error into one that names the table."""
    try:
        yield
    except SufficeError:
        raise
    except Exception as error:
        raise _explained(error, label) from error


def _explained(error: Exception, label: str) -> SufficeError:
    text = str(error).strip()
    reason = text.splitlines()[0] if text else type(error).__name__
    if type(error).__name__ in _CANCELLED or reason == "interrupted":
        return DatabaseError(
            f"the query over {label} was cancelled ({reason}), and nothing of the result was "
            "kept: run the query again, and allow more time if a limit stopped it"
        )
    if _is_lost_connection(error, reason):
        return DatabaseError(
            f"the connection was lost while reading {label} ({reason}), and nothing of the result "
            "was kept: connect again and repeat the call"
        )
    return InvalidInputError(f"{label} cannot be read: the database says {reason!r}")


def _is_lost_connection(error: Exception, reason: str) -> bool:
    state = getattr(error, "sqlstate", None)
    if state:
        return str(state).startswith(_LOST_STATES)
    if type(error).__name__ not in _CONNECTION_ERRORS:
        return False
    return "connection" in reason or "closed" in reason


def is_database(source: object) -> bool:
    """Return whether this is the address of a database."""
    if not isinstance(source, (str, Path)):
        return False
    return bool(_ADDRESS.match(str(source))) or Path(source).suffix.lower() in _FILES


def table_at(address: str | Path, name: str | None) -> Expression:
    """Return a database table, or the rows of a query, as an Ibis table.

    ``name`` is a table, optionally with its schema, or an SQL query. It may be None if the database
    has only one table.
    """
    shown = without_passwords(str(address))
    backend = _connected(str(address), shown)
    with asking(shown):
        tables = backend.list_tables()
        if name is None and len(tables) == 1:
            return backend.table(tables[0])
        if name is not None and name in tables:
            return backend.table(name)
        if name is not None and is_query(name):
            return backend.sql(name)
        if name is not None and "." in name:
            schema, _, table = name.rpartition(".")
            return backend.table(table, database=schema)
    if not tables:
        problem = f"has no table {name!r}" if name else "is empty"
        raise InvalidInputError(f"{shown} {problem}: check the address")
    problem = f"has no table {name!r}" if name else "has more than one table"
    raise InvalidInputError(f"{shown} {problem}: name one of {quoted(tables, 10)}, or a query")


def is_query(text: str) -> bool:
    """Return whether this is an SQL query rather than the name of a table."""
    return len(text.split()) > 1


def _connected(address: str, shown: str) -> Backend:
    """Return a connection that closes itself when it is no longer referenced."""
    ibis = extra("ibis", "sql", "a database")
    psycopg = extra("psycopg", "sql", "a database")
    match = _ADDRESS.match(address)
    kind = match[1] if match else _FILES[Path(address).suffix.lower()]
    place = match[2] if match else address
    file = Path(place.removeprefix("//"))
    if not kind.startswith("postgres") and not file.is_file():
        raise InvalidInputError(f"there is no file {str(file)!r}: check the address")
    try:
        if kind == "sqlite":
            backend = ibis.sqlite.from_connection(sqlite_file(file))
        elif kind == "duckdb":
            backend = duckdb_file(file)
        else:
            connection = psycopg.connect(address, autocommit=True)
            backend = ibis.postgres.from_connection(connection)
    except Exception as error:
        # The original error and its traceback may contain the password.
        reason = without_secret(str(error).strip().splitlines()[0], address)
        msg = f"no connection to {shown} ({reason}): check the address and the credentials"
        raise InvalidInputError(msg) from None
    weakref.finalize(backend, backend.con.close)
    return backend


def without_secret(text: str, address: str) -> str:
    """Return a message, or a general text if it may contain part of the address's password."""
    match = _PASSWORD.search(address)
    if match is None:
        return text
    parts = re.split(r"[@:/?#%]", match[1])
    has_secret = any(part and part in text for part in parts)
    return "the reason may name the password" if has_secret else text
