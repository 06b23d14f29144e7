"""Sources that a Dask cluster sums: Dask collections, delayed values, futures, and files.

The order in which sums are merged depends only on the number of parts. The result therefore has the
same bits, whichever worker computes a part, and however often.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias, TypeVar

import polars as pl

from suffice.core.table.matrix import coded_columns
from suffice.data.columns.roles import Roles
from suffice.data.formats.file_source import File
from suffice.data.frames.pairs import chunk_source, frame_of_pair
from suffice.data.frames.tables import collected, is_frame, like_first, scans_of
from suffice.data.options import SumSettings
from suffice.data.scanning import frames_of_scan
from suffice.data.source import (
    SAMPLE_ROWS,
    ColumnTypes,
    RowScorer,
    RowsDone,
    Scan,
    ScoredRows,
    Source,
    cast,
)
from suffice.data.sums.checkpoint import Checkpoint, FileRows
from suffice.data.sums.running import (
    Summed,
    pairwise_sum,
    sums_of_frames,
    warn_of_merged_levels,
)
from suffice.errors import ClusterError, InvalidInputError, InvalidParameterError, extra

CONNECT = 10.0  # seconds to wait for a reply from the scheduler
PATIENCE = 60.0  # seconds without any worker after which the cluster counts as lost
NUMBERS = 1 << 25  # most numbers per task: 256 MB
GROUP = 32  # number of tasks between two saves of the checkpoint
_TICK = 0.5  # seconds between two checks of the workers
# number of parts that one task merges; a power of two gives the same sum as merging in pairs
_FAN = 8
_STEPS = 8  # number of progress steps of a sum; each step transfers sums from the cluster
_AHEAD = 32  # parts that workers may start before the first result is used
_LABEL = "the Dask collection"

Client: TypeAlias = Any  # distributed.Client, or the address of a scheduler
Future: TypeAlias = Any  # distributed.Future
Task = TypeVar("Task")
Result = TypeVar("Result")
# A function that a worker applies to the rows of a part. Its second argument names the part in
# messages.
Work: TypeAlias = Callable[[pl.DataFrame, str], Result]


class _Partition(NamedTuple):
    """One partition of a collection."""

    number: int
    value: Any  # a delayed value or a future

    @property
    def name(self) -> str:
        return f"partition {self.number} of {_LABEL}"


def _distributed() -> ModuleType:
    return extra("distributed", "dask", "a Dask cluster")


@contextmanager
def _connected(client: Client) -> Iterator[Client]:
    """Yield a connected client for a client or an address; explain failures of the cluster."""
    distributed = _distributed()
    try:
        opened: AbstractContextManager[Client] = nullcontext(client)
        if isinstance(client, str):
            opened = distributed.Client(client, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"there is no Dask scheduler at {client!r} ({error}): check the address, or start "
            "one with 'dask scheduler'"
        ) from error
    try:
        with opened as connected:
            yield connected
    except distributed.KilledWorker as error:
        raise ClusterError(
            f"the cluster lost its workers too often ({error}): if memory was short, make "
            "partitions smaller or give workers more memory"
        ) from error
    except (OSError, distributed.CancelledError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        msg = (
            f"the Dask scheduler cannot be reached any more ({error}): start it again, and run "
            "the scan again"
        )
        raise ClusterError(msg) from error
    except ModuleNotFoundError as error:
        msg = f"the workers lack {error.name!r}: install the same suffice on every worker"
        raise ClusterError(msg) from error


def _awaited(client: Client, future: Future) -> Any:
    """Return the result of a future; raise if the cluster has no workers for too long."""
    last_alive = time.monotonic()
    while not _done_soon(future):
        if client.nthreads():
            last_alive = time.monotonic()
        elif time.monotonic() - last_alive > PATIENCE:
            msg = f"the cluster has had no worker for {PATIENCE:.0f} s: start some workers"
            raise ClusterError(msg)
    try:
        return future.result()
    except MemoryError as error:
        raise ClusterError(
            "a worker of the cluster ran out of memory: make partitions smaller or give workers "
            "more memory"
        ) from error


def _done_soon(future: Future) -> bool:
    with suppress(TimeoutError, _distributed().TimeoutError):
        future.exception(timeout=_TICK)
    return bool(future.done())


def merged_pairwise(client: Client, futures: Sequence[Future]) -> Future:
    """Return the future of the pairwise sum of some futures; each task merges ``_FAN`` parts."""
    while len(futures) > 1:
        groups = _grouped(futures, _FAN)
        futures = [client.submit(pairwise_sum, g, pure=False, priority=1) for g in groups]
    return futures[0]


def _grouped(tasks: Sequence[Task], size: int) -> list[Sequence[Task]]:
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]


def _step_size(n_tasks: int) -> int:
    """Return the number of tasks per group that gives the progress bar a few steps."""
    return max(-(-n_tasks // _STEPS), 1)


def _sums_of_groups(
    client: Client,
    groups: Sequence[Sequence[Task]],
    submit: Callable[[Client, Sequence[Task]], Sequence[Future]],
    note: Callable[[Summed, Sequence[Task]], None],
    total: Summed,
) -> Summed:
    """Return the sum over all groups of tasks, which run concurrently and are added in order."""
    # Only the sums of groups are referenced here, so that workers can free the parts once they are
    # merged.
    with _connected(client) as connected:
        roots = deque(merged_pairwise(connected, submit(connected, group)) for group in groups)
        for group in groups:
            total += _awaited(connected, roots.popleft())
            note(total, group)
    return total


def is_dask(source: object) -> bool:
    """Return whether this is a Dask collection, or a list of delayed values or futures."""
    if isinstance(source, (list, tuple)) and source:
        return _is_part(source[0])
    return _is_part(source) or hasattr(source, "to_delayed")


def _is_part(value: object) -> bool:
    return type(value).__module__.startswith(("dask.delayed", "distributed.client"))


def collection_source(collection: object, client: Client | None) -> Source:
    """Return a Dask collection as a source; without a cluster, it is read here, part by part."""
    parts = _parts(collection)
    if client is None:
        with suppress(ValueError):  # there is no current client
            client = _distributed().get_client()
    if client is None:
        if not all(hasattr(part.value, "compute") for part in parts):
            msg = "futures need the client that created them: pass it as on="
            raise InvalidParameterError(msg)
        return chunk_source(part.value.compute() for part in parts)
    with _connected(client) as connected:
        first = _first_rows(connected, parts)
    categorical = first.categorical or coded_columns(collection)
    return _cluster_source(parts, client, replace(first, categorical=categorical))


def _parts(collection: Any) -> Sequence[_Partition]:
    is_list = isinstance(collection, (list, tuple))
    values = collection if is_list else collection.to_delayed()
    if hasattr(values, "ravel") or not all(_is_part(value) for value in values):
        raise InvalidInputError(
            f"cannot sum {type(collection).__name__}: give a Dask DataFrame, or a list of delayed "
            "values or futures of frames or (X, y)"
        )
    return [_Partition(number, value) for number, value in enumerate(values)]


def _first_rows(client: Client, parts: Sequence[_Partition]) -> Source:
    heads: list[Any] = []  # first rows: frames, or pairs (X, y)
    n_rows = 0
    for part in parts:
        (future,) = _submitted(client, _head, [part])
        head = _awaited(client, future)
        if isinstance(head, tuple):
            n_rows += len(head[1])
        else:
            n_rows += head.height
            if heads:
                head = like_first(head, heads[0], part.name)
        heads.append(head)
        if n_rows >= SAMPLE_ROWS:
            break
    return chunk_source(heads)


def _cluster_source(parts: Sequence[_Partition], client: Client, first: Source) -> Source:
    no_rows = first.sample.clear()

    def summed(roles: Roles, settings: SumSettings, report: RowsDone) -> Summed:
        columns = roles.columns(no_rows)
        one_thread = replace(settings, n_jobs=1)

        def work(frame: pl.DataFrame, label: str) -> Summed:
            return sums_of_frames([frame], roles, one_thread, label)

        total = _sums_of_groups(
            client,
            groups=_grouped(parts, _step_size(len(parts))),
            submit=lambda to, group: _submitted(to, _worked, group, work, no_rows, columns),
            note=lambda total, _group: report(total.n_rows),
            total=Summed(),
        )
        warn_of_merged_levels(total, roles)
        return total

    def scored(scorer: RowScorer, roles: Roles) -> Iterator[ScoredRows]:
        def work(frame: pl.DataFrame, label: str) -> ScoredRows:
            return scorer(frame, label, 0)

        return _in_order(client, parts, work, no_rows, roles.columns(no_rows))

    def scans(columns: ColumnTypes) -> list[Scan]:
        all_columns: ColumnTypes = dict.fromkeys(no_rows.columns)
        rows = _in_order(client, parts, _whole, no_rows, all_columns)
        return scans_of(rows, first.sample, _LABEL, columns)

    return replace(first, label=_LABEL, scans=scans, summed=summed, scored=scored)


def _whole(frame: pl.DataFrame, _label: str) -> pl.DataFrame:
    return frame.rechunk()


def _in_order(
    client: Client,
    parts: Sequence[_Partition],
    work: Work[Result],
    no_rows: pl.DataFrame,
    columns: ColumnTypes,
) -> Iterator[Result]:
    """Yield the workers' result for each part, in order; workers compute some parts ahead."""
    waiting: deque[Future] = deque()
    with _connected(client) as connected:
        for part in parts:
            waiting += _submitted(connected, _worked, [part], work, no_rows, columns)
            if len(waiting) > _AHEAD:
                yield _awaited(connected, waiting.popleft())
        while waiting:
            yield _awaited(connected, waiting.popleft())


