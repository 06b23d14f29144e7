"""Addresses of files: on this machine, on a web server, or in an object store such as S3."""

from __future__ import annotations

from collections.abc import Sequence
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.sources.reading import reading_of

_WAIT = 30.0  # seconds for an answer


def is_url(address: Any) -> bool:
    """Return whether this names rows on another machine, such as s3://bucket/key.parquet."""
    return "://" in str(address)


def is_hidden(parts: Sequence[str]) -> bool:
    """Return whether a file of a folder is none of its rows, such as _SUCCESS or .part.crc."""
    return any(part.startswith((".", "_")) and "=" not in part for part in parts)


def objects_of(url: str) -> list[str]:
    """Return the objects that a URL, a glob or a folder of a store names, sorted."""
    # private, but it lists without reading, by the credentials that the reading uses
    from polars.io._expand_paths import _expand_paths

    whole = PurePosixPath(url).suffix and not url.endswith("/") and not has_magic(url)
    if whole or url.startswith("http"):
        return [url]
    folder = f"{url.rstrip('/')}/"
    with reading_of(url):
        found = sorted(_expand_paths(url if has_magic(url) else f"{folder}**/*").collect()["path"])
    if not has_magic(url):
        if any("/_delta_log/" in name for name in found):
            msg = f"{url} is a Delta table, whose log says which rows count: name delta:{url}"
            raise InvalidInputError(msg)
        found = [name for name in found if not is_hidden(name.removeprefix(folder).split("/"))]
    if not found:
        raise InvalidInputError(f"no object matches {url!r}: check the address")
    return found


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
    try:
        with urlopen(Request(address, method="HEAD"), timeout=_WAIT) as answer:
            told = answer.headers
    except URLError as error:
        msg = f"{address} cannot be read ({error.reason}): check the address"
        raise InvalidInputError(msg) from error
    return int(told["Content-Length"] or 0), told["ETag"] or told["Last-Modified"] or ""


def _s3_stamp(address: str) -> tuple[int, str]:
    try:
        import boto3
    except ImportError as error:
        msg = "a checkpoint of objects in S3 needs the extra 's3': pip install 'suffice[s3]'"
        raise InvalidParameterError(msg) from error
    bucket, _, key = address.removeprefix("s3://").partition("/")
    try:
        told = boto3.client("s3").head_object(Bucket=bucket, Key=key)
    except Exception as error:  # of botocore, made at run time
        msg = f"{address} cannot be read ({error}): check the address and the credentials"
        raise InvalidInputError(msg) from error
    return told["ContentLength"], told["ETag"]
