"""From whatever a person names or holds to a source of rows."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from suffice.core.text.lists import without_passwords
from suffice.data import frames
from suffice.data.dask import is_dask, opened_collection, summed_files
from suffice.data.datasets import DATASETS
from suffice.data.file_bytes import paths_of
from suffice.data.row_files import file_source, open_named
from suffice.data.source import Source, TextStyle
from suffice.data.spark import is_spark, spark_source
from suffice.data.sql.database import TableSource, is_database, is_table, table_at
from suffice.errors import InvalidInputError, InvalidParameterError


def open_source(source: Any, reading: TextStyle | None = None, client: Any = None) -> Source:
    """Return the source of rows that a path, glob, name, frame, stream or iterable stands for."""
    how = reading or TextStyle()
    if (how.table or how.query) and not (is_database(source) or isinstance(source, Source)):
        msg = "table and query go with the address of a database, such as duckdb:FILE"
        raise InvalidParameterError(msg)
    if isinstance(source, str) and not source:
        raise InvalidInputError(
            "the rows have no name: give a path, a glob, a URL or a data set"
        )
    for recognises, opened in _KINDS:
        if recognises(source):
            return opened(source, how, client)
    cure = f"give a path, a glob, a URL, '-', a data set ({', '.join(DATASETS)}) or a frame"
    raise InvalidInputError(f"cannot read rows from {type(source).__name__}: {cure}")


def on_cluster(source: Source, client: Any) -> Source:
    """Return a source whose rows are summed on a cluster, where there is one."""
    if client is None or source.summed:
        return source
    if source.files:
        return replace(source, summed=partial(summed_files, source, client))
    msg = f"a cluster sums files or its own collections, and {source.label} is neither"
    raise InvalidParameterError(msg)


def _are_paths(source: Any) -> bool:
    named = isinstance(source, (list, tuple)) and len(source) > 0
    return named and all(isinstance(name, (str, Path)) for name in source)


def _opened_paths(names: Any, reading: TextStyle, _: Any) -> Source:
    paths = [path for name in names for path in paths_of(str(name))]
    return file_source(paths, reading, f"{paths[0]}, …" if paths[1:] else str(paths[0]))


def is_lakehouse(source: Any) -> bool:
    """Return whether this names a table of Delta Lake or Iceberg, whose log says what counts."""
    return isinstance(source, (str, Path)) and _parted(str(source))[0] in _LAKEHOUSES


def _parted(address: str) -> tuple[str, str]:
    """Return the kind of a table, or nothing, and its place; a folder may show that it is one."""
    if Path(address, "_delta_log").is_dir():
        return "delta", address
    kind, _, place = address.partition(":")
    return kind, place


def lakehouse_source(address: str) -> Source:
    """Return the rows of one version of a table, the latest when it is opened."""
    (kind, place), shown = _parted(address), without_passwords(address)
    try:
        return frames.frame_source(_LAKEHOUSES[kind](place), shown)
    except ImportError as error:
        msg = f"{shown} needs the extra {kind!r}: pip install 'suffice[{kind}]'"
        raise InvalidParameterError(msg) from error
    except Exception as error:  # of several libraries
        reason = without_passwords(str(error).splitlines()[0])
        msg = f"{shown} cannot be read as a table of {kind} ({reason}): check the address"
        raise InvalidInputError(msg) from error


def _iceberg(place: str) -> pl.LazyFrame:
    """Return the rows of a metadata file, or of a table by the names of its catalog and its own."""
    from pyiceberg.catalog import load_catalog

    if find_spec("polars_iceberg") is None:  # or polars would recommend it
        os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")
    catalog, _, name = place.partition(".")
    return pl.scan_iceberg(place if "/" in place else load_catalog(catalog).load_table(name))


_LAKEHOUSES: dict[str, Callable[..., pl.LazyFrame]] = {
    "delta": pl.scan_delta,
    "iceberg": _iceberg,
}


# what recognises a kind of source, and what opens it: (source, how text is written, cluster);
# the first that recognises it is taken
_KINDS: tuple[tuple[Callable[[Any], bool], Callable[..., Source]], ...] = (
    (is_lakehouse, lambda source, *_: lakehouse_source(str(source))),
    (
        is_database,
        lambda source, how, _: TableSource.of(table_at(source, how), how.method).source,
    ),
    (
        lambda source: isinstance(source, (str, Path)),
        lambda s, how, _: open_named(str(s), how),
    ),
    (is_dask, lambda source, _, client: opened_collection(source, client)),
    (is_spark, lambda source, *_: spark_source(source)),
    (is_table, lambda source, how, _: TableSource.of(source, how.method).source),
    (frames.is_chunks, lambda source, *_: frames.opened_chunks(source)),
    (frames.is_stream, lambda source, *_: frames.arrow_source(source)),
    (frames.is_frame, lambda source, *_: frames.frame_source(source)),
    (_are_paths, _opened_paths),
    (
        lambda source: isinstance(source, Source),
        lambda source, *_: source,
    ),  # it is opened already
)
