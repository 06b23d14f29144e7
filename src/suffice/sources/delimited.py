"""Tables of separated text: CSV, TSV and their relatives, in files or in blocks of bytes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from suffice.sources.blocks import (
    Utf8Stream,
    cut_rows,
    decoder_of,
    opened,
    refuse_open_quotes,
    refuse_open_quotes_in,
    row_blocks,
    without_lines,
)
from suffice.sources.layout import Layout
from suffice.sources.reading import reading_of
from suffice.sources.source import SAMPLE_CELLS, SAMPLE_ROWS, Reading, Scan, copy_of, exactly
from suffice.sources.spelling import Marks, Spelling, spellings_of, stand_ins


@dataclass(frozen=True, slots=True, eq=False)
class TextTable:
    """A text table known by its first rows: its layout, its columns and how they are spelt.

    To look for marks of missing values in every cell costs a third of the reading. So they are
    looked for from the start only where the first rows have some; a mark that turns up later is
    a failure to parse a number, after which the rest is read with care.
    """

    label: str
    layout: Layout
    sample: pl.DataFrame
    spellings: Mapping[str, Spelling]
    padded: frozenset[str]  # columns with blanks around their values
    careful: bool  # whether marks of missing values stand in the first rows
    remarks: tuple[str, ...]  # what was found that may surprise

    @classmethod
    def of(
        cls, head: bytes, table: Any, reading: Reading, label: str, separator: str | None
    ) -> TextTable:
        """Return the table that starts with bytes ``head``, and stands in the file ``table``."""
        layout = Layout.of(head, reading, label, separator)
        text = _sampled(table, head, layout, label)
        trimmed = text.select(pl.all().str.strip_chars())
        known = trimmed.select(_without_marks(pl.all(), layout.missing))
        marks = Marks(layout.separator, reading.decimal, reading.thousands)
        spellings, remarks = spellings_of(known, marks)
        sample = known.select(s.values(exactly(n)).alias(n) for n, s in spellings.items())
        padded = frozenset(a.name for a, b in zip(text, trimmed, strict=True) if not a.equals(b))
        marked = sum(known.null_count().row(0)) > sum(text.null_count().row(0))
        told = (*layout.remarks, *remarks, *stand_ins(known))
        return cls(label, layout, sample, spellings, padded, marked, told)

    @property
    def doubts(self) -> dict[str, str]:
        """Why columns that may hold numbers are not read as such."""
        return {name: s.doubt for name, s in self.spellings.items() if s.doubt}

    def _copying(self, columns: Mapping[str, Any]) -> TextTable:
        """Return the table that reads as text, and then as numbers, what is copied as well."""
        twice = frozenset(name for name in columns if copy_of(name) in columns)
        return replace(self, padded=self.padded | twice)

    def scan(self, path: Any, columns: Mapping[str, Any]) -> Scan:
        """Return the rows of a file of this layout, lazily."""
        table = self._copying(columns)
        if self.layout.translate:
            rows = _rows_of(path, self.layout, self.label)
            return Scan(self.label, lazily(self, rows, columns))

        def with_care(*, careful: bool) -> pl.LazyFrame:
            options = table._options(columns, careful=careful)
            rows = pl.scan_csv(path, glob=False, skip_lines=self.layout.n_before, **options)
            return rows.select(table._expression(*column) for column in columns.items())

        careful = with_care(careful=True)
        quick, slow = (careful, None) if self.careful else (with_care(careful=False), careful)
        check = partial(refuse_open_quotes_in, path, self.layout, self.label)
        return Scan(self.label, quick, slow, check=check)

    def parse(self, block: bytes, columns: Mapping[str, Any]) -> pl.DataFrame:
        """Return the rows of one block of bytes."""
        table = self._copying(columns)
        rows = pl.scan_csv(io.BytesIO(block), **table._options(columns, careful=True))
        return rows.select(table._expression(*column) for column in columns.items()).collect()

    def _options(self, columns: Mapping[str, Any], *, careful: bool) -> dict[str, Any]:
        marks = {"null_values": list(self.layout.missing)} if careful else {}
        types = {name: self._type(name, columns.get(name)) for name in self.layout.names}
        return {**self.layout.options, **marks, "schema": types}

    def _type(self, name: str, dtype: Any) -> Any:
        """Return the type to parse as; text where a value must be respelt first."""
        native = self.spellings[name].native and name not in self.padded
        return dtype if native and dtype is not None else pl.String

    def _expression(self, name: str, dtype: Any) -> Any:
        column = exactly(name.lstrip("\0"))
        if dtype is None:
            return column.alias(name)
        if self._type(name, dtype) != pl.String:
            return column
        if name in self.padded:
            column = column.str.strip_chars()
        column = _without_marks(column, self.layout.missing)
        spelling = self.spellings[name]
        text = dtype == pl.String or spelling.native
        return (column if text else spelling.values(column)).cast(dtype).alias(name)


def lazily(table: Any, blocks: Iterable[bytes], columns: Mapping[str, Any]) -> pl.LazyFrame:
    """Return blocks of whole rows of a table as a lazy one that can be read once."""

    def frames(*_: Any) -> Iterator[pl.DataFrame]:
        with reading_of(table.label):
            yield from (table.parse(block, columns) for block in blocks)

    return register_io_source(frames, schema=table.parse(b"", columns).schema)


def utf8_rows(stream: Any, layout: Layout, label: str, begun: bytes = b"") -> Iterator[bytes]:
    """Yield the rows of a stream in blocks of UTF-8, without the lines before the first row."""
    if layout.translate:
        stream, begun = Utf8Stream(stream, layout.encoding, begun), b""
    blocks = without_lines(row_blocks(stream, begun), layout.n_before)
    return refuse_open_quotes(blocks, layout, label)


def _rows_of(path: Path, layout: Layout, label: str) -> Iterator[bytes]:
    with opened(path) as file:
        yield from utf8_rows(file, layout, label)


def _sampled(table: Any, head: bytes, layout: Layout, label: str) -> pl.DataFrame:
    """Return the first rows of a file, or of a head that is all there is, as text."""
    n_rows = min(SAMPLE_ROWS, max(SAMPLE_CELLS // len(layout.names), 100))
    options = {**layout.options, "schema": dict.fromkeys(layout.names, pl.String), "n_rows": n_rows}

    with reading_of(label):
        if table is None or layout.translate:
            rows = _rows_of(table, layout, label) if table else _head_rows(head, layout, label)
            return pl.scan_csv(io.BytesIO(next(rows, b"")), **options).collect()
        try:
            text = pl.scan_csv(table, skip_lines=layout.n_before, **options).collect()
        except pl.exceptions.ComputeError:
            refuse_open_quotes_in(table, layout, label)
            raise
    if b'"' in head and any(column.str.contains("\n", literal=True).any() for column in text):
        refuse_open_quotes_in(table, layout, label)
    return text


def _head_rows(head: bytes, layout: Layout, label: str) -> Iterator[bytes]:
    """Yield the rows that a head has as a whole."""
    lines = decoder_of(layout.encoding).decode(head).encode() if layout.translate else head
    whole = cut_rows(lines, quotes=True)[0] or lines
    return refuse_open_quotes(without_lines([whole], layout.n_before), layout, label)


def _without_marks(column: Any, missing: Sequence[str]) -> Any:
    """Return the expression of a text column with null where a mark of missing stands."""
    return pl.when(~column.is_in(list(missing))).then(column).name.keep()
