"""Blocks of a file that lack a class, or bring a new one, are summed as if read at once."""

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.errors import InvalidInputError

LABELS = (
    ["a"] * 64 + ["a", "b"] * 32 + ["b", "c"] * 32 + ["c"] * 64 + ["a", "b", "c", "d"] * 16
)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("suffice.data.rows.loading.rows_per_block", lambda _: 64)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(len(LABELS), 2))
    return pl.DataFrame(numbers, schema=["u", "v"]).with_columns(pl.Series("y", LABELS))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_classes_may_come_late_and_stay_away(small_blocks, table, tmp_path, n_jobs):
    path = tmp_path / "t.csv"
    table.write_csv(path)
    m = sf.summarize(path, "y", n_jobs=n_jobs)
    whole = sf.Moments.of(table.select("u", "v"), LABELS)
    assert m.classes.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(m.counts, whole.counts)
    np.testing.assert_allclose(m.means, whole.means, rtol=1e-12)


def test_a_label_that_numpy_cannot_hold_is_found_in_a_late_block(
    small_blocks, table, tmp_path
):
    path = tmp_path / "t.parquet"
    late = table.with_columns(pl.Series("y", [*LABELS[:-1], "d\0"]))
    late.write_parquet(path)
    with pytest.raises(InvalidInputError, match="null character"):
        sf.summarize(path, "y", n_jobs=2)


def test_an_infinite_cell_of_a_late_block_is_named_by_its_row(small_blocks, table, tmp_path):
    path = tmp_path / "t.parquet"
    row = len(LABELS) - 3
    is_late = pl.int_range(pl.len()) == row
    cell = pl.when(is_late).then(float("inf")).otherwise(pl.col("u"))
    table.with_columns(u=cell).write_parquet(path)
    with pytest.raises(InvalidInputError, match=rf"row {row}\b"):
        sf.summarize(path, "y", n_jobs=2)
