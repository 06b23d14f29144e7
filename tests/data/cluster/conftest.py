"""Rows to sum on real clusters."""

import numpy as np
import polars as pl
import pytest

N_PARTS, N_ROWS = 12, 400


def part(at, n_rows=N_ROWS):
    """Return one partition of rows: two features, one far from zero, and a text target."""
    rng = np.random.default_rng(at)
    y = rng.choice(["no", "perhaps", "yes"], n_rows)
    return pl.DataFrame(
        {
            "a": rng.normal(size=n_rows) + (y == "yes"),
            "b": rng.normal(1e6, 1, n_rows),
            "n": rng.integers(0, 9, n_rows),
            "t": y,
        }
    )


@pytest.fixture(scope="session")
def frame():
    return pl.concat([part(at) for at in range(N_PARTS)])


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    for at in range(N_PARTS):
        part(at).write_parquet(folder / f"p{at:02}.parquet", row_group_size=100)
        part(at).write_csv(folder / f"p{at:02}.csv")
    return folder
