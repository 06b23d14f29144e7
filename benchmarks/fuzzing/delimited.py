"""Delimited text for ``python -m benchmarks fuzz``: what is read must be what Python's csv reads.

A table is written in some dialect and then damaged, or not. Where the reader accepts it, rows,
labels and numbers must be those of a reference that shares no code with the reader, and the sums
those of these values. Without damage, the table that was written must come back. Reading must not
depend on how many first rows the types are found in.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import suffice as sf
from suffice.core.table.notation import Notation
from suffice.data import source as source_module
from suffice.data.formats.file_source import stream_source
from suffice.data.opening import open_source
from suffice.data.scanning import frames_of_scan
from suffice.data.source import Source, copy_of
from suffice.data.text.layout import Layout
from suffice.data.text.row_ends import LateCodeError
from suffice.data.text.table import TextTable
from suffice.errors import SufficeError

FEW_ROWS = 5  # the window in which types are found, when it is small
MISSING = ("", "NA", "N/A", "?", "null", "NaN")
SPECKS = ('"', ",", ";", "\t", "|", "\n", "\r", "\r\n", "'", "#", "\0", " ", ".", "-", "0")
SPECKS += ("007", "e5", "1e400", "%", "kg", "€", "é", "\ufeff", "\u00a0", "\u2028", '""')
SPECKS += ("true", "NA", "\n\n", '"\n', '\n"', "(", ")", "+", "inf", "x", "\x1a", "\x0c", "\v")
N_KINDS = 20
# Polars strips what Unicode calls white space; Python's strip() takes four separators more.
BLANKS = "".join(
    c for c in map(chr, range(0x3001)) if c.isspace() and c not in "\x1c\x1d\x1e\x1f"
)
NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
Value = float | datetime.datetime | None
Cell = str | float | bool | datetime.datetime | None


# --- tables that are written -----------------------------------------------------------------


@dataclass(frozen=True)
class Dialect:
    """How a table is written."""

    separator: str
    line_end: str
    encoding: str
    quoting: str  # "needed", "all" or "some"
    decimal: str
    thousands: str
    comment: str | None
    has_header: bool
    is_padded: bool


def dialect_of(rng: np.random.Generator) -> Dialect:
    decimal = "," if rng.random() < 0.3 else "."
    other = "." if decimal == "," else ","
    return Dialect(
        separator=str(rng.choice([",", ",", ";", "\t", "|"])),
        line_end=str(rng.choice(["\n", "\n", "\r\n", "\r"], p=[0.4, 0.3, 0.25, 0.05])),
        encoding=str(
            rng.choice(
                ["utf-8", "utf-8-sig", "utf-16", "cp1252", "utf-16-le"],
                p=[0.6, 0.15, 0.1, 0.1, 0.05],
            )
        ),
        quoting=str(rng.choice(["needed", "all", "some"], p=[0.6, 0.15, 0.25])),
        decimal=decimal,
        thousands=str(rng.choice(["", other, " ", "'"], p=[0.7, 0.2, 0.05, 0.05])),
        comment="#" if rng.random() < 0.15 else None,
        has_header=rng.random() < 0.85,
        is_padded=rng.random() < 0.15,
    )


@dataclass(frozen=True)
class Column:
    """The cells of a column, and the values that were written, where they are beyond doubt."""

    cells: list[str]
    values: list[Value]


def column_of(n_rows: int, dialect: Dialect, rng: np.random.Generator) -> Column:
    """Return cells of one kind; now and then a late cell is of another."""
    kind = int(rng.integers(N_KINDS))
    pairs = [_cell(kind, dialect, rng) for _ in range(n_rows)]
    cells = [cell for cell, _ in pairs]
    values = [value for _, value in pairs]
    if rng.random() < 0.25:
        for _ in range(int(rng.integers(1, 4))):
            row = int(rng.integers(n_rows))
            cells[row], values[row] = str(rng.choice(MISSING)), None
    if rng.random() < 0.15:
        row = int(rng.integers(n_rows))
        cells[row], _ = _cell(int(rng.integers(N_KINDS)), dialect, rng)
        values = [None] * n_rows
    return Column(cells, values)


def _cell(kind: int, dialect: Dialect, rng: np.random.Generator) -> tuple[str, Value]:
    """Return a cell, and the number or date that it stands for; None for text or in doubt."""
    whole = int(rng.integers(0, 1000))
    size = float(rng.normal()) * 10 ** int(rng.integers(0, 6))
    is_mixed = rng.random() < 0.1
    order = "{1:02}/{0:02}/2024" if is_mixed and whole % 2 else "{0:02}/{1:02}/2024"
    day = datetime.datetime(2024, whole % 12 + 1, whole % 28 + 1)
    written = _written(size, dialect)
    pairs: tuple[tuple[str, Value], ...] = (
        (str(whole), float(whole)),
        (written, round(size, 2)),
        (written, round(size, 2)),
        (f"{whole:05}", None),
        (str(rng.choice(["red", "green", "blue", "größer"])), None),
        (str(rng.choice(["red", "green"])), None),
        (f"{day:%Y-%m-%d}", day),
        (order.format(day.day, day.month), None),
        (str(rng.choice(["true", "false", "True", "FALSE"])), None),
        (f"{whole}%", whole / 100),
        (f"{_written(whole / 8, dialect)} kg", round(whole / 8, 2)),
        (
            str(rng.choice(['say "hi"', "a, b", "x;y", "two\nlines", "p|q", "a\tb", "#1"])),
            None,
        ),
        (f"{whole / 4:.3e}", float(f"{whole / 4:.3e}")),
        (f"€{_written(whole * 3.5, dialect)}", whole * 3.5),
        (f"{day:%d.%m.%Y}", None),
        (f"{day:%Y-%m-%dT%H:%M:%S}Z", day),
        (f"{-whole}", -float(whole)),
        (f"{10 * size:.17g}", float(f"{10 * size:.17g}")),
        (f"{1_002_003 * whole:,}".replace(",", dialect.thousands), 1_002_003.0 * whole),
        (
            f"{whole + 1} 000" if dialect.thousands == " " else f"{whole + 1}000",
            1000.0 * (whole + 1),
        ),
    )
    return pairs[kind]


def _written(value: float, dialect: Dialect) -> str:
    text = f"{value:,.2f}"
    return (
        text.replace(",", "\0").replace(".", dialect.decimal).replace("\0", dialect.thousands)
    )


@dataclass(frozen=True)
class Written:
    """The text of a table, and its rows as cells; an empty line is a row of empty cells."""

    text: str
    rows: list[list[str]]


def text_of(
    header: Sequence[str] | None,
    rows: Sequence[Sequence[str]],
    dialect: Dialect,
    rng: np.random.Generator,
) -> Written:
    lines = []
    if header is not None:
        lines.append(dialect.separator.join(_quoted(name, dialect, rng) for name in header))
    written: list[list[str]] = []
    for row in rows:
        if dialect.comment and rng.random() < 0.1:
            lines.append(f'{dialect.comment} said, "so{dialect.separator}')
        cells = [_quoted(cell, dialect, rng) for cell in row]
        lines.append(dialect.separator.join(cells))
        written.append(list(row))
        if rng.random() < 0.01:
            lines.append("")
            written.append([])
        if rng.random() < 0.005 and len(cells) > 1:
            lines.append(dialect.separator.join(cells[:-1]))
            written.append(list(row[:-1]))
        if rng.random() < 0.003:
            lines.append(dialect.separator.join([*cells, cells[0]]))
            written.append([*row, row[0]])
    end = dialect.line_end if rng.random() < 0.8 else ""
    return Written(dialect.line_end.join(lines) + end, written)


def _quoted(cell: str, dialect: Dialect, rng: np.random.Generator) -> str:
    needs = any(mark in cell for mark in (dialect.separator, '"', "\n", "\r"))
    needs = needs or (dialect.comment is not None and cell.startswith(dialect.comment))
    is_asked = dialect.quoting == "all" or (dialect.quoting == "some" and rng.random() < 0.3)
    if needs or is_asked:
        doubled = cell.replace('"', '""')
        return f'"{doubled}"'
    return f" {cell} " if dialect.is_padded and rng.random() < 0.5 else cell


def names_of(n_columns: int, rng: np.random.Generator) -> list[str]:
    names = [f"x{j}" for j in range(n_columns)]
    if rng.random() < 0.05:
        names[int(rng.integers(n_columns))] = str(
            rng.choice(["", "x0", "^x.*$", "*", "a b", "é"])
        )
    return [*names, "label"]


def with_specks(text: str, rng: np.random.Generator) -> str:
    """Return text with something put in, taken out or replaced in one to three places."""
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(text) + 1))
        n_gone = int(rng.integers(0, 3)) if rng.random() < 0.5 else 0
        speck = SPECKS[int(rng.integers(len(SPECKS)))] if rng.random() < 0.8 else ""
        text = text[:at] + speck + text[at + n_gone :]
    return text


def with_damage(content: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with some flipped, cut off or left out, or with lines repeated or swapped."""
    data = bytearray(content)
    way = int(rng.integers(5))
    at = int(rng.integers(len(data) + 1))
    size = int(rng.integers(1, 40))
    if way == 0:
        for _ in range(int(rng.integers(1, 4))):
            data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    elif way == 1:
        del data[at:]
    elif way == 2:
        del data[at : at + size]
    elif way == 3:
        data[at:at] = data[at : at + size]
    else:
        lines = bytes(data).splitlines(keepends=True)
        first, second = rng.integers(len(lines), size=2)
        if rng.random() < 0.5:
            lines.insert(int(second), lines[int(first)])
        else:
            lines[first], lines[second] = lines[second], lines[first]
        data = bytearray(b"".join(lines))
    return bytes(data)


