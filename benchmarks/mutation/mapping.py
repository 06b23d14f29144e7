"""Which tests run which blocks of the source: measured once for each file of tests."""

from __future__ import annotations

import ast
import builtins
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.mutation.blocks import TOUCH, instrument
from benchmarks.mutation.loading import ChangedSources
from benchmarks.mutation.processes import Task, outcomes

if TYPE_CHECKING:
    from types import CodeType

    from _pytest.fixtures import FixtureDef

OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:benchmark")
LIMIT = 240.0  # seconds for one file of tests


@dataclass(frozen=True)
class Test:
    """A test that passes without a mistake in the source."""

    name: str
    file: str
    seconds: float  # of processor time


class TestMap:
    """The tests that run each block."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.tests_of: dict[str, list[Test]] = defaultdict(list)

    def complete(
        self, files: list[Path], sources: list[Path], jobs: int, deadline: float
    ) -> bool:
        """Run the files of tests that have changed, and return whether all are known."""
        self.folder.mkdir(parents=True, exist_ok=True)
        changed = [file for file in files if not self._is_known(file)]
        # compiled once, before any fork
        codes = {path: _instrumented(self.root, path) for path in sources} if changed else {}
        tasks = [
            Task(str(file), partial(run_and_map, self.root, file, codes), LIMIT)
            for file in changed
        ]
        for outcome in outcomes(tasks, jobs, deadline):
            file = Path(outcome.task.name)
            answer = outcome.result or {"tests": [], "blocks": []}
            answer["hash"] = _hash(file)
            self._record(file).write_text(json.dumps(answer), encoding="utf-8")
            passed = [test for test in answer["tests"] if test["passed"]]
            print(
                f"mapped {outcome.seconds:6.1f} s  {len(passed)} of {len(answer['tests'])} "
                f"tests  {file.relative_to(self.root)}",
                flush=True,
            )
        is_complete = all(self._is_known(file) for file in files)
        for file in files:
            if self._is_known(file):
                self._load(file)
        return is_complete

    def _record(self, file: Path) -> Path:
        return self.folder / (str(file.relative_to(self.root)).replace("/", "+") + ".json")

    def _is_known(self, file: Path) -> bool:
        record = self._record(file)
        return record.exists() and json.loads(record.read_text())["hash"] == _hash(file)

    def _load(self, file: Path) -> None:
        answer = json.loads(self._record(file).read_text(encoding="utf-8"))
        for entry in answer["tests"]:
            if entry["passed"]:
                test = Test(entry["name"], str(file.relative_to(self.root)), entry["seconds"])
                for at in entry["blocks"]:
                    self.tests_of[answer["blocks"][at]].append(test)


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def run_and_map(root: Path, file: Path, codes: dict[Path, CodeType]) -> dict:
    """Run a file of tests on instrumented sources; this process is of no use afterwards."""
    touched: set[str] = set()
    setattr(builtins, TOUCH, touched.add)
    changes = {path: partial(codes.__getitem__, path) for path in codes}
    ChangedSources(root / "src", changes).install()
    plugin = _Mapper(touched)
    pytest.main([*OPTIONS, str(file)], plugins=[plugin])
    blocks = sorted(set().union(*(test["blocks"] for test in plugin.tests)))
    numbers = {block: at for at, block in enumerate(blocks)}
    for test in plugin.tests:
        test["blocks"] = sorted(numbers[block] for block in test["blocks"])
    return {"blocks": blocks, "tests": plugin.tests}


def _instrumented(root: Path, path: Path) -> CodeType:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    instrument(str(path.relative_to(root)), tree)
    return compile(tree, str(path), "exec", dont_inherit=True)


class _Mapper:
    """A plugin of pytest that records what each test touches."""

    def __init__(self, touched: set[str]) -> None:
        self.touched = touched
        self.collected: set[str] = set()  # by statements of the file of tests
        self.fixtures: dict[str, set[str]] = defaultdict(set)  # shared between tests
        self.tests: list[dict] = []
        self.passed = True

    def pytest_collection_finish(self) -> None:
        self.collected = set(self.touched)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: FixtureDef) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        before = set(self.touched)
        self.touched.clear()
        try:
            return (yield)
        finally:
            self.fixtures[fixturedef.argname] |= self.touched
            self.touched.update(before)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.touched.clear()
        self.passed = True
        start = time.process_time()
        answer = yield
        seconds = time.process_time() - start
        blocks = self.touched | self.collected
        for name in getattr(item, "fixturenames", ()):
            blocks |= self.fixtures.get(name, set())
        self.tests.append(
            {
                "name": item.nodeid,
                "passed": self.passed,
                "seconds": round(seconds, 4),
                "blocks": blocks,
            }
        )
        return answer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self.passed = False
