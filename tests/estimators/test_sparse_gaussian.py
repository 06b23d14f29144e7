"""Gaussian naive Bayes over sparse rows: the answers of dense rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import suffice as sf
from suffice.errors import InvalidInputError


@pytest.fixture(name="rows", scope="module")
def _rows():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 150)
    X = rng.normal(1e3, 1.0, (150, 7)) * (rng.random((150, 7)) < 0.4)
    X += (y == "b")[:, None] * (X != 0)
    X[:, 3] = rng.normal(1e6, 1.0, 150)  # a dense column far from zero
    return X, y, rng.random(150)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("estimator", [sf.GaussianNB(), sf.GaussianClassifier("diagonal")])
def test_sparse_rows_give_the_moments_and_posteriors_of_dense_ones(rows, make, estimator):
    X, y, w = rows
    dense = estimator.fit(X, y, w).moments_
    expected = estimator.predict_proba(X)
    fitted = estimator.fit(make(X), y, w)
    assert_allclose(fitted.moments_.means, dense.means, rtol=1e-13)
    assert_allclose(fitted.moments_.diagonals, dense.diagonals, rtol=1e-9)
    assert_allclose(fitted.predict_proba(make(X)), expected, atol=1e-8)
    assert_array_equal(fitted.predict(make(X)), fitted.predict(X))


def test_batches_of_sparse_rows_add_up_and_are_forgotten(rows):
    X, y, _ = rows
    S = sparse.csr_array(X)
    parts = sf.GaussianNB()
    for lo in range(0, 150, 50):
        parts.partial_fit(S[lo : lo + 50], y[lo : lo + 50])
    whole = sf.GaussianNB().fit(X, y)
    assert_allclose(parts.moments_.diagonals, whole.moments_.diagonals, rtol=1e-9)
    parts.forget(S[100:], y[100:])
    rest = sf.GaussianNB().fit(X[:100], y[:100])
    assert_allclose(parts.moments_.means, rest.moments_.means, rtol=1e-9)


def test_cross_validation_takes_sparse_rows(rows):
    X, y, _ = rows
    dense = sf.cross_validate(sf.GaussianNB(), X, y, cv=3)
    thin = sf.cross_validate(sf.GaussianNB(), sparse.csr_array(X), y, cv=3)
    assert_allclose(thin.fold_losses, dense.fold_losses, atol=1e-6)


def test_a_cell_that_is_not_finite_is_named(rows):
    X, y, _ = rows
    X = X.copy()
    X[4, 2] = np.nan
    with pytest.raises(InvalidInputError, match="NaN: row 4, column 2"):
        sf.GaussianNB().fit(sparse.csr_array(X), y)


def test_settings_that_read_dense_rows_refuse_sparse_ones(rows):
    X, y, _ = rows
    for model in (
        sf.GaussianNB(power="yeo-johnson"),
        sf.GaussianNB(temperature="auto"),
        sf.RDA(),
    ):
        with pytest.raises(InvalidInputError, match="cannot read sparse rows"):
            model.fit(sparse.csr_array(X), y)
