"""A plugin of pytest that writes the outcome and duration of every test as lines of JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

RECORD = "SUFFICE_MUTANTS_RECORD"  # the variable that names the file


def _write(entry: dict[str, object]) -> None:
    with Path(os.environ[RECORD]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    is_failure = report.outcome == "failed"
    if report.when == "call" or is_failure:
        _write({"test": report.nodeid, "failed": is_failure, "seconds": report.duration})


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _write({"test": report.nodeid, "failed": True, "seconds": 0.0})
