"""Mutation testing: the share of deliberate mistakes that the quick tests catch.

``python -m benchmarks mutants [--n 440] [--seed 0] [--package core/moments] [--jobs 2]``.
It first measures which tests run which blocks of the source, then tries each mutant with the
tests that run its block. Results are kept in ``benchmarks/mutation/results.jsonl``: a run that was
stopped continues, and only mutants of functions that have changed are tried anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.mutation.blocks import References
from benchmarks.mutation.candidates import Mutant, mutants_of
from benchmarks.mutation.mapping import TestMap
from benchmarks.mutation.processes import Task, outcomes, preload
from benchmarks.mutation.trials import Trial, Trials, trial_of

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "suffice"
EQUIVALENT = ROOT / "benchmarks" / "mutation" / "equivalent.toml"
RESULTS = ROOT / "benchmarks" / "mutation" / "results.jsonl"
# a package, and the tests that are tried first on a mistake in it
PACKAGES = {
    "core/moments": ("tests/core/moments", "tests/laws"),
    "core/estimation": ("tests/core/estimation", "tests/reference"),
    "core/model": ("tests/core/model",),
    "core/decision": ("tests/core/decision",),
    "discriminative": ("tests/discriminative",),
    "selection/validation": ("tests/selection/validation",),
    "evaluate/comparison": ("tests/evaluate/comparison",),
    "evaluate/diagnostics": ("tests/evaluate/diagnostics",),
}
TESTS = (
    "tests/core",
    "tests/laws",
    "tests/reference",
    "tests/discriminative",
    "tests/estimators",
    "tests/selection",
    "tests/evaluate",
    "tests/contract",
)
NOT_TRIED = ("device_loops.py", "device.py")  # need a GPU
NEVER = 1e9  # seconds


def main(arguments: list[str]) -> None:
    options = _options(arguments)
    packages = options.package or list(PACKAGES)
    results = Results(Path(options.out))
    n_each = -(-options.n // len(packages))
    chosen = {package: _sample(package, n_each, options.seed) for package in packages}
    if not options.table:
        _try_all(chosen, results, options)
        results.write_sorted()
    print(results.table(chosen))
    for package in packages:
        print(results.survivors(package, chosen[package]))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks mutants")
    parser.add_argument("--n", type=int, default=440, help="mutants in all, shared equally")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--package", action="append", choices=list(PACKAGES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", default=str(RESULTS))
    parser.add_argument(
        "--map",
        default=str(ROOT / ".cache" / "mutants-map"),
        help="folder for what is known of each file of tests",
    )
    parser.add_argument(
        "--seconds", type=float, default=NEVER, help="stop before; run again to continue"
    )
    parser.add_argument(
        "--cap", type=float, default=60.0, help="most seconds of tests for one mutant"
    )
    parser.add_argument(
        "--own-tests",
        action="store_true",
        help="only the tests of the packages tried: quicker, and stricter",
    )
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--table", action="store_true", help="only print what is on record")
    return parser.parse_args(arguments)


def _sources(package: str) -> list[Path]:
    files = sorted((SOURCE / package).rglob("*.py"))
    return [path for path in files if path.name not in NOT_TRIED]


def _files_of_tests(folders: Iterable[str], sources: list[Path]) -> list[Path]:
    files = [path for name in folders for path in sorted((ROOT / name).rglob("test_*.py"))]
    with_examples = [path for path in sources if ">>>" in path.read_text(encoding="utf-8")]
    return files + with_examples


def _sample(package: str, n: int, seed: int) -> list[Mutant]:
    """Return a random sample, in which a change of the source moves few mutants."""
    mutants = [
        mutant
        for path in _sources(package)
        for mutant in mutants_of(ROOT, path)
        if not mutant.function.lower().startswith("device")  # needs a GPU
    ]

    def rank(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed} {mutant.key}".encode()).digest()

    return sorted(mutants, key=rank)[:n]


def _try_all(
    chosen: dict[str, list[Mutant]], results: Results, options: argparse.Namespace
) -> None:
    deadline = time.monotonic() + options.seconds
    sources = [path for package in PACKAGES for path in _sources(package)]
    os.chdir(ROOT)
    preload()
    test_map = TestMap(ROOT, Path(options.map))
    if options.own_tests:
        folders = [folder for package in chosen for folder in PACKAGES[package]]
        files = _files_of_tests(folders, [path for p in chosen for path in _sources(p)])
    else:
        files = _files_of_tests(TESTS, sources)
    if not test_map.complete(files, sources, options.jobs, deadline):
        print("the time ended before all tests were known: run again to continue")
        return
    trials = Trials(ROOT, test_map, References(ROOT, sources), options.cap)
    remaining: dict[str, tuple[str, Mutant]] = {
        mutant.key: (package, mutant)
        for package, mutants in chosen.items()
        for mutant in mutants
        if not results.is_settled(mutant, options.again)
    }
    tasks = _tasks(trials, remaining)
    for outcome in outcomes(tasks, options.jobs, deadline):
        package, mutant = remaining[outcome.task.name]
        results.add(package, mutant, trial_of(outcome))


def _tasks(trials: Trials, remaining: dict[str, tuple[str, Mutant]]) -> list[Task]:
    """Return the tasks, those that may take longest first."""
    tasks = [trials.task(mutant, PACKAGES[package]) for package, mutant in remaining.values()]
    return sorted(tasks, key=lambda task: -task.limit)


class Results:
    """The record of trials: one line of JSON for each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.equivalent: dict[str, str] = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))
        self.entries: dict[str, dict] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self.entries[entry["mutant"]] = entry

    def is_settled(self, mutant: Mutant, again: bool) -> bool:
        outcome = self._outcome(mutant)
        return outcome is not None and not (again and outcome == "survived")

    def add(self, package: str, mutant: Mutant, trial: Trial) -> None:
        entry = {
            "package": package,
            "mutant": mutant.key,
            "outcome": trial.outcome,
            "test": trial.test,
        }
        self.entries[mutant.key] = entry
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        print(f"{trial.outcome:10} {trial.seconds:6.1f} s  {mutant.key}", flush=True)

    def write_sorted(self) -> None:
        """Write each mutant once, in the order of their names."""
        lines = [json.dumps(self.entries[name]) + "\n" for name in sorted(self.entries)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(lines), encoding="utf-8")

    def table(self, chosen: dict[str, list[Mutant]]) -> str:
        lines = [
            "| package | mutants | killed | survived | equivalent | killed, equivalent left out |",
            "|---|---|---|---|---|---|",
        ]
        counts = {name: self._counts(mutants) for name, mutants in chosen.items()}
        for name, count in {**counts, "all": sum(counts.values(), Counter())}.items():
            tried = count.total()
            others = tried - count["equivalent"]
            killed = others - count["survived"]
            percentage = f"{100 * killed / others:.1f} %" if others else "–"
            lines.append(
                f"| `{name}` | {tried} | {killed} | {count['survived']} "
                f"| {count['equivalent']} | {percentage} |"
            )
        return "\n".join(lines)

    def survivors(self, package: str, mutants: list[Mutant]) -> str:
        survived = [mutant for mutant in mutants if self._outcome(mutant) == "survived"]
        lines = [f"- {mutant.key} (line {mutant.line})" for mutant in survived]
        return "\n".join([f"\n{package}", *lines])

    def _counts(self, mutants: list[Mutant]) -> Counter[str]:
        outcomes_of_all = [self._outcome(mutant) for mutant in mutants]
        return Counter(outcome for outcome in outcomes_of_all if outcome is not None)

    def _outcome(self, mutant: Mutant) -> str | None:
        if mutant.key not in self.entries:
            return None
        outcome = self.entries[mutant.key]["outcome"]
        is_equivalent = outcome == "survived" and mutant.key in self.equivalent
        return "equivalent" if is_equivalent else outcome
