"""Where tables go: a format by the extension, and the old file until the new one is whole."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from suffice.archive import replacing
from suffice.errors import InvalidParameterError
from suffice.sources.reading import interruptibly

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Sink = Callable[[pl.LazyFrame, Any], object]

SINKS: Mapping[str, Sink] = {
    ".csv": lambda frame, file: frame.sink_csv(file),
    ".tsv": lambda frame, file: frame.sink_csv(file, separator="\t"),
    ".parquet": lambda frame, file: frame.sink_parquet(file),
    ".pq": lambda frame, file: frame.sink_parquet(file),
    ".feather": lambda frame, file: frame.sink_ipc(file),
    ".arrow": lambda frame, file: frame.sink_ipc(file),
    ".ipc": lambda frame, file: frame.sink_ipc(file),
    ".jsonl": lambda frame, file: frame.sink_ndjson(file),
    ".ndjson": lambda frame, file: frame.sink_ndjson(file),
}


def sink_of(path: str | Path) -> Sink:
    """Return the way to write that the extension of a path names."""
    ending = Path(path).suffix.lower()
    if ending not in SINKS:
        msg = f"{path}: the extension {ending or '(none)'} names no format to write: use {_ENDINGS}"
        raise InvalidParameterError(msg)
    return SINKS[ending]


_ENDINGS = ", ".join(SINKS)


def write_table(frame: pl.LazyFrame, path: str | Path) -> None:
    """Write a lazy table in the order of its rows, or leave whatever stood at ``path``."""
    sink = sink_of(path)
    with replacing(path) as file:
        try:
            interruptibly(lambda: sink(frame, file))
        except pl.exceptions.ComputeError as error:
            raise _as_os_error(error, path) from error


def _as_os_error(error: pl.exceptions.ComputeError, path: str | Path) -> Exception:
    """Return a failure to write as the operating system would tell it."""
    found = re.search(r"os error (\d+)", str(error))
    if found is None:
        return error
    number = int(found[1])
    return OSError(number, os.strerror(number), str(path))
