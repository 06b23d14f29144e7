"""Files, globs of files, and standard input as sources of rows."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from glob import has_magic
from pathlib import Path
from typing import Self
from urllib.parse import unquote

import polars as pl

from suffice.core.table.notation import Notation
from suffice.core.text.lists import quoted, without_passwords
from suffice.data.columns.kinds import refuse_other_columns
from suffice.data.datasets import DATASETS
from suffice.data.files.addresses import is_url, paths_of
from suffice.data.files.contents import (
    ReadsBytes,
    head_of,
    is_packed,
    line_blocks,
    pieces_of,
    read_fully,
)
from suffice.data.formats.kinds import FileTable, ending_of, open_table
from suffice.data.formats.typed_table import TypedTable
from suffice.data.options import TextFormat
from suffice.data.scanning import frames_of_scan, reading
from suffice.data.source import ColumnType, ColumnTypes, Scan, Source, exactly, original_of
from suffice.data.text.spelling import spellings_of, typed
from suffice.data.text.table import TextTable
from suffice.errors import InvalidInputError, ReadingWarning, warn

_HEAD = 1 << 20  # number of first bytes of a stream from which its format is decided
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """One opened file, with its first rows."""

    path: Path | str  # URLs are text
    table: FileTable
    text: TextFormat
    # values from folder names such as day=3/, as a frame of one row
    folder_values: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def address(self) -> str:
        """Absolute path or URL, valid for any process that sees the same files."""
        return self.path if isinstance(self.path, str) else str(self.path.absolute())

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None if the file does not store it."""
        return self.table.n_rows(self.path) if isinstance(self.table, TypedTable) else None

    @property
    def expected_rows(self) -> int | None:
        """Number of rows; for a local text file, an estimate from the file size."""
        n_rows = self.n_rows
        if n_rows is not None or isinstance(self.path, str) or is_packed(self.path):
            return n_rows
        head = head_of(self.path)
        return self.path.stat().st_size * head.count(b"\n") // max(len(head), 1)

    @property
    def sample(self) -> pl.DataFrame:
        names = self.folder_values.columns
        return self.table.sample.with_columns(self._folder_column(name) for name in names)

    def scan(self, columns: ColumnTypes) -> Scan:
        from_folders = self.folder_values.columns
        if not from_folders:
            return self.table.scan(self.path, columns)
        from_file: ColumnTypes = {
            name: dtype
            for name, dtype in columns.items()
            if original_of(name) not in from_folders
        }
        # If all columns come from folder names, one column is still read to get the number of rows.
        scan = self.table.scan(self.path, from_file or {self.table.sample.columns[0]: None})
        selected = []
        for name, dtype in columns.items():
            in_file = name in from_file
            selected.append(exactly(name) if in_file else self._folder_column(name, dtype))

        def batches(start: int, n_rows: int | None) -> Iterator[pl.DataFrame]:
            return (frame.select(selected) for frame in frames_of_scan(scan, start, n_rows))

        return Scan(scan.label, scan.frame.select(selected), batches=batches)

    def _folder_column(self, name: str, dtype: ColumnType | None = None) -> pl.Expr:
        values = self.folder_values.get_column(original_of(name))
        return pl.repeat(values[0], pl.len(), dtype=dtype or values.dtype).alias(name)

    def without_rows(self) -> Self:
        """Return the file without its first rows, which saves memory if there are many files."""
        table = replace(self.table, sample=self.table.sample.clear())
        return replace(self, table=table)


