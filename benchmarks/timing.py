"""Best of interleaved runs, and peak memory in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def best_of(
    cases: Mapping[str, Callable[[], Any]],
    rounds: int = 7,
    limit: float = 60.0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the least seconds of each case; cases take turns, so that noise hits all alike.

    Cases that take long are run fewer times: none is started again after it has had ``limit``
    seconds in total, but each runs at least twice after one run that does not count.
    """
    best = dict.fromkeys(cases, float("inf"))
    spent = dict.fromkeys(cases, 0.0)
    for turn in range(-1, rounds):
        for name, call in cases.items():
            if turn >= 2 and spent[name] > limit / 4:
                continue
            start = clock()
            call()
            took = clock() - start
            spent[name] += took
            if turn >= 0 or took > 5:
                best[name] = min(best[name], took)
    return best


def machine() -> str:
    """Return one line about the machine and how busy it is."""
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores, load {load:.1f} at start"


def peak_extra_memory(setup: str, work: str) -> float:
    """Return how many MB the peak of ``work`` is above what ``setup`` left, in a new process."""
    code = (
        "from benchmarks.timing import forget_peak, peak_memory\n"
        f"{setup}\n"
        "forget_peak()\n"
        "before = peak_memory()\n"
        f"{work}\n"
        "print(peak_memory() - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return float(done.stdout.strip().splitlines()[-1])


def forget_peak() -> None:
    """Take the memory in use now as the peak (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float:
    """Return the most memory in use since ``forget_peak``, in MB (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a Markdown table."""
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += [
        "| " + " | ".join(_shown(row.get(c, "")) for c in columns) + " |" for row in rows
    ]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
