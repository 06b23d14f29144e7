"""A machine without an optional package skips the tests that need it."""

import re
import tomllib
from collections import defaultdict
from importlib.metadata import packages_distributions
from types import SimpleNamespace

import pytest
from tests.summary import EXTRAS, ROOT, skips_missing_extra

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
    assert len(installed) > 5
    unknown = [name for name in installed if not modules_of[name] & EXTRAS]
    assert unknown == []


@pytest.mark.parametrize(
    ("package", "outcome"), [("latex2mathml", "skipped"), ("numpy", "failed")]
)
def test_a_file_of_tests_is_skipped_only_for_want_of_an_optional_package(package, outcome):
    error = ModuleNotFoundError(f"No module named {package!r}", name=package)
    report = SimpleNamespace(
        failed=True,
        outcome="failed",
        nodeid="tests/test_x.py",
        longrepr="traceback",
        call=SimpleNamespace(excinfo=SimpleNamespace(value=error)),
    )
    skips_missing_extra(report)
    assert report.outcome == outcome
