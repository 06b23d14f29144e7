"""Opening a source of rows from a name or an object."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard

from suffice.data.cluster.dask import collection_source, is_dask
from suffice.data.cluster.spark import is_spark, spark_source
from suffice.data.datasets import DATASETS
from suffice.data.files.addresses import paths_of
from suffice.data.formats.file_source import file_source, named_source
from suffice.data.formats.lakehouse import is_lakehouse, lakehouse_source
from suffice.data.frames.pairs import chunk_source, is_chunks
from suffice.data.frames.tables import arrow_source, frame_source, is_frame, is_stream
from suffice.data.options import Compute, TextFormat
from suffice.data.source import Source
from suffice.data.sql.addresses import is_database, table_at
from suffice.data.sql.database import TableSource, is_table
from suffice.errors import InvalidInputError, InvalidParameterError

_ANY_TEXT = TextFormat()
_ANYWHERE = Compute()


def open_source(
    source: object,
    text: TextFormat = _ANY_TEXT,
    table: str | None = None,
    compute: Compute = _ANYWHERE,
) -> Source:
    """Return the source for a path, glob, name, frame, stream or iterable."""
    if isinstance(source, Source):  # already opened
        return source
    in_database = is_database(source)
    if table is not None and not in_database:
        msg = "a table or query is allowed only with the address of a database, such as duckdb:FILE"
        raise InvalidParameterError(msg)
    if compute.database != "auto" and not in_database and not is_table(source):
        msg = (
            f"on={compute.database!r} is allowed only for a table of a database: leave it out"
        )
        raise InvalidParameterError(msg)
    if isinstance(source, (str, Path)):
        if in_database:
            return TableSource.of(table_at(source, table), compute.database).source
        return _open_address(str(source), text)
    if _are_paths(source):
        return _open_paths(source, text)
    return _open_object(source, compute)


def _open_address(address: str, text: TextFormat) -> Source:
    if not address:
        raise InvalidInputError(
            "the rows have no name: give a path, a glob, a URL or a dataset"
        )
    return lakehouse_source(address) if is_lakehouse(address) else named_source(address, text)


def _open_object(source: object, compute: Compute) -> Source:
    """Return the source for a collection, a frame, a stream or an iterable."""
    if is_dask(source):
        return collection_source(source, compute.client)
    if is_spark(source):
        return spark_source(source)
    if is_table(source):
        return TableSource.of(source, compute.database).source
    if is_chunks(source):
        return chunk_source(source)
    if is_stream(source):
        return arrow_source(source)
    if is_frame(source):
        return frame_source(source)
    raise InvalidInputError(
        f"cannot read rows from {type(source).__name__}: give a path, a glob, a URL, '-', a "
        f"dataset ({', '.join(DATASETS)}) or a frame"
    )


def _are_paths(source: object) -> TypeGuard[Sequence[str | Path]]:
    if not isinstance(source, (list, tuple)) or not source:
        return False
    return all(isinstance(name, (str, Path)) for name in source)


def _open_paths(names: Sequence[str | Path], text: TextFormat) -> Source:
    paths = [path for name in names for path in paths_of(str(name))]
    label = str(paths[0]) if len(paths) == 1 else f"{paths[0]}, …"
    return file_source(paths, text, label)
