"""Work in forked processes: each starts with NumPy, SciPy and Numba loaded, and ends alone."""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

# imported once, before any fork; polars starts threads, which a fork loses
PRELOADED = (
    "numpy",
    "scipy.integrate",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
    "numba",
    "pandas",
    "sklearn.discriminant_analysis",
    "sklearn.linear_model",
    "sklearn.model_selection",
)
MEMORY_LIMIT = 6 * 2**30  # bytes of a process
PAUSE = 0.02  # seconds between two looks at the processes
WAITING = 10.0  # a process that waits for something may take so many times its limit
LAST_SECONDS = 3.0  # kept to end processes and write the record


@dataclass(frozen=True)
class Task:
    """A function that runs in a process of its own, and what to call its outcome."""

    name: str
    work: Callable[[], object]
    limit: float  # seconds of processor time, so that a busy machine changes no outcome


@dataclass(frozen=True)
class Outcome:
    """What became of a task."""

    task: Task
    result: Any  # what the function returned; None if its process died or ran out of time
    timed_out: bool
    seconds: float


@dataclass(frozen=True)
class _Running:
    task: Task
    pid: int
    answer: Path
    start: float


def preload() -> None:
    """Import what most tests need, and let Numba compile something."""
    for name in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    import numba

    numba.njit(_successor)(1)
    if any(name.split(".")[0] == "suffice" for name in sys.modules):
        raise RuntimeError("suffice must not be imported before its source is changed")


def _successor(x: int) -> int:
    return x + 1


def outcomes(tasks: Iterable[Task], jobs: int, deadline: float) -> Iterator[Outcome]:
    """Yield the outcome of each task when it ends; stop at the deadline of ``monotonic``."""
    waiting = iter(tasks)
    running: list[_Running] = []
    with tempfile.TemporaryDirectory(prefix="suffice-mutants-") as folder:
        try:
            while time.monotonic() < deadline - LAST_SECONDS:
                while len(running) < jobs:
                    task = next(waiting, None)
                    if task is None:
                        break
                    running.append(_start(task, Path(folder)))
                if not running:
                    return
                ended = [(each, outcome) for each in running if (outcome := _ended(each))]
                for each, outcome in ended:
                    running.remove(each)
                    yield outcome
                if not ended:
                    time.sleep(PAUSE)
        finally:
            for each in running:
                _kill(each)


def _start(task: Task, folder: Path) -> _Running:
    answer = folder / f"{time.monotonic_ns()}.json"
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _run(task, answer)
    return _Running(task, pid, answer, time.monotonic())


def _run(task: Task, answer: Path) -> None:
    """Do the work in the forked process, and never return."""
    status = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        seconds = ceil(task.limit)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        result = task.work()
        answer.write_text(json.dumps(result), encoding="utf-8")
        status = 0
    finally:
        os._exit(status)


def _ended(running: _Running) -> Outcome | None:
    seconds = time.monotonic() - running.start
    pid, status = os.waitpid(running.pid, os.WNOHANG)
    if pid == 0 and seconds < WAITING * running.task.limit:
        return None
    if pid == 0:
        _kill(running)
        return Outcome(running.task, None, timed_out=True, seconds=seconds)
    with suppress(ProcessLookupError):  # processes that it has started
        os.killpg(running.pid, signal.SIGKILL)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return Outcome(running.task, None, timed_out=True, seconds=seconds)
    text = running.answer.read_text(encoding="utf-8") if running.answer.exists() else "null"
    return Outcome(running.task, json.loads(text), timed_out=False, seconds=seconds)


def _kill(running: _Running) -> None:
    with suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    os.waitpid(running.pid, 0)
