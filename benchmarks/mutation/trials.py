"""Run the tests of a package on mutants, each in a copy of the tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.mutation.recorder import RECORD

if TYPE_CHECKING:
    from benchmarks.mutation.candidates import Mutant

COPIED = ("src", "tests", "benchmarks", "docs", "pyproject.toml", "README.md")
PATIENCE = 5.0  # a mutant that takes so many times as long as the tests do is caught, too
LEAST_LIMIT = 60.0  # seconds
ENDED = "pytest ended"  # without a test that failed


@dataclass(frozen=True)
class Baseline:
    """What the tests of a package do without a mistake."""

    seconds: dict[str, float]  # of each file of tests that passes
    failing: tuple[str, ...]  # tests that fail here without a mistake, and are left out

    @property
    def limit(self) -> float:
        return max(LEAST_LIMIT, PATIENCE * sum(self.seconds.values()) + LEAST_LIMIT / 2)


@dataclass(frozen=True)
class Trial:
    """What became of one mutant."""

    outcome: str  # "killed", "timed out" or "survived"
    test: str  # the first that failed
    seconds: float


class Tree:
    """A copy of the repository, in which one mutant at a time is tried."""

    def __init__(self, root: Path, python: str) -> None:
        self.python = python
        self.folder = Path(tempfile.mkdtemp(prefix="suffice-mutants-"))
        self.clock = int(time.time())
        for name in COPIED:
            if (root / name).is_dir():
                shutil.copytree(root / name, self.folder / name)
            elif (root / name).exists():
                shutil.copy2(root / name, self.folder / name)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def baseline(self, tests: tuple[str, ...]) -> Baseline:
        entries, _ = self._run(["--continue-on-collection-errors", *tests], limit=None)
        seconds: dict[str, float] = defaultdict(float)
        for entry in entries:
            if entry["test"].startswith(ENDED):
                raise SystemExit(
                    f"the tests {', '.join(tests)} do not run here: {entry['test']}"
                )
            seconds[_file_of(entry["test"])] += entry["seconds"]
        failing = tuple(sorted({entry["test"] for entry in entries if entry["failed"]}))
        return Baseline(
            seconds={name: s for name, s in seconds.items() if name not in failing},
            failing=failing,
        )

    def trial(self, mutant: Mutant, baseline: Baseline) -> Trial:
        path = self.folder / mutant.path
        original = path.read_text(encoding="utf-8")
        times = path.stat()
        path.write_text(mutant.source, encoding="utf-8")
        # neither Python's nor Numba's cache may take one mutant for another of the same second
        self.clock += 10
        os.utime(path, (self.clock, self.clock))
        start = time.monotonic()
        try:
            left_out = [f"--deselect={test}" for test in baseline.failing]
            files = sorted(baseline.seconds, key=lambda name: _order(name, mutant, baseline))
            entries, timed_out = self._run(["-x", *left_out, *files], baseline.limit)
        finally:
            path.write_text(original, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        failed = [entry["test"] for entry in entries if entry["failed"]]
        seconds = time.monotonic() - start
        if timed_out:
            return Trial("timed out", "", seconds)
        if failed:
            return Trial("killed", failed[0], seconds)
        return Trial("survived", "", seconds)

    def _run(self, arguments: list[str], limit: float | None) -> tuple[list[dict], bool]:
        """Return what was recorded of each test, and whether the time ran out."""
        record = self.folder / "record.jsonl"
        record.write_text("")
        environment = {
            **os.environ,
            RECORD: str(record),
            "PYTHONPATH": f"{self.folder / 'src'}{os.pathsep}{self.folder}",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
        }
        command = [self.python, "-m", "pytest", "-q", "-p", "benchmarks.mutation.recorder"]
        command += ["-p", "no:cacheprovider", "-p", "no:xdist", *arguments]
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [], True
        entries = [json.loads(line) for line in record.read_text().splitlines()]
        failed = any(entry["failed"] for entry in entries)
        if done.returncode != 0 and not failed:  # an error before any test, or a crash
            last = done.stdout.decode(errors="replace").strip().splitlines()[-1:]
            entries.append({"test": f"{ENDED}: {last}", "failed": True, "seconds": 0.0})
        return entries, False


def _file_of(test: str) -> str:
    return test.split("::")[0]


def _order(name: str, mutant: Mutant, baseline: Baseline) -> tuple[bool, float]:
    """Return what sorts files of tests: those named after the module first, then the quick."""
    module = Path(mutant.path).stem
    subject = Path(name).stem.removeprefix("test_")
    is_named_alike = subject[:5] == module[:5] or module in subject
    return not is_named_alike, baseline.seconds[name]
