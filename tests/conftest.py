"""Shared data: the reference tables and the strategies that laws are tested with."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

REFERENCE = Path(__file__).parent / "reference"

settings.register_profile("suffice", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("suffice")


def read_table(name):
    """Return the rows, labels and column names of a reference data set."""
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
