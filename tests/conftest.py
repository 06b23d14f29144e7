"""Shared data: the reference tables and the strategies that laws are tested with."""

import csv
import gc
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from tests.engines import (
    browser,
    bucket,
    client,
    cluster,
    object_store,
    postgres_settings,
    spark,
)
from tests.summary import TreeGuard, is_controller, skips_missing_extra

__all__ = [
    "browser",
    "bucket",
    "client",
    "cluster",
    "object_store",
    "postgres_settings",
    "spark",
]

REFERENCE = Path(__file__).parent / "reference"

# what is imported is compiled once, and not by every process that a test starts
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

settings.register_profile("suffice", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("suffice")

# what shares a server, or a report that takes long to make, runs in one process
TOGETHER = ("[Ss]park|Dask|cluster", "[Pp]ostgres|/sql/|_sql|/store/", "/lab/", "/reporting/")
# fixtures and parameters that start a server, a cluster or a browser: they make a test slow
ENGINE_FIXTURES = {
    "browser",
    "client",
    "cluster",
    "object_store",
    "postgres_settings",
    "spark",
}
ENGINE_PARAMETERS = re.compile("postgres|PostgreSQL|Spark|on a cluster|futures")
# what shares nothing comes last, test by test, so that no worker waits for the other
APART = "/docs/|/contract/|test_process"


def pytest_configure(config):
    if is_controller(config):
        config.pluginmanager.register(TreeGuard())


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    report = yield
    call = getattr(report, "call", None)
    if call is not None and call.excinfo is not None:
        skips_missing_extra(report, call.excinfo.value)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call):
    report = yield
    if call.excinfo is not None:
        skips_missing_extra(report, call.excinfo.value)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for garbage only in what tests make: what is collected stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark every test that needs a server, a cluster or a browser as slow."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        # some parameters are a hundred thousand brackets: split at the first, without a pattern
        _, _, parameters = item.nodeid.partition("[")
        if fixtures & ENGINE_FIXTURES or ENGINE_PARAMETERS.search(parameters):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker whole files, so that nothing is set up or compiled twice."""
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid):
            if re.search(APART, nodeid):
                return nodeid
            found = [pattern for pattern in TOGETHER if re.search(pattern, nodeid)]
            return found[0] if found else super()._split_scope(nodeid)

    return Together(config, log)


def read_table(name):
    """Return the rows, labels and column names of a reference dataset."""
    with (REFERENCE / "data" / f"{name}.csv").open() as file:
        header, *rows = list(csv.reader(file))
    X = np.array([row[:-1] for row in rows], float)
    return X, np.array([row[-1] for row in rows]), header[:-1]


@pytest.fixture(scope="session")
def table():
    return read_table


@pytest.fixture(scope="session")
def reference():
    return lambda name: json.loads((REFERENCE / f"{name}.json").read_text())


@pytest.fixture(scope="session")
def iris(table):
    X, y, _ = table("iris")
    return X, y