def _submitted(
    client: Client,
    function: Callable[..., object],
    parts: Sequence[_Partition],
    *arguments: object,
) -> Sequence[Future]:
    """Return futures of ``function(value, name, *arguments)`` for each part."""
    from dask.delayed import delayed

    if hasattr(parts[0].value, "compute"):
        lazily = delayed(function, pure=False)
        tasks = [lazily(part.value, part.name, *arguments) for part in parts]
        futures: Sequence[Future] = client.compute(tasks)
        return futures
    return [
        client.submit(function, part.value, part.name, *arguments, pure=False)
        for part in parts
    ]


def _head(value: object, name: str) -> pl.DataFrame | tuple[object, ...]:
    if isinstance(value, tuple):
        return tuple(values[:SAMPLE_ROWS] for values in value)
    return _frame(value, name).head(SAMPLE_ROWS)


def _worked(
    value: object,
    name: str,
    work: Work[Result],
    no_rows: pl.DataFrame,
    columns: ColumnTypes,
) -> Result:
    """Return the result of ``work`` on a part; raise if the part has other columns."""
    frame = like_first(_frame(value, name), no_rows, name)
    return work(frame.select(cast(columns)), name)


def _frame(value: object, name: str) -> pl.DataFrame:
    if isinstance(value, tuple):
        return frame_of_pair(value, name)
    if not is_frame(value):
        msg = f"{name} is {type(value).__name__}: it must be a frame or (X, y)"
        raise InvalidInputError(msg)
    return collected(value)


