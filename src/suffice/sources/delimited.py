"""Tables of separated text: CSV, TSV and their relatives, in files or in blocks of bytes."""

from __future__ import annotations

import csv
import gzip
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from suffice.errors import InvalidInputError
from suffice.sources.columns import typed
from suffice.sources.reading import reading_of
from suffice.sources.source import SAMPLE_ROWS, Scan, exactly, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from suffice.sources.source import Reading

_SEPARATORS = ",;\t|"
_DECIMAL_COMMA = re.compile(r"(^|[;\t|])\s*[-+]?\d+,\d+\s*($|[;\t|])")
_DECIMAL_POINT = re.compile(r"\d\.\d")
_DECIMAL = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")


@dataclass(frozen=True, slots=True)
class Layout:
    """Separator, decimal mark and header of a text table."""

    separator: str
    decimal_comma: bool
    has_header: bool
    missing: tuple[str, ...]

    @classmethod
    def of(cls, head: bytes, reading: Reading, label: str, separator: str | None) -> Layout:
        """Return the layout of the table that starts with ``head``."""
        lines = _lines(head, label)
        mark = reading.delimiter or separator or _separator(lines)
        header = next(csv.reader(lines[:1], delimiter=mark))
        _refuse_twins([name.strip() for name in header], label)
        text = "\n".join(lines)
        comma = mark != "," and any(map(_DECIMAL_COMMA.search, lines[1:]))
        return cls(
            separator=mark,
            decimal_comma=comma and not _DECIMAL_POINT.search(text),
            # a decimal number is no column name
            has_header=not any(map(_DECIMAL.fullmatch, header)),
            missing=tuple(reading.missing),
        )

    @property
    def options(self) -> dict[str, Any]:
        """The same in the words of polars; every column is text unless told otherwise."""
        return {
            "separator": self.separator,
            "decimal_comma": self.decimal_comma,
            "has_header": self.has_header,
            "infer_schema": False,
        }


def _lines(head: bytes, label: str) -> list[str]:
    """Return the first lines that are not blank."""
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = (
            f"{label} is not UTF-8 text ({error.object[error.start]:#04x} at byte {error.start}): "
            "convert it, for example with iconv -f latin1 -t utf-8"
        )
        raise InvalidInputError(msg) from error
    if "\0" in text:
        msg = f"{label} is not text but binary: give it the extension of its format"
        raise InvalidInputError(msg)
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        msg = f"{label} is empty: it needs a line of column names and rows"
        raise InvalidInputError(msg)
    return lines[:50]


def _separator(lines: Sequence[str]) -> str:
    """Return the mark that cuts every line into the same, largest number of fields."""

    def merit(mark: str) -> tuple[bool, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=mark)]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0]

    return max(_SEPARATORS, key=merit)


def _refuse_twins(header: Sequence[str], label: str) -> None:
    twins = [name for at, name in enumerate(header) if name and name in header[:at]]
    if twins and not any(map(_DECIMAL.fullmatch, header)):
        msg = f"{label} has two columns called {twins[0]!r}: rename one of them"
        raise InvalidInputError(msg)


_HEAD = 1 << 16  # bytes that show how a file is written


