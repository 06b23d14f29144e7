"""The place of a store: a folder or database table with named byte strings.

One writer at a time replaces byte strings, and readers never wait. In a folder, each put is atomic.
In a database, all puts of a writer together are atomic.
"""

import fcntl
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, Self, TypeAlias

from suffice.core.text.lists import without_passwords
from suffice.data.sql.addresses import without_secret
from suffice.errors import DatabaseError, InvalidParameterError, extra
from suffice.persistence.archive import replacing
from suffice.persistence.links import followed

_TABLE = "suffice_moments"  # default table name
_PATIENCE = 60.0  # seconds that a writer waits for other writers
# ending of the names of temporary files that `replacing` writes
_UNFINISHED = r"\.[0-9a-f]{16}\.tmp"
# names that a store creates in each of its folders; it leaves all other files alone
_NAMES = {
    "": re.compile("manifest"),
    "objects": re.compile(r"[0-9a-f]{64}\.moments"),
    "sums": re.compile(r"[0-9a-f]{64}"),
}
_NAMES_UNFINISHED = {
    "": re.compile(r"\.manifest" + _UNFINISHED),
    "objects": re.compile(r"\.[0-9a-f]{40}" + _UNFINISHED),
    "sums": re.compile(r"\.[0-9a-f]{40}" + _UNFINISHED),
}


@dataclass(frozen=True, slots=True)
class _Folder:
    """Byte strings as files of a folder, which are replaced by renaming."""

    path: Path

    @property
    def label(self) -> str:
        return str(self.path)

    @contextmanager
    def reading(self) -> Iterator[Self]:
        yield self

    @contextmanager
    def writing(self) -> Iterator[Self]:
        root = followed(self.path)
        if root.exists() and not root.is_dir():
            raise InvalidParameterError(
                f"{self.path} is a file, but a store is a folder: name another place"
            )
        root.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # temporary files that killed writers left
            for folder, pattern in _NAMES_UNFINISHED.items():
                for name in self._files(folder, pattern):
                    (self.path / folder / name).unlink()
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
        return [f"{folder}/{name}" for name in self._files(folder, _NAMES[folder])]

    def _files(self, folder: str, pattern: re.Pattern[str]) -> list[str]:
        """Return the names of the regular files in a folder that match a pattern."""
        inside = self.path / folder
        if not inside.is_dir():
            return []
        with os.scandir(inside) as found:
            return [
                entry.name
                for entry in found
                if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            ]


class _Cursor(Protocol):
    """The result of a database statement."""

    def fetchone(self) -> Sequence[bytes] | None: ...
    def fetchall(self) -> Sequence[Sequence[str]]: ...


class _Connection(Protocol):
    """A connection of SQLite or PostgreSQL."""

    def execute(self, statement: str, values: Sequence[str | bytes], /) -> _Cursor: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Rows:
    """Byte strings as rows of a database table."""

    address: str
    table: str
    # opens a connection, for a writer if the argument is True, else for a reader
    connect: Callable[[bool], _Connection]
    error: type[Exception]  # the driver's base error
    placeholder: str  # the driver's placeholder for a parameter
    begin: str  # statement that begins a transaction with a single writer
    connection: _Connection | None = None

    @property
    def label(self) -> str:
        return without_passwords(self.address)

    @contextmanager
    def reading(self) -> Iterator[Self]:
        with self._connected(write=False) as rows:
            yield rows

    @contextmanager
    def _connected(self, *, write: bool) -> Iterator[Self]:
        try:
            with closing(self.connect(write)) as connection:
                yield replace(self, connection=connection)
        except self.error as error:
            reason = without_secret(" ".join(str(error).split()), self.address)
            # The cause is dropped, because its traceback could contain the password.
            raise DatabaseError(
                f"the store {self.label} cannot be used ({reason}): check the address"
            ) from None

    @contextmanager
    def writing(self) -> Iterator[Self]:
        columns = "name TEXT PRIMARY KEY, content BYTEA NOT NULL"
        with self._connected(write=True) as rows:
            rows.run(self.begin)
            rows.run(f"CREATE TABLE IF NOT EXISTS {self.table} ({columns})")
            yield rows
            rows.run("COMMIT")

    def run(self, statement: str, *values: str | bytes) -> _Cursor:
        """Execute a statement with ``?`` as placeholder, and return its cursor."""
        assert self.connection is not None
        return self.connection.execute(statement.replace("?", self.placeholder), values)

    def get(self, name: str) -> bytes | None:
        row = self.run(f"SELECT content FROM {self.table} WHERE name = ?", name).fetchone()
        return None if row is None else bytes(row[0])

    def put(self, name: str, content: bytes) -> None:
        insert = (
            f"INSERT INTO {self.table} (name, content) VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET content = ?"
        )
        self.run(insert, name, content, content)

    def drop(self, name: str) -> None:
        self.run(f"DELETE FROM {self.table} WHERE name = ?", name)

    def names(self, folder: str) -> list[str]:
        cursor = self.run(f"SELECT name FROM {self.table} WHERE name LIKE ?", f"{folder}/%")
        return [name for (name,) in cursor.fetchall()]


Place: TypeAlias = _Folder | _Rows


def place_of(where: str | Path) -> Place:
    """Return the folder, or the database table ``#NAME``, at a path or address."""
    address, _, table = str(where).partition("#")
    table = table or _TABLE
    if not address.startswith(("sqlite:", "postgresql:", "postgres:")):
        return _Folder(Path(where))
    if not re.fullmatch(r"[\w.]+", table):
        raise InvalidParameterError(
            f"the table name {table!r} is not allowed: use letters, digits, underscores and dots "
            "only"
        )
    if address.startswith("sqlite:"):
        return _sqlite(address, _quoted(table))
    # PostgreSQL converts names without quotes to lower case
    return _postgres(address, _quoted(table.lower()))


def _quoted(table: str) -> str:
    """Return the SQL name of a table, optionally with its schema."""
    return ".".join(f'"{word}"' for word in table.split("."))


def _sqlite(address: str, table: str) -> _Rows:
    file = Path(address.removeprefix("sqlite:").removeprefix("//"))

    def connect(write: bool) -> sqlite3.Connection:  # noqa: FBT001
        # A reader does not open the file read-only, because it may have to roll back a killed
        # writer.
        uri = f"{file.absolute().as_uri()}?mode={'rwc' if write else 'rw'}"
        return sqlite3.connect(uri, _PATIENCE, isolation_level=None, uri=True)

    return _Rows(
        address=address,
        table=table,
        connect=connect,
        error=sqlite3.Error,
        placeholder="?",
        begin="BEGIN IMMEDIATE",
    )


def _postgres(address: str, table: str) -> _Rows:
    psycopg = extra("psycopg", "sql", "a store in PostgreSQL")
    return _Rows(
        address=address,
        table=table,
        connect=lambda _write: psycopg.connect(address, autocommit=True),
        error=psycopg.Error,
        placeholder="%s",
        begin=f"BEGIN; SELECT pg_advisory_xact_lock(hashtext('{table}'))",
    )
