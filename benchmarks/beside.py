"""Compare this code with another version of it, both run in turns.

``python -m benchmarks beside OTHER/src [--only WORD ...] [--seconds S] [--one-core]``: one process
for each version makes the same call in turns, so that noise hits both alike. Each has the best of
its turns; the table shows the ratio of this version to the other. ``--one-core`` gives both one
core and counts processor seconds, which a busy machine changes less.

``python -m benchmarks beside OTHER/src --quality FOLDER``: errors, log-losses, Brier scores and
areas under the curve of both on the same splits of the reference tables; see ``beside_quality``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.timing import machine, table

THIS = Path(__file__).parents[1] / "src"
FEWEST_TURNS = 5
SHAPES = (
    (150, 4, 3),
    (2_000, 30, 2),
    (1_000_000, 10, 3),
    (200_000, 50, 10),
    (50_000, 200, 10),
    (200_000, 20, 100),
)
ROWS = (
    "import numpy as np\n"
    "r = np.random.default_rng(0)\n"
    "y = r.integers(0, {k}, {n})\n"
    "x = r.normal(size=({n}, {d})) + r.normal(size=({k}, {d}))[y]\n"
)
GRID = "grid = {'shrinkage': [0.0, 0.1, 0.5], 'pooling': [0.0, 0.5, 1.0]}\n"
SELECTIONS = {
    "select RDA": "f = lambda: sf.RDA().fit(x, y)",
    "select LDA(shrinkage='auto')": "f = lambda: sf.LDA(shrinkage='auto').fit(x, y)",
    "select cross_validate": "f = lambda: sf.cross_validate(sf.GaussianClassifier(), x, y, grid)",
    "select leave_one_out LDA": "f = lambda: sf.leave_one_out(sf.LDA(), x, y)",
    "select leave_one_out QDA": "f = lambda: sf.leave_one_out(sf.QDA(), x, y)",
    "select AutoGaussian, 400 rows": "f = lambda: sf.AutoGaussian().fit(x[:400], y[:400])",
    "select AutoClassifier, 400 rows": "f = lambda: sf.AutoClassifier().fit(x[:400], y[:400])",
}
LOGISTIC_SHAPES = ((4_000, 20, 5), (200_000, 50, 2), (50_000, 30, 10))
# the worker answers each line, a number of calls and the code of a new call, by its best seconds
WORKER = """
import json, sys, time
import suffice as sf
clock = time.{clock}
for line in sys.stdin:
    asked = json.loads(line)
    if asked["code"]:
        scope = {{"sf": sf}}
        exec(asked["code"], scope)
        scope["f"]()
    best = float("inf")
    for _ in range(asked["calls"]):
        start = clock()
        scope["f"]()
        best = min(best, clock() - start)
    print(best, flush=True)
"""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks beside")
    parser.add_argument("other", type=Path, help="folder that holds the other suffice")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of names of calls")
    parser.add_argument("--seconds", type=float, default=6.0, help="of turns for each call")
    parser.add_argument("--one-core", action="store_true", help="processor seconds of a core")
    parser.add_argument("--quality", type=Path, help="compare quality; folder of the results")
    parser.add_argument("--most-rows", type=int, default=6000, help="of tables of --quality")
    options = parser.parse_args(arguments)
    other = options.other.resolve()
    if options.quality:
        from benchmarks.beside_quality import compare_quality

        print(compare_quality(THIS, other, options.quality, options.most_rows))
        return
    clock = "process_time" if options.one_core else "perf_counter"
    if options.one_core:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    workers = {"this": start_worker(THIS, clock), "other": start_worker(other, clock)}
    print(f"# this version beside {options.other} ({machine()}), {clock}\n")
    rows = []
    for name, code in cases().items():
        if any(word in name for word in options.only):
            rows.append(compared(name, code, workers, options.seconds))
            print(f"{name}: {rows[-1]['this / other']}", file=sys.stderr, flush=True)
    print(table(rows))
    for worker in workers.values():
        stop_worker(worker)


def cases() -> dict[str, str]:
    """Return the code that makes ``f``, the call to be timed, by name."""
    found = {}
    for n, d, k in SHAPES:
        rows = ROWS.format(n=n, d=d, k=k)
        shape = f"{n:,} × {d}, {k} classes"
        for model in ("LDA", "QDA", "GaussianNB"):
            found[f"fit {model}, {shape}"] = f"{rows}f = lambda: sf.{model}().fit(x, y)"
        for model in ("LDA", "QDA", "GaussianNB"):
            fitted = f"{rows}m = sf.{model}().fit(x, y)\n"
            found[f"predict {model} proba, {shape}"] = (
                f"{fitted}f = lambda: m.predict_proba(x)"
            )
            found[f"predict {model} class, {shape}"] = f"{fitted}f = lambda: m.predict(x)"
    rows = ROWS.format(n=4000, d=20, k=5) + GRID
    for name, code in SELECTIONS.items():
        found[f"{name}, 4,000 × 20, 5 classes"] = rows + code
    for n, d, k in LOGISTIC_SHAPES:
        rows = ROWS.format(n=n, d=d, k=k)
        name = f"logistic, {n:,} × {d}, {k} classes"
        found[name] = f"{rows}f = lambda: sf.LogisticRegression().fit(x, y)"
    return found


def start_worker(source: Path, clock: str = "perf_counter") -> subprocess.Popen[str]:
    """Return a process that imports suffice from a folder and waits for calls."""
    folders = [str(source), *(folder for folder in sys.path if "site-packages" in folder)]
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", WORKER.format(clock=clock)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def stop_worker(worker: subprocess.Popen[str]) -> None:
    worker.stdin.close()
    worker.wait()


def compared(
    name: str,
    code: str,
    workers: dict[str, subprocess.Popen[str]],
    seconds: float,
) -> dict[str, Any]:
    """Return the best seconds of both versions at one call, and their ratio."""
    best = {}
    for version, worker in workers.items():
        best[version] = seconds_of(worker, code, 1)
    # a turn takes about a tenth of a second, or one call
    calls = max(int(0.1 / max(best.values())), 1)
    turns = max(int(seconds / (2 * calls * max(best.values()))), FEWEST_TURNS)
    versions = list(workers)
    for _ in range(turns):
        for version in versions:
            best[version] = min(best[version], seconds_of(workers[version], "", calls))
        versions.reverse()
    return {
        "call": name,
        "this s": best["this"],
        "other s": best["other"],
        "this / other": round(best["this"] / best["other"], 3),
    }


def seconds_of(worker: subprocess.Popen[str], code: str, calls: int) -> float:
    """Return the least seconds of some calls, of new code or of the code before."""
    worker.stdin.write(json.dumps({"code": code, "calls": calls}) + "\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())
