"""Repeats of every case, in several processes and a limited time."""

import json
import time
import warnings
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.levels import changed_rows, classes, comparison, fresh, predictions
from benchmarks.levels.case import Case, Range

TURN = 2.0  # seconds that a case runs before others have their turn
DEAR_SHARE = 0.4  # of the repeats of cheap cases
POWER_SHARE = 0.15  # of the repeats without an effect


@cache
def all_cases() -> tuple[Case, ...]:
    """Return every test, interval and alarm with its settings."""
    sources = (changed_rows, classes, predictions, comparison, fresh)
    return tuple(case for source in sources for case in source.cases())


@dataclass(frozen=True, slots=True)
class Turn:
    """Some repeats of a case."""

    case: int
    has_effect: bool
    first: int  # number of the first repeat, which its seed depends on
    repeats: int
    seed: int
    seconds: float


def ran(turn: Turn) -> dict:
    """Return what the repeats found, as a line of the result."""
    case = all_cases()[turn.case]
    alarms: dict[str, int] = {}
    silent: dict[str, int] = {}
    counts: dict[str, int] = {}
    ranges: dict[str, list[list[float]]] = {}
    failures: list[str] = []
    started = time.perf_counter()
    n_done = 0
    key = zlib.crc32(case.setting.encode())
    for i in range(turn.first, turn.first + turn.repeats):
        rng = np.random.default_rng([turn.seed, key, int(turn.has_effect), i])
        n_done += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                findings = case.draw(rng, turn.has_effect)
        except Exception as error:  # a case that fails is a result
            failures.append(f"{type(error).__name__}: {error}")
            continue
        for test, found in findings.items():
            counts[test] = counts.get(test, 0) + 1
            if isinstance(found, Range):
                ranges.setdefault(test, []).append([round(float(v), 6) for v in found])
            elif found is None:
                silent[test] = silent.get(test, 0) + 1
            else:
                alarms[test] = alarms.get(test, 0) + int(found)
        if time.perf_counter() - started > turn.seconds:
            break
    return {
        "setting": case.setting,
        "n_rows": case.n_rows,
        "effect": case.effect,
        "has_effect": turn.has_effect,
        "first": turn.first,
        "repeats": n_done,
        "counts": counts,
        "alarms": alarms,
        "silent": silent,
        "ranges": ranges,
        "failures": failures[:3],
        "n_failed": len(failures),
        "seconds": round(time.perf_counter() - started, 3),
    }


def run(only: str, repeats: int, seed: int, jobs: int, seconds: float, out: Path) -> None:
    """Run the cases whose setting contains a text, turn after turn, and write a line for each."""
    deadline = time.monotonic() + seconds
    waiting = deque(_first_turns(only, repeats, seed))
    wanted = {(turn.case, turn.has_effect): turn.repeats for turn in waiting}
    running: dict[Future[dict], Turn] = {}
    context = get_context("fork")
    with out.open("a", encoding="utf-8") as file, ProcessPoolExecutor(jobs, context) as pool:
        while waiting or running:
            while waiting and len(running) < jobs and time.monotonic() < deadline:
                turn = waiting.popleft()
                running[pool.submit(ran, turn)] = turn
            if not running:
                break
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                turn = running.pop(future)
                line = future.result()
                file.write(json.dumps(line) + "\n")
                file.flush()
                first = turn.first + line["repeats"]
                left = wanted[turn.case, turn.has_effect] - first
                if left > 0:
                    waiting.append(
                        Turn(turn.case, turn.has_effect, first, left, turn.seed, turn.seconds)
                    )


def _first_turns(only: str, repeats: int, seed: int) -> Iterator[Turn]:
    for i, case in enumerate(all_cases()):
        if only not in f"{case.draw.__self__.__class__.__name__} {case.setting}":
            continue
        n = round(repeats * DEAR_SHARE) if case.is_dear else repeats
        yield Turn(i, False, 0, n, seed, TURN)
        if case.effect:
            yield Turn(i, True, 0, max(round(n * POWER_SHARE), 5), seed, TURN)
