"""Tables of separated text: CSV, TSV and their relatives, in files or in blocks of bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from suffice.sources.blocks import file_rows, is_packed, text_rows
from suffice.sources.layout import Layout
from suffice.sources.reading import reading_of
from suffice.sources.source import SAMPLE_CELLS, SAMPLE_ROWS, Scan, TextStyle, copy_of, exactly
from suffice.sources.spelling import Spelling, spellings_of, stand_ins


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
        cls, head: bytes, table: Any, reading: TextStyle, label: str, separator: str | None
    ) -> TextTable:
        """Return the table that starts with bytes ``head``, and stands in the file ``table``."""
        layout = Layout.of(head, reading, label, separator)
        text = _sampled(table, head, layout, label)
        trimmed = text.select(pl.all().str.strip_chars())
        known = trimmed.select(_without_marks(pl.all(), layout.missing))
        style = replace(reading, delimiter=layout.separator)
        spellings, remarks = spellings_of(known, style)
        sample = known.select(s.values(exactly(n)).alias(n) for n, s in spellings.items())
        padded = frozenset(a.name for a, b in zip(text, trimmed, strict=True) if not a.equals(b))
        marked = sum(known.null_count().row(0)) > sum(text.null_count().row(0))
        told = (*layout.remarks, *remarks, *stand_ins(known))
        return cls(label, layout, sample, spellings, padded, marked, told)

    @property
    def doubts(self) -> dict[str, str]:
        """Why columns that may hold numbers are not read as such."""
        return {name: s.doubt for name, s in self.spellings.items() if s.doubt}

    def scan(self, path: Any, columns: Mapping[str, Any]) -> Scan:
        """Return the rows of a file of this layout, lazily."""
        if self.layout.translate or is_packed(path):
            return self._in_blocks(file_rows(path, self.layout, self.label), columns)
        rows = partial(self._rows, path, columns, skip_lines=self.layout.n_before)
        quick, slow = (rows(), None) if self.careful else (rows(careful=False), rows())
        check = partial(refuse_open_quotes, path, self.layout, self.label)
        return Scan(self.label, quick, slow, check=check)

    def scan_stream(self, pieces: Iterable[bytes], columns: Mapping[str, Any]) -> Scan:
        """Return the rows of bytes that come piece by piece and can be read once."""
        return self._in_blocks(text_rows(pieces, self.layout, self.label), columns)

    def _in_blocks(self, blocks: Iterable[bytes], columns: Mapping[str, Any]) -> Scan:
        return scan_of_blocks(blocks, lambda b: self._rows(io.BytesIO(b), columns), self.label)

    def _rows(
        self, text: Any, columns: Mapping[str, Any], *, careful: bool = True, skip_lines: int = 0
    ) -> pl.LazyFrame:
        """Return the rows of a file, or of bytes; what is also copied is read as text first."""
        twice = frozenset(name for name in columns if copy_of(name) in columns)
        table = replace(self, padded=self.padded | twice)
        marks = {"null_values": list(self.layout.missing)} if careful else {}
        types = {name: table._type(name, columns.get(name)) for name in self.layout.names}
        options = {**self.layout.options, **marks, "schema": types, "skip_lines": skip_lines}
        rows = pl.scan_csv(text, glob=False, **options)
        return rows.select(table._expression(*column) for column in columns.items())

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


def _sampled(table: Any, head: bytes, layout: Layout, label: str) -> pl.DataFrame:
    """Return the first rows of a file, or of a head that is all there is, as text."""
    n_rows = min(SAMPLE_ROWS, max(SAMPLE_CELLS // len(layout.names), 100))
    options = {**layout.options, "schema": dict.fromkeys(layout.names, pl.String), "n_rows": n_rows}

    with reading_of(label):
        if table is None or layout.translate or is_packed(table):
            told = layout, label
            rows = file_rows(table, *told) if table else text_rows([head, b""], *told)
            return pl.scan_csv(io.BytesIO(next(rows, b"")), **options).collect()
        try:
            text = pl.scan_csv(table, skip_lines=layout.n_before, **options).collect()
        except pl.exceptions.ComputeError:
            refuse_open_quotes(table, layout, label)
            raise
    if b'"' in head and any(column.str.contains("\n", literal=True).any() for column in text):
        refuse_open_quotes(table, layout, label)
    return text


def refuse_open_quotes(path: Path | str, layout: Layout, label: str) -> None:
    """Raise where a quote in a file swallows rows."""
    for _ in file_rows(path, layout, label):
        pass


def scan_of_blocks(
    blocks: Iterable[bytes], rows_of: Callable[[bytes], pl.LazyFrame], label: str
) -> Scan:
    """Return blocks of whole rows as one table that can be read once."""

    def frames(*_: Any) -> Iterator[pl.DataFrame]:
        with reading_of(label):
            yield from (rows_of(block).collect() for block in blocks)

    return Scan(label, register_io_source(frames, schema=rows_of(b"").collect_schema()))


def _without_marks(column: Any, missing: Sequence[str]) -> Any:
    """Return the expression of a text column with null where a mark of missing stands."""
    return pl.when(~column.is_in(list(missing))).then(column).name.keep()
