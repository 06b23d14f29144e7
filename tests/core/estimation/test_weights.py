"""Weights that only compare rows are told apart from numbers of rows."""

import warnings

import numpy as np
import pandas as pd
import pytest

from suffice import LDA, QDA, Dirichlet, GaussianClassifier, GaussianNB, MixtureClassifier
from suffice.errors import SufficeWarning

COUNTING = [
    LDA(shrinkage="oas"),
    LDA(shrinkage="ledoit-wolf"),
    QDA(divisor="unbiased"),
    QDA(estimate="predictive"),
    QDA(estimate="map"),
]


@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
@pytest.mark.parametrize("estimator", COUNTING, ids=str)
def test_weights_that_sum_to_one_are_pointed_out_where_they_are_counts(iris, estimator):
    X, y = iris
    with pytest.warns(
        SufficeWarning, match="150 rows sum to 1:.*numbers of rows.*multiply.* 150"
    ):
        estimator.fit(X, y, np.full(150, 1 / 150))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SufficeWarning)
        counts = estimator.fit(X, y, np.full(150, 1.0)).predict_proba(X)
        estimator.fit(X, y, np.full(150, 3.0))  # three rows each
    assert np.all(counts == estimator.fit(X, y).predict_proba(X))


@pytest.mark.parametrize("estimator", [LDA(), QDA(shrinkage=0.1), GaussianNB()], ids=str)
def test_elsewhere_only_ratios_of_weights_matter(iris, estimator):
    X, y = iris
    small = estimator.fit(X, y, np.full(150, 1 / 150)).predict_proba(X)
    np.testing.assert_allclose(small, estimator.fit(X, y).predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("unit", [1 / 150, 1e-6, 1e-20, 1e-100, 1e10])
@pytest.mark.parametrize("estimator", [LDA(), QDA(), GaussianNB()], ids=str)
def test_the_unit_of_weights_is_of_no_account_with_and_without_empty_cells(
    iris, estimator, unit
):
    X, y = iris
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    for rows in (X, holes):
        found = estimator.fit(rows, y, np.full(150, unit)).predict_proba(X)
        np.testing.assert_allclose(found, estimator.fit(rows, y).predict_proba(X), atol=1e-6)


def test_a_mixture_says_that_it_reads_weights_as_numbers_of_rows():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.repeat([0, 1], 20)
    mixture = MixtureClassifier(n_components=2, n_init=1, max_iter=5, tol=1.0)
    with pytest.warns(
        SufficeWarning, match="40 rows sum to 1:.*numbers of rows.*multiply.* 40"
    ):
        mixture.fit(X, y, np.full(40, 1 / 40))


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        GaussianClassifier(covariance="tree", tied=True),
        LDA(priors=Dirichlet(2.0)),
    ],
    ids=str,
)
def test_imagined_rows_of_levels_and_classes_are_rows_too(estimator):
    X = pd.DataFrame({"x": np.arange(20.0), "c": ["u", "v", "v", "u", "u"] * 4})
    with pytest.warns(
        SufficeWarning, match="20 rows sum to 1:.*numbers of rows.*multiply.* 20"
    ):
        estimator.fit(X, np.arange(20) % 2, np.full(20, 1 / 20))
