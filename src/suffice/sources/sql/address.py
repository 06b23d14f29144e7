"""Databases by their addresses: postgresql://…, duckdb:FILE, sqlite:FILE, and files of these."""

from __future__ import annotations

import re
import weakref
from pathlib import Path
from typing import Any

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.sources.source import TextStyle
from suffice.sources.sql.database import asking
from suffice.text.lists import quoted
from suffice.text.printable import without_passwords

_ADDRESS = re.compile(r"(postgres(?:ql)?|duckdb|sqlite):(.*)", re.DOTALL)
_FILES = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite"}
_PASSWORD = re.compile(r"(?://[^:/@]*:|password=)(.*(?=@)|[^&]*)")


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
    found = f"has no table {name!r}" if name else "has more than one table" if known else "is empty"
    cure = f"name one of {quoted(known, 10)}, or a query" if known else "check the address"
    raise InvalidInputError(f"{shown} {found}: {cure}")


def _connected(address: str, shown: str) -> Any:
    """Return a connection, which is closed with whoever holds it last."""
    try:
        import ibis
        import psycopg
    except ImportError as error:
        msg = "a database needs the extra 'sql': pip install 'suffice[sql]'"
        raise InvalidParameterError(msg) from error
    found = _ADDRESS.match(address)
    kind, place = found.groups() if found else (_FILES[Path(address).suffix.lower()], address)
    file = Path(place.removeprefix("//"))
    if not kind.startswith("postgres") and not file.is_file():
        raise InvalidInputError(f"there is no file {str(file)!r}: check the address")
    try:
        if kind == "sqlite":
            backend = ibis.sqlite.connect(file)
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
