"""The number of threads that a call may use, and functions that run tasks in threads."""

from __future__ import annotations

import functools
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from numbers import Integral
from threading import Lock, RLock
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
Owner = TypeVar("Owner")
_CHUNKS = 32
_FEWEST_ROWS = 4096
_LIMIT: ContextVar[int | None] = ContextVar("n_jobs", default=None)
# the locks of objects with a method that ``one_at_a_time`` decorates
_LOCKS: WeakKeyDictionary[object, RLock] = WeakKeyDictionary()
_NEW_LOCK = Lock()
# with fewer numbers, threads would mostly wait for the lock of the interpreter
_FEW_NUMBERS = 50_000


def usable_cores() -> int:
    """Return the number of cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def at_most(n_jobs: int | None) -> Iterator[None]:
    """Limit all calls in this context to ``n_jobs`` threads; None keeps the current limit."""
    limit = _LIMIT.get() if n_jobs is None else n_threads_of(n_jobs)
    token = _LIMIT.set(limit)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def n_threads_of(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``: −1 is all cores, None the current limit."""
    if n_jobs is None:
        return _LIMIT.get() or usable_cores()
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        msg = (
            f"n_jobs must be None, a positive number of threads, or -1 for all, got {n_jobs!r}"
        )
        raise InvalidParameterError(msg)
    if n_jobs > 0:
        return int(n_jobs)
    return max(usable_cores() + 1 + int(n_jobs), 1)


def in_order(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    n_jobs: int | None = None,
) -> Iterator[Result]:
    """Yield ``work(task)`` in the order of the tasks, computed by threads that this call starts."""
    n_threads = min(n_threads_of(n_jobs), max(len(tasks), 1))
    return over_stream(work, tasks, n_threads)


def over_stream(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    n_jobs: int | None = None,
) -> Iterator[Result]:
    """Yield ``work(task)`` in the order of a stream of tasks, at most ``n_jobs`` tasks ahead."""
    n_threads = n_threads_of(n_jobs)
    if n_threads < 2:
        yield from map(work, tasks)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[Result]] = deque()
        for task in tasks:
            waiting.append(pool.submit(work, task))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def one_at_a_time(
    method: Callable[Concatenate[Owner, Parameters], Result],
) -> Callable[Concatenate[Owner, Parameters], Result]:
    """Decorate a method so that only one thread at a time runs it on the same object."""

    @functools.wraps(method)
    def alone(self: Owner, /, *args: Parameters.args, **options: Parameters.kwargs) -> Result:
        with _NEW_LOCK:
            lock = _LOCKS.setdefault(self, RLock())
        with lock:
            return method(self, *args, **options)

    return alone


def together(work: Callable[[], Result], n_threads: int) -> list[Result]:
    """Run ``work`` once in each of ``n_threads`` threads, including the caller's."""
    if n_threads < 2:
        return [work()]
    with ThreadPoolExecutor(n_threads - 1) as pool:
        futures = [pool.submit(work) for _ in range(n_threads - 1)]
        first = work()
        return [first, *(future.result() for future in futures)]


def chunk_edges(n_rows: int) -> list[tuple[int, int]]:
    """Return (lo, hi) of consecutive chunks of rows, for any number of threads the same chunks."""
    size = max(_FEWEST_ROWS, -(-n_rows // _CHUNKS))
    return [(lo, min(lo + size, n_rows)) for lo in range(0, n_rows, size)]


def over_chunks(work: Callable[[int, int], Result], n_rows: int) -> Iterator[Result]:
    """Yield ``work(lo, hi)`` for each chunk of rows, in the order of the rows."""
    return in_order(lambda edge: work(*edge), chunk_edges(n_rows))


def one_blas_thread(*, when: bool = True) -> AbstractContextManager[object]:
    """Limit BLAS to one thread if ``when`` is true, since more would compete with our threads."""
    if not when:
        return nullcontext()
    libraries = _blas_libraries("scipy.linalg" in sys.modules)
    limited: AbstractContextManager[object] = libraries.limit(limits=1, user_api="blas")
    return limited


@functools.cache
def _blas_libraries(_with_scipy: bool) -> ThreadpoolController:  # noqa: FBT001
    """Return the BLAS libraries that are loaded; cached, since the search takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def side_by_side(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    n_numbers: int,
) -> list[Result]:
    """Return ``work(task)`` for each task, computed in threads if the tasks read many numbers."""
    if n_numbers < _FEW_NUMBERS:
        return [work(task) for task in tasks]
    with one_blas_thread():
        return list(in_order(work, list(tasks)))