def file_source(
    paths: Sequence[Path | str],
    text: TextFormat,
    label: str,
    root: str | None = None,
) -> Source:
    """Return a source that reads files one after another; raise unless their columns agree."""
    folder_values = folder_values_of(paths, root)
    first = _opened(paths[0], text, folder_values[:1], types_only=False)
    others = []
    for at, path in enumerate(paths[1:], 1):
        file = _opened(path, text, folder_values[at : at + 1], types_only=True)
        others.append(file.without_rows())
    notations = _common_notations((first, *others))
    first = _opened_again(first, notations, types_only=False)
    others = [_opened_again(file, notations, types_only=True) for file in others]
    for other in others:
        refuse_other_columns(first.sample, other.sample, str(other.path), str(first.path))
    for remark in first.table.remarks:
        warn(remark, ReadingWarning)
    files = (first, *others)
    doubts: dict[str, str] = {}
    for file in files:
        doubts.update(file.table.doubts)

    def count() -> int | None:
        total = 0
        for file in files:
            expected = file.expected_rows
            if expected is None:
                return None
            total += expected
        return total

    sample = _typed_by_all(first, others)
    # The first file has the value of one folder only. The sample gets the values of all folders in
    # turn, so that they are known as levels.
    rows = pl.int_range(sample.height, eager=True) % max(len(folder_values), 1)
    names = first.folder_values.columns
    return Source(
        label=label,
        sample=sample.with_columns(folder_values.get_column(n).gather(rows) for n in names),
        scans=lambda columns: (file.scan(columns) for file in files),
        count=count,
        doubts=doubts,
        files=files,
        is_text=isinstance(first.table, TextTable),
        notations={**notations, **text.columns},
        rereads=True,
        with_text=lambda name: file_source(paths, _with_text(text, name), label, root),
    )


def _with_text(text: TextFormat, name: str) -> TextFormat:
    """Return the text format with one more column read as text."""
    return replace(text, columns={**text.columns, name: Notation(kind="text")})


def _common_notations(files: Sequence[File]) -> dict[str, Notation]:
    """Return the notation of each column that fits all files; raise if two files differ."""
    common: dict[str, Notation] = {}
    first_of: dict[str, File] = {}
    for file in files:
        for name, notation in file.table.notations.items():
            if name in file.table.unsure:
                continue
            before = common.setdefault(name, notation)
            joined = before.joined(notation)
            if joined is None and before.kind == notation.kind:
                raise InvalidInputError(
                    f"column {name!r} is written in two ways, in {first_of[name].path} with "
                    f"{before.described} and in {file.path} with {notation.described}: write it "
                    "in one way, or sum the files separately and merge the sums"
                )
            common[name] = joined or before
            first_of.setdefault(name, file)
    for file in files:
        for name in file.table.unsure:
            common.setdefault(name, file.table.notations[name])
    return common


def _opened_again(file: File, notations: Mapping[str, Notation], *, types_only: bool) -> File:
    """Return a file opened again with the common notations, if its own differ."""
    if not isinstance(file.table, TextTable):
        return file
    own = file.table.notations
    doubtful = file.table.doubts
    known = {
        name: notation
        for name, notation in notations.items()
        if name in doubtful or (name in own and own[name] != notation)
    }
    if not known:
        return file
    text = replace(file.text, columns={**known, **file.text.columns})
    with reading(str(file.path)):
        table = open_table(file.path, text, types_only=types_only)
    opened = replace(file, table=table)
    return opened.without_rows() if types_only else opened


def _typed_by_all(first: File, others: Sequence[File]) -> pl.DataFrame:
    """Return the first rows of the first file, with types wide enough for all files."""
    sample = first.sample
    first_types = sample.schema
    types: dict[str, pl.DataType] = {}
    for other in others:
        for name, dtype in other.sample.schema.items():
            type_before = types.get(name, first_types[name])
            is_wider = type_before.is_integer() and dtype.is_float()
            if type_before == pl.Null or is_wider:
                types[name] = dtype
    return sample.cast(types)  # type: ignore[arg-type]


def folder_values_of(paths: Sequence[Path | str], root: str | None) -> pl.DataFrame:
    """Return the columns that folder names such as day=3/ define, with one row per file."""
    cells: list[dict[str, str]] = []
    for path in paths:
        folders = str(path).removeprefix(root or str(path)).split("/")[:-1]
        values = {}
        for folder in folders:
            if "=" in folder:
                name, _, value = folder.partition("=")
                values[name] = unquote(value)
        cells.append(values)
    names = list(cells[0])
    for path, values in zip(paths, cells, strict=True):
        if values.keys() != cells[0].keys():
            raise InvalidInputError(
                f"the folders of {path} name {quoted(list(values), 5)}, and those of {paths[0]} "
                f"name {quoted(names, 5)}: all folders must name the same columns"
            )
    if not names:
        return pl.DataFrame()
    texts = pl.DataFrame(cells)
    filled = texts.select(pl.all().replace([_NO_VALUE], [None]))
    return typed(filled, spellings_of(filled, TextFormat())[0])