# --- the reference ---------------------------------------------------------------------------


class _Lines:
    """Lines for Python's reader, which takes as many as a row needs."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.next = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if self.next >= len(self.lines):
            raise StopIteration
        self.next += 1
        return self.lines[self.next - 1]


def reference_rows(content: bytes, layout: Layout) -> list[list[str]]:
    """Return the cells of each row, as Python's csv module reads them."""
    text = content.decode(layout.encoding)
    if layout.translate:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    else:
        text = text.removeprefix("\ufeff")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    source = _Lines([f"{line}\n" for line in lines[layout.n_before :]])
    reader = csv.reader(source, delimiter=layout.separator)
    rows = []
    while source.next < len(source.lines):
        if layout.comment and source.lines[source.next].startswith(layout.comment):
            source.next += 1
            continue
        rows.append(next(reader))
    # Blank lines at the end of a file are no rows.
    return rows


def reference_value(cell: str, dtype: pl.DataType, notation: Notation | None) -> Cell:
    """Return what a trimmed cell stands for."""
    if dtype == pl.String:
        return cell
    if dtype == pl.Boolean:
        return {"true": True, "false": False}[cell.lower()]
    if dtype.is_temporal():
        return _moment(cell, notation or Notation())
    return _number(cell, notation or Notation())


