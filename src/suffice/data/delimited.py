"""Tables of separated text, known by their first bytes (layout) and their first rows (spelling)."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import polars as pl
from polars.io.plugins import register_io_source

from suffice.core.text.lists import quoted
from suffice.data import source
from suffice.data.file_bytes import decoder_of, is_packed, pieces_in, text_rows
from suffice.data.source import Scan, TextStyle, as_type, copy_of, exactly, reading_of
from suffice.data.spelling import ANY_NUMBER, Spelling, spellings_of, stand_ins, typed
from suffice.errors import InvalidInputError

_SEPARATORS = ",;\t|"
_JUDGED = 200  # rows that tell whether the first line is one of them
_WESTERN = "cp1252"
_A_ROW = "looks like a row: its columns are called column_0, …; --header says otherwise"
_NAMES = "is taken for column names; --no-header says otherwise"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the rows of a text table are, and what its columns are called."""

    separator: str
    encoding: str
    translate: bool  # whether the bytes must be turned into UTF-8 with plain line ends first
    names: tuple[str, ...]
    n_before: int  # lines before the first row
    comment: str | None
    missing: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, head: bytes, reading: TextStyle, label: str, separator: str | None) -> Self:
        encoding = reading.encoding or _encoding(head)
        lines = _decoded(head, encoding, label).split("\n")
        lines = lines[:-1] if len(lines) > 50 else lines  # the last may be cut short
        at = reading.skip_rows
        if at < len(lines) and (said := re.fullmatch(r"sep=(.)", lines[at].strip('\ufeff"'))):
            separator, at = said[1], at + 1
        comment = reading.comment
        while at < len(lines) and not _is_line(lines[at], comment):
            at += 1
        body = [line for line in lines[at:] if _is_line(line, comment)]
        if not body:
            raise InvalidInputError(
                f"{label} is empty: it needs a line of column names and rows"
            )
        mark = reading.delimiter or separator or _separator(body[:50])
        reader = csv.reader((f"{line}\n" for line in lines[at:]), delimiter=mark)
        first = [cell.strip().removeprefix("\ufeff").strip() for cell in next(reader)]
        used = reader.line_num
        header, remark = reading.header, ""
        if header is None:
            header, remark = _holds_names(
                first, _rows(body[used:][:_JUDGED], mark), reading.marks
            )
        remarks = (
            [f"the first line of {label} ({quoted(first, 3)}) {remark}"] if remark else []
        )
        if encoding == _WESTERN and reading.encoding is None:
            remarks += [f"{label} is not UTF-8: read as {encoding}; --encoding says otherwise"]
        twin = next((name for name in first if name and first.count(name) > 1), None)
        if header and twin:
            raise InvalidInputError(
                f"{label} has two columns called {twin!r}: rename one of them"
            )
        plain = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")
        translate = not plain or (b"\r" in head and b"\n" not in head)
        names = _unique(first if header else [""] * len(first), all_named=not header)
        at += used if header else 0
        return cls(
            mark, encoding, translate, names, at, comment, reading.marks, tuple(remarks)
        )

    @property
    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"separator": self.separator, "has_header": False}
        return options | ({"comment_prefix": self.comment} if self.comment else {})


def _is_line(line: str, comment: str | None) -> bool:
    return bool(line.strip()) and not (comment and line.startswith(comment))


def _encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    # Latin letters in UTF-16: every second byte is zero
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = head[start::2].count(0), head[1 - start :: 2].count(0)
        if zeros > len(head) / 4 and not others:
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return _WESTERN
    return "utf-8-sig"


def _decoded(head: bytes, encoding: str, label: str) -> str:
    try:
        if b"\0" in head and not codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
            cure = "save it to a file with the extension of its format"
            raise InvalidInputError(f"{label} is not text but binary: {cure}")
        return decoder_of(encoding).decode(head)
    except LookupError as error:
        msg = f"there is no encoding {encoding!r}: name one such as utf-8, utf-16 or latin-1"
        raise InvalidInputError(msg) from error
    except UnicodeDecodeError as error:
        found = f"{error.object[error.start]:#04x} at byte {error.start}"
        cure = "name its encoding, for example --encoding latin-1 (encoding= in Python)"
        raise InvalidInputError(f"{label} is not {encoding} text ({found}): {cure}") from error


