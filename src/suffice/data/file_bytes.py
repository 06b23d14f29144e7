"""Bytes of files, here or elsewhere: found, stamped, opened as UTF-8, cut where rows end."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from glob import glob, has_magic
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import polars as pl

from suffice.data.source import batches_of, reading_of
from suffice.errors import InvalidInputError, InvalidParameterError, extra, warn

if TYPE_CHECKING:
    from suffice.data.delimited import Layout

_WAIT = 30.0  # seconds for an answer of another machine
BLOCK = 1 << 24
_HEAD = 1 << 16
_LINES = 20  # of a head at least, however long they are


def is_url(address: Any) -> bool:
    """Return whether this names rows on another machine, such as s3://bucket/key.parquet."""
    return "://" in str(address)


def paths_of(text: str) -> Sequence[Path | str]:
    """Return the files that a path, a glob, a folder or a URL names, sorted."""
    text = text.removeprefix("file://")
    path, found = Path(text), list[Path | str]()
    if is_url(text):
        found += _objects(text)
    elif path.is_dir():
        below = sorted(file for file in path.rglob("*") if not file.is_dir())
        found += [file for file in below if not _is_hidden(file.relative_to(path).parts)]
    elif path.exists() or not has_magic(text):
        found += [path]
    else:
        found += sorted(Path(name) for name in glob(text, recursive=True))
    if not found:
        raise InvalidInputError(f"no file matches {text!r}: check the pattern or the address")
    return found


def _is_hidden(parts: Sequence[str]) -> bool:
    """Return whether a file of a folder is none of its rows, such as _SUCCESS or .part.crc."""
    return any(part.startswith((".", "_")) and "=" not in part for part in parts)


def _objects(url: str) -> list[str]:
    # private, but it lists without reading, by the credentials that the reading uses
    from polars.io._expand_paths import _expand_paths

    whole = PurePosixPath(url).suffix and not url.endswith("/") and not has_magic(url)
    if whole or url.startswith("http"):
        return [url]
    folder = f"{url.rstrip('/')}/"
    with reading_of(url):
        found = sorted(
            _expand_paths(url if has_magic(url) else f"{folder}**/*").collect()["path"]
        )
    if has_magic(url):
        return found
    if any("/_delta_log/" in name for name in found):
        msg = f"{url} is a Delta table, whose log says which rows count: name delta:{url}"
        raise InvalidInputError(msg)
    return [name for name in found if not _is_hidden(name.removeprefix(folder).split("/"))]


def stamp_of(address: str) -> tuple[int, int | str]:
    """Return the size of a file and when it changed, or the tag of an object in a store."""
    if not is_url(address):
        status = Path(address).stat()
        return status.st_size, status.st_mtime_ns
    ask = {"http": _web_stamp, "https": _web_stamp, "s3": _s3_stamp}.get(address.split(":")[0])
    size, tag = ask(address) if ask else (0, "")
    if not tag:
        cure = "leave the checkpoint out, or copy it to S3 or a file"
        msg = f"nothing tells whether {address} has changed since it was counted: {cure}"
        raise InvalidParameterError(msg)
    return size, tag


def _web_stamp(address: str) -> tuple[int, str]:
    from urllib.error import URLError  # slow to import, and seldom needed
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(address, method="HEAD"), timeout=_WAIT) as answer:
            told = answer.headers
    except URLError as error:
        msg = f"{address} cannot be read ({error.reason}): check the address"
        raise InvalidInputError(msg) from error
    return int(told["Content-Length"] or 0), told["ETag"] or told["Last-Modified"] or ""


def _s3_stamp(address: str) -> tuple[int, str]:
    boto3 = extra("boto3", "s3", "a checkpoint of objects in S3")
    bucket, _, key = address.removeprefix("s3://").partition("/")
    try:
        told = boto3.client("s3").head_object(Bucket=bucket, Key=key)
    except Exception as error:  # of botocore, made at run time
        msg = f"{address} cannot be read ({error}): check the address and the credentials"
        raise InvalidInputError(msg) from error
    return told["ContentLength"], told["ETag"]


