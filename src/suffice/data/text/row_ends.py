"""Split text into blocks of complete rows, and refuse text that would be misread."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from suffice.core.text.lists import counted, quote
from suffice.data.files import contents
from suffice.errors import InvalidInputError, ReadingWarning, warn

if TYPE_CHECKING:
    from suffice.data.text.layout import Layout
    from suffice.typing import Array, Codes, Flags


_CODE = re.compile(rb"0[0-9]+")
_AROUND_CODES = b' \t\r"'


class LateCodeError(InvalidInputError):
    """A later row has a code with leading zeros in a column whose first rows are numbers."""

    def __init__(self, label: str, column: str, cell: str, line: int) -> None:
        self.label = label
        self.column = column
        self.cell = cell
        self.line = line
        super().__init__(
            f"{label}: column {column!r} holds {quote(cell)} in line {line:,}, but numbers in its "
            "first rows. Read as a number, this code would lose its zeros. Name the column with "
            "--categorical; if it is the target, use --target-kind class"
        )

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str, int]]:
        return type(self), (self.label, self.column, self.cell, self.line)


def row_blocks(
    pieces: Iterable[bytes],
    layout: Layout,
    label: str,
    *,
    numbers: Collection[str] = (),
    warns: bool = False,
    counts_each_row: bool = False,
) -> Iterator[bytes]:
    """Yield UTF-8 text in blocks of complete rows, without the lines before the first row.

    An unclosed quote raises an error, because the reader would silently merge rows. A code such as
    007 in a column of ``numbers`` raises an error, because it would lose its zeros. With ``warns``,
    a warning gives the number of rows with too few fields. The fields of each row are counted only
    if the total of a block is unexpected, or with ``counts_each_row``.
    """
    if layout.translate:
        pieces = _as_utf8(pieces, layout.encoding)
    ends = _RowEnds(layout, label, numbers, counts_each_row=counts_each_row)
    rest = _without_lines(_without_mark(pieces), layout.n_before, label)
    for block in contents.line_blocks(rest, ends, label, layout.n_before + 1):
        # The reader drops a byte order mark at the start of a block, even if it belongs to a cell.
        # A second mark protects it.
        yield codecs.BOM_UTF8 + block if block.startswith(codecs.BOM_UTF8) else block
    if not warns or not ends.short_lines:
        return
    first = ends.short_lines[0]
    n_short = len(ends.short_lines)
    have = "1 line has" if n_short == 1 else f"{n_short:,} lines have"
    warn(
        f"{label}: {have} fewer fields than there are columns. The first such line is line "
        f"{first:,}. The absent fields count as missing values",
        ReadingWarning,
    )


def _as_utf8(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = contents.decoder_of(encoding)
    previous = b""
    for piece in pieces:
        if previous:
            yield decoder.decode(previous).encode()
        previous = piece
    yield decoder.decode(previous, final=True).encode()


def _without_mark(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield UTF-8 text without its byte order mark, if it has one."""
    start = b""
    rest = iter(pieces)
    for piece in rest:
        start += piece
        if len(start) >= len(codecs.BOM_UTF8):
            break
    yield start.removeprefix(codecs.BOM_UTF8)
    yield from rest


def _without_lines(pieces: Iterable[bytes], n_lines: int, label: str) -> Iterator[bytes]:
    """Yield text without its first lines; raise if they contain carriage returns."""
    ends_in_return = False
    for piece in pieces:
        start = 0
        while n_lines and start < len(piece):
            end = piece.find(b"\n", start)
            start = len(piece) if end < 0 else end + 1
            n_lines -= end >= 0
        dropped = b"\r" * ends_in_return + piece[:start]
        ends_in_return = dropped.endswith(b"\r") and start == len(piece)
        if re.search(rb"\r[^\r\n]", dropped):
            raise InvalidInputError(
                f"{label}: a line before the first row holds a carriage return, which may be "
                "meant as the end of a line: use the same line ends everywhere"
            )
        if start < len(piece):
            yield piece[start:]


