"""Text cut into blocks of whole rows; quotes that swallow rows are refused, short rows counted."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from suffice.data.files import contents
from suffice.errors import InvalidInputError, warn

if TYPE_CHECKING:
    from suffice.data.text.layout import Layout
    from suffice.typing import Codes


def row_blocks(
    pieces: Iterable[bytes],
    layout: Layout,
    label: str,
    *,
    warns: bool = False,
) -> Iterator[bytes]:
    """Yield text in blocks of whole rows, in UTF-8, without the lines before the first row.

    A quote that is never closed would swallow rows without an error of the reader, so it is
    refused. With ``warns``, a warning counts the rows that have too few fields.
    """
    if layout.translate:
        pieces = _as_utf8(pieces, layout.encoding)
    ends = _RowEnds(layout, label)
    yield from contents.line_blocks(_without_lines(pieces, layout.n_before), ends)
    if not warns or not ends.short_lines:
        return
    first = ends.short_lines[0]
    n_short = len(ends.short_lines)
    have = "1 line has" if n_short == 1 else f"{n_short:,} lines have"
    warn(
        f"{label}: {have} fewer fields than there are columns, line {first:,} the first: "
        "what they lack counts as empty"
    )


def _as_utf8(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = contents.decoder_of(encoding)
    previous = b""
    for piece in pieces:
        if previous:
            yield decoder.decode(previous).encode()
        previous = piece
    yield decoder.decode(previous, final=True).encode()


def _without_lines(pieces: Iterable[bytes], n_lines: int) -> Iterator[bytes]:
    for piece in pieces:
        start = 0
        while n_lines and start < len(piece):
            end = piece.find(b"\n", start)
            start = len(piece) if end < 0 else end + 1
            n_lines -= 1
        if start < len(piece):
            yield piece[start:]


class _RowEnds:
    """Finds where rows end: a cell of several lines opens and closes with an odd line of quotes."""

    def __init__(self, layout: Layout, label: str) -> None:
        self._label = label
        self._comment = (layout.comment or "").encode()
        self._separator = layout.separator
        self._width = len(layout.names)
        self._line = layout.n_before + 1  # number of the next line
        self.short_lines: list[int] = []  # numbers of lines that lack fields, or are blank

    def __call__(self, data: bytes, *, is_last: bool = False) -> int:
        """Return where the last whole row of some bytes ends."""
        end = data.rfind(b"\n") + 1
        if b'"' in data:
            end = self._end_with_quotes(data, end, is_last=is_last)
        n_lines = data.count(b"\n", 0, end)
        n_separators = data.count(self._separator.encode(), 0, end)
        if b'"' in data or n_separators != n_lines * (self._width - 1):
            self.short_lines += [self._line + line for line in self._short_rows(data[:end])]
        self._line += n_lines
        return end

    def _end_with_quotes(self, data: bytes, end: int, *, is_last: bool) -> int:
        """Return where the last row ends that no open quote continues; refuse lost quotes."""
        letters = np.frombuffer(data, np.uint8)
        line_ends = np.flatnonzero(letters == ord("\n"))
        line_starts = np.concatenate([[0], line_ends + 1])
        quotes_before = np.searchsorted(np.flatnonzero(letters == ord('"')), line_ends)
        odd_lines = np.flatnonzero(np.diff(quotes_before, prepend=0) % 2).tolist()
        if self._comment:
            odd_lines = [
                line
                for line in odd_lines
                if not data.startswith(self._comment, line_starts[line])
            ]
        for first, last in zip(odd_lines[::2], odd_lines[1::2], strict=False):
            if not self._is_one_row(data[line_starts[first] : line_starts[last + 1]]):
                self._refuse_quote(first)
        if len(odd_lines) % 2 == 0:
            return end
        open_line = odd_lines[-1]
        end = int(line_starts[open_line])
        if is_last or len(data) - end > 2 * contents.BLOCK:
            self._refuse_quote(open_line)
        return end

    def _short_rows(self, data: bytes) -> list[int]:
        """Return the lines, counted from 0, where rows with too few fields begin."""
        separator = self._separator.encode()
        if self._comment:
            # A comment counts as a whole row, and its quotes open no cell.
            comment_line = rb"(?m)^" + re.escape(self._comment) + rb".*$"
            data = re.sub(comment_line, separator * (self._width - 1), data)
        letters = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(letters == ord('"'))
        lines = np.flatnonzero(letters == ord("\n"))
        separators = _outside_quotes(np.flatnonzero(letters == ord(separator)), quotes)
        row_ends = _outside_quotes(lines, quotes)
        n_separators = np.diff(np.searchsorted(separators, row_ends), prepend=0)
        row_starts = np.append(0, row_ends[:-1] + 1)
        is_short = n_separators < self._width - 1
        return list(np.searchsorted(lines, row_starts)[is_short].tolist())

    def _is_one_row(self, lines: bytes) -> bool:
        text = lines.decode("utf-8", "replace")
        cells = csv.reader(
            io.StringIO(text, newline=""), delimiter=self._separator, strict=True
        )
        try:
            rows = list(cells)
        except csv.Error:
            return False
        widths = {line.count(self._separator) for line in text.splitlines()[1:-1]}
        look_like_rows = self._width > 1 and widths == {self._width - 1}
        return len(rows) == 1 and len(rows[0]) <= self._width and not look_like_rows

    def _refuse_quote(self, line: int) -> None:
        raise InvalidInputError(
            f"{self._label}: line {self._line + line:,} opens a quote that is not closed in its "
            'cell, which would swallow the rows after it: close it, or write "" for a quote in a '
            "cell"
        )


def _outside_quotes(places: Codes, quotes: Codes) -> Codes:
    is_outside = np.searchsorted(quotes, places) % 2 == 0
    return np.asarray(places[is_outside])