class _Piece(NamedTuple):
    """Consecutive rows of one file, which one task sums."""

    file: File
    skip: int = 0
    n_rows: int | None = None  # None means all rows up to the end of the file
    last: bool = True  # whether this is the last piece of the file

    def summed(self, roles: Roles, columns: ColumnTypes, settings: SumSettings) -> Summed:
        frames = frames_of_scan(self.file.scan(columns), self.skip, self.n_rows)
        label = str(self.file.path)
        return sums_of_frames(frames, roles, settings, label, first_row=self.skip)


def sums_of_files(
    source: Source,
    client: Client,
    roles: Roles,
    settings: SumSettings,
    report: RowsDone,
    checkpoint: Checkpoint | None,
) -> Summed:
    """Return the sums of files, computed by workers; rows in the checkpoint are skipped."""
    pieces: list[_Piece] = []
    if checkpoint is None:
        for file in source.files:
            pieces += _pieces(file, 0, roles)
    else:
        for _, file, skip in checkpoint.remaining():
            pieces += _pieces(file, skip, roles)
    columns = roles.columns(source.sample)
    one_thread = replace(settings, n_jobs=1)

    def submit(connected: Client, group: Sequence[_Piece]) -> Sequence[Future]:
        return [
            connected.submit(_Piece.summed, piece, roles, columns, one_thread, pure=False)
            for piece in group
        ]

    def note(total: Summed, group: Sequence[_Piece]) -> None:
        report(total.n_rows)
        if checkpoint is not None:
            counted = {}
            for piece in group:
                n_rows = piece.skip + (piece.n_rows or 0)
                counted[piece.file.address] = FileRows(n_rows, piece.last)
            checkpoint.note(total, counted)
            checkpoint.save()

    size = _step_size(len(pieces)) if checkpoint is None else GROUP
    start = Summed() if checkpoint is None else checkpoint.summed
    total = _sums_of_groups(client, _grouped(pieces, size), submit, note, start)
    warn_of_merged_levels(total, roles)
    return total


def _pieces(file: File, skip: int, roles: Roles) -> list[_Piece]:
    """Return the tasks of one file: pieces of rows if the file can be split, else one task."""
    # Workers need the column types, but not the first rows. The path is absolute because workers
    # may run in another folder.
    light = replace(file.without_rows(), path=file.address)
    n_rows = file.n_rows
    if n_rows is None:
        return [_Piece(light, skip)]
    size = max(NUMBERS // len(roles.features), 1)
    starts = range(skip, max(n_rows, skip + 1), size)
    return [_Piece(light, start, size, last=start + size >= n_rows) for start in starts]
