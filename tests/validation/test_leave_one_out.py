"""Leave-one-out by downdates equals leaving each row out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from tests.validation.test_cross_validation import (
    DIALS,
    estimators,
    rows,
    rows_in_fair_units,
    the_rest_of_the_family,
)

import suffice as sf
from suffice import LDA, QDA, GaussianClassifier

NAMES = ["iris", "crabs", "wine", "banknote", "penguins_numeric", "pima_tr"]


def check_by_refitting(estimator, X, y, w, *, refit, every):
    """Check some rows against a fit of all the others."""
    found = sf.leave_one_out(estimator, X, y, w, refit_priors=refit).log_posteriors
    for i in range(0, len(y), every):
        rest = np.arange(len(y)) != i
        fitted = clone(estimator).fit(X[rest], y[rest], w[rest])
        if not refit and estimator.priors is None:
            fitted = fitted.with_priors(np.bincount(y, w) / w.sum())
        expected = fitted.predict_log_proba(X[i : i + 1])[0]
        np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=40)
@given(estimators(), DIALS, DIALS, st.integers(0, 10**6), st.booleans())
def test_every_row_is_judged_as_if_never_seen(estimator, pooling, shrinkage, seed, refit):
    X, y, w = rows(seed, n=36)
    estimator = estimator.set_params(pooling=pooling, shrinkage=shrinkage)
    check_by_refitting(estimator, X, y, w, refit=refit, every=4)


@settings(max_examples=25)
@given(the_rest_of_the_family(), st.integers(0, 10**6), st.booleans())
def test_bayesian_edda_and_transformed_models_are_left_out_too(estimator, seed, refit):
    X, y, w = rows_in_fair_units(estimator, seed, n=60)
    if estimator.dirichlet is not None:
        refit = True
    check_by_refitting(estimator, X, y, w, refit=refit, every=12)


@pytest.mark.parametrize("name", NAMES)
def test_errors_equal_the_brute_force_of_r(table, reference, name):
    X, y, _ = table(name)
    for key, errors in reference("leave_one_out")[name].items():
        kind, how = key.split("_", 1)
        estimator = {"lda": LDA, "qda": QDA}[kind](divisor="unbiased")
        result = sf.leave_one_out(estimator, X, y, refit_priors=how == "refit_prior")
        assert round(result.error * len(y)) == errors, key


@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
def test_a_class_of_one_row_is_lost_with_it():
    X, y, _ = rows(3)
    keep = np.r_[np.flatnonzero(y != 2), np.flatnonzero(y == 2)[:1]]
    result = sf.leave_one_out(GaussianClassifier(tied=True), X[keep], y[keep])
    assert result.log_posteriors[-1, 2] == -np.inf
    assert np.isfinite(result.log_posteriors[-1, :2]).all()
    assert result.predicted_labels.shape == y[keep].shape


def test_the_left_out_error_is_what_cross_validation_with_n_folds_finds(iris):
    X, y = iris
    splits = [(np.delete(np.arange(150), i), np.array([i])) for i in range(150)]
    folds = sf.cross_validate(QDA(shrinkage=0.2, pooling=0.1), X, y, cv=splits)
    left_out = sf.leave_one_out(QDA(shrinkage=0.2, pooling=0.1), X, y)
    found = [left_out.error, left_out.log_loss, left_out.brier]
    np.testing.assert_allclose(found, folds.means[0], rtol=1e-9)
