"""Compare this code with another version: ``python -m benchmarks beside OTHER/src [NAME] [TURNS]``.

Two processes, one for each version, take turns at the same calls, so that noise hits both alike.
Times are the best of several turns, printed as the ratio of this version to the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.timing import machine, table

ROUNDS = 9
SHAPES = (
    (150, 4, 3),
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
SETTINGS = {
    "RDA": "f = lambda: sf.RDA().fit(x, y)",
    "cross_validate": "f = lambda: sf.cross_validate(sf.GaussianClassifier(), x, y, grid)",
    "leave_one_out": "f = lambda: sf.leave_one_out(sf.QDA(), x, y)",
    "AutoGaussian": "f = lambda: sf.AutoGaussian().fit(x[:400], y[:400])",
    "AutoClassifier": "f = lambda: sf.AutoClassifier().fit(x[:400], y[:400])",
    "logistic": "f = lambda: sf.LogisticRegression().fit(x, y)",
}
GRID = "grid = {'shrinkage': [0.0, 0.1, 0.5], 'pooling': [0.0, 0.5, 1.0]}\n"
WORKER = (
    "import json, sys, time\n"
    "import suffice as sf\n"
    "for line in sys.stdin:\n"
    "    asked = json.loads(line)\n"
    "    if 'code' in asked:\n"
    "        scope = {'sf': sf}\n"
    "        exec(asked['code'], scope)\n"
    "        scope['f']()\n"
    "    start = time.perf_counter()\n"
    "    scope['f']()\n"
    "    print(time.perf_counter() - start, flush=True)\n"
)


def main(arguments: list[str]) -> None:
    other = Path(arguments[0]).resolve()
    wanted = arguments[1] if len(arguments) > 1 else ""
    turns = int(arguments[2]) if len(arguments) > 2 else ROUNDS
    this = Path(__file__).parents[1] / "src"
    workers = {name: _worker(path) for name, path in (("this", this), ("other", other))}
    print(f"# this version beside {other} ({machine()})\n")
    chosen = {name: code for name, code in cases().items() if wanted in name}
    print(table([_row(name, code, workers, turns) for name, code in chosen.items()]))
    for worker in workers.values():
        worker.stdin.close()
        worker.wait()


def cases() -> dict[str, str]:
    """Return the code that makes ``f``, the call to be timed, by name."""
    found = {}
    for n, d, k in SHAPES:
        rows = ROWS.format(n=n, d=d, k=k)
        for model in ("LDA", "QDA", "GaussianNB"):
            shape = f"{n:.0e}, {d}, {k}"
            found[f"{model}.fit {shape}"] = f"{rows}f = lambda: sf.{model}().fit(x, y)"
            fitted = f"{rows}m = sf.{model}().fit(x, y)\n"
            found[f"{model}.predict_proba {shape}"] = f"{fitted}f = lambda: m.predict_proba(x)"
    rows = ROWS.format(n=4000, d=20, k=5) + GRID
    for name, code in SETTINGS.items():
        found[f"{name} 4e3, 20, 5"] = rows + code
    return found


def _worker(source: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", WORKER],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(source), *sys.path[1:]])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _row(name: str, code: str, workers: dict[str, subprocess.Popen], turns: int) -> dict:
    best = dict.fromkeys(workers, float("inf"))
    for turn in range(turns):
        for version, worker in workers.items():
            asked = {"code": code} if turn == 0 else {}
            worker.stdin.write(json.dumps(asked) + "\n")
            worker.stdin.flush()
            best[version] = min(best[version], float(worker.stdout.readline()))
    return {
        "call": name,
        "this s": best["this"],
        "other s": best["other"],
        "this / other": round(best["this"] / best["other"], 2),
    }
