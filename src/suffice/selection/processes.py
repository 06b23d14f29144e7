"""Other processes that share the work of this one, where threads would wait for each other."""

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from multiprocessing import get_context
from types import ModuleType
from typing import Any

from suffice.core.threads import at_most, n_threads_of

_MOST = 3  # helpers: each imports all that it needs, and has memory of its own
_ALONE = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
_loaded = lru_cache(1)(pickle.loads)  # many tasks are of one job


class Helper:
    """A process that does one task after the other, until nobody is there to send any."""

    def __init__(self, modules: Sequence[str]) -> None:
        context = get_context("spawn")
        self._pipe, end = context.Pipe()
        self._process = context.Process(target=_serve, args=(end, modules), daemon=True)
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            self._process.start()  # which would run the user's script again, if it were known
        finally:
            sys.modules["__main__"] = main
        end.close()

    def ask(self, job: bytes, task: Any) -> Any:
        """Return what a task of a job comes to, None where it fails."""
        try:
            self._pipe.send((job, task))
            return pickle.loads(self._pipe.recv_bytes())
        except Exception:  # the process has ended
            return None

    def stop(self) -> None:
        """End the process at once, whatever it is doing."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


_HELPERS: ContextVar[tuple[Helper, ...]] = ContextVar("helpers", default=())


@contextmanager
def helped(*modules: str, when: bool = True) -> Iterator[None]:
    """Let a process for each other core help with what is done ``ahead`` inside, or none."""
    # those that are there already will do; new ones import ``modules`` meanwhile
    there, helpers = _HELPERS.get() if when else (), []
    with suppress(OSError, AssertionError):  # no process may be started: all is done here
        for _ in range(min(n_threads_of(None) - 1, _MOST) if when and not there else 0):
            helpers.append(Helper(modules))  # noqa: PERF401
    token = _HELPERS.set(there or tuple(helpers))
    try:
        yield
    finally:
        _HELPERS.reset(token)
        for helper in helpers:
            helper.stop()


@contextmanager
def ahead(work: Callable[[Any, Any], Any], what: Any, tasks: Sequence[Any]) -> Iterator[Any]:
    """Let helpers do ``work(what, task)``, the last task first; yield what returns the result."""
    # it is None where a task is to be done here: none has begun it, or it failed or cannot be sent
    helpers, job = _HELPERS.get() if tasks else (), b""
    with suppress(Exception):
        job = pickle.dumps((work, what)) if helpers else b""
    if not job:
        yield lambda _: None
        return
    free = list(helpers)  # as many as there are threads below

    def asked(task: Any) -> Any:
        helper = free.pop()
        result = helper.ask(job, task)
        free.append(helper)
        return result

    with ThreadPoolExecutor(len(helpers)) as pool:
        asking = {task: pool.submit(asked, task) for task in reversed(tasks)}
        try:
            yield (
                lambda t: None if t not in asking or asking[t].cancel() else asking[t].result()
            )
        except BaseException:  # such as Ctrl-C
            for helper in helpers:
                helper.stop()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _serve(pipe: Any, modules: Sequence[str]) -> None:
    """Do what comes through the pipe until its other end is closed: the life of a helper."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it will end it
    os.environ |= _ALONE
    with suppress(EOFError, OSError), at_most(1):
        for name in modules:
            import_module(name)
        while True:
            job, task = pipe.recv()
            answer = pickle.dumps(None)
            with suppress(Exception):
                work, what = _loaded(job)
                answer = pickle.dumps(work(what, task), pickle.HIGHEST_PROTOCOL)
            pipe.send_bytes(answer)
