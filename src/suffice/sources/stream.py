"""Rows that arrive once, as bytes: standard input, read in bounded blocks."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from polars.io.plugins import register_io_source

from suffice.errors import InvalidInputError
from suffice.sources.delimited import TextTable
from suffice.sources.formats import JsonTable
from suffice.sources.reading import reading_of
from suffice.sources.source import Reading, Scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

_HEAD = 1 << 20  # bytes looked at before anything is decided
_BLOCK = 1 << 24
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
        head = _read(stream, _HEAD)
        for sign, name in _BINARY.items():
            if head.startswith(sign):
                msg = f"{label} carries {name}: save it to a file first, or pipe CSV"
                raise InvalidInputError(msg)
        json = head.lstrip().startswith(b"{")
        lines = _rows(head, quotes=not json)[0] or head
        with reading_of(label):
            if json:
                return cls(label, stream, head, JsonTable.of(io.BytesIO(lines), reading, label))
            text = TextTable.of(lines, io.BytesIO(lines), reading, label, None)
        return cls(label, stream, head, text)

    @property
    def sample(self) -> pl.DataFrame:
        """The first rows."""
        return self.table.sample

    def scans(self, columns: Mapping[str, Any]) -> Iterator[Scan]:
        """Yield the stream as one lazy table."""

        def blocks(*_: Any) -> Iterator[pl.DataFrame]:
            for at, block in enumerate(self._blocks()):
                yield self._parsed(block, columns, first=at == 0)

        whole = _rows(self.head, quotes=self._quotes)[0] or self.head
        schema = self._parsed(whole, columns, first=True).schema
        yield Scan(self.label, register_io_source(blocks, schema=schema))

    @property
    def _quotes(self) -> bool:
        return isinstance(self.table, TextTable)

    def _parsed(self, block: bytes, columns: Mapping[str, Any], *, first: bool) -> pl.DataFrame:
        with reading_of(self.label):
            return self.table.parse(block, columns, first=first)

    def _blocks(self) -> Iterator[bytes]:
        """Yield the bytes again from the first, cut where rows end."""
        rest = self.head
        while more := _read(self.stream, _BLOCK):
            block, rest = _rows(rest + more, quotes=self._quotes)
            if block:
                yield block
        if rest.strip():
            yield rest


def _read(stream: IO[bytes], size: int) -> bytes:
    """Return that many bytes, or all that are left; a pipe gives fewer at a time."""
    parts = []
    while size and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _rows(data: bytes, *, quotes: bool) -> tuple[bytes, bytes]:
    """Return the bytes up to the last row that ends in them, and the rest."""
    end = data.rfind(b"\n") + 1
    # a line break inside quotes ends no row: the quotes before it do not pair up
    while quotes and end and data.count(b'"', 0, end) % 2:
        end = data.rfind(b"\n", 0, end - 1) + 1
    return data[:end], data[end:]
