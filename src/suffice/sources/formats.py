"""Kinds of files: how a table of each is sampled, scanned and written."""

from __future__ import annotations

import os
import re
from bisect import bisect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from suffice.archive import replacing
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.sources.delimited import TextTable, head_of
from suffice.sources.reading import interruptibly, reading_of
from suffice.sources.source import SAMPLE_ROWS, Reading, Scan, cast, exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Sink = Callable[[pl.LazyFrame, Any], object]


@dataclass(frozen=True, slots=True)
class Delimited:
    """Separated text; the separator is found unless the extension says it."""

    separator: str | None = None

    def open(
        self,
        path: Path | str,
        reading: Reading,
        *,
        types_only: bool = False,  # noqa: ARG002
    ) -> TextTable:
        """Return the table of a file, after a look at its first lines."""
        head = _first_lines(path) if isinstance(path, str) else head_of(path)
        return TextTable.of(head, path, reading, str(path), self.separator)

    def n_rows(self, path: Path | str) -> None:  # noqa: ARG002
        """Return None: text says nothing of its length."""
        return


@dataclass(frozen=True, slots=True, eq=False)
class TypedTable:
    """A file whose columns have types of their own."""

    label: str
    sample: pl.DataFrame
    scanner: Callable[..., pl.LazyFrame]

    def scan(self, path: Any, columns: Mapping[str, Any]) -> Scan:
        """Return all rows of these columns, lazily."""
        lazily = self.scanner(path).select(cast(columns))
        return Scan(self.label, lazily, where=lambda: unreadable_part(path))


@dataclass(frozen=True, slots=True)
class Typed:
    """A binary format with a schema: Parquet, or Arrow IPC, of which Feather is one."""

    scanner: Callable[..., pl.LazyFrame]
    counted: bool

    def open(
        self,
        path: Path | str,
        reading: Reading,  # noqa: ARG002
        *,
        types_only: bool = False,
    ) -> TypedTable:
        """Return the table of a file."""
        n_rows = 0 if types_only else SAMPLE_ROWS
        with reading_of(str(path), lambda: unreadable_part(path)):
            sample = self._scan(path).head(n_rows).collect()
        return TypedTable(str(path), sample, self._scan)

    def n_rows(self, path: Path | str) -> int | None:
        """Return the number of rows, which the footer tells."""
        if not self.counted:
            return None
        return int(self._scan(path).select(pl.len()).collect().item())

    def _scan(self, path: Any) -> pl.LazyFrame:
        return self.scanner(path, glob=is_url(path))


@dataclass(frozen=True, slots=True, eq=False)
class JsonTable:
    """A file of JSON objects, one a line."""

    label: str
    sample: pl.DataFrame

    def scan(self, path: Any, columns: Mapping[str, Any]) -> Scan:
        """Return all rows of these columns, lazily."""
        types = {name: self._parsed(name, dtype) for name, dtype in columns.items()}
        return Scan(self.label, pl.scan_ndjson(path, schema=types).select(cast(columns)))

    def parse(self, block: Any, columns: Mapping[str, Any]) -> pl.DataFrame:
        """Return the rows of one block of bytes."""
        types = {name: self._parsed(name, dtype) for name, dtype in columns.items()}
        return pl.read_ndjson(block, schema=types).select(cast(columns))

    def _parsed(self, name: str, dtype: Any) -> Any:
        """Return the type to parse as: numbers may widen, everything else stays as found."""
        found = self.sample.schema[name]
        return pl.Float64 if dtype == pl.Float64 and found.is_numeric() else found


@dataclass(frozen=True, slots=True)
class JsonLines:
    """One JSON object a line."""

    def open(
        self,
        path: Any,
        reading: Reading,  # noqa: ARG002
        label: str = "",
        *,
        types_only: bool = False,  # noqa: ARG002
    ) -> JsonTable:
        """Return the table of a file, typed by its first rows."""
        label = label or str(path)
        with reading_of(label):
            sample = pl.scan_ndjson(
                path, infer_schema_length=SAMPLE_ROWS, n_rows=SAMPLE_ROWS
            ).collect()
        return JsonTable(label, sample)

    def n_rows(self, path: Path | str) -> None:  # noqa: ARG002
        """Return None: text says nothing of its length."""
        return


FileTable: TypeAlias = TextTable | TypedTable | JsonTable  # one file, known by its first rows
Format: TypeAlias = Delimited | Typed | JsonLines