def _opened(
    path: Path | str,
    text: TextFormat,
    folder_values: pl.DataFrame,
    *,
    types_only: bool,
) -> File:
    ending_of(path)  # an unknown format raises before the file is opened
    if isinstance(path, Path):
        _refuse_no_file(path)
    with reading(str(path)):
        table = open_table(path, text, types_only=types_only)
    names = [name for name in folder_values.columns if name not in table.sample.columns]
    return File(path, table, text, folder_values.select(exactly(name) for name in names))


def _refuse_no_file(path: Path) -> None:
    """Raise unless the path is a file that is not empty."""
    if path.is_symlink() and not path.exists():
        raise InvalidInputError(
            f"{path} is a link that leads to no file, or to itself: name the file"
        )
    if not path.exists():
        raise InvalidInputError(f"there is no file {str(path)!r}: check the path")
    if path.is_fifo():
        raise InvalidInputError(
            f"{path} is a pipe, which can be read once: name it alone, or save its rows to a file"
        )
    if not path.is_file():
        raise InvalidInputError(
            f"{path} is a device, not a file of rows: name a file, or - for standard input"
        )
    if not path.stat().st_size:
        raise InvalidInputError(f"{path} is empty: it needs a line of column names and rows")


class _Pipe:
    """A named pipe that is closed after reading."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)

    def read(self, size: int, /) -> bytes:
        if self._file.closed:
            return b""
        data = self._file.read(size)
        if not data:
            self._file.close()
        return data


def stream_source(stream: ReadsBytes, text: TextFormat, label: str) -> Source:
    """Return a source for CSV or JSON Lines bytes that can be read only once."""
    head = read_fully(stream, _HEAD)
    table: FileTable
    with reading(label):
        is_all = len(head) < _HEAD
        if head.lstrip().startswith(b"{"):
            lines = head if is_all else next(line_blocks([head]))
            table = TypedTable.of_lines(lines, label)
        else:
            table = TextTable.of(head, None, text, label, is_all=is_all)
    for remark in table.remarks:
        warn(remark, ReadingWarning)
    return Source(
        label=label,
        sample=table.sample,
        scans=lambda columns: [table.scan_stream(pieces_of(stream, head), columns)],
        doubts=table.doubts,
        notations=table.notations,
        is_text=isinstance(table, TextTable),
        has_more=not is_all,
    )


def named_source(name: str, text: TextFormat) -> Source:
    """Return a source for a path, a glob, "-" (standard input) or a built-in dataset."""
    if name == "-":
        # Read without a buffer: a thread that waits for input would hold its lock when the program
        # ends.
        bare = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
        return stream_source(bare, text, "standard input")
    if name in DATASETS and not Path(name).exists():
        dataset = DATASETS[name]
        source = file_source([dataset.path], TextFormat(), name)
        return replace(source, target=dataset.target)
    if Path(name).is_fifo():
        return stream_source(_Pipe(Path(name)), text, name)
    near = get_close_matches(name, DATASETS, 1)
    if near and not (Path(name).exists() or Path(name).suffix):
        msg = (
            f"there is neither a file {name!r} nor a built-in dataset of that name: did you "
            f"mean {near[0]!r}?"
        )
        raise InvalidInputError(msg)
    return file_source(paths_of(name), text, without_passwords(name), root=_root_of(name))


def _root_of(name: str) -> str | None:
    """Return the folder whose subfolders, such as day=3, define columns; None without any."""
    if has_magic(name):
        return None
    place = name.removeprefix("file://")
    return place if is_url(place) else str(Path(place))
