"""Files that store column types: Parquet, Arrow IPC and JSON."""

import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self, TypeAlias

import polars as pl

from suffice.core.table.notation import Notation
from suffice.data.files.addresses import is_url, stamp_of
from suffice.data.files.contents import first_lines, head_of, line_blocks
from suffice.data.scanning import interruptibly, reading
from suffice.data.source import SAMPLE_ROWS, ColumnType, ColumnTypes, Scan, cast, original_of
from suffice.data.text.table import scan_of_blocks
from suffice.errors import InvalidInputError

_NUMBERS = 6 << 20  # numbers read at a time: 48 MB
_MOST_PIECES = 1024  # limit on the pieces of one file

Format: TypeAlias = Literal["parquet", "arrow", "json", "json lines", "workbook"]


@dataclass(frozen=True, slots=True, eq=False)
class TypedTable:
    """A file that stores the types of its columns."""

    label: str
    sample: pl.DataFrame
    format: Format
    frame: pl.DataFrame | None = None  # all rows, if the format can only be read as a whole
    remarks: tuple[str, ...] = ()
    doubts: dict[str, str] = field(default_factory=dict, init=False)
    notations: dict[str, Notation] = field(default_factory=dict, init=False)
    unsure: frozenset[str] = field(default=frozenset(), init=False)

    @classmethod
    def of(cls, path: Path | str, format: Format, *, types_only: bool) -> Self:
        """Return the table of a Parquet or Arrow file; with ``types_only``, without rows."""
        label = str(path)
        with reading(label):
            rows = _scan_columns(path, format)
            return cls(label, _slice(rows, 0, 0 if types_only else SAMPLE_ROWS), format)

    @classmethod
    def of_lines(cls, head: bytes, label: str) -> Self:
        """Return the table of a stream of JSON Lines that begins with ``head``."""
        with reading(label):
            sample = pl.read_ndjson(io.BytesIO(head), infer_schema_length=None)
        return cls(label, sample, "json lines")

    @classmethod
    def of_lines_in(cls, path: Path | str) -> Self:
        """Return the table of a file of JSON Lines."""
        with reading(str(path)):
            # Only the first lines are read here: given the whole file, polars would assume that
            # later lines have the same keys and types.
            head = first_lines(path, SAMPLE_ROWS)
            if head.count(b"\n") < SAMPLE_ROWS:
                return cls.of_lines(head, str(path))
            # Later lines may have more keys or other types than the first lines.
            types = pl.scan_ndjson(path, infer_schema_length=None).collect_schema()
            sample = pl.read_ndjson(io.BytesIO(head), schema=types)
        return cls(str(path), sample, "json lines")

    @classmethod
    def of_json(cls, path: Path | str) -> Self:
        """Return the table of a JSON file: an array of objects, or one object per line."""
        label = str(path)
        with reading(label):
            if not head_of(path).lstrip().startswith(b"["):
                return cls.of_lines_in(path)
            frame = pl.read_json(Path(path), infer_schema_length=None)
        return cls(label, frame.head(SAMPLE_ROWS), "json", frame)

    def scan(self, path: Path | str, columns: ColumnTypes) -> Scan:
        rows = self._rows(path, columns)
        if self.format != "parquet" or is_url(path):
            return Scan(self.label, rows)
        size = self._piece_size(path, len(columns))
        if size is None:
            return Scan(self.label, rows)
        n_rows, n_columns = size

        def batches(start: int, wanted: int | None) -> Iterator[pl.DataFrame]:
            return _in_pieces(rows, path, n_rows, n_columns, start, wanted)

        return Scan(self.label, rows, batches=batches)

    def _rows(self, text: Path | str | bytes, columns: ColumnTypes) -> pl.LazyFrame:
        if self.frame is not None:
            rows = self.frame.lazy()
        elif self.format == "json lines":
            rows = pl.scan_ndjson(text, schema=self._types(columns))
        else:
            rows = _scan_columns(text, self.format)
        return rows.select(cast(columns))

    def _piece_size(self, path: Path | str, n_columns: int) -> tuple[int, int] | None:
        """Return the numbers of rows and columns to read at a time; None if polars decides."""
        # polars reads ahead without limit, so files are read in pieces. A piece is several row
        # groups, or a part of a large row group.
        n_rows = self.n_rows(path) or 0
        if n_rows * n_columns <= _NUMBERS:
            return None
        rows = _scan_columns(path, self.format)
        first_group = next(iter(rows.select(pl.nth(0)).collect_batches(maintain_order=True)))
        group = max(first_group.height, 1)
        affordable = max(_NUMBERS // n_columns, 1)
        whole_groups = affordable // group * group
        size = whole_groups or max(affordable, group // 32)
        return max(size, n_rows // _MOST_PIECES), _NUMBERS // group

    def scan_stream(self, pieces: Iterable[bytes], columns: ColumnTypes) -> Scan:
        def rows(block: bytes) -> pl.LazyFrame:
            if not block:
                return self.sample.lazy().select(cast(columns))
            self._refuse_new_keys(block)
            return self._rows(block, columns)

        return scan_of_blocks(line_blocks(pieces), rows, self.label)

    def _refuse_new_keys(self, block: bytes) -> None:
        """Raise if a line of a stream has a key that the first lines do not have."""
        keys = pl.scan_ndjson(io.BytesIO(block), infer_schema_length=None).collect_schema()
        for name in keys:
            if name not in self.sample.columns:
                raise InvalidInputError(
                    f"{self.label}: a later line has the key {name!r}, which the first lines do "
                    "not have: add the key to the first line, with null if it has no value, or "
                    "save the lines to a file"
                )

    def _types(self, columns: ColumnTypes) -> dict[str, ColumnType]:
        """Return the types for parsing: those of the first rows, but floats for numbers."""
        types: dict[str, ColumnType] = {}
        for name in columns:
            types[original_of(name)] = self.sample.schema[original_of(name)]
        copied = {original_of(name) for name, dtype in columns.items() if dtype is None}
        for name, dtype in columns.items():
            if dtype == pl.Float64 and name not in copied and types[name].is_numeric():
                types[name] = pl.Float64
        return types

    def n_rows(self, path: Path | str) -> int | None:
        """Return the number of rows; None if the file does not store it."""
        if self.frame is not None:
            return self.frame.height
        if self.format == "json lines":
            return None
        return int(_scan_columns(path, self.format).select(pl.len()).collect().item())


def _scan_columns(path: Path | str | bytes, format: Format) -> pl.LazyFrame:
    if format == "parquet":
        return pl.scan_parquet(path, glob=False)
    return pl.scan_ipc(path, glob=False)


def _slice(rows: pl.LazyFrame, start: int, n_rows: int, n_columns: int = 0) -> pl.DataFrame:
    """Return some rows, read a few columns at a time: polars loads whole column chunks."""
    names = rows.collect_schema().names()
    n_columns = max(n_columns, 8, math.ceil(len(names) / 16))
    parts = [names[at : at + n_columns] for at in range(0, len(names) or 1, n_columns)]
    frames = []
    for part in parts:
        cut = rows.select(pl.selectors.by_name(part)).slice(start, n_rows)
        frames.append(interruptibly(cut.collect))
    return pl.concat(frames, how="horizontal")


def _in_pieces(
    rows: pl.LazyFrame,
    path: Path | str,
    piece_rows: int,
    piece_columns: int,
    start: int,
    n_rows: int | None,
) -> Iterator[pl.DataFrame]:
    """Yield ``n_rows`` rows from ``start`` on (None: all rows), ``piece_rows`` at a time."""
    stamp = stamp_of(str(path))
    left = math.inf if n_rows is None else n_rows
    while left > 0:
        wanted = int(min(piece_rows, left))
        try:
            frame = _slice(rows, start, wanted, piece_columns)
        finally:
            if stamp_of(str(path)) != stamp:
                raise InvalidInputError(f"{path} has changed while it was read: read it again")
        yield frame
        if frame.height < wanted:
            return
        start += wanted
        left -= wanted
