"""What a Dask cluster sums: its own collections, delayed values, futures, and files it can read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.sources.columns import Roles
from suffice.sources.dask.cluster import (
    Watch,
    awaited,
    connected,
    failures_told,
    require_distributed,
    results,
)
from suffice.sources.files import File, FileSource
from suffice.sources.formats import FileTable
from suffice.sources.frames import (
    Pairs,
    alike,
    as_frame,
    is_frame,
    levels_in,
    opened_chunks,
    scan_of,
)
from suffice.sources.reading import frames_of_scan
from suffice.sources.source import SAMPLE_ROWS, Progress, Scan, cast
from suffice.sources.summed import Summed, sums_of, with_rest_told

if TYPE_CHECKING:
    from suffice.sources.checkpoint import Checkpoint

_LABEL = "the Dask collection"


@dataclass(frozen=True, slots=True, eq=False)
class DaskSource:
    """Partitions of rows on a cluster: delayed values or futures of frames or of (X, y)."""

    parts: tuple[Any, ...]
    client: Any
    sample: pl.DataFrame
    categorical: tuple[str, ...] = ()
    label: str = _LABEL
    target: str | None = None
    expected_rows: int | None = None

    def scans(self, columns: Mapping[str, Any]) -> Iterator[Scan]:
        """Yield the rows as one table, fetched from the cluster part by part."""
        yield scan_of(self._fetched(), self.sample, self.label, columns)

    def _fetched(self) -> Iterator[pl.DataFrame]:
        with connected(self.client) as client:
            for at, part in enumerate(self.parts):
                (future,) = _applied(client, _fetched, [part], at)
                yield awaited(client, future, lambda: None)

    def summed(self, roles: Roles, progress: Progress | None, **options: Any) -> Summed:
        """Return the sums of every usable row, merged on the cluster."""
        question = roles, self.sample.clear(), {**options, "n_jobs": 1}
        with connected(self.client) as client:
            watch = Watch(client, progress, None)
            groups = (_applied(client, _summed, self.parts, question) for _ in range(1))
            return with_rest_told(next(results(client, watch.over(groups), watch.tell)), roles)


def is_dask(source: Any) -> bool:
    """Return whether this is a Dask collection, or a list of delayed values or futures."""
    if isinstance(source, (list, tuple)) and source:
        return _is_part(source[0])
    return _is_part(source) or hasattr(source, "to_delayed")


def opened_collection(source: Any, client: Any) -> Any:
    """Return a Dask collection as a source; without a cluster it is read part by part."""
    parts = _parts(source)
    client = client or _current_client()
    if client is None:
        return _in_process(parts)
    with connected(client) as opened:
        first = _first_rows(opened, parts)
    if isinstance(first, Pairs):
        there: Any = DaskSource(parts, client, first.source.sample)
        return replace(first, source=there)
    return DaskSource(parts, client, first, levels_in(source))


def _is_part(value: Any) -> bool:
    module = type(value).__module__
    return module.startswith(("dask.delayed", "distributed.client"))


def _parts(source: Any) -> tuple[Any, ...]:
    parts = source if isinstance(source, (list, tuple)) else source.to_delayed()
    if hasattr(parts, "ravel") or not all(map(_is_part, parts)):
        msg = (
            f"cannot sum {type(source).__name__}: give a Dask DataFrame, or a list of delayed "
            "values or futures, each a frame or (X, y)"
        )
        raise InvalidInputError(msg)
    return tuple(parts)


def _current_client() -> Any:
    distributed = require_distributed()
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _in_process(parts: Sequence[Any]) -> Any:
    if not all(hasattr(part, "compute") for part in parts):
        msg = "futures need the client that made them: pass it as client="
        raise InvalidParameterError(msg)
    return opened_chunks(part.compute() for part in parts)


def _first_rows(client: Any, parts: Sequence[Any]) -> Any:
    """Return the first rows, of as many parts as it takes, with roles where these are (X, y)."""
    heads: list[Any] = []
    n_rows = 0
    for at, part in enumerate(parts):
        (future,) = _applied(client, _head, [part], at)
        head = awaited(client, future, lambda: None)
        pair = isinstance(head, tuple)
        heads.append(head if pair else _alike(head, heads[0] if heads else head, at))
        n_rows += len(head[1]) if pair else head.height
        if n_rows >= SAMPLE_ROWS:
            break
    if isinstance(heads[0], tuple):
        return Pairs.of(heads)
    return pl.concat(heads, how="vertical_relaxed").head(SAMPLE_ROWS)


def _applied(client: Any, function: Any, parts: Sequence[Any], question: Any) -> Any:
    """Return the futures of a function of each part, which stays where it is."""
    from dask.delayed import delayed

    if hasattr(parts[0], "compute"):
        lazily = delayed(function, pure=False)
        tasks = [lazily(part, at, question) for at, part in enumerate(parts)]
        return client.compute(tasks)
    return [client.submit(function, p, at, question, pure=False) for at, p in enumerate(parts)]


def _fetched(part: Any, _: int, at: int) -> pl.DataFrame:
    return _frame(part, at)


def _head(part: Any, _: int, at: int) -> Any:
    if isinstance(part, tuple):
        return tuple(values[:SAMPLE_ROWS] for values in part)
    return _frame(part, at).head(SAMPLE_ROWS)


def _summed(part: Any, at: int, question: tuple[Any, ...]) -> Summed:
    roles, expected, options = question
    return sums_of(_frames(part, at, roles, expected), roles, **options)


def _frames(part: Any, at: int, roles: Roles, expected: pl.DataFrame) -> Iterator[pl.DataFrame]:
    if isinstance(part, tuple):
        pairs = Pairs.of([part])
        frame = next(iter(pairs.source.frames))  # type: ignore[attr-defined]
    else:
        frame = _frame(part, at)
    yield _alike(frame, expected, at).select(cast(roles.columns(expected)))


def _alike(frame: pl.DataFrame, expected: pl.DataFrame, at: int) -> pl.DataFrame:
    return alike(frame, expected, f"partition {at} of {_LABEL}")


def _frame(part: Any, at: int) -> pl.DataFrame:
    if not is_frame(part):
        msg = f"partition {at} of {_LABEL} is {type(part).__name__}: it must be a frame or (X, y)"
        raise InvalidInputError(msg)
    frame = as_frame(part)
    return frame.collect() if isinstance(frame, pl.LazyFrame) else frame


NUMBERS = 1 << 25  # in one task: 256 MB
GROUP = 32  # tasks between two savings of a checkpoint


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Some consecutive rows of one file: the work of one task."""

    path: str
    table: FileTable
    skip: int = 0
    n_rows: int | None = None  # None: to the end
    last: bool = True  # whether the file ends with it

    def summed(self, roles: Roles, columns: Mapping[str, Any], options: dict[str, Any]) -> Summed:
        """Return the sums of these rows."""
        scan = self.table.scan(self.path, columns)
        frames = frames_of_scan(scan, self.skip, self.n_rows)
        return sums_of(frames, roles, **{**options, "n_jobs": 1})


