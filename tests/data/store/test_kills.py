"""Writers that are killed lose nothing, double nothing, and leave nothing half done."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def folder():
    """Return a folder in memory, where there is one: kills, not disks, are tried here."""
    with tempfile.TemporaryDirectory(
        dir="/dev/shm" if os.path.isdir("/dev/shm") else None
    ) as name:
        yield Path(name)


def killed(address, rounds):
    """Return how many writers of a store were killed, and how many changes are on record."""
    command = [
        sys.executable,
        str(Path(__file__).parent / "killing.py"),
        address,
        str(rounds),
        "7",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    return told["kills"], told["changes"]


@pytest.mark.parametrize("address", ["{}/a.store", "sqlite:{}/a.db"])
def test_totals_are_exact_after_each_of_200_kills(address, folder):
    kills, changes = killed(address.format(folder), 40)
    assert kills == 200
    assert changes > 10


def test_totals_in_postgres_are_exact_after_each_of_40_kills(postgres):
    kills, changes = killed(f"{postgres}#killed", 8)
    assert kills == 40
    assert changes > 2
