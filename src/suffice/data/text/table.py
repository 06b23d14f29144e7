"""Tables of delimited text: their first rows, and scans of all rows."""

import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

import polars as pl
from polars.io.plugins import register_io_source

from suffice.core.table.notation import Notation
from suffice.data import source
from suffice.data.files.contents import is_packed, pieces_in
from suffice.data.options import TextFormat
from suffice.data.scanning import interruptibly, read_ahead, reading
from suffice.data.source import (
    ColumnType,
    ColumnTypes,
    Scan,
    as_type,
    copy_of,
    exactly,
    original_of,
    values_of,
)
from suffice.data.text.dates import EITHER, tells_day_from_month
from suffice.data.text.layout import Layout
from suffice.data.text.row_ends import row_blocks
from suffice.data.text.spelling import (
    Numbers,
    Spelling,
    Words,
    notations_of,
    sentinel_remarks,
    spellings_of,
    typed,
    unsure_points,
)
from suffice.errors import InvalidInputError

MOST_TEXT_COLUMNS = 10_000  # limit on the columns with cells other than plain numbers
# number of later cells that decide the type of a column without values in the first rows
_LATE_CELLS = 100


@dataclass(frozen=True, slots=True, eq=False)
class TextTable:
    """A text table whose layout, columns and notations were found from its first rows."""

    label: str
    layout: Layout
    sample: pl.DataFrame
    spellings: dict[str, Spelling]
    padded: frozenset[str]  # columns whose values are surrounded by blanks
    # Whether to search for spellings of missing values, which takes a third of the reading time.
    # The search is needed if the first rows have such spellings, if the user names some, or if a
    # number fails to parse.
    careful: bool
    remarks: tuple[str, ...]  # remarks on readings that may surprise the user
    notations: dict[str, Notation]  # notation of numbers and dates
    fixed: frozenset[str]  # columns whose notation the user or a model gives
    # Columns whose points all precede three digits, so that they may be thousands marks.
    unsure: frozenset[str]

    @classmethod
    def of(
        cls,
        head: bytes,
        path: Path | str | None,
        text: TextFormat,
        label: str,
        separator: str | None = None,
        *,
        is_all: bool = False,
    ) -> Self:
        """Return the table that begins with ``head``; with ``is_all``, there are no other bytes.

        ``path`` is None for a stream.
        """
        layout = Layout.of(head, text, label, separator)
        cells = _sampled(path, head, layout, label, is_all=is_all)
        trimmed = cells.select(pl.all().str.strip_chars())
        filled = trimmed.select(_without_missing(pl.all(), layout.missing))
        _refuse_many_texts(filled, label)
        late = _late_cells(path, layout, label, filled)
        judged = filled if late is None else pl.concat([filled, late], how="diagonal")
        format = replace(text, delimiter=layout.separator)
        spellings, remarks = spellings_of(judged, format)
        deciding = _deciding_dates(path, layout, label, filled, spellings)
        if deciding is not None:
            judged = pl.concat([judged, deciding], how="diagonal")
            spellings, remarks = spellings_of(judged, format)
        pairs = zip(cells, trimmed, strict=True)
        n_marked = sum(filled.null_count().row(0)) - sum(cells.null_count().row(0))
        return cls(
            label=label,
            layout=layout,
            sample=typed(filled, spellings),
            spellings=spellings,
            padded=frozenset(cell.name for cell, trim in pairs if not cell.equals(trim)),
            # If the user names a number as a missing value, it would otherwise parse as a number.
            careful=n_marked > 0 or len(text.na_values) > 0,
            remarks=(*layout.remarks, *remarks, *sentinel_remarks(filled)),
            notations=notations_of(judged, spellings),
            fixed=frozenset(text.columns),
            unsure=unsure_points(judged, spellings),
        )

    @property
    def doubts(self) -> dict[str, str]:
        """By column, why it is not read as numbers although it may be numeric."""
        return {name: s.doubt for name, s in self.spellings.items() if s.doubt}

    def scan(self, path: Path | str, columns: ColumnTypes) -> Scan:
        if self.layout.translate or is_packed(path):
            return self.scan_stream(pieces_in(path), columns)
        n_before = self.layout.n_before
        rows = self._rows(path, columns, careful=self.careful, skip_lines=n_before)
        return Scan(self.label, rows, batches=partial(self._batches, path, columns))

    def _batches(
        self,
        path: Path | str,
        columns: ColumnTypes,
        start: int,
        n_rows: int | None,
    ) -> Iterator[pl.DataFrame]:
        """Yield ``n_rows`` rows of a file from ``start`` on (None: all rows), block by block."""
        # If a row fails to parse, polars may already have returned later rows, so the number of
        # rows read would be unknown. A block is therefore read completely, or again.
        numbers = self._numbers_in(columns)
        blocks = row_blocks(
            pieces_in(path), self.layout, self.label, numbers=numbers, warns=True
        )
        n_before = 0  # number of rows in earlier blocks
        stop = math.inf if n_rows is None else start + n_rows
        for block in read_ahead(blocks):
            try:
                frame = interruptibly(partial(self._rows_of_block, block, columns))
            except pl.exceptions.PolarsError:
                check_rows(path, self.layout, self.label)
                raise
            first = max(start - n_before, 0)
            last = min(stop - n_before, frame.height)
            if first < last:
                yield frame[first : int(last)]
            n_before += frame.height
            if n_before >= stop:
                return

    def _rows_of_block(self, block: bytes, columns: ColumnTypes) -> pl.DataFrame:
        try:
            text = io.BytesIO(block)
            return self._rows(text, columns, careful=self.careful, skip_lines=0).collect()
        except pl.exceptions.ComputeError:
            # The first rows do not show blanks around numbers in later rows. They are trimmed in
            # text.
            as_text = replace(self, padded=frozenset(self.layout.names))
            text = io.BytesIO(block)
            return as_text._rows(text, columns, careful=True, skip_lines=0).collect()

    def _numbers_in(self, columns: ColumnTypes) -> frozenset[str]:
        """Return the columns that are read as numbers because their first rows are numbers."""
        names = []
        for name, dtype in columns.items():
            spelling = self.spellings[original_of(name)]
            is_number = dtype is not None and dtype.is_numeric()
            if is_number and isinstance(spelling, Numbers) and name not in self.fixed:
                names.append(name)
        return frozenset(names)

    def scan_stream(self, pieces: Iterable[bytes], columns: ColumnTypes) -> Scan:
        numbers = self._numbers_in(columns)
        blocks = row_blocks(pieces, self.layout, self.label, numbers=numbers, warns=True)
        as_text = replace(self, padded=frozenset(self.layout.names))
        return scan_of_blocks(
            blocks,
            lambda block: as_text._rows(
                io.BytesIO(block), columns, careful=True, skip_lines=0
            ),
            self.label,
        )

    def _rows(
        self,
        text: Path | str | io.BytesIO,
        columns: ColumnTypes,
        *,
        careful: bool,
        skip_lines: int,
    ) -> pl.LazyFrame:
        """Return the rows of a file or of bytes as a lazy table."""
        # The reader would remove spellings of missing values from copied columns, too. If there are
        # such columns, the spellings are therefore replaced after reading.
        has_copies = None in columns.values()
        marks_later = careful and has_copies
        read_as_text = {name for name in columns if marks_later or copy_of(name) in columns}
        table = replace(self, padded=self.padded | read_as_text)
        rows = pl.scan_csv(
            text,
            glob=False,
            separator=self.layout.separator,
            has_header=False,
            comment_prefix=self.layout.comment or None,
            missing_columns="insert",  # the first row of a block may have too few fields
            null_values=list(self.layout.missing) if careful and not has_copies else None,
            schema={name: table._type(name, columns.get(name)) for name in self.layout.names},
            skip_lines=skip_lines,
        )
        return rows.select(table._expression(name, dtype) for name, dtype in columns.items())

    def _type(self, name: str, dtype: ColumnType | None) -> ColumnType:
        """Return the type with which the reader parses a column."""
        is_native = self.spellings[name].native and name not in self.padded
        return dtype if is_native and dtype is not None else pl.String

    def _expression(self, name: str, dtype: ColumnType | None) -> pl.Expr:
        column = exactly(original_of(name))
        if dtype is None:
            return column.alias(name)
        if self._type(name, dtype) != pl.String:
            return column
        column = _without_missing(column.str.strip_chars(), self.layout.missing)
        spelling = self.spellings[name]
        if dtype != pl.String and not spelling.native:
            column = spelling.values(column)
        return as_type(column, dtype).alias(name)


