"""Ctrl-C while compiled threads read and write: heard at once, and once only."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
