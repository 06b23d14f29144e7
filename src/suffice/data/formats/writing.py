"""Write tables to files and remote objects, in the format that the extension gives."""

import errno
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TypeAlias

import polars as pl

from suffice.data.files.addresses import is_url
from suffice.data.scanning import interruptibly
from suffice.data.source import exactly
from suffice.errors import InvalidParameterError
from suffice.persistence.archive import NO_ROOM, replacing

_FORMULA = r"^[=+\-@\t\r\n]"  # beginnings of cells that a spreadsheet evaluates
# cells with such a beginning that a spreadsheet does not evaluate
_NUMBER = r"^[+\-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?$"

Sink: TypeAlias = Callable[[pl.LazyFrame, IO[bytes] | str], object]

SINKS: Mapping[str, Sink] = {
    ".csv": pl.LazyFrame.sink_csv,
    ".tsv": partial(pl.LazyFrame.sink_csv, separator="\t"),
    ".parquet": pl.LazyFrame.sink_parquet,
    ".pq": pl.LazyFrame.sink_parquet,
    ".feather": pl.LazyFrame.sink_ipc,
    ".arrow": pl.LazyFrame.sink_ipc,
    ".ipc": pl.LazyFrame.sink_ipc,
    ".jsonl": pl.LazyFrame.sink_ndjson,
    ".ndjson": pl.LazyFrame.sink_ndjson,
}


def sink_of(path: str | Path) -> Sink:
    """Return the writer for the extension of a path."""
    ending = Path(path).suffix.lower()
    if ending not in SINKS:
        raise InvalidParameterError(
            f"{path}: the extension {ending or '(none)'} names no format to write: use "
            f"{', '.join(SINKS)}"
        )
    return SINKS[ending]


def with_escaped_formulas(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return a table without texts or names that a spreadsheet would evaluate as formulas.

    An apostrophe is put before each text that begins with one of ``= + - @``, a tab or a line end,
    unless the text is a plain number.
    """
    schema = frame.collect_schema()
    columns = []
    for name, dtype in schema.items():
        column = exactly(name)
        if dtype in (pl.String, pl.Categorical, pl.Enum):
            text = column.cast(pl.String)
            is_formula = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
            column = pl.when(is_formula).then(pl.concat_str(pl.lit("'"), text)).otherwise(text)
        is_formula_name = re.match(_FORMULA, name)
        columns.append(column.alias(f"'{name}" if is_formula_name else name))
    return frame.select(columns)


def write_table(frame: pl.LazyFrame, path: str | Path) -> None:
    """Write a lazy table in row order; after a failure, an existing file is unchanged."""
    sink = sink_of(path)
    if is_url(path):
        _write_object(frame, str(path), sink)
        return
    with replacing(path) as file:
        try:
            interruptibly(lambda: sink(frame, file))
        except (pl.exceptions.ComputeError, OSError) as error:
            match = re.search(r"os error (\d+)", str(error))
            number = int(match[1]) if match else 0
            if number not in (
                *NO_ROOM,
                errno.EPIPE,
            ):  # any other error comes from reading the rows
                raise
            raise OSError(number, os.strerror(number), str(path)) from error


def _write_object(frame: pl.LazyFrame, url: str, sink: Sink) -> None:
    """Write a remote object via a local file, so that a failure leaves no partial object."""
    with TemporaryDirectory() as folder:
        staged = Path(folder) / "rows.feather"
        write_table(frame, staged)
        try:
            interruptibly(lambda: sink(pl.scan_ipc(staged), url))
        except (pl.exceptions.PolarsError, OSError) as error:
            reason = str(error).splitlines()[0]
            msg = f"{url} cannot be written ({reason}): check the address and the credentials"
            raise InvalidParameterError(msg) from error
