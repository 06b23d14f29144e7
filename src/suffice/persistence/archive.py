"""The file format, a zip of ``header.json`` and ``.npy`` arrays with checksums, without pickle."""

import errno
import hashlib
import io
import json
import os
import secrets
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from suffice.errors import FileFormatError, InvalidParameterError
from suffice.persistence.links import followed
from suffice.typing import Array

FORMAT_VERSION = 1
_HEADER = "header.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that equal content gives equal files
# most characters of the file's name in the temporary name, which must not be too long
_PART_OF_NAME = 40
# errors of a full disk, which the content of a file never causes
NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
# the size that a file claims for its content must be plausible before any byte is unpacked
_PLENTY = 1 << 28  # up to this many bytes, content of any file is plausible
_DENSEST = 200  # largest plausible ratio of content to file size beyond that
# limits for the header, whose text becomes objects: bytes, and ratio of content to file size
_LONG_HEADER = 1 << 20
_DENSEST_HEADER = 20
_WIDEST = 1 << 22  # largest dimension of an array that has no elements


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces ``path`` only after all of it has been written."""
    # links, the mode of the old file and, if the system allows it, the old owner are kept
    target = followed(path)
    if not target.parent.is_dir():
        raise InvalidParameterError(
            f"there is no folder {str(target.parent)!r} to write {target.name!r} into: create "
            "it"
        )
    if target.exists() and not (target.is_file() or target.is_dir()):  # a pipe, /dev/null
        with target.open("wb") as file:
            yield file
        return
    part = target.with_name(f".{target.name[:_PART_OF_NAME]}.{secrets.token_hex(8)}.tmp")
    try:
        with part.open("xb") as file:
            if target.exists():
                old = target.stat()
                # on most systems, only root may change the owner
                with suppress(PermissionError, AttributeError):
                    os.chown(part, old.st_uid, old.st_gid)
                part.chmod(stat.S_IMODE(old.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
        _write_out(target.parent)  # the new name then survives a crash
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise


def _write_out(folder: Path) -> None:
    """Flush a folder to the disk, if the system allows opening folders."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write(
    path: str | Path,
    kind: str,
    header: Mapping[str, object],
    arrays: Mapping[str, Array],
) -> None:
    """Write an archive; if writing fails, an existing file at ``path`` stays unchanged."""
    with replacing(path) as file:
        write_into(file, kind, header, arrays)


def write_into(
    file: IO[bytes],
    kind: str,
    header: Mapping[str, object],
    arrays: Mapping[str, Array],
    packing: int = zipfile.ZIP_DEFLATED,
) -> None:
    """Write the bytes of an archive, compressed or not."""
    members = {}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
        members[f"{name}.npy"] = buffer.getvalue()
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    top = {"suffice": kind, "format": FORMAT_VERSION, **header, "sha256": digests}
    text = json.dumps(top, indent=1, ensure_ascii=False).encode()
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name, data in {_HEADER: text, **members}.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, packing, 1)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return header and arrays, after checking that the file is complete and unaltered."""
    with open(path, "rb") as file:
        return read_from(file, path)


def read_from(file: IO[bytes], path: str | Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return header and arrays from a seekable file; messages name ``path``."""
    try:
        with zipfile.ZipFile(file) as archive:
            _refuse_bombs(archive, file.seek(0, os.SEEK_END))
            header = _header(archive, path)
            arrays = {}
            for name, digest in header["sha256"].items():
                data = _member(archive, name)
                arrays[name.removesuffix(".npy")] = _array(data, digest)
            return header, arrays
    except FileFormatError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileFormatError(
            f"{path} is not a suffice file, or is damaged ({reason}): name a file that suffice "
            "saved, or write it again"
        ) from error


def kind_of(path: str | Path) -> str | None:
    """Return the kind of an archive of suffice, such as "model", or None for another file."""
    try:
        with zipfile.ZipFile(path) as archive:
            kind: str = _header(archive, path)["suffice"]
            return kind
    except Exception:
        return None


def _header(archive: zipfile.ZipFile, path: str | Path) -> dict[str, Any]:
    info = archive.getinfo(_HEADER)
    if info.file_size > max(_LONG_HEADER, _DENSEST_HEADER * info.compress_size):
        raise ValueError(
            f"{info.compress_size:,} bytes claim to hold a header of {info.file_size:,}"
        )
    header = json.loads(_member(archive, _HEADER))
    fields: dict[str, Any] = header if isinstance(header, dict) else {}
    has_kind = isinstance(fields.get("suffice"), str)
    has_digests = isinstance(fields.get("sha256"), dict)
    if not has_kind or not has_digests:
        raise FileFormatError(
            f"{path} is a zip file but not one of suffice's: its header is missing fields"
        )
    if fields.get("format") != FORMAT_VERSION:
        raise FileFormatError(
            f"{path} has format {fields.get('format')!r}, but this version of suffice reads "
            f"format {FORMAT_VERSION}: write the file again with this version"
        )
    return fields


def _refuse_bombs(archive: zipfile.ZipFile, size: int) -> None:
    """Raise if the members would unpack to more data than is plausible for the file size."""
    total = 0
    for member in archive.infolist():
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("a member is compressed in a way that suffice does not use")
        total += member.file_size
    if total > max(_PLENTY, _DENSEST * size):
        raise ValueError(f"{size:,} bytes claim to hold {total:,}")


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a member, at most as many as the member claims to have."""
    info = archive.getinfo(name)
    with archive.open(info) as file:
        return file.read(info.file_size)


def _array(data: bytes, digest: str) -> Array:
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError("an array does not match its checksum")
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array is of an unknown version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject or dtype.kind not in "iubfU":
        raise ValueError(f"an array holds {dtype}, neither numbers nor text")
    has_no_content = not dtype.itemsize or 0 in shape
    is_too_wide = max(shape, default=0) > _WIDEST
    if has_no_content and (is_too_wide or 0 not in shape):
        raise ValueError(f"an array without content claims the shape {shape}")
    # view the bytes that were read: a shape that is too large raises without allocating memory
    values = np.ndarray(shape, dtype, data, file.tell(), order="F" if fortran else "C")
    return values.astype(dtype.newbyteorder("="), order="C")
