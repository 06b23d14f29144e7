"""Database files opened for reading alone: what they define reaches no other file."""

import sqlite3
from pathlib import Path
from typing import Any

from suffice.errors import extra

# A view of a file may call functions that read other files, or load code.
_DUCKDB_SETTINGS = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


def duckdb_file(path: Path) -> Any:
    """Return an Ibis connection to a file of DuckDB that reads this file only."""
    ibis = extra("ibis", "sql", "a database")
    # DuckDB never lets external access be allowed again. All other settings cannot be locked:
    # Ibis sets the time zone of every connection, and those to one file share their settings.
    backend: Any = ibis.duckdb.connect(path, read_only=True, **_DUCKDB_SETTINGS)
    return backend


def sqlite_file(path: Path) -> sqlite3.Connection:
    """Return a connection to a file of SQLite, for any thread, that reads this file only."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    # whichever thread collects the garbage closes it; extensions cannot be loaded unless enabled
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    # views and triggers of the file may call no functions with side effects
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.set_authorizer(_only_reading)
    return connection


def _only_reading(action: int, argument: str | None, *_: str | None) -> int:
    """Return whether SQLite may prepare a statement that takes this action."""
    if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
        return sqlite3.SQLITE_DENY
    is_reopened = (argument or "").lower() in ("trusted_schema", "writable_schema")
    if action == sqlite3.SQLITE_PRAGMA and is_reopened:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK
