"""Tables in every form that a source may take."""

import io

import numpy as np
import polars as pl
import pytest


def labelled_frame(n=500, seed=0):
    """Return three numeric features, an integer one, an id and a text target."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["blue", "green", "red"], n)
    return pl.DataFrame(
        {
            "row_id": [f"r{i:05}" for i in range(n)],
            "a": rng.normal(size=n) + (y == "red"),
            "b": rng.normal(size=n) * 100 + 1e6,
            "c": rng.normal(size=n) - 2.0 * (y == "green"),
            "count": rng.integers(0, 50, n),
            "colour": y,
        }
    )


@pytest.fixture(scope="session")
def frame():
    return labelled_frame()


WRITERS = {
    "csv": lambda f, p: f.write_csv(p),
    "tsv": lambda f, p: f.write_csv(p, separator="\t"),
    "parquet": lambda f, p: f.write_parquet(p, row_group_size=64),
    "feather": lambda f, p: f.write_ipc(p),
    "jsonl": lambda f, p: f.write_ndjson(p),
}


@pytest.fixture
def write(tmp_path):
    def write(frame, name):
        path = tmp_path / name
        WRITERS[name.rsplit(".", 1)[1]](frame, path)
        return path

    return write


@pytest.fixture
def standard_input(monkeypatch):
    def feed(data):
        class Stdin:
            buffer = io.BytesIO(data)

        monkeypatch.setattr("sys.stdin", Stdin)

    return feed