class _RowEnds:
    """Finds where rows end, even if cells span several lines.

    A cell over several lines starts and ends on lines with an odd number of quotes.
    """

    def __init__(
        self,
        layout: Layout,
        label: str,
        numbers: Collection[str],
        *,
        counts_each_row: bool,
    ) -> None:
        self._label = label
        self._counts_each_row = counts_each_row
        self._names = layout.names
        self._is_number = np.array([name in numbers for name in layout.names], bool)
        self._comment = (layout.comment or "").encode()
        self._separator = layout.separator
        self._width = len(layout.names)
        self._line = layout.n_before + 1  # number of the next line
        # numbers of the lines that are blank or have too few fields
        self.short_lines: list[int] = []

    def __call__(self, data: bytes, *, is_last: bool = False) -> int:
        """Return the end of the last complete row in some bytes."""
        end = data.rfind(b"\n") + 1
        if b'"' in data:
            end = self._end_with_quotes(data, end, is_last=is_last)
        if not end:
            return 0
        if b"\r" in data and data.count(b"\r", 0, end) != data.count(b"\r\n", 0, end):
            self._refuse_returns(data[:end])
        n_lines = contents.count_of(b"\n", data, end)
        n_separators = contents.count_of(self._separator.encode(), data, end)
        may_be_uneven = b'"' in data or n_separators != n_lines * (self._width - 1)
        if may_be_uneven or self._counts_each_row:
            self.short_lines += [self._line + line for line in self._short_rows(data[:end])]
        if self._is_number.any() and _may_hold_codes(data):
            self._refuse_codes(data[:end])
        self._line += n_lines
        return end

    def _end_with_quotes(self, data: bytes, end: int, *, is_last: bool) -> int:
        """Return the end of the last complete row; raise if a quote is never closed."""
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
        self._refuse_text_behind_quotes(data[:end])
        if len(odd_lines) % 2:
            open_line = odd_lines[-1]
            end = int(line_starts[open_line])
            if is_last or len(data) - end > 2 * contents.BLOCK:
                self._refuse_quote(open_line)
        self._refuse_separators_in_late_quotes(data[:end])
        return end

    def _refuse_text_behind_quotes(self, data: bytes) -> None:
        """Raise for text after the closing quote of a cell."""
        letters = np.frombuffer(data, np.uint8)
        closing = self._quotes_in(data)[1::2]
        closing = closing[closing + 1 < len(letters)]
        ends = np.frombuffer(f'{self._separator}\r\n"'.encode(), np.uint8)
        suspects = closing[~np.isin(letters[closing + 1], ends)]
        for place in suspects.tolist():
            start = data.rfind(b"\n", 0, place) + 1
            stop = data.find(b"\n", place)
            line = data[start : stop if stop >= 0 else len(data)]
            is_comment = self._comment != b"" and line.startswith(self._comment)
            if not is_comment and self._has_text_behind_quote(line):
                self._refuse_quote(data.count(b"\n", 0, place))

    def _refuse_separators_in_late_quotes(self, data: bytes) -> None:
        """Raise if quotes inside an unquoted cell hide a separator or a line end."""
        letters = np.frombuffer(data, np.uint8)
        quotes = self._quotes_in(data)
        opening = quotes[::2][: len(quotes) // 2]
        closing = quotes[1::2]
        starts = np.frombuffer(f'{self._separator}\r\n"'.encode(), np.uint8)
        is_late = (opening > 0) & ~np.isin(letters[opening - 1], starts)
        for start, stop in zip(opening[is_late], closing[is_late], strict=True):
            hidden = data[start:stop]
            if self._separator.encode() in hidden or b"\n" in hidden:
                line = self._line + data.count(b"\n", 0, int(start))
                raise InvalidInputError(
                    f"{self._label}: line {line:,} opens a quote within a cell that does not begin "
                    f"with one, and the quoted text contains {self._separator!r} or the end of a "
                    'line: quote the whole cell, and write "" for a quote in it'
                )

    def _has_text_behind_quote(self, line: bytes) -> bool:
        cells = csv.reader(
            [line.decode("utf-8", "replace")], delimiter=self._separator, strict=True
        )
        try:
            list(cells)
        except csv.Error as error:
            return "expected after" in str(error)
        return False

    def _quotes_in(self, data: bytes) -> Codes:
        """Return the positions of quotes outside comments."""
        letters = np.frombuffer(self._without_comments(data), np.uint8)
        return np.flatnonzero(letters == ord('"'))

    def _without_comments(self, data: bytes) -> bytes:
        """Return the text with comments replaced by blanks."""
        if not self._comment:
            return data
        comment = re.compile(rb"^%s.*$" % re.escape(self._comment), re.MULTILINE)
        return comment.sub(lambda match: b" " * len(match[0]), data)

    def _refuse_returns(self, data: bytes) -> None:
        """Raise for a carriage return in an unquoted cell, which may be meant as a line end."""
        letters = np.frombuffer(data, np.uint8)
        returns = np.flatnonzero(letters == ord("\r"))
        following = letters[np.minimum(returns + 1, len(letters) - 1)]
        is_bare = (following != ord("\n")) & (following != ord("\r"))
        bare = _outside_quotes(returns[is_bare], self._quotes_in(data))
        if not len(bare):
            return
        line = self._line + data.count(b"\n", 0, int(bare[0]))
        raise InvalidInputError(
            f"{self._label}: line {line:,} holds a carriage return within a cell, which may "
            "be meant as the end of a line: use the same line ends everywhere, or quote the "
            "cell"
        )

    def _short_rows(self, data: bytes) -> list[int]:
        """Return the lines, counted from 0, on which rows with too few fields begin."""
        if self._comment:
            # A comment counts as a complete row, and quotes in it have no meaning.
            comment_line = rb"(?m)^" + re.escape(self._comment) + rb".*$"
            data = re.sub(comment_line, self._separator.encode() * (self._width - 1), data)
        places = _Places.of(data, self._separator)
        n_separators = np.diff(np.searchsorted(places.separators, places.row_ends), prepend=0)
        lines = np.searchsorted(places.line_ends, places.row_starts)
        is_long = n_separators > self._width - 1
        if is_long.any():
            row = int(is_long.argmax())
            self._refuse_long_row(int(lines[row]), int(n_separators[row]) + 1)
        is_short = n_separators < self._width - 1
        return list(lines[is_short].tolist())

    def _refuse_long_row(self, line: int, n_fields: int) -> None:
        raise InvalidInputError(
            f"{self._label}: line {self._line + line:,} has {counted(n_fields, 'field')}, but the "
            f"table has {counted(self._width, 'column')}. If cells hold {self._separator!r}, "
            "quote these cells. If another character separates the cells, name this character "
            "with --delimiter. If the table begins further below, use --skip-rows N. If the line "
            "is a comment, name its beginning with --comment. In Python, these options are fields "
            "of TextFormat"
        )

    def _refuse_codes(self, data: bytes) -> None:
        """Raise for the first code with leading zeros in a numeric column."""
        data = self._without_comments(data)
        places = _Places.of(data, self._separator)
        starts = _starts_of_codes(data)
        rows = np.searchsorted(places.row_ends, starts)
        n_before = np.searchsorted(places.separators, places.row_starts)
        columns = np.searchsorted(places.separators, starts) - n_before[rows]
        columns = np.minimum(columns, self._width - 1)
        is_in_number = self._is_number[columns]
        for start, column in zip(starts[is_in_number], columns[is_in_number], strict=True):
            cell = places.cell_at(data, int(start)).strip(_AROUND_CODES)
            if _CODE.fullmatch(cell):
                line = self._line + data.count(b"\n", 0, int(start))
                raise LateCodeError(self._label, self._names[column], cell.decode(), line)

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
            "cell, so the next rows would become part of the cell: close the quote, or write "
            '"" for a quote in a cell'
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Positions of separators, line ends and row ends of a text, outside quoted cells."""

    separators: Codes
    line_ends: Codes  # ends of all lines, also of those inside quoted cells
    row_starts: Codes
    row_ends: Codes

    @classmethod
    def of(cls, data: bytes, separator: str) -> Self:
        letters = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(letters == ord('"'))
        line_ends = np.flatnonzero(letters == ord("\n"))
        row_ends = _outside_quotes(line_ends, quotes)
        if not len(row_ends) or row_ends[-1] < len(letters) - 1:
            row_ends = np.append(row_ends, len(letters))
        return cls(
            separators=_outside_quotes(np.flatnonzero(letters == ord(separator)), quotes),
            line_ends=line_ends,
            row_starts=np.append(0, row_ends[:-1] + 1),
            row_ends=row_ends,
        )

    def cell_at(self, data: bytes, place: int) -> bytes:
        """Return the cell at a position, with its quotes."""
        row = int(np.searchsorted(self.row_ends, place))
        n_before = int(np.searchsorted(self.separators, place))
        start = int(self.row_starts[row])
        stop = int(self.row_ends[row])
        if n_before:
            start = max(start, int(self.separators[n_before - 1]) + 1)
        if n_before < len(self.separators):
            stop = min(stop, int(self.separators[n_before]))
        return data[start:stop]


def _may_hold_codes(data: bytes) -> bool:
    """Return whether some run of digits begins with a zero, and may thus be a code."""
    if _begins_with_code(data):
        return True
    letters = np.frombuffer(data, np.uint8)
    # Parts are small enough for the cache. They overlap by two letters, the context of a zero.
    for start in range(0, len(letters), contents.STEP):
        if _begin_codes(letters[start : start + contents.STEP + 2]).any():
            return True
    return False


def _starts_of_codes(data: bytes) -> Codes:
    starts = np.flatnonzero(_begin_codes(np.frombuffer(data, np.uint8))) + 1
    return np.append(0, starts) if _begins_with_code(data) else starts


def _begins_with_code(data: bytes) -> bool:
    return data[:1] == b"0" and data[1:2].isdigit()


def _begin_codes(letters: Array) -> Flags:
    """Return which of ``letters[1:-1]`` are zeros that begin a run of at least two digits."""
    is_start: Flags = letters[1:-1] == ord("0")
    is_start &= letters[2:] - ord("0") < 10  # bytes below "0" become large numbers
    # A zero after one of - . / 0 … 9 : is within a number, date or time.
    is_start &= letters[:-2] - ord("-") > ord(":") - ord("-")
    return is_start


def _outside_quotes(places: Codes, quotes: Codes) -> Codes:
    is_outside = np.searchsorted(quotes, places) % 2 == 0
    return np.asarray(places[is_outside])
