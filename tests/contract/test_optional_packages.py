"""A machine without an optional package skips the tests that need it."""

import re
import sys
import tomllib
from collections import defaultdict
from importlib.metadata import packages_distributions
from types import SimpleNamespace

import pytest
from tests import summary
from tests.summary import EXTRAS, ROOT

from suffice.errors import InvalidParameterError

# without these no test runs at all
NEEDED_BY_EVERY_TEST = {"hypothesis", "pytest", "pytest-xdist", "suffice"}
OF_USERS_AND_TESTS = ("sql", "gpu", "onnx", "s3", "excel", "lab", "privacy", "test", "docs")
# tools that no test imports
TOOLS = {"zensical"}


def required_packages():
    """Return the distributions that the extras of users and tests install."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [
        line for name in OF_USERS_AND_TESTS for line in extras["optional-dependencies"][name]
    ]
    names = {re.split(r"[\[<>=]", line)[0].lower() for line in lines}
    return sorted(names - NEEDED_BY_EVERY_TEST - TOOLS)


def test_every_optional_package_may_be_missing():
    modules_of = defaultdict(set)
    for module, distributions in packages_distributions().items():
        for distribution in distributions:
            modules_of[distribution.lower()].add(module)
    installed = [name for name in required_packages() if name in modules_of]
    if not installed:
        pytest.skip("no optional package is installed")
    unknown = [name for name in installed if not modules_of[name] & EXTRAS]
    assert unknown == []


def report_of_failure():
    return SimpleNamespace(
        failed=True, outcome="failed", nodeid="tests/test_x.py", longrepr="traceback"
    )


@pytest.mark.parametrize(
    ("package", "outcome"), [("latex2mathml", "skipped"), ("numpy", "failed")]
)
def test_tests_are_skipped_only_for_want_of_an_optional_package(package, outcome, monkeypatch):
    monkeypatch.setattr(summary, "is_installed", lambda package: False)
    report = report_of_failure()
    error = ModuleNotFoundError(f"No module named {package!r}", name=package)
    summary.skips_missing_extra(report, error)
    assert report.outcome == outcome


def test_tests_are_skipped_where_our_own_error_says_that_a_package_is_missing(monkeypatch):
    monkeypatch.setattr(summary, "is_installed", lambda package: False)
    report = report_of_failure()
    error = InvalidParameterError("this needs the extra 'privacy'")
    error.__cause__ = ModuleNotFoundError(
        "No module named 'cryptography'", name="cryptography"
    )
    summary.skips_missing_extra(report, error)
    assert report.longrepr[2] == "Skipped: could not import 'cryptography'"


def test_tests_fail_where_an_installed_package_is_not_found(monkeypatch):
    monkeypatch.setattr(summary, "is_installed", lambda package: True)
    report = report_of_failure()
    error = ModuleNotFoundError("No module named 'duckdb'", name="duckdb")
    summary.skips_missing_extra(report, error)
    assert report.outcome == "failed"


def test_a_package_that_a_test_hides_counts_as_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert summary.is_installed("numpy")
    assert not summary.is_installed("no_such_package")