def is_packed(path: Path | str) -> bool:
    """Return whether the bytes of a file must be unpacked, or fetched from another machine."""
    return is_url(path) or Path(path).suffix.lower() in PACKED


def pieces_in(path: Path | str, size: int = 0) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked, piece by piece; raise where its end is lacking."""
    ending, size = Path(path).suffix.lower(), size or BLOCK
    if is_url(path) or ending == ".zst":
        for lines in batches_of(pl.scan_lines(path, glob=False)):
            text = "\n".join([*lines.to_series(), ""]).encode()
            yield from (text[lo : lo + size] for lo in range(0, len(text), size))
        return
    try:
        with PACKED.get(ending, Path.open)(Path(path), "rb") as file:
            yield from pieces_of(file, size=size)
    except (EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise OSError(str(error)) from error


def _in_zip(path: Path, _: str) -> IO[bytes]:
    names = [name for name in zipfile.ZipFile(path).namelist() if not name.endswith("/")]
    if len(names) != 1:
        msg = f"{path} holds {len(names)} files: unpack it, and name those to read"
        raise InvalidInputError(msg)
    return zipfile.ZipFile(path).open(names[0])


# .zst is unpacked by the reader
PACKED: dict[str, Any] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".zip": _in_zip,
    ".zst": gzip.open,
}


def head_of(path: Path | str) -> bytes:
    """Return the first bytes of a file: some whole lines, or all it has."""
    head, pieces = b"", pieces_in(path, _HEAD)
    for piece in pieces:
        head += piece
        if head.count(b"\n") >= _LINES:
            return head[: head.rfind(b"\n") + 1] if next(pieces, b"") else head
    return head


def first_lines(path: Path | str, n: int) -> bytes:
    """Return that many lines of a file, or all it has."""
    blocks = line_blocks(pieces_in(path))
    lines = (line for block in blocks for line in block.splitlines(keepends=True))
    return b"".join(islice(lines, n))


def read_fully(stream: Any, size: int) -> bytes:
    """Return that many bytes, or all that are left; a pipe gives fewer at a time."""
    parts = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def pieces_of(stream: Any, begun: bytes = b"", size: int = 0) -> Iterator[bytes]:
    """Yield the bytes that were read already, and the rest of a stream, piece by piece."""
    yield begun
    while piece := read_fully(stream, size or BLOCK):
        yield piece


def decoder_of(encoding: str) -> io.IncrementalNewlineDecoder:
    """Return what decodes bytes that may end within a letter, to text with plain line ends."""
    return io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder(encoding)(), translate=True
    )


def text_rows(
    pieces: Iterable[bytes],
    layout: Layout,
    label: str,
    *,
    tell: bool = False,
) -> Iterator[bytes]:
    """Yield text in blocks of whole rows, in UTF-8, without the lines before the first row."""
    # raises where a quote that is not closed swallows rows, which no reader tells
    if layout.translate:
        pieces = _as_utf8(pieces, layout.encoding)
    ends = _RowEnds(layout, label)
    yield from line_blocks(_without_lines(pieces, layout.n_before), ends)
    if tell and ends.short:
        have = "1 line has" if len(ends.short) == 1 else f"{len(ends.short):,} lines have"
        few = f"{have} fewer fields than there are columns, line {ends.short[0]:,} the first"
        warn(f"{label}: {few}: what they lack counts as empty")


def _as_utf8(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder, held = decoder_of(encoding), b""
    for piece in pieces:
        if held:
            yield decoder.decode(held).encode()
        held = piece
    yield decoder.decode(held, final=True).encode()


def _without_lines(pieces: Iterable[bytes], n: int) -> Iterator[bytes]:
    for piece in pieces:
        at = 0
        while n and at < len(piece):
            at, n = (piece.find(b"\n", at) + 1 or len(piece)), n - 1
        if at < len(piece):
            yield piece[at:]


def line_blocks(
    pieces: Iterable[bytes],
    end_of: Callable[..., int] = lambda data, **_: data.rfind(b"\n") + 1,
) -> Iterator[bytes]:
    """Yield bytes in blocks that end where a line, or what ``end_of`` says is a row, ends."""
    rest = b""
    for piece in pieces:
        rest += piece
        end = end_of(rest)
        if (
            not end and len(rest) > 2 * BLOCK
        ):  # no line is as long: whoever takes it will say so
            end = len(rest)
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest.strip():
        end_of(rest + b"\n", last=True)
        yield rest


class _RowEnds:
    """Finds where rows end: lines with an odd number of quotes open and close a cell of several."""

    # refused where that is no cell, but rows that a quote without its partner has swallowed

    def __init__(self, layout: Layout, label: str) -> None:
        self._label, self._comment = label, (layout.comment or "").encode()
        self._separator, self._width = layout.separator, len(layout.names)
        self._line = layout.n_before + 1  # number of the next line
        self.short = list[int]()  # lines that lack fields, or are blank

    def __call__(self, data: bytes, *, last: bool = False) -> int:
        """Return where the last whole row of some bytes ends."""
        end = data.rfind(b"\n") + 1
        if b'"' in data:
            letters = np.frombuffer(data, np.uint8)
            ends = np.flatnonzero(letters == ord("\n"))
            quotes = np.searchsorted(np.flatnonzero(letters == ord('"')), ends)
            starts = np.concatenate([[0], ends + 1])
            odd = np.flatnonzero(np.diff(quotes, prepend=0) % 2).tolist()
            if self._comment:
                odd = [at for at in odd if not data.startswith(self._comment, starts[at])]
            for first, second in zip(odd[::2], odd[1::2], strict=False):
                if not self._is_row(data[starts[first] : starts[second + 1]]):
                    self._refuse(first)
            if len(odd) % 2:
                end = int(starts[odd[-1]])
                if last or len(data) - end > 2 * BLOCK:
                    self._refuse(odd[-1])
        n_lines = data.count(b"\n", 0, end)
        marks = data.count(self._separator.encode(), 0, end)
        if b'"' in data or marks != n_lines * (self._width - 1):
            self.short += [self._line + at for at in self._short_rows(data[:end])]
        self._line += n_lines
        return end

    def _short_rows(self, data: bytes) -> list[int]:
        """Return the lines, counted from none, where rows with too few fields begin."""
        mark = self._separator.encode()
        if self._comment:  # whose quotes are none; its lines are as whole as any
            comment = rb"(?m)^" + re.escape(self._comment) + rb".*$"
            data = re.sub(comment, mark * (self._width - 1), data)
        letters = np.frombuffer(data, np.uint8)
        quotes, marks, lines = (
            np.flatnonzero(letters == code) for code in b'"' + mark + b"\n"
        )
        marks, ends = (at[np.searchsorted(quotes, at) % 2 == 0] for at in (marks, lines))
        short = np.diff(np.searchsorted(marks, ends), prepend=0) < self._width - 1
        return list(np.searchsorted(lines, np.append(0, ends[:-1] + 1))[short].tolist())

    def _is_row(self, lines: bytes) -> bool:
        text, mark = lines.decode("utf-8", "replace"), self._separator
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True))
        except csv.Error:
            return False
        marks = {line.count(mark) for line in text.splitlines()[1:-1]}
        like_rows = self._width > 1 and marks == {self._width - 1}
        return len(rows) == 1 and len(rows[0]) <= self._width and not like_rows

    def _refuse(self, at: int) -> None:
        found = f"line {self._line + at:,} opens a quote that is not closed in its cell"
        cure = 'close it, or write "" for a quote in a cell'
        msg = f"{self._label}: {found}, which would swallow the rows after it: {cure}"
        raise InvalidInputError(msg)
