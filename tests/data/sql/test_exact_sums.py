"""Exact sums inside a database have the bits of those of its rows in memory."""

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.errors import DatabaseError, InvalidInputError, InvalidParameterError
from suffice.privacy import RoundingGrid


@pytest.fixture(scope="module")
def numbers():
    """Return far means, tiny and huge scales, integers and halves of steps."""
    r = np.random.default_rng(3)
    y = r.choice(["blue", "green", "red"], 700)
    return pl.DataFrame(
        {
            "far": 1e8 + r.normal(size=700),
            "tiny": 1e-9 * r.normal(size=700),
            "huge": 1e12 * r.normal(size=700) + 3e12 * (y == "green"),
            "third": r.integers(-50, 50, 700) / 3,
            "count": r.integers(0, 50, 700),
            "colour": y,
        }
    )


def grid_of(frame):
    return RoundingGrid.around(frame.drop("colour").to_numpy().astype(float))


@pytest.mark.parametrize("storage", ["per-class", "pooled"])
def test_sums_inside_a_database_have_the_digest_of_its_rows(filled, numbers, storage):
    grid = grid_of(numbers)
    here = sf.summarize(numbers, target="colour", exact=grid, storage=storage)
    there = sf.summarize(
        filled(numbers), target="colour", exact=grid, storage=storage, on="database"
    )
    assert there.digest() == here.digest()
    assert np.array_equal(there.scatter.values, here.scatter.values)


def test_halves_of_steps_are_rounded_to_even_inside_a_database_too(filled):
    frame = pl.DataFrame(
        {"x": [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.0**38 + 0.5], "colour": [*"aabbabb"]}
    )
    grid = RoundingGrid.of([0.0], [0])
    there = sf.summarize(filled(frame), target="colour", exact=grid, on="database")
    assert [there.exact.sums.item(k, 0) for k in range(2)] == [-2 - 2 + 2, 2 + 2**38]
    squares = [there.exact.products.item(k, 0, 0) for k in range(2)]
    assert squares == [4 + 4 + 4, 4 + 2**76]


def test_values_outside_the_grid_are_refused_inside_a_database(filled, numbers):
    grid = grid_of(numbers)
    rows = pl.concat([numbers, numbers[:2].with_columns(tiny=pl.lit(1e200))])
    with pytest.raises(
        InvalidInputError, match="2 of the values of column 'tiny' lie outside"
    ):
        sf.summarize(filled(rows), target="colour", exact=grid, on="database")


def test_weighted_exact_sums_are_not_computed_inside_a_database(filled, numbers):
    rows = numbers.with_columns(weight=pl.lit(2, pl.Int64))
    options = {"target": "colour", "weight": "weight", "exact": grid_of(numbers)}
    with pytest.raises(
        InvalidParameterError, match="weighted exact sums cannot be summed inside"
    ):
        sf.summarize(filled(rows), on="database", **options)
    here = sf.summarize(rows, **options)
    assert sf.summarize(filled(rows), **options).digest() == here.digest()


def test_an_engine_that_changes_the_last_bit_of_a_number_is_refused(duckdb):
    frame = pl.DataFrame({"x": [1.0, 2.0, 4.0], "colour": ["a", "b", "b"]})
    table = duckdb.create_table("rows", frame.to_arrow())
    grid = RoundingGrid.of([0.13687617154257523], [-30])  # a decimal of 17 digits there
    with pytest.raises(DatabaseError, match="does not read and round"):
        sf.summarize(table, target="colour", exact=grid, on="database")
    here = sf.summarize(frame, target="colour", exact=grid)
    assert sf.summarize(table, target="colour", exact=grid).digest() == here.digest()


def test_more_rows_than_integers_can_hold_are_refused(duckdb, monkeypatch):
    frame = pl.DataFrame({"x": [1.0, 2.0, 4.0], "colour": ["a", "b", "b"]})
    table = duckdb.create_table("rows", frame.to_arrow())
    monkeypatch.setattr("suffice.data.sql.exact_sums.MOST_ROWS", 2)
    with pytest.raises(InvalidInputError, match="3 usable rows, and exact sums inside"):
        sf.summarize(table, target="colour", exact="auto", on="database")
