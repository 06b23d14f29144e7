"""Files, globs of files, and standard input as sources of rows."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from glob import has_magic
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import unquote

import polars as pl

from suffice.core.text.lists import quoted, without_passwords
from suffice.data import file_bytes
from suffice.data.columns import refuse_other_columns
from suffice.data.datasets import DATASETS
from suffice.data.delimited import TextTable
from suffice.data.formats import FileTable, TypedTable, format_of
from suffice.data.source import Scan, Source, TextStyle, exactly, frames_of_scan, reading_of
from suffice.data.spelling import spellings_of, typed
from suffice.errors import InvalidInputError, warn

_HEAD = 1 << 20  # bytes of a stream that are looked at before anything is decided
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """One file, opened and looked at."""

    path: Path | str  # text: a URL
    table: FileTable
    reading: TextStyle
    values: pl.DataFrame = field(default_factory=pl.DataFrame)  # of its folders, one row

    @property
    def address(self) -> str:
        """Where it is, for any process on any machine that sees the same files."""
        return self.path if isinstance(self.path, str) else str(self.path.absolute())

    @property
    def n_rows(self) -> int | None:
        """Number of rows, where the file itself tells."""
        return self.table.n_rows(self.path) if isinstance(self.table, TypedTable) else None

    @property
    def expected_rows(self) -> int | None:
        """Number of rows, of lines on this machine guessed from the size of the file."""
        if (
            self.n_rows is not None
            or isinstance(self.path, str)
            or file_bytes.is_packed(self.path)
        ):
            return self.n_rows
        head = file_bytes.head_of(self.path)
        return self.path.stat().st_size * head.count(b"\n") // max(len(head), 1)

    @property
    def sample(self) -> pl.DataFrame:
        return self.table.sample.with_columns(self._told(name) for name in self.values.columns)

    def scan(self, columns: Mapping[str, Any]) -> Scan:
        if not self.values.width:
            return self.table.scan(self.path, columns)
        own = {n: t for n, t in columns.items() if n.lstrip("\0") not in self.values.columns}
        scan = self.table.scan(self.path, own or {self.table.sample.columns[0]: None})
        names = [exactly(n) if n in own else self._told(n, t) for n, t in columns.items()]

        def batches(*rows: Any) -> Iterator[pl.DataFrame]:
            return (frame.select(names) for frame in frames_of_scan(scan, *rows))

        return Scan(scan.label, scan.frame.select(names), batches=batches)

    def _told(self, name: str, dtype: Any = None) -> Any:
        value = self.values.get_column(name.lstrip("\0"))
        return pl.repeat(value[0], pl.len(), dtype=dtype or value.dtype).alias(name)

    def without_rows(self) -> Self:
        """Return the file without its first rows, which many files together might not afford."""
        table: Any = self.table
        return replace(self, table=replace(table, sample=table.sample.clear()))


def file_source(
    paths: Sequence[Path | str],
    reading: TextStyle,
    label: str,
    root: str | None = None,
) -> Source:
    """Return the rows of one file after another, after checking that their columns agree."""
    told = partitions_of(paths, root)
    first = _opened(paths[0], reading, told[:1])
    rest = list(enumerate(paths))[1:]
    others = [
        _opened(p, reading, told[at : at + 1], first=False).without_rows() for at, p in rest
    ]
    for other in others:
        refuse_other_columns(first.sample, other.sample, str(other.path), str(first.path))
    for remark in first.table.remarks:
        warn(remark)
    files = (first, *others)
    doubts = {name: why for file in files for name, why in file.table.doubts.items()}

    def count() -> int | None:
        counts = [file.expected_rows for file in files]
        return None if None in counts else sum(filter(None, counts))

    sample = _typed(first, others)
    # of folders all values are known, and those of the first file only would tell little
    rows = pl.int_range(sample.height, eager=True) % max(len(told), 1)
    sample = sample.with_columns(told.get_column(n).gather(rows) for n in first.values.columns)
    more: Any = {
        "doubts": doubts,
        "files": files,
        "written": isinstance(first.table, TextTable),
    }
    return Source(
        label, sample, lambda types: (file.scan(types) for file in files), count, **more
    )


def _typed(first: File, others: Sequence[File]) -> pl.DataFrame:
    """Return the first rows of the first file, typed by the first that has each column filled."""
    sample = first.sample
    empty = [name for name, dtype in sample.schema.items() if dtype == pl.Null]
    schemas = [file.sample.schema for file in others] if empty else []
    found = {name: [s[name] for s in schemas if s[name] != pl.Null] for name in empty}
    return sample.cast({name: types[0] for name, types in found.items() if types})


def partitions_of(paths: Sequence[Path | str], root: str | None) -> pl.DataFrame:
    """Return the columns that stand in the folders of files, as in day=3/rows.csv: a row each."""
    folders = [str(path).removeprefix(root or str(path)).split("/")[:-1] for path in paths]
    cells = [dict(part.split("=", 1) for part in parts if "=" in part) for parts in folders]
    for path, found in zip(paths, cells, strict=True):
        if found.keys() != cells[0].keys():
            told = (
                f"{quoted(list(found), 5)} and not {quoted(list(cells[0]), 5)} as {paths[0]}"
            )
            raise InvalidInputError(
                f"the folders of {path} tell {told}: all must tell the same"
            )
    if not cells[0]:
        return pl.DataFrame()
    text = pl.DataFrame({name: [unquote(c[name]) for c in cells] for name in cells[0]})
    known = text.select(pl.all().replace([_NO_VALUE], [None]))
    return typed(known, spellings_of(known, TextStyle())[0])


def _opened(
    path: Path | str,
    how: TextStyle,
    values: pl.DataFrame,
    *,
    first: bool = True,
) -> File:
    open_table = format_of(path)
    if isinstance(path, Path) and not path.exists():
        raise InvalidInputError(f"there is no file {str(path)!r}: check the path")
    if isinstance(path, Path) and not path.stat().st_size:
        raise InvalidInputError(f"{path} is empty: it needs a line of column names and rows")
    with reading_of(str(path)):
        table = open_table(path, how, types_only=not first)
    told = [name for name in values.columns if name not in table.sample.columns]
    return File(path, table, how, values.select(map(exactly, told)))


def stream_source(stream: IO[bytes], reading: TextStyle, label: str) -> Source:
    """Return CSV or JSON Lines from bytes that can be read once, after a look at the first."""
    head = file_bytes.read_fully(stream, _HEAD)
    table: FileTable
    with reading_of(label):
        if head.lstrip().startswith(b"{"):
            table = TypedTable.of_lines(
                "", reading, label, next(file_bytes.line_blocks([head]))
            )
        else:
            table = TextTable.of(head, None, reading, label, None)
    for remark in table.remarks:
        warn(remark)

    def scans(columns: Mapping[str, Any]) -> list[Scan]:
        return [table.scan_stream(file_bytes.pieces_of(stream, head), columns)]

    told: Any = {"doubts": table.doubts, "written": isinstance(table, TextTable)}
    return Source(label, table.sample, scans, **told, cut=len(head) == _HEAD)


def open_named(name: str, reading: TextStyle) -> Source:
    """Return the rows of a path, a glob, "-" for standard input, or a built-in data set."""
    if name == "-":
        # unbuffered: a thread that waits for input then holds no lock when the program ends
        bare = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
        return stream_source(bare, reading, "standard input")
    if name in DATASETS and not Path(name).exists():
        known = DATASETS[name]
        return replace(file_source([known.path], TextStyle(), name), target=known.target)
    near = get_close_matches(name, DATASETS, 1)
    if near and not (Path(name).exists() or Path(name).suffix):
        msg = f"there is no file {name!r}, and no data set of that name: did you mean {near[0]!r}?"
        raise InvalidInputError(msg)
    place = name.removeprefix("file://")
    root = None if has_magic(name) else place if file_bytes.is_url(place) else str(Path(place))
    return file_source(file_bytes.paths_of(name), reading, without_passwords(name), root=root)
