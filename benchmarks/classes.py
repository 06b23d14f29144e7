"""Very many classes: LDA fitted and asked, in seconds and in memory beside the data.

``python -m benchmarks classes``; ``--quick`` a tenth of the classes and rows.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.timing import machine, peak_extra_memory

D, NEW = 400, 2_000
MOST_SECONDS, MOST_MEGABYTES = 4.0, 900.0

SETUP = """
import numpy as np, suffice as sf
rng = np.random.default_rng(0)
y = np.arange({rows}) % {classes}
X = rng.standard_normal(({rows}, {d}))
sf.LDA().fit(X[:200], y[:200] % 2).predict(X[:9000])  # compiled code is loaded
"""
WORK = "sf.LDA().fit(X, y).predict(X[:{new}])"


def main(arguments: list[str]) -> None:
    tenth = 10 if "--quick" in arguments else 1
    classes, rows = 20_000 // tenth, 100_000 // tenth
    print(
        f"# classes ({machine()}): LDA, {classes:,} classes × {D} features × {rows:,} rows\n"
    )
    setup = SETUP.format(rows=rows, classes=classes, d=D)
    work = WORK.format(new=NEW)
    took, peak = seconds(setup, work), peak_extra_memory(setup, work)
    print(f"fit and predict {NEW:,} rows: {took:.2f} s (goal {MOST_SECONDS:.0f})")
    print(f"peak beside the data: {peak:.0f} MB (goal {MOST_MEGABYTES:.0f})")


def seconds(setup: str, work: str) -> float:
    """Return the least seconds of three runs, in a new process."""
    code = (
        f"{setup}\nimport time\nfor _ in range(3):\n    t = time.perf_counter()\n    {work}\n"
    )
    code += "    print(time.perf_counter() - t)\n"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return min(map(float, done.stdout.split()))
