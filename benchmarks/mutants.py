"""Mutation testing: the share of deliberate mistakes that the tests of a package catch.

``python -m benchmarks mutants [--n 400] [--seed 0] [--package core/moments] [--jobs 2]``.
Results are appended to a file, and a run that was stopped continues where it ended.
"""

from __future__ import annotations

import argparse
import json
import queue
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.mutation.candidates import Mutant, mutants_of
from benchmarks.mutation.trials import Baseline, Tree

ROOT = Path(__file__).parents[1]
# a package, and the tests that must catch a mistake in it
PACKAGES = {
    "core/moments": ("tests/core/moments", "tests/laws"),
    "core/estimation": (
        "tests/core/estimation",
        "tests/reference",
        "tests/estimators/test_family_bayes.py",
        "tests/estimators/test_family_edda.py",
        "tests/estimators/test_family_shrinkage.py",
    ),
    "core/model": ("tests/core/model", "tests/estimators/test_from_parameters.py"),
    "core/decision": (
        "tests/core/decision",
        "tests/estimators/test_from_parameters.py",
        "tests/estimators/test_rejecting.py",
    ),
    "discriminative": (
        "tests/discriminative",
        "tests/estimators/test_logistic.py",
        "tests/estimators/test_least_squares.py",
        "tests/estimators/test_perceptron.py",
    ),
    "selection/validation": ("tests/selection/validation",),
    "evaluate/comparison": ("tests/evaluate/comparison",),
    "evaluate/diagnostics": ("tests/evaluate/diagnostics",),
}
NOT_TRIED = ("device_loops.py", "device.py")  # need a GPU


def main(arguments: list[str]) -> None:
    options = _options(arguments)
    packages = options.package or list(PACKAGES)
    results = Results(Path(options.out))
    chosen = {
        package: _sample(package, options.n, options.seed, len(packages))
        for package in packages
    }
    if not options.table:
        for package in packages:
            _try_package(package, chosen[package], results, options)
    print(results.table(chosen))
    for package in packages:
        print(results.survivors(package, chosen[package]))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks mutants")
    parser.add_argument("--n", type=int, default=400, help="mutants in all, shared equally")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--package", action="append", choices=list(PACKAGES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--python", default=sys.executable, help="the Python that runs tests")
    parser.add_argument("--out", default=str(ROOT / ".cache" / "mutants.jsonl"))
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--table", action="store_true", help="only print what is on record")
    return parser.parse_args(arguments)


def _sample(package: str, n: int, seed: int, n_packages: int) -> list[Mutant]:
    """Return the mutants of a package to try: the first of a shuffled list of them all."""
    folder = ROOT / "src" / "suffice" / package
    files = [path for path in sorted(folder.rglob("*.py")) if path.name not in NOT_TRIED]
    mutants = [mutant for path in files for mutant in mutants_of(ROOT, path)]
    random.Random(f"{seed} {package}").shuffle(mutants)
    return mutants[: -(-n // n_packages)]


def _try_package(
    package: str, mutants: list[Mutant], results: Results, options: argparse.Namespace
) -> None:
    remaining = [m for m in mutants if not results.is_settled(m, options.again)]
    if not remaining:
        return
    first = Tree(ROOT, options.python)
    baseline = first.baseline(PACKAGES[package])
    print(
        f"{package}: {len(baseline.seconds)} files of tests, {baseline.limit:.0f} s a mutant"
    )
    for test in baseline.failing:
        print(f"  left out, it fails without a mistake: {test}")
    trees: queue.Queue[Tree] = queue.Queue()
    trees.put(first)
    for _ in range(options.jobs - 1):
        trees.put(Tree(first.folder, options.python))  # with what was compiled

    def try_one(mutant: Mutant) -> None:
        tree = trees.get()
        try:
            results.add(package, mutant, tree, baseline)
        finally:
            trees.put(tree)

    try:
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(try_one, remaining))
    finally:
        while not trees.empty():
            trees.get().remove()


class Results:
    """The record of trials: one line of JSON for each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: dict[str, dict] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self.entries[entry["mutant"]] = entry

    def is_settled(self, mutant: Mutant, again: bool) -> bool:
        entry = self.entries.get(mutant.key)
        return entry is not None and not (again and entry["outcome"] == "survived")

    def add(self, package: str, mutant: Mutant, tree: Tree, baseline: Baseline) -> None:
        trial = tree.trial(mutant, baseline)
        entry = {
            "package": package,
            "mutant": mutant.key,
            "outcome": trial.outcome,
            "test": trial.test,
            "seconds": round(trial.seconds, 1),
        }
        self.entries[mutant.key] = entry
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        print(f"{trial.outcome:10} {trial.seconds:6.1f} s  {mutant.key}", flush=True)

    def table(self, chosen: dict[str, list[Mutant]]) -> str:
        lines = [
            "| package | mutants | killed | survived | % killed |",
            "|---|---|---|---|---|",
        ]
        counts = {name: self._counts(mutants) for name, mutants in chosen.items()}
        totals = [sum(column) for column in zip(*counts.values(), strict=True)]
        for name, (tried, survived) in {**counts, "all": totals}.items():
            killed = tried - survived
            percentage = f"{100 * killed / tried:.1f}" if tried else "–"
            lines.append(f"| {name} | {tried} | {killed} | {survived} | {percentage} |")
        return "\n".join(lines)

    def survivors(self, package: str, mutants: list[Mutant]) -> str:
        keys = [mutant.key for mutant in mutants]
        survived = [key for key in keys if self._outcome(key) == "survived"]
        return "\n".join([f"\n{package}", *(f"- {key}" for key in survived)])

    def _counts(self, mutants: list[Mutant]) -> list[int]:
        outcomes = [self._outcome(mutant.key) for mutant in mutants]
        tried = [outcome for outcome in outcomes if outcome is not None]
        return [len(tried), tried.count("survived")]

    def _outcome(self, key: str) -> str | None:
        return self.entries[key]["outcome"] if key in self.entries else None