FORMATS: Mapping[str, Format] = {
    ".csv": Delimited(),
    ".txt": Delimited(),
    ".data": Delimited(),
    ".tsv": Delimited("\t"),
    ".tab": Delimited("\t"),
    ".csv.gz": Delimited(),
    ".tsv.gz": Delimited("\t"),
    ".parquet": Typed(pl.scan_parquet, counted=True),
    ".pq": Typed(pl.scan_parquet, counted=True),
    ".feather": Typed(pl.scan_ipc, counted=True),
    ".arrow": Typed(pl.scan_ipc, counted=True),
    ".ipc": Typed(pl.scan_ipc, counted=True),
    ".jsonl": JsonLines(),
    ".ndjson": JsonLines(),
}


def is_url(path: Any) -> bool:
    """Return whether this names rows on another machine, such as s3://bucket/key.parquet."""
    return "://" in str(path)


def _first_lines(url: str) -> bytes:
    """Return the first lines of text on another machine."""
    lines = pl.scan_lines(url, n_rows=1000).collect().to_series()
    return "\n".join(lines.to_list()).encode()


def unreadable_part(path: Path | str) -> str:
    """Return from which row on which column of a Parquet file cannot be read, if any."""
    if is_url(path) or not str(path).lower().endswith((".parquet", ".pq")):
        return ""
    try:
        table = pl.scan_parquet(path, glob=False)
        n_rows = int(table.select(pl.len()).collect().item())
        names = table.collect_schema().names()
    except (pl.exceptions.PolarsError, OSError):
        return ""
    for name in names:
        column = table.select(exactly(name))
        if not _is_readable(column):
            first = bisect(range(n_rows), 0, key=lambda row: not _is_readable(column.head(row + 1)))
            return f", column {name!r} from row {first:,} on,"
    return ""


def _is_readable(rows: pl.LazyFrame) -> bool:
    try:
        rows.collect()
    except (pl.exceptions.PolarsError, OSError):
        return False
    return True


def format_of(where: Path | str) -> Format:
    """Return the format that the extension of a file names."""
    path = Path(str(where).split("?")[0])
    for ending in ("".join(path.suffixes[-2:]), path.suffix):
        if ending.lower() in FORMATS:
            return FORMATS[ending.lower()]
    if path.suffix in (".suffice", ".moments"):
        msg = f"{path} is a file of suffice, not a table of rows: give the data file"
        raise InvalidInputError(msg)
    msg = (
        f"{path}: the extension {path.suffix or '(none)'!s} names no format that can be read: "
        "use CSV, TSV, Parquet, Feather or JSON Lines (.csv, .tsv, .parquet, .feather, .jsonl)"
    )
    raise InvalidInputError(msg)


SINKS: Mapping[str, Sink] = {
    ".csv": lambda frame, file: frame.sink_csv(file),
    ".tsv": lambda frame, file: frame.sink_csv(file, separator="\t"),
    ".parquet": lambda frame, file: frame.sink_parquet(file),
    ".pq": lambda frame, file: frame.sink_parquet(file),
    ".feather": lambda frame, file: frame.sink_ipc(file),
    ".arrow": lambda frame, file: frame.sink_ipc(file),
    ".ipc": lambda frame, file: frame.sink_ipc(file),
    ".jsonl": lambda frame, file: frame.sink_ndjson(file),
    ".ndjson": lambda frame, file: frame.sink_ndjson(file),
}


def sink_of(path: str | Path) -> Sink:
    """Return the way to write that the extension of a path names."""
    ending, known = Path(path).suffix.lower(), ", ".join(SINKS)
    if ending not in SINKS:
        msg = f"{path}: the extension {ending or '(none)'} names no format to write: use {known}"
        raise InvalidParameterError(msg)
    return SINKS[ending]


def write_table(frame: pl.LazyFrame, path: str | Path) -> None:
    """Write a lazy table in the order of its rows, or leave whatever stood at ``path``."""
    sink = sink_of(path)
    with replacing(path) as file:
        try:
            interruptibly(lambda: sink(frame, file))
        except pl.exceptions.ComputeError as error:
            raise _as_os_error(error, path) from error


def _as_os_error(error: pl.exceptions.ComputeError, path: str | Path) -> Exception:
    """Return a failure to write as the operating system would tell it."""
    found = re.search(r"os error (\d+)", str(error))
    if found is None:
        return error
    number = int(found[1])
    return OSError(number, os.strerror(number), str(path))
