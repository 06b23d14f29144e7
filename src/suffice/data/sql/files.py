"""Open database files read-only, without access to any other file."""

import sqlite3
from pathlib import Path
from typing import Any

from suffice.errors import extra

# Views in a file may call functions that read other files or load code.
_DUCKDB_SETTINGS = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


def duckdb_file(path: Path) -> Any:
    """Return an Ibis connection to a DuckDB file that can read only this file."""
    ibis = extra("ibis", "sql", "a database")
    # Once disabled, external access cannot be enabled again in DuckDB. Other settings are not
    # locked: connections to a file share them, and Ibis sets the time zone of every connection.
    backend: Any = ibis.duckdb.connect(path, read_only=True, **_DUCKDB_SETTINGS)
    return backend


def sqlite_file(path: Path) -> sqlite3.Connection:
    """Return a connection to a SQLite file, usable in any thread, that can read only this file."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    # Garbage collection may close the connection in any thread. Extensions are disabled by default.
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    # views and triggers in the file may not call functions with side effects
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.set_authorizer(_only_reading)
    return connection


def _only_reading(action: int, argument: str | None, *_: str | None) -> int:
    """Return SQLITE_DENY for actions that open other files or lift limits, else SQLITE_OK."""
    if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
        return sqlite3.SQLITE_DENY
    is_reopened = (argument or "").lower() in ("trusted_schema", "writable_schema")
    if action == sqlite3.SQLITE_PRAGMA and is_reopened:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK
