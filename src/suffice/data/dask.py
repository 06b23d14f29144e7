"""What a Dask cluster sums: its own collections, delayed values, futures, and files it can read."""

# in an order that the number of parts fixes: the same bits whichever worker ran what, how often

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from suffice.core.table.matrix import coded_columns
from suffice.data import frames
from suffice.data.checkpoint import Checkpoint
from suffice.data.columns import Roles
from suffice.data.row_files import File
from suffice.data.source import SAMPLE_ROWS, Scan, Source, Telling, cast, frames_of_scan
from suffice.data.summed import Summed, pairwise_sum, sums_of_frames, with_rest_told
from suffice.errors import ClusterError, InvalidInputError, InvalidParameterError, extra

CONNECT = 10.0  # seconds to wait for an answer of the scheduler
PATIENCE = 60.0  # seconds without any worker, after which the cluster is taken for dead
_TICK = 0.5  # seconds
_FAN = 8  # parts merged by one task; a power of two, so that the tree stays the pairwise one
_STEPS = 8  # of the progress of a sum: each sends sums from the cluster
_LABEL = "the Dask collection"
_AHEAD = 32  # parts that workers begin before the first of them is taken
_Parts: TypeAlias = Sequence[tuple[int, Any]]  # partitions and their numbers
NUMBERS = 1 << 25  # in one task: 256 MB
GROUP = 32  # tasks between two savings of a checkpoint


def _distributed() -> Any:
    return extra("distributed", "dask", "a Dask cluster")


