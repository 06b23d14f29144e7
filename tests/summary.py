"""What a run says at its end: parts that were not tried, and scikit-learn's exceptions.

Also what it refuses: a part that CI installs and tests skip, and files left in the tree.
"""

import os
import re
from collections import Counter
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# packages that only some installs have; a file of tests that needs another one fails to load
EXTRAS = {
    "array_api_compat",
    "array_api_strict",
    "boto3",
    "botocore",
    "cryptography",
    "cupy",
    "dask",
    "deltalake",
    "distributed",
    "duckdb",
    "fastexcel",
    "ibis",
    "latex2mathml",
    "moto",
    "mpmath",
    "mypy",
    "obstore",
    "onnx",
    "onnxruntime",
    "psycopg",
    "pyarrow",
    "pyiceberg",
    "pyspark",
    "sqlglot",
    "starlette",
    "torch",
    "triton",
    "uvicorn",
    "xlsxwriter",
    "zstandard",
}
# what CI does not install: everything else that is skipped there is an error
NOT_IN_CI = {
    "CUDA",
    "catboost",
    "cupy",
    "deltalake",
    "lightgbm",
    "pyiceberg",
    "torch",
    "triton",
    "xgboost",
}
REASONS = {
    r"could not import '(\w+)": None,  # the package that it names
    r"no CUDA device": "CUDA",
    r"Java": "Java",
    r"PostgreSQL": "PostgreSQL",
    r"Chromium": "Chromium",
}
# folders of tools, where files may appear
IGNORED = {"__pycache__", "node_modules", "dist", "build", "site"}


def skips_missing_extra(report, error):
    """Turn the error of a file or a test that lacks an optional package into a skip naming it."""
    if not report.failed:
        return
    while error is not None:
        package = _missing_extra(error) if isinstance(error, ImportError) else None
        if package is not None:
            report.outcome = "skipped"
            report.longrepr = (report.nodeid, 0, f"Skipped: could not import '{package}'")
            return
        error = error.__cause__


def _missing_extra(error):
    """Return the optional package that an import has not found, or None."""
    named = (
        {error.name.partition(".")[0]} if error.name else set(re.findall(r"\w+", str(error)))
    )
    return min((name for name in named & EXTRAS if not is_installed(name)), default=None)


def is_installed(package):
    """Return whether a package can be imported, though a test may have hidden it."""
    return PathFinder.find_spec(package) is not None


def _reason(report):
    longrepr = report.longrepr
    text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return text.removeprefix("Skipped: ")


def part_of(reason):
    """Return the part that a reason for skipping says is missing, or None."""
    for pattern, part in REASONS.items():
        found = re.search(pattern, reason)
        if found:
            return part or found[1]
    return None


def untried_parts(reports):
    """Return how many tests were skipped for want of each part."""
    parts = [part_of(_reason(report)) for report in reports]
    return Counter(part for part in parts if part is not None)


def refused_in_ci(parts):
    """Return the parts that CI installs, though tests that need them were skipped."""
    return sorted(set(parts) - NOT_IN_CI) if os.environ.get("CI") == "true" else []


def files_of_tree():
    """Return the files of the repository, without those of tools."""
    found = set()
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name for name in folders if not name.startswith(".") and name not in IGNORED
        ]
        found.update(Path(folder, name) for name in names)
    return {path for path in found if not path.name.startswith((".", "core."))}


def is_controller(config):
    """Return whether this process is pytest itself, not a worker of it."""
    return not hasattr(config, "workerinput")


def _skipped(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return reporter.stats.get("skipped", []) if reporter is not None else []


class TreeGuard:
    """A plugin that fails a run which leaves files in the tree, or skips a part of CI."""

    def __init__(self):
        self.before = files_of_tree()
        self.left = []
        self.refused = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        self.left = sorted(files_of_tree() - self.before)
        self.refused = refused_in_ci(untried_parts(_skipped(session.config)))
        if self.left or self.refused:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        _write_untried(terminalreporter)
        _write_expected_failures(terminalreporter)
        for path in self.left:
            terminalreporter.write_line(
                f"ERROR: a test left {path.relative_to(ROOT)}", red=True
            )
        for part in self.refused:
            terminalreporter.write_line(
                f"ERROR: CI installs {part}, but the tests that need it were skipped", red=True
            )


def _write_untried(reporter):
    skipped = reporter.stats.get("skipped", [])
    parts = untried_parts(skipped)
    others = Counter(r for r in map(_reason, skipped) if part_of(r) is None)
    if not skipped:
        return
    reporter.section("not tried")
    for part, n in [*parts.most_common(), *others.most_common()]:
        reporter.write_line(f"{n:5}  {part}")


def _write_expected_failures(reporter):
    failed = reporter.stats.get("xfailed", [])
    if not failed:
        return
    reasons = Counter(report.wasxfail.removeprefix("reason: ") for report in failed)
    reporter.section("expected failures, by reason")
    for reason, n in reasons.most_common():
        reporter.write_line(f"{n:5}  {reason or 'no reason given'}")