def _refuse_many_texts(cells: pl.DataFrame, label: str) -> None:
    """Raise if there are more text columns than can be checked within seconds."""
    if cells.width <= MOST_TEXT_COLUMNS:
        return
    is_text = pl.all().cast(pl.Float64, strict=False).null_count() > pl.all().null_count()
    n_texts = sum(cells.select(is_text).row(0))
    if n_texts > MOST_TEXT_COLUMNS:
        raise InvalidInputError(
            f"{label} has {n_texts:,} columns that are not plain numbers, and at most "
            f"{MOST_TEXT_COLUMNS:,} are read: select the columns that matter, or write them as "
            "plain numbers"
        )


def _sample_height(layout: Layout) -> int:
    return min(source.SAMPLE_ROWS, max(source.SAMPLE_CELLS // len(layout.names), 100))


def _sampled(
    path: Path | str | None,
    head: bytes,
    layout: Layout,
    label: str,
    *,
    is_all: bool,
) -> pl.DataFrame:
    """Return the first rows of a file, or of the head of a stream, as text."""
    n_rows = _sample_height(layout)

    def rows_in(text: Path | str | io.BytesIO, skip_lines: int = 0) -> pl.DataFrame:
        rows = pl.scan_csv(
            text,
            glob=False,
            separator=layout.separator,
            has_header=False,
            comment_prefix=layout.comment or None,
            missing_columns="insert",  # the first row may have too few fields
            schema=dict.fromkeys(layout.names, pl.String),
            n_rows=n_rows,
            skip_lines=skip_lines,
        )
        return rows.collect()

    with reading(label):
        if path is None:
            # The last row of a head may be cut off. If the head is the whole text, one block is
            # complete.
            blocks = row_blocks([head, b""], layout, label)
            whole = b"".join(blocks) if is_all else next(blocks, b"")
            return rows_in(io.BytesIO(whole))
        try:
            if layout.translate or is_packed(path):
                blocks = row_blocks(pieces_in(path), layout, label)
                return _first_rows(blocks, rows_in, n_rows)
            sample = rows_in(path, skip_lines=layout.n_before)
        except pl.exceptions.PolarsError:
            check_rows(path, layout, label)
            raise
    if b'"' in head and _has_line_breaks(sample):
        check_rows(path, layout, label)
    return sample


def _first_rows(
    blocks: Iterator[bytes],
    rows_in: Callable[[io.BytesIO], pl.DataFrame],
    n_rows: int,
) -> pl.DataFrame:
    """Return the first rows of text that arrives in blocks."""
    frames = [rows_in(io.BytesIO(next(blocks, b"")))]
    for block in blocks:
        if sum(frame.height for frame in frames) >= n_rows:
            break
        frames.append(rows_in(io.BytesIO(block)))
    return pl.concat(frames).head(n_rows)


def _has_line_breaks(sample: pl.DataFrame) -> bool:
    # Series methods treat some column names as patterns.
    plain = (column.alias("cells") for column in sample)
    return any(column.str.contains("\n", literal=True).any() for column in plain)


def check_rows(path: Path | str, layout: Layout, label: str) -> None:
    """Raise if the reader would lose or reject rows of a file, which ``row_blocks`` detects."""
    for _ in row_blocks(pieces_in(path), layout, label, counts_each_row=True):
        pass


def _late_cells(
    path: Path | str | None,
    layout: Layout,
    label: str,
    sample: pl.DataFrame,
) -> pl.DataFrame | None:
    """Return values, found anywhere in the file, of columns without values in the sample."""
    is_empty = sample.select(pl.all().is_null().all()).row(0, named=True)
    names = [name for name in sample.columns if is_empty[name]]
    return _chosen_cells(path, layout, label, sample, names, pl.Expr.is_not_null)


def _deciding_dates(
    path: Path | str | None,
    layout: Layout,
    label: str,
    sample: pl.DataFrame,
    spellings: Mapping[str, Spelling],
) -> pl.DataFrame | None:
    """Return cells, found anywhere in the file, that distinguish day/month from month/day."""
    names = [
        name
        for name, spelling in spellings.items()
        if isinstance(spelling, Words) and spelling.date == EITHER
    ]
    return _chosen_cells(path, layout, label, sample, names, tells_day_from_month)


def _chosen_cells(
    path: Path | str | None,
    layout: Layout,
    label: str,
    sample: pl.DataFrame,
    names: Sequence[str],
    is_chosen: Callable[[pl.Expr], pl.Expr],
) -> pl.DataFrame | None:
    """Return some cells of some columns from all rows; None if the sample has all rows."""
    if not names or path is None or sample.height < _sample_height(layout):
        return None
    if layout.translate or is_packed(path):
        blocks = row_blocks(pieces_in(path), layout, label)
        texts = (io.BytesIO(block) for block in blocks)
        frames = [_first_chosen(text, layout, names, 0, is_chosen) for text in texts]
        joined = pl.concat(frames)
        return _with_nulls({n: values_of(joined, n).drop_nulls().to_list() for n in names})
    with reading(label):
        return _first_chosen(path, layout, names, layout.n_before, is_chosen)


def _first_chosen(
    text: Path | str | io.BytesIO,
    layout: Layout,
    names: Sequence[str],
    skip_lines: int,
    is_chosen: Callable[[pl.Expr], pl.Expr],
) -> pl.DataFrame:
    """Return the first chosen cells of each column; shorter columns end with nulls."""
    rows = pl.scan_csv(
        text,
        glob=False,
        separator=layout.separator,
        has_header=False,
        comment_prefix=layout.comment or None,
        missing_columns="insert",
        schema=dict.fromkeys(layout.names, pl.String),
        skip_lines=skip_lines,
    )
    columns = []
    for name in names:
        cells = _without_missing(exactly(name).str.strip_chars(), layout.missing)
        columns.append(cells.filter(is_chosen(cells)).head(_LATE_CELLS).implode())
    values = rows.select(columns).collect(engine="streaming").row(0, named=True)
    return _with_nulls(values)


def _with_nulls(values: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Return the first values of each column; shorter columns end with nulls."""
    filled: dict[str, list[str | None]] = {}
    for name, cells in values.items():
        first = cells[:_LATE_CELLS]
        filled[name] = [*first, *[None] * (_LATE_CELLS - len(first))]
    return pl.DataFrame(filled, schema=dict.fromkeys(values, pl.String))


def scan_of_blocks(
    blocks: Iterable[bytes],
    rows_of: Callable[[bytes], pl.LazyFrame],
    label: str,
) -> Scan:
    """Return blocks of complete rows as one table that can be read once."""

    def frames(*_: object) -> Iterator[pl.DataFrame]:
        with reading(label):
            for block in blocks:
                yield rows_of(block).collect()

    return Scan(label, register_io_source(frames, schema=rows_of(b"").collect_schema()))


def _without_missing(column: pl.Expr, missing: Sequence[str]) -> pl.Expr:
    return pl.when(~column.is_in(list(missing))).then(column).name.keep()