@dataclass(frozen=True, slots=True, eq=False)
class ClusterFiles:
    """The rows of files, summed by the workers of a cluster."""

    files: FileSource
    client: Any  # a client, or the address of a scheduler

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.files.label

    def summed(
        self,
        roles: Roles,
        progress: Progress | None,
        checkpoint: Checkpoint | None = None,
        **options: Any,
    ) -> Summed:
        """Return the sums of every usable row; those that a checkpoint counts are not read."""
        rest = [(file.address, file, 0) for file in self.files.files]
        if checkpoint is not None:
            rest = checkpoint.remaining()
        pieces = [piece for path, file, skip in rest for piece in _pieces(path, file, skip, roles)]
        total = Summed() if checkpoint is None else checkpoint.summed
        size = len(pieces) if checkpoint is None else GROUP
        groups = [pieces[lo : lo + size] for lo in range(0, len(pieces), size)]
        n_rows = self.files.expected_rows if progress else None
        question = roles, roles.columns(self.files.sample), options
        with connected(self.client) as client, failures_told(require_distributed()):
            watch = Watch(client, progress, n_rows, total.n_rows)
            futures = ([client.submit(p.summed, *question, pure=False) for p in g] for g in groups)
            parts = results(client, watch.over(futures), watch.tell)
            for group, part in zip(groups, parts, strict=True):
                total += part
                if checkpoint is not None:
                    _remember(checkpoint, total, group)
        return with_rest_told(total, roles)


def _pieces(path: str, file: File, skip: int, roles: Roles) -> Iterator[Piece]:
    """Yield the tasks of one file: some rows each where the file can be cut, else all."""
    light = file.without_rows().table  # types travel, rows need not
    n_rows, size = file.n_rows, max(NUMBERS // len(roles.features), 1)
    if n_rows is None:
        yield Piece(path, light, skip)
        return
    for lo in range(skip, max(n_rows, skip + 1), size):
        yield Piece(path, light, lo, size, last=lo + size >= n_rows)


def _remember(checkpoint: Checkpoint, total: Summed, group: Sequence[Piece]) -> None:
    """Save which files, or parts of files, are in the sums by now."""
    counted = {piece.path: (piece.skip + (piece.n_rows or 0), piece.last) for piece in group}
    checkpoint.note(total, counted)
    checkpoint.save()
