"""Kinds of files: how a table of each is sampled, scanned and written."""

import io
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, TypeAlias

import polars as pl

from suffice.data.delimited import TextTable, scan_of_blocks
from suffice.data.file_bytes import PACKED, first_lines, head_of, is_url, line_blocks, stamp_of
from suffice.data.source import SAMPLE_ROWS, Scan, TextStyle, cast, interruptibly, reading_of
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.persistence.archive import NO_ROOM, replacing

Sink: TypeAlias = Callable[[pl.LazyFrame, Any], object]
_NUMBERS = 6 << 20  # read at a time: 48 MB
_PIECES = 1024  # of one file, at most
_NO_DOUBTS: dict[str, str] = {}  # types say what columns hold


@dataclass(frozen=True, slots=True, eq=False)
class TypedTable:
    """A file whose columns have types of their own: Parquet, Arrow IPC, JSON."""

    label: str
    sample: pl.DataFrame
    scanner: Callable[..., pl.LazyFrame]  # of a place, and of the types that it has
    counts: bool = True  # whether the file tells how many rows it has
    remarks, doubts = (), _NO_DOUBTS

    @classmethod
    def of(cls, scanner: Any, path: Path | str, _: TextStyle, *, types_only: bool) -> Self:
        with reading_of(str(path)):
            return cls(
                str(path), _cut(scanner(path), 0, 0 if types_only else SAMPLE_ROWS), scanner
            )

    @classmethod
    def of_lines(
        cls,
        path: Any,
        _: TextStyle,
        label: str = "",
        head: bytes = b"",
        **__: Any,
    ) -> Self:
        """Return a table of JSON Lines in a file, or of a stream that begins with some lines."""
        label = label or str(path)
        with reading_of(label):
            # the reader would parse lines beyond those that it is asked for, as if they were alike
            lines = io.BytesIO(head or first_lines(path, SAMPLE_ROWS))
            sample = pl.read_ndjson(lines, infer_schema_length=None)
        return cls(label, sample, lambda path, t: pl.scan_ndjson(path, schema=t), counts=False)

    def scan(self, path: Any, columns: Mapping[str, Any]) -> Scan:
        rows = self.scanner(path, self._types(columns)).select(cast(columns))
        scan = Scan(self.label, rows)
        piece = self._piece(path, len(columns)) if self.scanner is _scan_parquet else None
        return (
            replace(scan, batches=partial(_in_pieces, rows, path, *piece)) if piece else scan
        )

    def _piece(self, path: Any, width: int) -> tuple[int, int] | None:
        """Return how many rows and columns to read at a time; None: that is left to the reader."""
        # it reads ahead without a bound; a piece is some row groups, or a part of a large one
        n_rows = 0 if is_url(path) else self.n_rows(path) or 0
        if n_rows * width <= _NUMBERS:
            return None
        first = self.scanner(path).select(pl.nth(0)).collect_batches(maintain_order=True)
        group, rows = max(next(iter(first)).height, 1), max(_NUMBERS // width, 1)
        size = max(rows // group * group or max(rows, group // 32), n_rows // _PIECES)
        return size, _NUMBERS // group

    def scan_stream(self, pieces: Iterable[bytes], columns: Mapping[str, Any]) -> Scan:
        def rows(block: bytes) -> pl.LazyFrame:
            source = self.scanner(block, self._types(columns)) if block else self.sample.lazy()
            return source.select(cast(columns))

        return scan_of_blocks(line_blocks(pieces), rows, self.label)

    def _types(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the types to parse as: numbers may widen, everything else stays as found."""
        found = {name.lstrip("\0"): self.sample.schema[name.lstrip("\0")] for name in columns}
        copied = {name.lstrip("\0") for name, dtype in columns.items() if dtype is None}
        read = {name for name, dtype in columns.items() if dtype == pl.Float64} - copied
        return found | {name: pl.Float64 for name in read if found[name].is_numeric()}

    def n_rows(self, path: Path | str) -> int | None:
        return self.scanner(path).select(pl.len()).collect().item() if self.counts else None


def _cut(rows: pl.LazyFrame, start: int, n_rows: int, wide: int = 0) -> pl.DataFrame:
    """Return some rows, a few columns at a time: the reader fetches whole columns of row groups."""
    names = rows.collect_schema().names()
    wide = max(wide, 8, -(-len(names) // 16))
    parts = [names[at : at + wide] for at in range(0, len(names) or 1, wide)]
    cuts = [rows.select(pl.selectors.by_name(part)).slice(start, n_rows) for part in parts]
    return pl.concat([interruptibly(cut.collect) for cut in cuts], how="horizontal")


def _in_pieces(
    rows: pl.LazyFrame,
    path: Any,
    size: int,
    wide: int,
    start: int,
    n_rows: int | None,
) -> Iterator[pl.DataFrame]:
    """Yield rows from a start on, all or some, that many at a time."""
    before, left = stamp_of(str(path)), math.inf if n_rows is None else n_rows
    while left > 0:
        wanted = int(min(size, left))
        try:
            frame = _cut(rows, start, wanted, wide)
        finally:
            if stamp_of(str(path)) != before:
                raise InvalidInputError(f"{path} has changed while it was read: read it again")
        yield frame
        start, left = start + wanted, left - wanted if frame.height == wanted else 0


def _scan_parquet(path: Any, _: Any = None) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False)


def _text_table(
    path: Any,
    reading: TextStyle,
    separator: str | None = None,
    **_: Any,
) -> TextTable:
    return TextTable.of(head_of(path), path, reading, str(path), separator)


def _json_table(path: Any, reading: TextStyle, **_: Any) -> TypedTable:
    with reading_of(str(path)):
        if not head_of(Path(path)).lstrip().startswith(b"["):
            return TypedTable.of_lines(path, reading)
        frame = pl.read_json(path, infer_schema_length=None)
    return TypedTable.of(lambda *_: frame.lazy(), path, reading, types_only=False)


# one file, known by its first rows
FileTable: TypeAlias = TextTable | TypedTable

_arrow_table = partial(TypedTable.of, lambda path, *_: pl.scan_ipc(path, glob=False))

# extension → path, reading, whether types are enough → table
FORMATS: Mapping[str, Callable[..., FileTable]] = {
    **dict.fromkeys((".csv", ".txt", ".data"), _text_table),
    **dict.fromkeys((".tsv", ".tab"), partial(_text_table, separator="\t")),
    **dict.fromkeys((".parquet", ".pq"), partial(TypedTable.of, _scan_parquet)),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), _arrow_table),
    **dict.fromkeys((".jsonl", ".ndjson"), TypedTable.of_lines),
    ".json": _json_table,
}
_TEXT = (".csv", ".txt", ".data", "")  # that may be packed, beside those with tabs
_WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")


def format_of(where: Path | str) -> Callable[..., FileTable]:
    """Return what opens a file of the format that its extension names."""
    path = Path(str(where).split("?")[0])
    ending = path.suffix.lower()
    if ending in PACKED:
        ending = path.with_suffix("").suffix.lower()
        ending = ending if ending in (".tsv", ".tab") else ".csv" if ending in _TEXT else ""
    if ending in FORMATS:
        return FORMATS[ending]
    known = (
        "CSV, TSV, Parquet, Feather or JSON (.csv, .tsv, .parquet, .feather, .jsonl, .json)"
    )
    why = f": the extension {path.suffix or '(none)'} names no format that can be read: use {known}"
    if path.suffix in (".suffice", ".moments"):
        why = " is a file of suffice, not a table of rows: give the data file"
    elif path.suffix.lower() in _WORKBOOKS:
        why = " is a workbook, which is not read: open it and save the sheet as CSV"
    raise InvalidInputError(f"{path}{why}")


SINKS: Mapping[str, Sink] = {
    ".csv": pl.LazyFrame.sink_csv,
    ".tsv": partial(pl.LazyFrame.sink_csv, separator="\t"),
    **dict.fromkeys((".parquet", ".pq"), pl.LazyFrame.sink_parquet),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), pl.LazyFrame.sink_ipc),
    **dict.fromkeys((".jsonl", ".ndjson"), pl.LazyFrame.sink_ndjson),
}


def sink_of(path: str | Path) -> Sink:
    """Return the way to write that the extension of a path names."""
    ending, known = Path(path).suffix.lower(), ", ".join(SINKS)
    if ending not in SINKS:
        msg = (
            f"{path}: the extension {ending or '(none)'} names no format to write: use {known}"
        )
        raise InvalidParameterError(msg)
    return SINKS[ending]


def write_table(frame: pl.LazyFrame, path: str | Path) -> None:
    """Write a lazy table in the order of its rows, or leave whatever stood at ``path``."""
    sink = sink_of(path)
    if is_url(path):
        _write_object(frame, str(path), sink)
        return
    with replacing(path) as file:
        try:
            interruptibly(lambda: sink(frame, file))
        except (pl.exceptions.ComputeError, OSError) as error:
            told = re.search(r"os error (\d+)", str(error))
            number = int(told[1]) if told else 0
            if number not in NO_ROOM:  # then what is read is at fault
                raise
            raise OSError(number, os.strerror(number), str(path)) from error


def _write_object(frame: pl.LazyFrame, url: str, sink: Sink) -> None:
    """Write an object by way of a file: where rows fail, polars would close a part of it."""
    with TemporaryDirectory() as folder:
        staged = Path(folder) / "rows.feather"
        write_table(frame, staged)
        try:
            interruptibly(lambda: sink(pl.scan_ipc(staged), url))
        except (pl.exceptions.PolarsError, OSError) as error:
            reason = str(error).splitlines()[0]
            msg = f"{url} cannot be written ({reason}): check the address and the credentials"
            raise InvalidParameterError(msg) from error
