"""Scans to frames, in the reader's own batches."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from suffice.sources.failures import reading_of
from suffice.sources.files import FileSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from suffice.sources.columns import Roles
    from suffice.sources.source import Scan, Source

Result = TypeVar("Result")
_TICK = 0.1  # seconds; some signal handlers restart a wait, which then hears nothing by itself


def interruptibly(work: Callable[[], Result]) -> Result:
    """Return what ``work`` returns; it runs in a thread of its own, which Ctrl-C abandons.

    A compiled reader or writer that waits does not hear Ctrl-C, and one that does raises it a
    second time, maybe into the cleaning up. So the calling thread only waits.
    """
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    while not wait([outcome], timeout=_TICK).done:
        pass
    return outcome.result()


def each_interruptibly(items: Iterable[Result]) -> Iterator[Result]:
    """Yield the items of a compiled iterator; Ctrl-C is heard while waiting for the next."""
    rest = iter(items)
    end = object()
    while (item := interruptibly(lambda: next(rest, end))) is not end:
        yield item  # type: ignore[misc]


def fetched_ahead(items: Iterable[Result]) -> Iterator[Result]:
    """Yield items while a thread of its own already fetches the next."""
    slot: Queue[tuple[Result | None, BaseException | None]] = Queue(1)
    stopped = threading.Event()

    def put(item: Result | None, error: BaseException | None = None) -> None:
        while not stopped.is_set():
            with suppress(Full):
                slot.put((item, error), timeout=_TICK)
                return

    def fetch() -> None:
        try:
            for item in items:
                put(item)
                if stopped.is_set():
                    return
            put(None)
        except BaseException as error:
            put(None, error)

    threading.Thread(target=fetch, daemon=True).start()
    try:
        while (item := _taken(slot)) is not None:
            yield item
    finally:
        stopped.set()


def _taken(slot: Queue[tuple[Result | None, BaseException | None]]) -> Result | None:
    while True:
        with suppress(Empty):
            item, error = slot.get(timeout=_TICK)
            if error is not None:
                raise error
            return item


def frames_of(source: Source, roles: Roles) -> Iterator[pl.DataFrame]:
    """Yield the rows of a source in the reader's own batches, in order; of files, read ahead."""
    scans = source.scans(roles.columns(source.sample))
    frames = (frame for scan in scans for frame in frames_of_scan(scan))
    return fetched_ahead(frames) if isinstance(source, FileSource) else frames


def expected_rows(source: Source) -> int | None:
    """Return how many rows a source will give, as far as that is known or can be guessed."""
    return source.expected_rows if isinstance(source, FileSource) else source.n_rows


def frames_of_scan(scan: Scan, skip: int = 0, n_rows: int | None = None) -> Iterator[pl.DataFrame]:
    """Yield rows of one scan in the reader's own batches: all, or some after those skipped."""
    with reading_of(scan.label, scan.where):
        yield from scan.batches() if scan.batches else _batches(scan, skip, n_rows)


def _batches(scan: Scan, skip: int, n_rows: int | None) -> Iterator[pl.DataFrame]:
    """Yield the rows of a scan; where a value fails to parse, the rest is read with care."""
    done = 0
    try:
        for frame in batches_of(_cut(scan.frame, skip, n_rows)):
            yield frame
            done += frame.height
    except pl.exceptions.ComputeError:
        if scan.careful is None:
            raise
        yield from batches_of(_cut(scan.careful, skip, n_rows).slice(done))


def _cut(frame: pl.LazyFrame, skip: int, n_rows: int | None) -> pl.LazyFrame:
    return frame.slice(skip, n_rows) if skip or n_rows is not None else frame


def batches_of(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows of a lazy table in the reader's own batches, in order."""
    return each_interruptibly(frame.collect_batches(maintain_order=True))
