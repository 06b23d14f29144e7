"""A run says at its end what was not tried, and fails if it leaves files or skips a part of CI."""

from types import SimpleNamespace

import pytest
from tests import summary


def skipped(reason):
    return SimpleNamespace(longrepr=("tests/test_x.py", 1, f"Skipped: {reason}"))


REASONS = [
    ("could not import 'duckdb': No module named 'duckdb'", "duckdb"),
    ("no CUDA device", "CUDA"),
    ("Spark needs Java: apt-get install openjdk-17-jre-headless", "Java"),
    ("PostgreSQL is not installed", "PostgreSQL"),
    ("there is no Chromium", "Chromium"),
    ("the file is already small", None),
]


# names of parameters: a server's name there would make a test slow
NAMES = ["a package", "a device", "a runtime", "a server", "a browser", "something else"]


@pytest.mark.parametrize(("reason", "part"), REASONS, ids=NAMES)
def test_the_reason_for_skipping_names_the_part_that_is_missing(reason, part):
    assert summary.part_of(reason) == part


def test_parts_are_counted_by_the_tests_that_need_them():
    reports = [skipped(reason) for reason, _ in REASONS] + [skipped("no CUDA device")]
    assert summary.untried_parts(reports) == {
        "duckdb": 1,
        "CUDA": 2,
        "Java": 1,
        "PostgreSQL": 1,
        "Chromium": 1,
    }


def test_only_ci_refuses_to_skip_and_only_what_it_installs(monkeypatch):
    parts = {"Java": 1, "CUDA": 2, "duckdb": 1}
    monkeypatch.setenv("CI", "true")
    assert summary.refused_in_ci(parts) == ["Java", "duckdb"]
    monkeypatch.delenv("CI")
    assert summary.refused_in_ci(parts) == []


@pytest.fixture
def session():
    manager = SimpleNamespace(get_plugin=lambda name: None)
    return SimpleNamespace(config=SimpleNamespace(pluginmanager=manager), exitstatus=0)


def test_a_run_that_leaves_a_file_in_the_tree_fails_and_names_it(session, monkeypatch):
    guard = summary.TreeGuard()
    left = summary.ROOT / "tests" / "left.csv"
    monkeypatch.setattr(summary, "files_of_tree", lambda: {*guard.before, left})
    guard.pytest_sessionfinish(session)
    assert session.exitstatus == pytest.ExitCode.TESTS_FAILED
    assert guard.left == [left]


def test_a_run_that_leaves_no_file_in_the_tree_passes(session):
    guard = summary.TreeGuard()
    guard.pytest_sessionfinish(session)
    assert session.exitstatus == 0
    assert guard.left == []