def _rows(lines: Sequence[str], mark: str) -> list[list[str]]:
    """Return the cells of lines, as far as their quotes allow."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(csv.reader(lines, delimiter=mark))
    return rows


def _separator(lines: Sequence[str]) -> str:
    """Return the mark that cuts every line into the same, largest number of fields."""

    def merit(mark: str) -> tuple[bool, int]:
        widths = [len(row) for row in _rows(lines, mark)] or [1]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0]

    return max(_SEPARATORS, key=merit)


def _holds_names(
    first: Sequence[str],
    rows: Sequence[Sequence[str]],
    missing: Sequence[str],
) -> tuple[bool, str]:
    """Return whether the first line holds names rather than a row, and what to say about it."""
    # a name stands above numbers; a cell of a row is a decimal, a number above numbers, or recurs
    numbers = {cell for cell in first if _is_number(cell)}
    if any(re.search(r"\d[.,]\d|^[.,]\d", cell) for cell in numbers):
        return False, _A_ROW
    recurs = False
    for j, cell in enumerate(first):
        if cell in missing:
            continue
        below = [
            row[j].strip() for row in rows if j < len(row) and row[j].strip() not in missing
        ]
        if cell not in numbers and below and all(map(_is_number, below)):
            return True, ""
        recurs |= cell not in numbers and cell in below
    if numbers and all(re.fullmatch(r"\d+", cell) for cell in numbers):
        counted = [int(cell) for cell in first if cell in numbers]
        count_up = counted == list(range(counted[0], counted[0] + len(counted)))
        return (True, _NAMES) if (count_up and not recurs) or not rows else (False, _A_ROW)
    return (False, _A_ROW) if recurs or (numbers and rows) else (True, "")


def _is_number(cell: str) -> bool:
    return re.search(ANY_NUMBER, cell.strip()) is not None


def _unique(names: Sequence[str], *, all_named: bool) -> tuple[str, ...]:
    blank = (
        len(names) if all_named else next((j for j, name in enumerate(names) if not name), 0)
    )
    taken, unique = set(names), []
    for j, name in enumerate(names):
        new = f"column_{j}"
        while not name and new in taken:
            new += "_"
        unique.append(name if name or j == blank else new)
    return tuple(unique)


@dataclass(frozen=True, slots=True, eq=False)
class TextTable:
    """A text table known by its first rows: its layout, its columns and how they are spelt."""

    # to look for marks of missing values costs a third of the reading: they are looked for where
    # the first rows have some, a person names some, or a number fails to parse
    label: str
    layout: Layout
    sample: pl.DataFrame
    spellings: Mapping[str, Spelling]
    padded: frozenset[str]  # columns with blanks around their values
    careful: bool  # whether marks of missing values are looked for
    remarks: tuple[str, ...]  # what was found that may surprise

    @classmethod
    def of(
        cls,
        head: bytes,
        table: Any,
        reading: TextStyle,
        label: str,
        separator: str | None,
    ) -> Self:
        """Return the table that starts with bytes ``head``, and stands in the file ``table``."""
        layout = Layout.of(head, reading, label, separator)
        text = _sampled(table, head, layout, label)
        trimmed = text.select(pl.all().str.strip_chars())
        known = trimmed.select(_without_marks(pl.all(), layout.missing))
        spellings, remarks = spellings_of(known, replace(reading, delimiter=layout.separator))
        sample = typed(known, spellings)
        padded = frozenset(
            a.name for a, b in zip(text, trimmed, strict=True) if not a.equals(b)
        )
        marked = sum(known.null_count().row(0)) > sum(text.null_count().row(0))
        careful = marked or bool(
            reading.missing
        )  # numbers, too, parse where they are no marks
        told = (*layout.remarks, *remarks, *stand_ins(known))
        return cls(label, layout, sample, spellings, padded, careful, told)

    @property
    def doubts(self) -> dict[str, str]:
        """Why columns that may hold numbers are not read as such."""
        return {name: s.doubt for name, s in self.spellings.items() if s.doubt}

    def scan(self, path: Any, columns: Mapping[str, Any]) -> Scan:
        if self.layout.translate or is_packed(path):
            return self.scan_stream(pieces_in(path), columns)
        rows = partial(self._rows, path, columns, skip_lines=self.layout.n_before)
        quick, slow = (rows(), None) if self.careful else (rows(careful=False), rows())
        check = partial(check_rows, path, self.layout, self.label, tell=True)
        return Scan(self.label, quick, slow, check=check)

    def scan_stream(self, pieces: Iterable[bytes], columns: Mapping[str, Any]) -> Scan:
        blocks = text_rows(pieces, self.layout, self.label, tell=True)
        return scan_of_blocks(blocks, lambda b: self._rows(io.BytesIO(b), columns), self.label)

    def _rows(
        self,
        text: Any,
        columns: Mapping[str, Any],
        *,
        careful: bool = True,
        skip_lines: int = 0,
    ) -> pl.LazyFrame:
        """Return the rows of a file, or of bytes; what is also copied is read as text first."""
        # the reader would take marks of missing values out of columns that are copied, too
        apart = careful and None in columns.values()
        texts = (name for name in columns if apart or copy_of(name) in columns)
        table = replace(self, padded=self.padded.union(texts))
        marks = {"null_values": list(self.layout.missing)} if careful and not apart else {}
        types = {name: table._type(name, columns.get(name)) for name in self.layout.names}
        options = {**self.layout.options, **marks, "schema": types, "skip_lines": skip_lines}
        rows = pl.scan_csv(text, glob=False, **options)
        return rows.select(table._expression(*column) for column in columns.items())

    def _type(self, name: str, dtype: Any) -> Any:
        native = self.spellings[name].native and name not in self.padded
        return dtype if native and dtype is not None else pl.String

    def _expression(self, name: str, dtype: Any) -> Any:
        column = exactly(name.lstrip("\0"))
        if dtype is None:
            return column.alias(name)
        if self._type(name, dtype) != pl.String:
            return column
        column = _without_marks(column.str.strip_chars(), self.layout.missing)
        spelling = self.spellings[name]
        text = dtype == pl.String or spelling.native
        return as_type(column if text else spelling.values(column), dtype).alias(name)


def _sampled(table: Any, head: bytes, layout: Layout, label: str) -> pl.DataFrame:
    """Return the first rows of a file, or of a head that is all there is, as text."""
    options = {**layout.options, "schema": dict.fromkeys(layout.names, pl.String)}
    options["n_rows"] = min(
        source.SAMPLE_ROWS, max(source.SAMPLE_CELLS // len(layout.names), 100)
    )
    with reading_of(label):
        if table is None or layout.translate or is_packed(table):
            blocks = text_rows(pieces_in(table) if table else [head, b""], layout, label)
            first = [pl.scan_csv(io.BytesIO(next(blocks, b"")), **options).collect()]
            for block in blocks if table else ():  # of a head the last row may be cut short
                if sum(map(len, first)) >= options["n_rows"]:
                    break
                first.append(pl.scan_csv(io.BytesIO(block), **options).collect())
            return pl.concat(first).head(options["n_rows"])
        try:
            text = pl.scan_csv(table, skip_lines=layout.n_before, **options).collect()
        except pl.exceptions.ComputeError:
            check_rows(table, layout, label)
            raise
    if b'"' in head and any(column.str.contains("\n", literal=True).any() for column in text):
        check_rows(table, layout, label)
    return text


def check_rows(path: Path | str, layout: Layout, label: str, *, tell: bool = False) -> None:
    """Raise where a quote in a file swallows rows; ``tell`` of rows that lack fields."""
    for _ in text_rows(pieces_in(path), layout, label, tell=tell):
        pass


def scan_of_blocks(
    blocks: Iterable[bytes],
    rows_of: Callable[[bytes], Any],
    label: str,
) -> Scan:
    """Return blocks of whole rows as one table that can be read once."""

    def frames(*_: Any) -> Iterator[pl.DataFrame]:
        with reading_of(label):
            yield from (rows_of(block).collect() for block in blocks)

    return Scan(label, register_io_source(frames, schema=rows_of(b"").collect_schema()))


def _without_marks(column: Any, missing: Sequence[str]) -> Any:
    return pl.when(~column.is_in(list(missing))).then(column).name.keep()