@contextmanager
def _connected(client: Any) -> Iterator[Any]:
    """Give a client, or one of the scheduler at this address; failures of the cluster are told."""
    distributed = _distributed()
    try:
        opened = nullcontext(client)
        if isinstance(client, str):
            opened = distributed.Client(client, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        cure = "check the address, or start one with 'dask scheduler'"
        raise ClusterError(
            f"no Dask scheduler answers at {client!r} ({error}): {cure}"
        ) from error
    try:
        with opened as there:
            yield there
    except distributed.KilledWorker as error:
        cure = "make partitions smaller, or workers larger, if memory was short"
        raise ClusterError(
            f"the cluster lost its workers too often ({error}): {cure}"
        ) from error
    except (OSError, distributed.CancelledError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        msg = f"the Dask scheduler is gone ({error}): start it again, and run the scan again"
        raise ClusterError(msg) from error
    except ModuleNotFoundError as error:
        msg = f"the workers lack {error.name!r}: install the same suffice on every worker"
        raise ClusterError(msg) from error


def _awaited(client: Any, future: Any) -> Any:
    """Return the result of a future; raise if the cluster dies before it is there."""
    alive = time.monotonic()
    while not _done_soon(future):
        if client.nthreads():
            alive = time.monotonic()
        elif time.monotonic() - alive > PATIENCE:
            msg = f"the cluster has had no worker for {PATIENCE:.0f} s: start some workers"
            raise ClusterError(msg)
    return future.result()


def _done_soon(future: Any) -> bool:
    with suppress(TimeoutError, _distributed().TimeoutError):
        future.exception(timeout=_TICK)
    return bool(future.done())


def merged_pairwise(client: Any, futures: Sequence[Any]) -> Any:
    """Return the future of the pairwise sum of some futures; a task merges three levels of it."""
    while len(futures) > 1:
        groups = [futures[lo : lo + _FAN] for lo in range(0, len(futures), _FAN)]
        futures = [client.submit(pairwise_sum, g, pure=False, priority=1) for g in groups]
    return futures[0]


def _grouped(tasks: Sequence[Any], size: int = 0) -> list[Sequence[Any]]:
    """Return tasks in groups of a size, or in a few groups for the steps of a progress bar."""
    size = size or -(-len(tasks) // _STEPS) or 1
    return [tasks[lo : lo + size] for lo in range(0, len(tasks), size)]


def _summed(
    client: Any,
    groups: Sequence[Any],
    submitted: Callable[[Any, Any], Sequence[Any]],
    noted: Callable[[Summed, Any], None],
    total: Summed,
) -> Summed:
    """Return the sums of groups of tasks, added in turn, all groups being worked on at once."""
    # only the roots of trees are held, so that a worker may drop a part once it is merged
    with _connected(client) as there:
        roots = deque(merged_pairwise(there, submitted(there, group)) for group in groups)
        for group in groups:
            total += _awaited(there, roots.popleft())
            noted(total, group)
    return total


def _source(parts: _Parts, client: Any, first: Source) -> Source:
    expected = first.sample.clear()

    def summed(roles: Roles, told: Telling, **options: Any) -> Summed:
        def work(frame: pl.DataFrame) -> Summed:
            return sums_of_frames([frame], roles, **{**options, "n_jobs": 1})

        def submitted(there: Any, group: Any) -> Any:
            return _applied(there, _worked, group, work, expected, roles.columns(expected))

        groups, start = _grouped(parts), Summed()
        total = _summed(client, groups, submitted, lambda sums, _: told(sums.n_rows), start)
        return with_rest_told(total, roles)

    def scored(scorer: Any, roles: Roles) -> Iterator[Any]:
        return _in_order(client, parts, scorer, expected, roles.columns(expected))

    def scans(columns: Mapping[str, Any]) -> list[Scan]:
        whole = dict.fromkeys(expected.columns)
        rows = _in_order(client, parts, pl.DataFrame.rechunk, expected, whole)
        return frames.scans_of(rows, first.sample, _LABEL, columns)

    return replace(first, label=_LABEL, scans=scans, summed=summed, scored=scored)


def _in_order(client: Any, parts: _Parts, *question: Any) -> Iterator[Any]:
    """Yield what workers make of each part; some parts ahead of the one that is waited for."""
    waiting: deque[Any] = deque()
    with _connected(client) as there:
        for part in parts:
            waiting += _applied(there, _worked, [part], *question)
            if len(waiting) > _AHEAD:
                yield _awaited(there, waiting.popleft())
        while waiting:
            yield _awaited(there, waiting.popleft())


def is_dask(source: Any) -> bool:
    """Return whether this is a Dask collection, or a list of delayed values or futures."""
    if isinstance(source, (list, tuple)) and source:
        return _is_part(source[0])
    return _is_part(source) or hasattr(source, "to_delayed")


def opened_collection(source: Any, client: Any) -> Source:
    """Return a Dask collection as a source; without a cluster it is read part by part."""
    parts = _parts(source)
    with suppress(ValueError):  # there is none
        client = client or _distributed().get_client()
    if client is None:
        if not all(hasattr(part, "compute") for _, part in parts):
            msg = "futures need the client that made them: pass it as client="
            raise InvalidParameterError(msg)
        return frames.opened_chunks(part.compute() for _, part in parts)
    with _connected(client) as opened:
        first = _first_rows(opened, parts)
    levels = first.categorical or coded_columns(source)
    return _source(parts, client, replace(first, categorical=levels))


def _is_part(value: Any) -> bool:
    return type(value).__module__.startswith(("dask.delayed", "distributed.client"))


def _parts(source: Any) -> _Parts:
    parts = source if isinstance(source, (list, tuple)) else source.to_delayed()
    if hasattr(parts, "ravel") or not all(map(_is_part, parts)):
        cure = (
            "give a Dask DataFrame, or a list of delayed values or futures of frames or (X, y)"
        )
        raise InvalidInputError(f"cannot sum {type(source).__name__}: {cure}")
    return tuple(enumerate(parts))


def _first_rows(client: Any, parts: _Parts) -> Source:
    heads, n_rows = list[Any](), 0
    for at, part in parts:
        head = _awaited(client, *_applied(client, _head, [(at, part)]))
        pair = isinstance(head, tuple)
        heads.append(
            head if pair or not heads else frames.like_first(head, heads[0], _name(at))
        )
        n_rows += len(head[1]) if pair else head.height
        if n_rows >= SAMPLE_ROWS:
            break
    return frames.opened_chunks(heads)


def _applied(client: Any, function: Any, parts: _Parts, *question: Any) -> Any:
    from dask.delayed import delayed

    if hasattr(parts[0][1], "compute"):
        lazily = delayed(function, pure=False)
        return client.compute([lazily(part, at, *question) for at, part in parts])
    return [client.submit(function, part, at, *question, pure=False) for at, part in parts]


def _head(part: Any, at: int) -> Any:
    if isinstance(part, tuple):
        return tuple(values[:SAMPLE_ROWS] for values in part)
    return _frame(part, at).head(SAMPLE_ROWS)


def _worked(part: Any, at: int, work: Any, expected: pl.DataFrame, columns: Any) -> Any:
    """Return what work makes of some columns of a part that is like the others."""
    return work(frames.like_first(_frame(part, at), expected, _name(at)).select(cast(columns)))


def _name(at: int) -> str:
    return f"partition {at} of {_LABEL}"


def _frame(part: Any, at: int) -> pl.DataFrame:
    if isinstance(part, tuple):
        return frames.framed(part, at)
    if not frames.is_frame(part):
        msg = f"{_name(at)} is {type(part).__name__}: it must be a frame or (X, y)"
        raise InvalidInputError(msg)
    return frames.collected(part)


class _Piece(NamedTuple):
    """Some consecutive rows of one file: the work of one task."""

    file: File
    skip: int = 0
    n_rows: int | None = None  # None: to the end
    last: bool = True  # whether the file ends with it


def _sums_of_piece(piece: _Piece, roles: Roles, columns: Any, options: Any) -> Summed:
    rows = frames_of_scan(piece.file.scan(columns), piece.skip, piece.n_rows)
    return sums_of_frames(rows, roles, **{**options, "n_jobs": 1})


def summed_files(
    source: Source,
    client: Any,
    roles: Roles,
    told: Telling,
    **options: Any,
) -> Summed:
    """Return the sums of files, by the workers; rows that a checkpoint counts are not read."""
    checkpoint: Checkpoint | None = options.pop("checkpoint", None)
    rest = checkpoint.remaining() if checkpoint else [("", file, 0) for file in source.files]
    pieces = [piece for _, file, skip in rest for piece in _pieces(file, skip, roles)]
    question = roles, roles.columns(source.sample), options

    def submitted(there: Any, group: Sequence[_Piece]) -> Any:
        return [there.submit(_sums_of_piece, piece, *question, pure=False) for piece in group]

    def noted(total: Summed, group: Sequence[_Piece]) -> None:
        told(total.n_rows)
        if checkpoint is not None:
            # which files, or parts of files, are in the sums by now
            counted = {p.file.address: (p.skip + (p.n_rows or 0), p.last) for p in group}
            checkpoint.note(total, counted)
            checkpoint.save()

    groups = _grouped(pieces, GROUP if checkpoint else 0)
    start = checkpoint.summed if checkpoint else Summed()
    return with_rest_told(_summed(client, groups, submitted, noted, start), roles)


def _pieces(file: File, skip: int, roles: Roles) -> list[_Piece]:
    """Return the tasks of one file: some rows each where the file can be cut, else all."""
    # types travel, rows need not; workers may stand in another folder
    light = replace(file.without_rows(), path=file.address)
    n_rows, size = file.n_rows, max(NUMBERS // len(roles.features), 1)
    if n_rows is None:
        return [_Piece(light, skip)]
    starts = range(skip, max(n_rows, skip + 1), size)
    return [_Piece(light, lo, size, last=lo + size >= n_rows) for lo in starts]
