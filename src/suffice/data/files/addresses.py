"""The files that a path, glob, folder or URL names, and stamps that show their changes."""

from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path, PurePosixPath

from suffice.data.scanning import reading
from suffice.errors import InvalidInputError, InvalidParameterError, extra

_TIMEOUT = 30.0  # seconds to wait for a remote server


def is_url(address: object) -> bool:
    """Return whether this is the URL of remote rows, such as s3://bucket/key.parquet."""
    return "://" in str(address)


def paths_of(text: str) -> Sequence[Path | str]:
    """Return the files that a path, a glob, a folder or a URL names, sorted."""
    text = text.removeprefix("file://")
    path = Path(text)
    paths: list[Path | str] = []
    if is_url(text):
        paths += _objects(text)
    elif path.is_dir():
        files = sorted(file for file in path.rglob("*") if not file.is_dir())
        paths += [file for file in files if not _is_hidden(file.relative_to(path).parts)]
    elif path.exists() or not has_magic(text):
        paths.append(path)
    else:
        paths += sorted(Path(name) for name in glob(text, recursive=True))
    if not paths:
        raise InvalidInputError(f"no file matches {text!r}: check the pattern or the address")
    return paths


def _is_hidden(parts: Sequence[str]) -> bool:
    """Return whether the name of a file, such as _SUCCESS or .part.crc, marks it as no data."""
    return any(part.startswith((".", "_")) and "=" not in part for part in parts)


def _objects(url: str) -> list[str]:
    """Return the objects that match a URL or a glob of URLs."""
    # This function is private in polars, but it uses the same credentials as the reader.
    from polars.io._expand_paths import _expand_paths

    names_one_file = PurePosixPath(url).suffix and not url.endswith("/") and not has_magic(url)
    if names_one_file or url.startswith("http"):
        return [url]
    folder = f"{url.rstrip('/')}/"
    pattern = url if has_magic(url) else f"{folder}**/*"
    with reading(url):
        names: list[str] = sorted(_expand_paths(pattern).collect()["path"])
    if has_magic(url):
        return names
    if any("/_delta_log/" in name for name in names):
        msg = (
            f"{url} is a Delta table, whose log lists the current files: use the address "
            f"delta:{url}"
        )
        raise InvalidInputError(msg)
    return [name for name in names if not _is_hidden(name.removeprefix(folder).split("/"))]


def stamp_of(address: str) -> tuple[int, int | str]:
    """Return the size of a file and its time of change; for a remote object, size and tag."""
    if not is_url(address):
        status = Path(address).stat()
        return status.st_size, status.st_mtime_ns
    if address.startswith(("http://", "https://")):
        stamp = _web_stamp(address)
    else:
        stamp = _object_stamp(address)
    if not stamp[1]:
        raise InvalidParameterError(
            f"it cannot be checked whether {address} has changed since it was counted: leave the "
            "checkpoint out, or copy the data to S3 or to a file"
        )
    return stamp


def _web_stamp(address: str) -> tuple[int, str]:
    from urllib.error import URLError  # slow to import, and rarely needed
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(address, method="HEAD"), timeout=_TIMEOUT) as answer:
            headers = answer.headers
    except URLError as error:
        msg = f"{address} cannot be read ({error.reason}): check the address"
        raise InvalidInputError(msg) from error
    size = int(headers["Content-Length"] or 0)
    return size, headers["ETag"] or headers["Last-Modified"] or ""


def _object_stamp(address: str) -> tuple[int, str]:
    """Return the size and tag of an object on S3, Google Cloud or Azure."""
    obstore = extra("obstore", "s3", "a checkpoint of objects in a store")
    stores = extra("obstore.store", "s3", "a checkpoint of objects in a store")
    place, _, key = address.partition("://")[2].partition("/")
    scheme = address.partition("://")[0]
    try:
        # The credentials come from the environment, from which polars takes them, too.
        found = obstore.head(stores.from_url(f"{scheme}://{place}"), key)
    except Exception as error:  # object stores raise errors without a common base class
        reason = str(error).splitlines()[0]
        msg = f"{address} cannot be read ({reason}): check the address and the credentials"
        raise InvalidInputError(msg) from error
    return found["size"], found["e_tag"] or ""