@dataclass(frozen=True, slots=True, eq=False)
class TextTable:
    """A text table known by its first rows: its layout, its columns and their types.

    To look for marks of missing values in every cell costs a third of the reading. So they are
    looked for from the start only where the first rows have some; a mark that turns up later is
    a failure to parse a number, after which the rest is read with care.
    """

    label: str
    layout: Layout
    sample: pl.DataFrame
    raw_names: Mapping[str, str]  # column → its name as written, spaces and all
    padded: frozenset[str]  # columns with blanks around their values
    careful: bool  # whether marks of missing values stand in the first rows

    @classmethod
    def of(
        cls, head: bytes, table: Any, reading: Reading, label: str, separator: str | None
    ) -> TextTable:
        """Return the table that starts with bytes ``head`` and stands in ``table``."""
        layout = Layout.of(head, reading, label, separator)
        with reading_of(label):
            text = pl.scan_csv(table, n_rows=SAMPLE_ROWS, **layout.options).collect()
        if text.width < 2:
            msg = (
                f"{label} has one column only, {text.columns[0]!r}: if it is separated by another "
                "mark than comma, semicolon, tab or bar, name that mark as the delimiter"
            )
            raise InvalidInputError(msg)
        trimmed = text.select(pl.all().str.strip_chars())
        known = trimmed.select(_without_marks(pl.all(), layout.missing))
        sample, padded = {}, set()
        for written in text.columns:
            name, values = _name(written), values_of(known, written)
            sample[name] = typed(values, decimal_comma=layout.decimal_comma)
            if (values_of(text, written) != values_of(trimmed, written)).any():
                padded.add(name)
        return cls(
            label,
            layout,
            pl.DataFrame(sample),
            {_name(name): name for name in text.columns},
            frozenset(padded),
            sum(known.null_count().row(0)) > sum(text.null_count().row(0)),
        )

    def scan(self, path: Any, columns: Mapping[str, Any]) -> Scan:
        """Return the rows of a file of this layout, lazily."""

        def with_care(*, careful: bool) -> pl.LazyFrame:
            frame = pl.scan_csv(path, glob=False, **self._options(columns, careful=careful))
            return frame.select(self._selection(columns))

        if self.careful:
            return Scan(self.label, with_care(careful=True))
        return Scan(self.label, with_care(careful=False), with_care(careful=True))

    def parse(self, block: bytes, columns: Mapping[str, Any], *, first: bool) -> pl.DataFrame:
        """Return the rows of one block of bytes; only the first has the header, if any has."""
        options = self._options(columns, careful=True)
        if not first:
            options |= {"has_header": False, "new_columns": list(self.raw_names.values())}
        return pl.read_csv(io.BytesIO(block), **options).select(self._selection(columns))

    def _options(self, columns: Mapping[str, Any], *, careful: bool) -> dict[str, Any]:
        marks = {"null_values": list(self.layout.missing)} if careful else {}
        return {**self.layout.options, **marks, "schema_overrides": self._types(columns)}

    def _types(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the types to parse as; text where a value must be trimmed first."""
        return {
            self.raw_names[name]: pl.String if name in self.padded else self._spelt(name, dtype)
            for name, dtype in columns.items()
            if dtype is not None
        }

    def _spelt(self, name: str, dtype: Any) -> Any:
        truth = self.sample.schema[name] == pl.Boolean and dtype != pl.String
        return pl.Boolean if truth else dtype

    def _selection(self, columns: Mapping[str, Any]) -> list[Any]:
        return [self._expression(name, dtype) for name, dtype in columns.items()]

    def _expression(self, name: str, dtype: Any) -> Any:
        column = exactly(self.raw_names[name])
        if dtype is None:
            return column.alias(name)
        if name in self.padded:
            column = column.str.strip_chars()
        if name in self.padded or dtype == pl.String:
            column = _without_marks(column, self.layout.missing)
        if name in self.padded:
            column = self._respelt(column, self._spelt(name, dtype))
        return column.cast(dtype).alias(name)

    def _respelt(self, text: Any, spelt: Any) -> Any:
        if spelt == pl.Boolean:
            return text.str.to_lowercase() == "true"
        comma = self.layout.decimal_comma and spelt != pl.String
        return text.str.replace(",", ".", literal=True) if comma else text


def _name(written: str) -> str:
    """Return a column name as it is meant: without blanks around it or doubled quotes in it."""
    return written.strip().replace('""', '"')


def _without_marks(column: Any, missing: Sequence[str]) -> Any:
    """Return the expression of a text column with null where a mark of missing stands."""
    return pl.when(~column.is_in(list(missing))).then(column).name.keep()


def head_of(path: Path) -> bytes:
    """Return the first whole lines of a file."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        head: bytes = file.read(_HEAD)
    return head if len(head) < _HEAD else head[: head.rfind(b"\n") + 1]
