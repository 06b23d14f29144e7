"""From whatever a person names or holds to a source of rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from suffice.datasets import DATASETS
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.sources import frames
from suffice.sources.dask import ClusterFiles, is_dask, opened_collection
from suffice.sources.files import FileSource, open_named, paths_of
from suffice.sources.source import Source, Summing, TextStyle
from suffice.sources.spark import SparkSource, is_spark
from suffice.sources.sql import TableSource, is_table


def open_source(source: Any, reading: TextStyle | None = None) -> Source:
    """Return the source of rows that a path, glob, name, frame, stream or iterable stands for."""
    opened = open_rows(source, reading or TextStyle())
    known: Source = opened.source if isinstance(opened, frames.Pairs) else opened
    return known


def open_rows(source: Any, reading: TextStyle, client: Any = None) -> Any:
    """Return a source of rows to be read or to be summed where they are; of pairs, with roles."""
    for recognises, opened in _KINDS:
        if recognises(source):
            return opened(source, reading, client)
    msg = (
        f"cannot read rows from {type(source).__name__}: give a path, a glob, '-', a built-in "
        f"data set ({', '.join(DATASETS)}) or a frame"
    )
    raise InvalidInputError(msg)


def on_cluster(source: Any, client: Any) -> Any:
    """Return a source whose rows are summed on a cluster, where there is one."""
    if client is None or isinstance(source, Summing):
        return source
    if isinstance(source, FileSource):
        return ClusterFiles(source, client)
    msg = f"a cluster sums files or its own collections, and {source.label} is neither"
    raise InvalidParameterError(msg)


def _are_paths(source: Any) -> bool:
    names = source if isinstance(source, (list, tuple)) else ()
    return bool(names) and all(isinstance(name, (str, Path)) for name in names)


def _opened_paths(names: Any, reading: TextStyle, _: Any) -> FileSource:
    paths = [path for name in names for path in paths_of(str(name))]
    return FileSource.of(paths, reading, f"{paths[0]}, …" if paths[1:] else str(paths[0]))


# what recognises a kind of source, and what opens it: (source, how text is written, cluster);
# the first that recognises it is taken
_KINDS: tuple[tuple[Callable[[Any], bool], Callable[..., Any]], ...] = (
    (lambda source: isinstance(source, (str, Path)), lambda s, how, _: open_named(str(s), how)),
    (is_dask, lambda source, _, client: opened_collection(source, client)),
    (is_spark, lambda source, *_: SparkSource.of(source)),
    (is_table, lambda source, *_: TableSource.of(source)),
    (frames.is_chunks, lambda source, *_: frames.opened_chunks(source)),
    (frames.is_stream, lambda source, *_: frames.BatchSource.of_stream(source)),
    (frames.is_frame, lambda source, *_: frames.FrameSource.of(source)),
    (_are_paths, _opened_paths),
    (lambda source: hasattr(source, "scans"), lambda source, *_: source),  # it is opened already
)
