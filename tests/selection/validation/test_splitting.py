"""Three parts share no row, cover all, and hold every class in its share."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import suffice as sf
from suffice.errors import InvalidInputError, InvalidParameterError, TooFewClassesError


@given(
    counts=st.lists(st.integers(3, 60), min_size=2, max_size=5),
    validation=st.floats(0.05, 0.45),
    test=st.floats(0.05, 0.45),
    seed=st.integers(0, 5),
)
def test_parts_are_disjoint_complete_and_stratified(counts, validation, test, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    X = np.arange(len(y))[:, None]
    parts = sf.split(X, y, validation, test, seed)
    rows = np.concatenate([part.rows for part in parts])
    assert sorted(rows) == list(range(len(y)))
    for part, share in zip(parts, (1 - validation - test, validation, test), strict=True):
        np.testing.assert_array_equal(part.X[:, 0], part.rows)
        np.testing.assert_array_equal(part.y, y[part.rows])
        held = np.bincount(part.y, minlength=len(counts))
        assert (held >= 1).all()
        assert (np.abs(held - share * np.array(counts)) <= 2).all()


def test_the_same_seed_gives_the_same_parts(iris):
    a, b, c = (sf.split(*iris, random_state=seed).test.rows for seed in (3, 3, 4))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_identical_rows_stay_in_one_part_and_count_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.arange(60) % 2
    repeats = np.where(np.arange(60) < 20, 4, 1)
    parts = sf.split(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    distinct = [{tuple(row) for row in part.X} for part in parts]
    assert [len(rows) for rows in distinct] == [36, 12, 12]
    assert len(set.union(*distinct)) == 60
    assert sum(len(part) for part in parts) == 120
    few = np.repeat([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [3, *[1] * 10])
    with pytest.raises(
        InvalidInputError, match=r"class 0 has 1 row if copies are counted once"
    ):
        sf.split(np.repeat(X[:11], [3, *[1] * 10], axis=0), few)


def test_a_share_of_nothing_is_an_empty_part(iris):
    parts = sf.split(*iris, validation=0, test=0.2)
    assert [len(part) for part in parts] == [120, 0, 30]
    assert parts.validation.X.shape == (0, 4)


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, sparse.csr_matrix, np.ndarray.tolist]
)
def test_tables_stay_what_they_are(make, iris):
    X, y = iris
    table = make(X)
    part = sf.split(table, y).test
    assert type(part.X) is type(table)
    assert len(part) == 30


def test_labels_in_a_series_stay_one(iris):
    X, y = iris
    part = sf.split(X, pd.Series(y, name="species")).train
    assert part.y.name == "species"
    assert list(part.y.index) == part.rows.tolist()


def test_a_split_and_its_parts_describe_themselves(iris):
    parts = sf.split(*iris)
    assert repr(parts) == "Split(train 90, validation 30, test 30 rows)"
    assert repr(parts.test) == "SplitPart(30 rows)"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"test": 1}, "in \\[0, 1\\)"),
        ({"test": -0.1}, "in \\[0, 1\\)"),
        ({"validation": "some"}, "validation must be a share"),
        ({"validation": 0.5, "test": 0.5}, "leave no training rows"),
    ],
)
def test_shares_that_make_no_sense_are_refused(change, match, iris):
    with pytest.raises(InvalidParameterError, match=match):
        sf.split(*iris, **change)


def test_a_class_of_two_rows_cannot_be_in_three_parts():
    y = np.r_[np.zeros(20), 1, 1]
    with pytest.raises(
        InvalidInputError, match=r"class 1\.0 has 2 rows if copies are counted once"
    ):
        sf.split(np.zeros((22, 1)), y)


def test_one_class_is_refused(iris):
    with pytest.raises(TooFewClassesError, match="at least 2 classes"):
        sf.split(iris[0], np.ones(150))
