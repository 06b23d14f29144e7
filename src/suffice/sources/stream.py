"""Rows that arrive once, as bytes: standard input, read in bounded blocks."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from suffice.errors import InvalidInputError, warn
from suffice.sources.blocks import cut_rows, read_fully, row_blocks
from suffice.sources.delimited import TextTable, lazily, utf8_rows
from suffice.sources.formats import JsonTable
from suffice.sources.reading import reading_of
from suffice.sources.source import Reading, Scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

_HEAD = 1 << 20  # bytes looked at before anything is decided
_BINARY = {b"PAR1": "Parquet", b"ARROW1": "Arrow", b"PK\x03\x04": "zip", b"\x1f\x8b": "gzip"}


@dataclass(frozen=True, slots=True, eq=False)
class StreamSource:
    """CSV or JSON Lines from a stream of bytes that can be read once."""

    label: str
    stream: IO[bytes]
    head: bytes
    table: TextTable | JsonTable
    target: str | None = None
    expected_rows: int | None = None

    @classmethod
    def of(cls, stream: IO[bytes], reading: Reading, label: str) -> StreamSource:
        """Return the source of a stream, after a look at its first bytes."""
        head = read_fully(stream, _HEAD)
        for sign, name in _BINARY.items():
            if head.startswith(sign):
                msg = f"{label} carries {name}: save it to a file first, or pipe CSV"
                raise InvalidInputError(msg)
        with reading_of(label):
            if head.lstrip().startswith(b"{"):
                lines = io.BytesIO(cut_rows(head, quotes=False)[0] or head)
                return cls(label, stream, head, JsonTable.of(lines, reading, label))
            table = TextTable.of(head, None, reading, label, None)
        for remark in table.remarks:
            warn(remark)
        return cls(label, stream, head, table)

    @property
    def sample(self) -> pl.DataFrame:
        """The first rows."""
        return self.table.sample

    @property
    def doubts(self) -> Mapping[str, str]:
        """Why columns that may hold numbers are not read as such."""
        return self.table.doubts

    def scans(self, columns: Mapping[str, Any]) -> Iterator[Scan]:
        """Yield the stream as one lazy table."""
        if isinstance(self.table, TextTable):
            blocks = utf8_rows(self.stream, self.table.layout, self.label, self.head)
        else:
            blocks = row_blocks(self.stream, self.head, quotes=False)
        yield Scan(self.label, lazily(self.table, blocks, columns))
