"""Where a store keeps its contents: named bytes, which one writer at a time replaces whole."""

import fcntl
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeAlias

from suffice.core.text.lists import without_passwords
from suffice.data.sql.database import without_secret
from suffice.errors import DatabaseError, InvalidParameterError, extra
from suffice.persistence.archive import replacing

_TABLE = "suffice_moments"  # where an address names none
_PATIENCE = 60.0  # seconds that a writer waits for others


@dataclass(frozen=True, slots=True)
class _Folder:
    """Files, each replaced by a rename; the kernel frees the lock of whoever dies."""

    path: Path

    @property
    def label(self) -> str:
        return str(self.path)

    @contextmanager
    def reading(self) -> Iterator[Self]:
        yield self

    @contextmanager
    def writing(self) -> Iterator[Self]:
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for part in self.path.rglob(".*.tmp"):  # of writers that were killed
                part.unlink()
            yield self

    def get(self, name: str) -> bytes | None:
        with suppress(FileNotFoundError):
            return (self.path / name).read_bytes()
        return None

    def put(self, name: str, content: bytes) -> None:
        (self.path / name).parent.mkdir(exist_ok=True)
        with replacing(self.path / name) as file:
            file.write(content)

    def drop(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        inside = self.path / folder
        return [f"{folder}/{name}" for name in os.listdir(inside)] if inside.is_dir() else []


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of names and bytes in a table of a database, with the verbs of a folder."""

    address: str
    table: str
    connect: Callable[..., Any]  # of whether a writer does
    error: type[Exception]  # of the driver
    mark: str  # of a parameter
    begin: str  # a transaction of one writer at a time
    connection: Any = None

    @property
    def label(self) -> str:
        return without_passwords(self.address)

    @contextmanager
    def reading(self, *, write: bool = False) -> Iterator[Self]:
        try:
            with closing(self.connect(write=write)) as connection:
                yield replace(self, connection=connection)
        except self.error as error:
            reason = without_secret(" ".join(str(error).split()), self.address)
            # not from error, whose traceback would tell the password
            raise DatabaseError(f"the store {self.label} cannot be used ({reason})") from None

    @contextmanager
    def writing(self) -> Iterator[Self]:
        columns = "name TEXT PRIMARY KEY, content BYTEA NOT NULL"
        with self.reading(write=True) as rows:
            rows.run(self.begin)
            rows.run(f"CREATE TABLE IF NOT EXISTS {self.table} ({columns})")
            yield rows
            rows.run("COMMIT")

    def run(self, statement: str, *values: Any) -> Any:
        return self.connection.execute(statement.replace("?", self.mark), values)

    def get(self, name: str) -> bytes | None:
        row = self.run(f"SELECT content FROM {self.table} WHERE name = ?", name).fetchone()
        return None if row is None else bytes(row[0])

    def put(self, name: str, content: bytes) -> None:
        insert = f"INSERT INTO {self.table} (name, content) VALUES (?, ?)"
        self.run(
            f"{insert} ON CONFLICT (name) DO UPDATE SET content = ?", name, content, content
        )

    def drop(self, name: str) -> None:
        self.run(f"DELETE FROM {self.table} WHERE name = ?", name)

    def names(self, folder: str) -> list[str]:
        found = self.run(f"SELECT name FROM {self.table} WHERE name LIKE ?", f"{folder}/%")
        return [name for (name,) in found.fetchall()]


# in a folder every put is whole, in a database all puts of a writer are; readers never wait
Place: TypeAlias = _Folder | _Rows


def place_of(where: str | Path) -> Place:
    """Return the folder, or the table ``#NAME`` of a database, that a path or address names."""
    address, _, table = str(where).partition("#")
    table = table or _TABLE
    if not address.startswith(("sqlite:", "postgresql:", "postgres:")):
        return _Folder(Path(where))
    if not re.fullmatch(r"[\w.]+", table):
        raise InvalidParameterError(f"the table {table!r} must be called by a word: rename it")
    return (_sqlite if address.startswith("sqlite:") else _postgres)(address, table)


def _sqlite(address: str, table: str) -> _Rows:
    file = Path(address.removeprefix("sqlite:").removeprefix("//"))

    def connect(*, write: bool) -> Any:
        # never read-only: a reader, too, may have to undo what a killed writer began
        uri = f"{file.absolute().as_uri()}?mode={'rwc' if write else 'rw'}"
        return sqlite3.connect(uri, _PATIENCE, isolation_level=None, uri=True)

    return _Rows(address, table, connect, sqlite3.Error, "?", "BEGIN IMMEDIATE")


def _postgres(address: str, table: str) -> _Rows:
    psycopg = extra("psycopg", "sql", "a store in PostgreSQL")
    connect = partial(psycopg.connect, address, autocommit=True)
    begin = f"BEGIN; SELECT pg_advisory_xact_lock(hashtext('{table}'))"
    return _Rows(address, table, lambda **_: connect(), psycopg.Error, "%s", begin)
