"""From whatever a person names or holds to a source of rows."""

from pathlib import Path
from typing import Any

from suffice.datasets import DATASETS
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.sources import frames
from suffice.sources.dask import ClusterFiles, is_dask, opened_collection
from suffice.sources.files import FileSource, open_named, paths_of
from suffice.sources.source import Reading, Source, Summing
from suffice.sources.spark import SparkSource, is_spark
from suffice.sources.sql import TableSource, is_table


def open_source(source: Any, reading: Reading | None = None) -> Source:
    """Return the source of rows that a path, glob, name, frame, stream or iterable stands for."""
    opened = open_rows(source, reading or Reading())
    known: Source = opened.source if isinstance(opened, frames.Pairs) else opened
    return known


def open_rows(source: Any, reading: Reading, client: Any = None) -> Any:
    """Return a source of rows to be read or to be summed where they are; of pairs, with roles."""
    if isinstance(source, (str, Path)):
        return open_named(str(source), reading)
    if is_dask(source):
        return opened_collection(source, client)
    if is_spark(source):
        return SparkSource.of(source)
    return (
        frames.opened_chunks(source) if frames.is_chunks(source) else _in_process(source, reading)
    )


def on_cluster(source: Any, client: Any) -> Any:
    """Return a source whose rows are summed on a cluster, where there is one."""
    if client is None or isinstance(source, Summing):
        return source
    if isinstance(source, FileSource):
        return ClusterFiles(source, client)
    msg = f"a cluster sums files or its own collections, and {source.label} is neither"
    raise InvalidParameterError(msg)


def _in_process(source: Any, reading: Reading) -> Any:
    if is_table(source):
        return TableSource.of(source)
    if frames.is_stream(source):
        return frames.BatchSource.of(frames.arrow_batches(source), "the stream")
    if frames.is_frame(source):
        return frames.FrameSource.of(source)
    if _are_paths(source):
        paths = [path for name in source for path in paths_of(str(name))]
        return FileSource.of(paths, reading, f"{paths[0]}, …" if paths[1:] else str(paths[0]))
    if hasattr(source, "scans") and hasattr(source, "sample"):
        return source
    msg = (
        f"cannot read rows from {type(source).__name__}: give a path, a glob, '-', a built-in "
        f"data set ({', '.join(DATASETS)}) or a frame"
    )
    raise InvalidInputError(msg)


def _are_paths(source: Any) -> bool:
    names = source if isinstance(source, (list, tuple)) else ()
    return bool(names) and all(isinstance(name, (str, Path)) for name in names)
