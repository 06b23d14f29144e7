"""Compare a dozen operations of this checkout with an older revision of it.

``python -m benchmarks guard OLD_REV [--seconds S]``: checks the old revision out into a temporary
folder and runs both in turns, one process each, on one core, by processor seconds. It fails
where a ratio is above ``--most``. Run it before a change of the core is called done.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.beside import THIS, cases, compared, start_worker, stop_worker
from benchmarks.timing import machine, table

OPERATIONS = (
    "fit LDA, 150 × 4, 3 classes",
    "fit LDA, 1,000,000 × 10, 3 classes",
    "fit QDA, 1,000,000 × 10, 3 classes",
    "fit LDA, 50,000 × 200, 10 classes",
    "fit QDA, 200,000 × 20, 100 classes",
    "fit GaussianNB, 1,000,000 × 10, 3 classes",
    "predict LDA proba, 200,000 × 20, 100 classes",
    "predict QDA proba, 50,000 × 200, 10 classes",
    "predict LDA class, 150 × 4, 3 classes",
    "select RDA, 4,000 × 20, 5 classes",
    "select LDA(shrinkage='auto'), 4,000 × 20, 5 classes",
    "select AutoClassifier, 400 rows, 4,000 × 20, 5 classes",
    "logistic, 50,000 × 30, 10 classes",
)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks guard")
    parser.add_argument("revision", help="older revision: a commit, a tag or a branch")
    parser.add_argument("--seconds", type=float, default=6.0, help="of turns for each call")
    parser.add_argument("--most", type=float, default=1.05, help="largest ratio that passes")
    options = parser.parse_args(arguments)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    code_of = cases()
    rows = []
    with checked_out(options.revision) as folder:
        workers = {
            "this": start_worker(THIS, "process_time"),
            "other": start_worker(folder / "src", "process_time"),
        }
        for name in OPERATIONS:
            rows.append(compared(name, code_of[name], workers, options.seconds))
            print(f"{name}: {rows[-1]['this / other']}", file=sys.stderr, flush=True)
        for worker in workers.values():
            stop_worker(worker)
    print(f"# this checkout beside {options.revision} ({machine()}), processor seconds\n")
    print(table(rows))
    slower = [row["call"] for row in rows if row["this / other"] > options.most]
    if slower:
        raise SystemExit(f"slower than {options.most} times {options.revision}: {slower}")


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Check a revision out into a temporary folder, and remove it afterwards."""
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "revision"
        git = ["git", "-C", str(root), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(folder), revision], check=True)
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)
