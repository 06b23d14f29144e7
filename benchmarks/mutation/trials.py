"""Run on a mutant the tests that run its block."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.mutation.candidates import mutated
from benchmarks.mutation.loading import ChangedSources
from benchmarks.mutation.mapping import OPTIONS, Test, TestMap
from benchmarks.mutation.processes import Outcome, Task

if TYPE_CHECKING:
    from benchmarks.mutation.blocks import References
    from benchmarks.mutation.candidates import Mutant

PATIENCE = 5.0  # a mutant that takes so many times as long as the tests do is caught, too
LEAST_LIMIT = 40.0  # seconds
COMPILATION = 120.0  # seconds that Numba may need in addition
SECONDS_OF_FILE = 0.3  # what it takes to collect a file of tests
FIRST_ROUND = 30  # tests, of few files: most mutants do not survive them
FILES_OF_FIRST_ROUND = 4


@dataclass(frozen=True)
class Trial:
    """What became of one mutant."""

    outcome: str  # "killed", "timed out" or "survived"
    test: str  # the first that failed
    n_tests: int  # that run the block of the mutant
    seconds: float


@dataclass(frozen=True)
class Trials:
    """How mutants are tried."""

    root: Path
    test_map: TestMap
    references: References
    most_seconds: float  # that the tests of one mutant may take without it

    def task(self, mutant: Mutant, folders: tuple[str, ...]) -> Task:
        """Return the task that runs the tests of a mutant, those of its package first."""
        tests = self._tests(mutant, folders)
        seconds = sum(test.seconds for test in tests)
        limit = LEAST_LIMIT + PATIENCE * seconds
        if _is_compiled(mutant):
            limit += COMPILATION
        rounds = _rounds(tests)
        return Task(mutant.key, partial(try_mutant, self.root, mutant, rounds), limit)

    def _tests(self, mutant: Mutant, folders: tuple[str, ...]) -> list[Test]:
        """Return the tests that run the block of a mutant, as many as time allows."""
        blocks = self.references.blocks_that_run(mutant.block, mutant.constant)
        found = {test for block in blocks for test in self.test_map.tests_of[block]}
        chosen = []
        files: set[str] = set()
        left = self.most_seconds
        for test in sorted(found, key=partial(_order, folders)):
            left -= test.seconds + (0.0 if test.file in files else SECONDS_OF_FILE)
            if left < 0.0 and chosen:
                break
            files.add(test.file)
            chosen.append(test)
        return chosen


def trial_of(outcome: Outcome) -> Trial:
    """Return what became of the mutant of a task."""
    seconds = round(outcome.seconds, 1)
    if outcome.timed_out:
        return Trial("timed out", "", 0, seconds)
    if outcome.result is None:
        return Trial("killed", "the process of the tests ended", 0, seconds)
    failed, n_tests = outcome.result
    return Trial("killed" if failed else "survived", failed or "", n_tests, seconds)


def try_mutant(root: Path, mutant: Mutant, rounds: list[list[Test]]) -> tuple[str, int]:
    """Return the first test that fails, or nothing; the process is of no use afterwards."""
    os.environ["PYTHONPATH"] = str(root / "src")
    with tempfile.TemporaryDirectory(prefix="suffice-numba-") as folder:
        if _is_compiled(mutant):
            _compile_anew(folder)
        change = {root / mutant.path: partial(mutated, root, mutant)}
        ChangedSources(root / "src", change).install()
        n_tests = sum(len(tests) for tests in rounds)
        for tests in rounds:
            failed = _first_failure(tests)
            if failed:
                return failed, n_tests
    return "", n_tests


def _first_failure(tests: list[Test]) -> str:
    plugin = _Chosen([test.name for test in tests])
    files = list(dict.fromkeys(test.file for test in tests))
    status = pytest.main([*OPTIONS, "-x", *files], plugins=[plugin])
    if not plugin.failed and status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return f"pytest ended with {status}"
    return plugin.failed


class _Chosen:
    """A plugin of pytest that runs chosen tests, and keeps the name of the first that fails."""

    def __init__(self, names: list[str]) -> None:
        self.order = {name: at for at, name in enumerate(names)}
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self.order]
        items[:] = sorted(chosen, key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "failed" and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = f"{report.nodeid} (collection)"


def _is_compiled(mutant: Mutant) -> bool:
    return mutant.path.endswith("loops.py")


def _compile_anew(folder: str) -> None:
    """Keep machine code of mutants, and of what calls them, apart from that of others."""
    import numba

    os.environ["NUMBA_CACHE_DIR"] = folder
    numba.config.CACHE_DIR = folder


def _rounds(tests: list[Test]) -> list[list[Test]]:
    """Return the tests in two rounds, each ordered by file."""
    early_files = list(
        islice(dict.fromkeys(test.file for test in tests), FILES_OF_FIRST_ROUND)
    )
    early = [test for test in tests if test.file in early_files][:FIRST_ROUND]
    late = [test for test in tests if test not in set(early)]
    return [list(_by_file(group)) for group in (early, late) if group]


def _by_file(tests: list[Test]) -> Iterator[Test]:
    for file in dict.fromkeys(test.file for test in tests):
        yield from (test for test in tests if test.file == file)


def _order(folders: tuple[str, ...], test: Test) -> tuple[bool, float, str]:
    is_of_package = test.file.startswith(folders)
    return not is_of_package, test.seconds, test.name