def _moment(cell: str, notation: Notation) -> datetime.datetime:
    if notation.date != "iso":
        return datetime.datetime.strptime(cell, notation.date)
    moment = datetime.datetime.fromisoformat(cell)
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(datetime.UTC).replace(tzinfo=None)


def _number(cell: str, notation: Notation) -> float:
    if cell.lower().lstrip("+-") in ("inf", "infinity", "nan"):
        return float(cell)
    text = cell
    if notation.unit:
        text = text.removesuffix(notation.unit)
    if notation.percent:
        text = text.removesuffix("%")
    text = re.sub(r"[$€£¥₹]|USD|EUR|GBP|CHF|kr", "", text)
    text = re.sub(r"[ \u00a0\u2009\u202f'\u2019]", "", text).replace("\u2212", "-")
    if notation.thousands in (",", "."):
        text = text.replace(notation.thousands, "")
    text = text.replace(notation.decimal or ".", ".")
    if text.startswith("(") and text.endswith(")"):
        text = f"-{text[1:-1]}"
    if not NUMBER.fullmatch(text):
        raise AssertionError(f"{cell!r} was read as a number")
    return float(text) / (100 if notation.percent else 1)


# --- what the reader makes of it -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Read:
    """All rows of a table: as they are written, and as values."""

    source: Source
    copies: pl.DataFrame
    values: pl.DataFrame


