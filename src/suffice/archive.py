"""Files of ours: one zip holding ``header.json`` and ``.npy`` arrays, never pickle.

The header names the kind of content, the format version, and the SHA-256 of every array, so
that a truncated or altered file is refused before anything is built from it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from suffice.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FORMAT_VERSION = 1
_HEADER = "header.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed date: the same content is the same file


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of ``path`` only when it was written whole."""
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write(
    path: str | Path, kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write an archive, or leave whatever stood at ``path`` untouched."""
    members = {f"{name}.npy": _npy_bytes(array) for name, array in arrays.items()}
    top = {
        "suffice": kind,
        "format": FORMAT_VERSION,
        **header,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    text = json.dumps(top, indent=1, ensure_ascii=False).encode()
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {_HEADER: text, **members}.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED, 1)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and arrays, after checking that the file is whole and unaltered."""
    try:
        with zipfile.ZipFile(path) as archive:
            header = _header(archive, path)
            arrays = {
                name.removesuffix(".npy"): _array(archive.read(name), digest)
                for name, digest in header["sha256"].items()
            }
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except FileFormatError:
        raise
    except Exception as error:
        msg = f"{path} is not a suffice file, or is damaged ({error}): write it again"
        raise FileFormatError(msg) from error
    return header, arrays


def _header(archive: zipfile.ZipFile, path: str | Path) -> dict[str, Any]:
    header = json.loads(archive.read(_HEADER))
    if not isinstance(header, dict) or not isinstance(header.get("sha256"), dict):
        msg = f"{path} is a zip file but not one of suffice's: its header is missing fields"
        raise FileFormatError(msg)
    if header.get("format") != FORMAT_VERSION:
        msg = (
            f"{path} has format {header.get('format')!r}; this version of suffice reads format "
            f"{FORMAT_VERSION}: upgrade suffice"
        )
        raise FileFormatError(msg)
    return header


def _npy_bytes(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _array(data: bytes, digest: str) -> Any:
    if hashlib.sha256(data).hexdigest() != digest:
        msg = "an array does not match its checksum"
        raise ValueError(msg)
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
