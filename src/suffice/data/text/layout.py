"""Find the layout of a text table from its first bytes: header, first row, separator."""

import codecs
import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Self

from suffice.core.text.lists import quoted
from suffice.data.files.contents import decoder_of
from suffice.data.options import TextFormat
from suffice.data.text.spelling import ANY_NUMBER
from suffice.errors import InvalidInputError

MOST_COLUMNS = 1 << 16  # largest number of columns of a text table
_SEPARATORS = ",;\t|"
_JUDGED_ROWS = 200  # number of rows compared with the first line to see whether it is a header
_JUDGED_LINES = 50  # number of lines used to find the separator
_WESTERN = "cp1252"
_WITH_DECIMAL_COMMA = r"[^,]*\d,\d[^,]*"
_LIKE_A_VALUE = r"[-+(]?[$€£¥₹]?\d"  # beginning of a number with a unit, or of a date
_LIKE_A_DECIMAL = _LIKE_A_VALUE + r"+[.,]\d"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the rows of a text table are, and the names of its columns."""

    separator: str
    encoding: str
    translate: bool  # whether the bytes must first be converted to UTF-8 with plain line ends
    names: tuple[str, ...]
    n_before: int  # number of lines before the first row
    comment: str | None
    missing: tuple[str, ...]  # spellings of a missing value
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, head: bytes, text: TextFormat, label: str, separator: str | None) -> Self:
        """Return the layout of a file that begins with ``head``.

        ``separator`` is the separator that the file extension implies, if any.
        """
        encoding = text.encoding or _encoding(head)
        lines = _decoded(head, encoding, label).split("\n")
        if len(lines) > 50:  # the last line may be incomplete
            lines = lines[:-1]
        start, declared = _first_line(lines, text)
        body = [line for line in lines[start:] if _holds_cells(line, text.comment)]
        if not body:
            raise InvalidInputError(
                f"{label} is empty: it needs a line of column names and rows"
            )
        separator = text.delimiter or declared or separator
        remarks: list[str] = []
        if separator is None:
            separator, remarks = _guess_separator(body[:_JUDGED_LINES], label)
        reader = csv.reader((f"{line}\n" for line in lines[start:]), delimiter=separator)
        try:
            first = [cell.strip().removeprefix("\ufeff").strip() for cell in next(reader)]
        except csv.Error as error:
            raise InvalidInputError(
                f"{label}: line {start + 1:,} cannot be split into cells by {separator!r} "
                f"({error}): name the separator with --delimiter, and the lines before the table "
                "with --skip-rows (TextFormat(delimiter=…, skip_rows=…) in Python)"
            ) from error
        if len(first) > MOST_COLUMNS:
            raise InvalidInputError(
                f"{label} has {len(first):,} columns, and at most {MOST_COLUMNS:,} are read from "
                "text: select the columns that matter, or check the delimiter"
            )
        n_first_lines = reader.line_num
        rows = _rows(body[n_first_lines:][:_JUDGED_ROWS], separator)
        has_header, remarks_on_header = _has_header(first, rows, text, label)
        remarks += remarks_on_header
        if encoding == _WESTERN and text.encoding is None:
            remarks.append(
                f"{label} is not UTF-8: it is read as {encoding}; if this is wrong, set "
                "--encoding"
            )
        is_utf8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")
        has_old_line_ends = b"\r" in head and b"\n" not in head
        return cls(
            separator=separator,
            encoding=encoding,
            translate=not is_utf8 or has_old_line_ends,
            names=_named(first, label) if has_header else _numbered(len(first)),
            n_before=start + n_first_lines if has_header else start,
            comment=text.comment,
            missing=text.missing,
            remarks=tuple(remarks),
        )


def _first_line(lines: Sequence[str], text: TextFormat) -> tuple[int, str | None]:
    """Return the number of lines before the table, and the separator declared there, if any."""
    start = text.skip_rows
    separator = None
    if start < len(lines):
        separator = _declared_separator(lines[start])
        if separator is not None:
            start += 1
    while start < len(lines) and not _holds_cells(lines[start], text.comment):
        start += 1
    return start, separator


def _has_header(
    first: Sequence[str],
    rows: Sequence[Sequence[str]],
    text: TextFormat,
    label: str,
) -> tuple[bool, list[str]]:
    """Return whether the first line is a header, and remarks if that may surprise the user."""
    if text.header is not None:
        return text.header, []
    kind = _kind_of_first_line(first, rows, text.missing)
    cells = quoted(first, 3)
    if kind == "row":
        remark = (
            f"the first line of {label} ({cells}) looks like a row, so the columns are called "
            "column_0, …. If this line is a header, set --header"
        )
        return False, [remark]
    if kind == "perhaps names":
        remark = (
            f"the first line of {label} ({cells}) is read as column names. If this line is a row, "
            "set --no-header"
        )
        return True, [remark]
    return True, []


def _declared_separator(line: str) -> str | None:
    """Return the separator declared by a first line such as ``sep=;``, which Excel writes."""
    match = re.fullmatch(r"sep=(.)", line.strip('\ufeff"'))
    return match[1] if match else None


def _holds_cells(line: str, comment: str | None) -> bool:
    is_comment = comment is not None and comment != "" and line.startswith(comment)
    return bool(line.strip()) and not is_comment


def _encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    # In UTF-16, every second byte of a Latin letter is zero.
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        n_zeros = head[start::2].count(0)
        n_other_zeros = head[1 - start :: 2].count(0)
        if n_zeros > len(head) / 4 and not n_other_zeros:
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return _WESTERN
    return "utf-8-sig"


def _decoded(head: bytes, encoding: str, label: str) -> str:
    has_zero_bytes = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    if b"\0" in head and not has_zero_bytes:
        raise InvalidInputError(
            f"{label} is not text but binary: save it to a file with the extension of its format"
        )
    try:
        return decoder_of(encoding).decode(head)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InvalidInputError(
            f"{label} is not {encoding} text ({byte:#04x} at byte {error.start}): name its "
            "encoding, such as --encoding latin-1 (TextFormat(encoding=…) in Python)"
        ) from error
    except UnicodeError as error:  # only UTF-16 and UTF-32 can fail to decode
        name = encoding.lower().replace("_", "-")
        raise InvalidInputError(
            f"{label} is not {encoding} text, because it has no byte order mark: name the order of "
            f"its bytes, --encoding {name}-le or --encoding {name}-be (TextFormat(encoding=…) in "
            "Python)"
        ) from error


def _rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Return the cells of lines, up to lines with invalid quotes."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(csv.reader((f"{line}\n" for line in lines), delimiter=separator))
    return rows


def _guess_separator(lines: Sequence[str], label: str) -> tuple[str, list[str]]:
    """Return the separator that gives all lines the same number of fields, the largest one.

    Commas are decimal marks if each is within a number between other separators.
    """

    def merit(separator: str) -> tuple[bool, int]:
        widths = [len(row) for row in _rows(lines, separator)] or [1]
        is_regular = len(set(widths)) == 1 and widths[0] > 1
        return is_regular, widths[0]

    separator = max(_SEPARATORS, key=merit)
    if separator != ",":
        return separator, []
    others = [other for other in _SEPARATORS[1:] if _has_decimal_commas(lines, other)]
    if not others:
        return separator, []
    separator = max(others, key=merit)
    remark = (
        f"{label}: {separator!r} separates the cells, and commas are decimal marks; if this is "
        "wrong, set --delimiter"
    )
    return separator, [remark]


def _has_decimal_commas(lines: Sequence[str], separator: str) -> bool:
    """Return whether most lines have several cells, and all commas are within numbers."""
    rows = _rows(lines, separator)  # empty if a cell is too long
    n_several = sum(len([cell for cell in row if cell.strip()]) > 1 for row in rows)
    if 2 * n_several <= len(rows):
        return False
    cells = [cell for row in rows for cell in row if "," in cell]
    return all(re.fullmatch(_WITH_DECIMAL_COMMA, cell) for cell in cells)


def _kind_of_first_line(
    first: Sequence[str],
    rows: Sequence[Sequence[str]],
    missing: Sequence[str],
) -> Literal["names", "perhaps names", "row"]:
    """Return whether the first line is a header or a row."""
    # A text above numbers is a name. A cell belongs to a row if it is a decimal number, a number
    # above numbers, a value that occurs again below, or a date above dates of the same format.
    numbers = [cell for cell in first if _is_number(cell)]
    if any(re.search(r"\d[.,]\d|^[.,]\d", cell) for cell in numbers):
        return "row"
    is_doubtful = any(cell in missing and cell != "" for cell in first)
    columns = []  # pairs of a text cell of the first line and the values below it
    for j, cell in enumerate(first):
        if cell not in missing and cell not in numbers:
            below = [row[j].strip() for row in rows if j < len(row)]
            columns.append((cell, [value for value in below if value not in missing]))
    if any(_is_like_values(cell, below) for cell, below in columns):
        return "row"
    is_doubtful |= any(re.match(_LIKE_A_DECIMAL, cell) for cell, _ in columns)
    recurs = any(cell in below for cell, below in columns)
    if any(_is_name_of_numbers(cell, below) for cell, below in columns):
        # A column named y may have the values y and n, so a repeated value alone does not make a
        # header doubtful.
        return "perhaps names" if (recurs and numbers) or is_doubtful else "names"
    if not numbers and recurs:
        return "row"
    if not numbers:
        return "perhaps names" if is_doubtful else "names"
    return _kind_of_numbers(numbers, rows, recurs=recurs)


def _kind_of_numbers(
    numbers: Sequence[str], rows: Sequence[Sequence[str]], *, recurs: bool
) -> Literal["names", "perhaps names", "row"]:
    """Return whether a first line with integers is a header or a row."""
    # the header may consist of years, for example
    if all(re.fullmatch(r"\d+", cell) for cell in numbers):
        years = [int(cell) for cell in numbers]
        count_up = years == list(range(years[0], years[0] + len(years)))
        return "perhaps names" if (count_up and not recurs) or not rows else "row"
    return "row" if recurs or rows else "names"


def _is_name_of_numbers(cell: str, below: Sequence[str]) -> bool:
    is_name = re.match(_LIKE_A_VALUE, cell) is None
    return is_name and bool(below) and all(_is_number(value) for value in below)


def _is_like_values(cell: str, below: Sequence[str]) -> bool:
    """Return whether a cell begins like a number and has the shape of some value below it."""
    if re.match(_LIKE_A_VALUE, cell) is None:
        return False
    return _shape(cell) in [_shape(value) for value in below]


def _shape(cell: str) -> str:
    """Return a cell with 0 for each run of digits, so that dates of one format look the same."""
    return re.sub(r"\d+", "0", cell)


def _is_number(cell: str) -> bool:
    return re.search(ANY_NUMBER, cell.strip()) is not None


def _numbered(n_columns: int) -> tuple[str, ...]:
    return tuple(f"column_{j}" for j in range(n_columns))


def _named(names: Sequence[str], label: str) -> tuple[str, ...]:
    """Return the column names; unnamed columns after the first get names."""
    for name in names:
        if "\0" in name:
            raise InvalidInputError(
                f"{label}: the column name {name!r} holds a null character: remove it, or name the "
                "encoding with --encoding (TextFormat(encoding=…) in Python)"
            )
    has_nameless = False
    taken = set(names)
    seen: set[str] = set()
    unique: list[str] = []
    for j, name in enumerate(names):
        if name and name in seen:
            raise InvalidInputError(
                f"{label} has two columns called {name!r}: rename one of them"
            )
        seen.add(name)
        if name or not has_nameless:
            has_nameless = has_nameless or not name
            unique.append(name)
            continue
        invented = f"column_{j}"
        while invented in taken:
            invented += "_"
        unique.append(invented)
    return tuple(unique)