def read(
    name: Path | Source, text: sf.TextFormat, cells: Collection[str] | None = None
) -> Read | None:
    """Return all rows of a file or stream; None if they are refused.

    ``cells`` are those of an undamaged table.
    """
    try:
        opened = name if isinstance(name, Source) else open_source(name, text)
        types = opened.sample.schema
        values = _all_rows(opened, {n: _type_of(dtype) for n, dtype in types.items()})
        if isinstance(name, Source):
            return Read(opened, pl.DataFrame(), values)
        return Read(opened, _all_rows(opened, {copy_of(n): None for n in types}), values)
    except LateCodeError as late:
        if cells is not None and late.cell not in cells:
            raise AssertionError(f"{late.cell!r} is no cell") from late
        return None
    except SufficeError:
        return None


def _type_of(dtype: pl.DataType) -> Any:
    if dtype == pl.Null:
        return pl.String
    return pl.Float64 if dtype.is_numeric() else dtype


def _all_rows(source: Source, columns: Any) -> pl.DataFrame:
    frames = [frame for scan in source.scans(columns) for frame in frames_of_scan(scan)]
    if not frames:
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    return pl.concat(frames)


def check_rows(found: Read, content: bytes) -> None:
    """Raise unless the rows are those of Python's csv module."""
    table = found.source.files[0].table
    assert isinstance(table, TextTable)
    layout = table.layout
    if not found.copies.height and not content.split(b"\n", 1)[1:]:
        return  # a header that is cut off within a character; sums of no rows are refused
    rows = reference_rows(content, layout)
    while rows and not "".join(rows[-1]).strip() and len(rows) > found.copies.height:
        rows.pop()
    assert found.copies.height == len(rows), f"{found.copies.height} rows for {len(rows)}"
    assert found.values.height == len(rows), f"{found.values.height} rows for {len(rows)}"
    for number, row in enumerate(rows):
        assert len(row) <= len(layout.names), f"row {number} has more cells: {row}"
    for j, name in enumerate(layout.names):
        cells = [row[j] if j < len(row) else "" for row in rows]
        copies = ["" if cell is None else cell for cell in found.copies.to_series(j)]
        ends = [cell.rstrip("\r") for cell in cells]
        assert [cell.rstrip("\r") for cell in copies] == ends, (
            f"column {name!r}: {copies} for {cells}"
        )
        check_column(name, cells, found, layout)


def check_column(name: str, cells: Sequence[str], found: Read, layout: Layout) -> None:
    notation = found.source.notations.get(name)
    column = found.values.get_column(name)
    for row, (cell, value) in enumerate(zip(cells, column, strict=True)):
        trimmed = cell.strip(BLANKS)
        where = f"column {name!r}, row {row}: {value!r} for {cell!r}"
        if trimmed in layout.missing:
            assert value is None or value != value, where
            continue
        expected = reference_value(trimmed, column.dtype, notation)
        if isinstance(expected, float):
            is_near = math.isclose(value, expected, rel_tol=1e-14, abs_tol=0)
            assert is_near or value == expected or value != value, where
        else:
            assert value == expected, where


def same(a: pl.DataFrame, b: pl.DataFrame) -> bool:
    # A cell that is NaN counts as empty in every sum.
    numbers = pl.selectors.float()
    filled = [frame.with_columns(numbers.fill_nan(None)) for frame in (a, b)]
    return a.schema == b.schema and filled[0].equals(filled[1])


