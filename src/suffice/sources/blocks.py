"""Bytes of text: opened, turned into UTF-8, cut where rows end; a quote that is never closed."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from suffice.errors import InvalidInputError

if TYPE_CHECKING:
    from suffice.sources.layout import Layout

BLOCK = 1 << 24
_CHUNK = 1 << 22  # bytes searched for quotes at a time
_HEAD = 1 << 16
_LINES = 20  # of a head at least, however long they are


def opened(path: Path) -> IO[bytes]:
    """Return the bytes of a file, unpacked."""
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file: some whole lines, or all it has."""
    head = b""
    with opened(path) as file:
        while part := file.read(max(_HEAD, len(head))):
            head += part
            if head.count(b"\n") >= _LINES:
                return head[: head.rfind(b"\n") + 1] if file.read(1) else head
    return head


def read_fully(stream: Any, size: int) -> bytes:
    """Return that many bytes, or all that are left; a pipe gives fewer at a time."""
    parts = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def decoder_of(encoding: str) -> io.IncrementalNewlineDecoder:
    """Return what decodes bytes that may end within a letter, to text with plain line ends."""
    decoder = codecs.getincrementaldecoder(encoding)()
    return io.IncrementalNewlineDecoder(decoder, translate=True)


class Utf8Stream:
    """Bytes of text in any encoding, read as UTF-8 with plain line ends."""

    def __init__(self, stream: Any, encoding: str, begun: bytes = b"") -> None:
        self._stream, self._begun, self._decoder = stream, begun, decoder_of(encoding)

    def read(self, size: int) -> bytes:
        """Return some bytes, none at the end."""
        while True:
            raw, self._begun = self._begun or self._stream.read(size), b""
            text = self._decoder.decode(raw, final=not raw)
            if text or not raw:
                return text.encode()


def cut_rows(data: bytes, *, quotes: bool) -> tuple[bytes, bytes]:
    """Return the bytes up to the last row that ends in them, and the rest."""
    if not quotes or b'"' not in data:
        end = data.rfind(b"\n") + 1
    else:
        # a line break inside quotes ends no row: the quotes before it do not pair up
        breaks, counts = _quotes_before_breaks(data)
        even = breaks[counts % 2 == 0]
        end = int(even[-1]) + 1 if len(even) else 0
    return data[:end], data[end:]


def _quotes_before_breaks(data: bytes) -> tuple[Any, Any]:
    """Return where lines end, and how many quotes stand before each end."""
    letters = np.frombuffer(data, np.uint8)
    breaks = np.flatnonzero(letters == ord("\n"))
    return breaks, np.searchsorted(np.flatnonzero(letters == ord('"')), breaks)


def row_blocks(stream: Any, begun: bytes = b"", *, quotes: bool = True) -> Iterator[bytes]:
    """Yield a stream of UTF-8 in blocks of whole rows."""
    rest = begun
    while more := read_fully(stream, BLOCK):
        block, rest = cut_rows(rest + more, quotes=quotes)
        if block:
            yield block
        elif len(rest) > 2 * BLOCK:  # no cell is as long: whoever takes the block will say so
            yield rest
            rest = b""
    if rest.strip():
        yield rest


def without_lines(blocks: Iterable[bytes], n: int) -> Iterator[bytes]:
    """Yield blocks without their first ``n`` lines."""
    for block in blocks:
        at = 0
        while n and at < len(block):
            at, n = (block.find(b"\n", at) + 1 or len(block)), n - 1
        if at < len(block):
            yield block[at:]


def refuse_open_quotes(blocks: Iterable[bytes], layout: Layout, label: str) -> Iterator[bytes]:
    """Yield blocks of whole rows; raise where a quote swallows rows, which no reader tells."""
    quotes = _Quotes(layout, label)
    for block in blocks:
        quotes.look_at(block)
        quotes.end()
        yield block


def refuse_open_quotes_in(path: Path | str, layout: Layout, label: str) -> None:
    """Raise where a quote in a file, unless it is on another machine, swallows rows."""
    if isinstance(path, str):
        return
    with opened(path) as file:
        quotes = _Quotes(layout, label)
        for chunk in without_lines(iter(lambda: file.read(_CHUNK), b""), layout.n_before):
            quotes.look_at(chunk)
        quotes.end()


class _Quotes:
    """Looks for a cell that spans lines and is none: lines with an odd number of quotes."""

    def __init__(self, layout: Layout, label: str) -> None:
        self._layout, self._label = layout, label
        self._comment = (layout.comment or "").encode()
        self._line = layout.n_before + 1  # number of the next line
        self._rest, self._cell = b"", b""  # a line, and a cell, not yet whole
        self._opened = 0  # the line where it began; 0: none is open

    def look_at(self, block: bytes) -> None:
        """Go through some more bytes."""
        if not (self._opened or self._comment) and b'"' not in block and b'"' not in self._rest:
            self._rest = b""  # an even number of quotes, wherever lines end
            self._line += block.count(b"\n")
            return
        data, self._rest = cut_rows(self._rest + block, quotes=False)
        start = 0
        breaks, counts = _quotes_before_breaks(data)
        for at in np.flatnonzero(np.diff(counts, prepend=0) % 2):
            first = int(breaks[at - 1]) + 1 if at else 0
            if self._comment and data.startswith(self._comment, first):
                continue
            if self._opened:
                self._close(self._cell + data[start : int(breaks[at]) + 1])
            else:
                self._opened, start = self._line + int(at), first
        self._line += len(breaks)
        if self._opened:
            self._cell += data[start:]
        if len(self._cell) > BLOCK:
            self._refuse()

    def _close(self, text: bytes) -> None:
        if not self._is_row(text.decode("utf-8", "replace")):
            self._refuse()
        self._opened, self._cell = 0, b""

    def _is_row(self, text: str) -> bool:
        """Return whether lines are one row with a cell of several lines, and not several rows."""
        separator, width = self._layout.separator, len(self._layout.names)
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
        except csv.Error:
            return False
        marks = {line.count(separator) for line in text.splitlines()[1:-1]}
        like_rows = width > 1 and marks == {width - 1}
        return len(rows) == 1 and len(rows[0]) <= width and not like_rows

    def end(self) -> None:
        """Raise if a quote is still open."""
        if self._rest:
            self.look_at(b"\n")
        if self._opened:
            self._refuse()

    def _refuse(self) -> None:
        msg = (
            f"{self._label}: line {self._opened:,} opens a quote that is not closed in its cell, "
            'which would swallow the rows after it: close it, or write "" for a quote in a cell'
        )
        raise InvalidInputError(msg)
