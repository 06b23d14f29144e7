"""Worker processes for tasks that would block each other in threads."""

import os
import pickle
import signal
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any, TypeVar

from suffice.core.progress import without_bars
from suffice.core.threads import at_most, n_threads_of

Shared = TypeVar("Shared")
Task = TypeVar("Task", bound=Hashable)
Result = TypeVar("Result")

_MOST_WORKERS = 3  # few, because each worker imports all modules again and has its own memory
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# only one job is kept, because successive tasks mostly belong to the same job
_load_job = lru_cache(1)(pickle.loads)


class Worker:
    """A process that computes one task at a time."""

    def __init__(self, modules: Sequence[str]) -> None:
        context = get_context("spawn")
        self._pipe, other_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(other_end, modules), daemon=True)
        # A spawned process imports the main module, which would run the user's script again. An
        # empty main module prevents this.
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            self._process.start()
        finally:
            sys.modules["__main__"] = main
        other_end.close()

    def run(self, job: bytes, task: Hashable) -> Any:
        """Return the result of a task of a job; None if the task fails or the process has ended."""
        try:
            self._pipe.send((job, task))
            return pickle.loads(self._pipe.recv_bytes())
        except Exception:
            return None

    def stop(self) -> None:
        """Kill the process immediately."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


_WORKERS: ContextVar[tuple[Worker, ...]] = ContextVar("workers", default=())


@contextmanager
def worker_processes(*modules: str, when: bool = True) -> Iterator[None]:
    """Start a worker for each other core, which ``computed_ahead`` uses inside the block.

    The workers import ``modules`` while this process continues. If an outer block has workers, they
    are used again. If ``when`` is False, no workers are used.
    """
    workers: tuple[Worker, ...] = ()
    started: list[Worker] = []
    if when:
        workers = _WORKERS.get()
        if not workers:
            started = _start_workers(modules)
            workers = tuple(started)
    token = _WORKERS.set(workers)
    try:
        yield
    finally:
        _WORKERS.reset(token)
        for worker in started:
            worker.stop()


def n_running_workers() -> int:
    """Return the number of workers that ``computed_ahead`` would use."""
    return len(_WORKERS.get())


def _start_workers(modules: Sequence[str]) -> list[Worker]:
    """Return as many workers as can be started, at most one for each other core."""
    workers: list[Worker] = []
    n_workers = min(n_threads_of(None) - 1, _MOST_WORKERS)
    # if processes are forbidden, this process computes everything
    with suppress(OSError, AssertionError):
        for _ in range(n_workers):
            workers.append(Worker(modules))  # noqa: PERF401 (those before a failure are kept)
    return workers


@contextmanager
def computed_ahead(
    work: Callable[[Shared, Task], Result],
    shared: Shared,
    tasks: Sequence[Task],
) -> Iterator[Callable[[Task], Result | None]]:
    """Let workers compute ``work(shared, task)`` in the background, starting with the last task.

    Yield a function that returns the result of a task. It returns None if the caller must compute
    the task, because no worker has started it, it failed, or it could not be pickled.
    """
    workers = _WORKERS.get()
    job = _pickled_job(work, shared) if workers and tasks else None
    if job is None:
        yield lambda _: None
        return
    free = list(
        workers
    )  # each thread of the pool takes a worker, so there is always a free one

    def run(task: Task) -> Result | None:
        worker = free.pop()
        result: Result | None = worker.run(job, task)
        free.append(worker)
        return result

    with ThreadPoolExecutor(len(workers)) as pool:
        futures = {task: pool.submit(run, task) for task in reversed(tasks)}

        def result_of(task: Task) -> Result | None:
            future = futures.get(task)
            if future is None or future.cancel():
                return None
            return future.result()

        try:
            yield result_of
        except BaseException:  # including KeyboardInterrupt
            for worker in workers:
                worker.stop()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _pickled_job(work: Callable[..., object], shared: object) -> bytes | None:
    """Return the pickled function and shared data, or None if they cannot be pickled."""
    try:
        return pickle.dumps((work, shared))
    except Exception:
        return None


def _serve(pipe: Connection, modules: Sequence[str]) -> None:
    """Compute the tasks that arrive through the pipe, until its other end is closed."""
    # Ctrl-C ends the parent process, which then ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for variable in _THREAD_VARIABLES:
        os.environ[variable] = "1"
    with suppress(EOFError, OSError), at_most(1), without_bars():
        for name in modules:
            import_module(name)
        while True:
            job, task = pipe.recv()
            pipe.send_bytes(_pickled_result(job, task))


def _pickled_result(job: bytes, task: Hashable) -> bytes:
    """Return the pickled result of a task; None if it fails, so that the caller computes it."""
    try:
        work, shared = _load_job(job)
        return pickle.dumps(work(shared, task), pickle.HIGHEST_PROTOCOL)
    except Exception:
        return pickle.dumps(None)