def check_written(
    found: Read, names: Sequence[str] | None, rows: list[list[str]], columns: Sequence[Column]
) -> None:
    """Raise unless an undamaged table comes back: its names, its rows, and values beyond doubt."""
    table = found.source.files[0].table
    assert isinstance(table, TextTable)
    if names is None and len(rows) == 1:
        return  # nothing tells its separator, or that it is no header
    is_doubtful = is_like_header(rows) or "--no-header" in " ".join(table.layout.remarks)
    if (
        names is None
        and is_doubtful
        and list(table.layout.names) == [c.strip() for c in rows[0]]
    ):
        return  # nothing tells the first row from column names, or a remark says that it is one
    while rows and not "".join(rows[-1]).strip() and len(rows) > found.copies.height:
        rows.pop()
    if names is not None:
        expected = [name.strip() for name in names]
        invented = [new for new, old in zip(table.layout.names, expected, strict=True) if old]
        assert invented == [name for name in expected if name], f"{table.layout.names}"
    width = len(table.layout.names)
    assert found.copies.height == len(rows), f"{found.copies.height} rows for {len(rows)}"
    for number, (cells, row) in enumerate(zip(found.copies.iter_rows(), rows, strict=True)):
        padded = [*row, *[""] * (width - len(row))]
        trimmed = [("" if cell is None else cell).strip(BLANKS) for cell in cells]
        assert trimmed == [cell.strip(BLANKS) for cell in padded], (
            f"row {number}: {cells} for {row}"
        )
    for j, column in enumerate(columns):
        if len(rows) == len(column.values):
            check_values(j, found, column)


def check_values(j: int, found: Read, column: Column) -> None:
    """Raise unless values beyond doubt come back, and not as text."""
    values = found.values.to_series(j)
    if values.dtype == pl.String:
        is_in_doubt = values.name in found.source.doubts
        assert is_in_doubt or None in column.values, f"column {j}: {column.cells} as text"
        return
    for value, wanted in zip(values, column.values, strict=True):
        is_near = isinstance(wanted, float) and math.isclose(
            value, wanted, rel_tol=1e-12, abs_tol=1e-12
        )
        assert wanted is None or is_near or value == wanted, (
            f"column {j}: {value!r} for {wanted!r}"
        )


