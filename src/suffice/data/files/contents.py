"""Read the bytes of files and streams in pieces, decompressed and split at line ends."""

import bz2
import codecs
import gzip
import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, NoReturn, Protocol

import numpy as np
import polars as pl

from suffice.data.files.addresses import is_url
from suffice.data.scanning import batches_of
from suffice.errors import InvalidInputError

BLOCK = 1 << 24  # bytes in a block of text
STEP = 1 << 17  # number of bytes that fits into the processor's cache
# largest number of bytes of a line, or of a row with line breaks in its cells
LONGEST_LINE = 2 * BLOCK
_HEAD = 1 << 16  # bytes in the head of a file
_HEAD_LINES = 20  # least number of lines in the head of a file, however long they are
PACKED = (".gz", ".bz2", ".zip", ".zst")  # extensions of compressed files


class ReadsBytes(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes: ...


def is_packed(path: Path | str) -> bool:
    """Return whether a file is compressed or remote."""
    return is_url(path) or Path(path).suffix.lower() in PACKED


def pieces_in(path: Path | str, size: int = 0) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file in pieces; raise if the file is truncated."""
    size = size or BLOCK
    if is_url(path) or Path(path).suffix.lower() == ".zst":
        # The line reader of polars downloads and decompresses files.
        for lines in batches_of(pl.scan_lines(path, glob=False)):
            text = "\n".join([*lines.to_series(), ""]).encode()
            for start in range(0, len(text), size):
                yield text[start : start + size]
        return
    try:
        with _opened(Path(path)) as file:
            yield from pieces_of(file, size=size)
    except (EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise OSError(str(error)) from error


def _opened(path: Path) -> IO[bytes]:
    ending = path.suffix.lower()
    if ending == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    if ending == ".bz2":
        return bz2.open(path, "rb")
    if ending == ".zip":
        return _in_zip(path)
    return path.open("rb")


def _in_zip(path: Path) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        msg = (
            f"{path} holds {len(names)} files: unpack the archive, and name the files to read"
        )
        raise InvalidInputError(msg)
    return archive.open(names[0])


def head_of(path: Path | str) -> bytes:
    """Return the first bytes of a file, up to the end of a line or of the file."""
    parts: list[bytes] = []
    n_lines = 0
    n_open = 0  # bytes of the unfinished last line
    pieces = pieces_in(path, _HEAD)
    for piece in pieces:
        parts.append(piece)
        n_lines += piece.count(b"\n")
        end = piece.rfind(b"\n") + 1
        n_open = len(piece) - end if end else n_open + len(piece)
        if n_open > LONGEST_LINE:
            refuse_long_line(str(path), n_lines + 1)
        if n_lines >= _HEAD_LINES:
            head = b"".join(parts)
            is_cut = bool(next(pieces, b""))
            return head[: head.rfind(b"\n") + 1] if is_cut else head
    return b"".join(parts)


def refuse_long_line(label: str, line: int) -> NoReturn:
    """Raise the error for a line that is too long for a table."""
    raise InvalidInputError(
        f"{label}: line {line:,} is longer than the limit of {LONGEST_LINE >> 20} MiB: check that "
        "the file is a text table with one row on each line"
    )


def first_lines(path: Path | str, n: int) -> bytes:
    """Return the first n lines of a file, or all lines if there are fewer."""
    blocks = line_blocks(pieces_in(path))
    lines = (line for block in blocks for line in block.splitlines(keepends=True))
    return b"".join(islice(lines, n))


def read_fully(stream: ReadsBytes, size: int) -> bytes:
    """Return ``size`` bytes, or all that are left; a single read of a pipe may return fewer."""
    parts = []
    while size > 0:
        part = stream.read(size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def pieces_of(stream: ReadsBytes, start: bytes = b"", size: int = 0) -> Iterator[bytes]:
    """Yield the bytes already read, ``start``, and then the rest of a stream in pieces."""
    yield start
    while True:
        piece = read_fully(stream, size or BLOCK)
        if not piece:
            return
        yield piece


def decoder_of(encoding: str) -> io.IncrementalNewlineDecoder:
    """Return a decoder that accepts pieces ending within a character, and unifies line ends."""
    decoder = codecs.getincrementaldecoder(encoding)()
    return io.IncrementalNewlineDecoder(decoder, translate=True)


def _end_of_last_line(data: bytes, *, is_last: bool = False) -> int:  # noqa: ARG001
    return data.rfind(b"\n") + 1


def count_of(letter: bytes, data: bytes, end: int) -> int:
    """Return how often a byte occurs before position ``end``."""
    # This is several times faster than bytes.count, because each part stays in the cache.
    letters = np.frombuffer(data, np.uint8)[:end]
    code = ord(letter)
    parts = (letters[start : start + STEP] for start in range(0, end, STEP))
    return sum(int(np.count_nonzero(part == code)) for part in parts)


class FindsEnd(Protocol):
    """Returns the end of the last complete row in some bytes."""

    def __call__(self, data: bytes, *, is_last: bool = False) -> int: ...


def line_blocks(
    pieces: Iterable[bytes],
    end_of: FindsEnd = _end_of_last_line,
    label: str = "the text",
    first_line: int = 1,
) -> Iterator[bytes]:
    """Yield bytes in blocks that end at a line end, or at a row end given by ``end_of``.

    Messages use ``label`` and ``first_line``, the number of the first line.
    """
    rest = b""
    line = first_line
    for piece in pieces:
        rest += piece
        end = end_of(rest)
        if end:
            yield rest[:end]
            line += count_of(b"\n", rest, end)
            rest = rest[end:]
        if len(rest) > LONGEST_LINE:
            refuse_long_line(label, line)
    if rest.strip():
        end_of(rest + b"\n", is_last=True)
        yield rest
