"""Columns that are no numbers are refused by name where only numbers are taken."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from suffice import LDA, LogisticRegression, Moments, Perceptron
from suffice.core.table.matrix import as_matrix
from suffice.errors import InvalidInputError, MissingStatisticsError

COLUMNS = {
    "when": pd.date_range("2020-01-01", periods=150),
    "lasts": pd.to_timedelta(np.arange(150), unit="s"),
    "day": [datetime.date(2020, 1, 1 + i % 20) for i in range(150)],
    "word": ["x", "y", "z"] * 50,
    "thing": [object() for _ in range(150)],
    "cell": [[1, 2]] * 150,
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("estimator", [Perceptron(), LDA(shrinkage="ledoit-wolf")], ids=str)
def test_the_column_is_named(iris, estimator, name):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd")).assign(**{name: COLUMNS[name]})
    with pytest.raises(
        InvalidInputError, match=f"column '{name}' (must hold|holds) .*numbers"
    ):
        estimator.fit(frame, y)
    if name in ("when", "word"):
        with pytest.raises(InvalidInputError, match=f"column '{name}' (must hold|holds)"):
            estimator.fit(pl.from_pandas(frame), y)


def test_times_alone_are_no_numbers(iris):
    _, y = iris
    times = COLUMNS["when"].to_numpy()[:, None]
    for estimator in (LDA(), LogisticRegression()):
        with pytest.raises(InvalidInputError, match="column 0 holds times"):
            estimator.fit(times, y)


def test_cells_that_are_neither_numbers_nor_levels_are_refused(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd")).assign(cell=COLUMNS["cell"])
    with pytest.raises(InvalidInputError, match="column 'cell'"):
        LDA().fit(frame, y)


def test_numbers_in_a_column_of_objects_are_numbers(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"b": object})
    found = LogisticRegression().fit(frame, y).predict_proba(frame)
    np.testing.assert_array_equal(found, LogisticRegression().fit(X, y).predict_proba(X))


def test_infinity_is_found_where_it_is_beside_cells_that_are_filled():
    X = np.array([[np.nan, 1], [2, 2], [3, 5], [4, 4], [np.inf, 5], [6, 8], [7, 7]])
    y, w = [0, 0, 0, 1, 1, 1, 1], np.array([1, 1, 1, 1, 0, 1, 1])
    with pytest.raises(InvalidInputError, match="infinity: row 4, column 'x0'"):
        LDA(missing="indicator").fit(X, y)
    weighted = LDA(missing="indicator", shrinkage=0.5).fit(X, y, w)
    without = LDA(missing="indicator", shrinkage=0.5).fit(X[w > 0], np.array(y)[w > 0])
    np.testing.assert_allclose(weighted.means_, without.means_)


def test_empty_cells_that_were_not_marked_are_not_taken_for_marked_ones():
    X = np.array([[0.0, 1], [np.nan, 2], [1, 4], [2, 3], [5, 5], [6, np.nan], [8, 5], [9, 7]])
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    marked = Moments.of(X, y, missing="indicator")
    assert LDA(missing="indicator", shrinkage=0.5).fit_moments(marked).means_.shape == (2, 4)
    with pytest.raises(MissingStatisticsError, match="indicators of missing values"):
        LDA(missing="indicator").fit_moments(Moments.of(X, y))


@pytest.mark.parametrize("estimator", [LDA(), LogisticRegression(), Perceptron()], ids=str)
def test_lists_that_hold_text_are_refused_with_the_cell(estimator):
    rows = [[1.0, "a"], [2.0, "b"]] * 5
    y = list("ab") * 5
    with pytest.raises(
        InvalidInputError, match=r"text \(row 0, column 1: 'a'\): pass a data frame"
    ):
        estimator.fit(rows, y)
    numbers = [[1.0, 2.0], [2.0, 0.5], [2.5, 1.0], [1.5, 0.5]]
    fitted = estimator.fit(numbers, list("abab"))
    with pytest.raises(InvalidInputError, match=r"text \(row 1, column 0: 'x'\)"):
        fitted.predict([[1.0, 2.0], ["x", 2.0]])


def test_a_cell_that_is_no_number_is_refused_with_its_row():
    table = np.array([[1, "1.5"], [2, "2"], [3, "many"]], dtype=object)
    with pytest.raises(
        InvalidInputError, match="column 1 must hold numbers, but row 2 holds 'many'"
    ):
        as_matrix(table)