def is_like_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row may be taken for column names.

    Either it has text above numbers, and no number, or none of its cells is a decimal number or
    occurs again below.
    """
    first, *others = rows
    columns = [[row[j].strip() for row in others if j < len(row)] for j in range(len(first))]
    below = [[cell for cell in column if cell not in MISSING] for column in columns]
    is_text = [not re.match(r"[-+(]?[$€£]?\d", cell) and cell not in MISSING for cell in first]
    is_named = [
        text and bool(cells) and all(re.match(r"[-+(]?[$€£]?\d", cell) for cell in cells)
        for text, cells in zip(is_text, below, strict=True)
    ]
    if any(is_named) and all(is_text):
        return True
    is_decimal = any(re.search(r"\d[.,]\d", cell) for cell in first)
    recurs = any(cell in cells for cell, cells in zip(first, below, strict=True))
    return not is_decimal and not recurs


# --- the target ------------------------------------------------------------------------------


def delimited_rows(rng: np.random.Generator, folder: Path) -> bool:
    """Check that accepted tables have the rows that are written, whatever shows their types."""
    dialect = dialect_of(rng)
    n_rows = int(rng.integers(1, 40))
    n_columns = int(rng.integers(1, 5))
    columns = [column_of(n_rows, dialect, rng) for _ in range(n_columns)]
    labels = [str(rng.choice(["u", "v", "w"])) for _ in range(n_rows)]
    cells = [column.cells for column in columns]
    rows = [list(row) for row in zip(*cells, labels, strict=True)]
    names = names_of(n_columns, rng) if dialect.has_header else None
    written = text_of(names, rows, dialect, rng)
    damage = rng.random()
    text = with_specks(written.text, rng) if damage < 0.3 else written.text
    content = text.encode(dialect.encoding, "replace")
    if 0.3 <= damage < 0.6:
        content = with_damage(content, rng)
    path = folder / ("t.csv.gz" if rng.random() < 0.1 else "t.csv")
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    options = options_of(dialect, rng)
    trimmed = {cell.strip(BLANKS) for row in written.rows for cell in row}
    found = read(path, options, trimmed if damage >= 0.6 else None)
    if found is not None:
        check_rows(found, content)
        check_sums(found, path, options)
        if damage >= 0.6:
            check_written(found, names, written.rows, columns)
    check_window(found, path, options)
    if rng.random() < 0.1:
        check_stream(found, content, options)
    return found is not None


def options_of(dialect: Dialect, rng: np.random.Generator) -> sf.TextFormat:
    names_all = rng.random() < 0.2
    is_utf16 = dialect.encoding.startswith("utf-16")
    return sf.TextFormat(
        delimiter=dialect.separator if names_all else None,
        header=dialect.has_header if names_all else None,
        comment=dialect.comment,
        encoding="utf-16" if names_all and is_utf16 and dialect.encoding == "utf-16" else None,
        na_values=["-"] if rng.random() < 0.05 else [],
    )


def check_sums(found: Read, path: Path, options: sf.TextFormat) -> None:
    """Raise unless the sums by label are those of the rows that have a label."""
    name = found.values.columns[-1]
    if found.values.schema[name] != pl.String or found.values.width < 2:
        return
    try:
        columns = sf.Columns(target_kind="class")
        moments = sf.summarize(path, target=name, columns=columns, text=options)
    except SufficeError:
        return
    labels = found.values.get_column(name)
    expected = dict(labels.drop_nulls().value_counts(name="rows").iter_rows())
    counts = dict(zip(moments.classes.tolist(), moments.counts.tolist(), strict=True))
    assert counts == expected, f"{counts} rows for {expected}"
    features = found.values.select(pl.all().exclude(pl.String, pl.Boolean)).to_dict()
    shared = [each for each in features if each in moments.feature_names]
    for each in shared:
        for label, mean in zip(moments.classes.tolist(), moments.means, strict=True):
            values = [
                _summand(value)
                for value, of in zip(features[each], labels, strict=True)
                if of == label
            ]
            if None in values:
                continue  # the mean is then an estimate
            exact = math.fsum(values) / len(values)
            size = math.fsum(map(abs, values)) / len(values)
            value = float(mean[moments.feature_names.index(each)])
            assert abs(value - exact) <= 1e-10 * size, f"{each!r}: mean {value} for {exact}"


def _summand(value: Any) -> float | None:
    """Return a value as a number: dates as days since 1970."""
    if isinstance(value, datetime.date):
        moment = datetime.datetime.combine(value, datetime.time())
        if isinstance(value, datetime.datetime):
            moment = value.replace(tzinfo=None)
        return (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    return None if value is None or value != value else float(value)


def check_window(found: Read | None, path: Path, options: sf.TextFormat) -> None:
    """Raise if fewer first rows give other types or values, and no error."""
    window = source_module.SAMPLE_ROWS
    source_module.SAMPLE_ROWS = FEW_ROWS
    try:
        few = read(path, options)
    finally:
        source_module.SAMPLE_ROWS = window
    if few is None:
        return
    assert found is not None, "the first rows alone are accepted"
    assert same(found.copies, few.copies), "other rows"
    assert found.values.schema == few.values.schema, (
        f"first rows: {few.values.schema}, all: {found.values.schema}"
    )
    assert same(found.values, few.values), "other values"


def check_stream(found: Read | None, content: bytes, options: sf.TextFormat) -> None:
    """Raise if the same bytes from a pipe have other rows, or rows of their own."""
    try:
        source = stream_source(io.BytesIO(content), options, "standard input")
    except SufficeError:
        return
    piped = read(source, options)
    if piped is not None:
        assert found is not None, "a stream alone is accepted"
        assert same(found.values, piped.values), "other values of a stream"
