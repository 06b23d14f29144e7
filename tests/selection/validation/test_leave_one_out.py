"""Leave-one-out by downdates equals leaving each row out."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from tests.selection.validation.test_cross_validation import (
    DIALS,
    SHRINKAGES,
    estimators,
    rows,
    rows_in_fair_units,
    the_rest_of_the_family,
)

import suffice as sf
from suffice import LDA, QDA, GaussianClassifier
from suffice.errors import InvalidParameterError

NAMES = ["iris", "crabs", "wine", "banknote", "penguins_numeric", "pima_tr"]


def check_by_refitting(estimator, X, y, w, *, refit, every):
    """Check some rows against a fit of all the others."""
    result = sf.leave_one_out(estimator, X, y, w, refit_priors=refit)
    found = dict(zip(result.rows.tolist(), result.log_posteriors, strict=True))
    assert list(found) == np.flatnonzero(w).tolist()
    for i in list(found)[::every]:
        rest = np.arange(len(y)) != i
        fitted = clone(estimator).fit(X[rest], y[rest], w[rest])
        if not refit and estimator.priors is None:
            fitted = fitted.with_priors(np.bincount(y, w) / w.sum())
        expected = fitted.predict_log_proba(X[i : i + 1])[0]
        np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=40)
@pytest.mark.filterwarnings("ignore:.*has no effect")  # tied or diagonal, as drawn
@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
@given(estimators(), DIALS, SHRINKAGES, st.integers(0, 10**6), st.booleans())
def test_every_row_is_judged_as_if_never_seen(estimator, pooling, shrinkage, seed, refit):
    X, y, w = rows(seed, n=36)
    estimator = estimator.set_params(pooling=pooling, shrinkage=shrinkage)
    check_by_refitting(estimator, X, y, w, refit=refit, every=4)


@settings(max_examples=25)
@given(the_rest_of_the_family(), st.integers(0, 10**6), st.booleans())
def test_bayesian_edda_and_transformed_models_are_left_out_too(estimator, seed, refit):
    X, y, w = rows_in_fair_units(estimator, seed, n=60)
    if isinstance(estimator.priors, sf.Dirichlet):
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


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (sf.LogisticRegression(), r"LogisticRegression.*cross_validate\(.*cv=LeaveOneOut"),
        (sf.AutoGaussian(), "AutoGaussian.*cv=LeaveOneOut"),
        (RandomForestClassifier(), "RandomForestClassifier.*cv=LeaveOneOut"),
        (LDA(temperature="auto"), "temperature.*'auto'.*fit the estimator first"),
        (sf.RDA(), "pooling, shrinkage.*'auto'.*fit the estimator first"),
        (LDA(power="auto"), "power.*'auto'.*fit the estimator first"),
    ],
    ids=str,
)
def test_what_cannot_be_left_out_in_closed_form_is_refused_with_the_cure(
    iris, estimator, said
):
    with pytest.raises(InvalidParameterError, match=said):
        sf.leave_one_out(estimator, *iris)


@pytest.mark.parametrize(
    "estimator", [LDA(temperature="auto"), sf.RDA(), LDA(power="auto")], ids=str
)
def test_what_was_chosen_by_fit_is_left_out_as_chosen(iris, estimator):
    X, y = iris
    fitted = estimator.fit(X**3, y)
    chosen = fitted.settings_
    same = GaussianClassifier(
        tied=chosen.tied,
        pooling=chosen.pooling,
        shrinkage=chosen.shrinkage,
        temperature=chosen.temperature,
        power=fitted.moments_.power,
    )
    found, expected = (sf.leave_one_out(each, X**3, y) for each in (fitted, same))
    np.testing.assert_array_equal(found.log_posteriors, expected.log_posteriors)
    assert len(fitted.calibrate(X**3, y).predict_set(X**3)) == 150


def test_no_matrix_of_all_pairs_of_classes_is_held_for_every_feature():
    y = np.repeat(np.arange(400), 3)
    X = np.random.default_rng(0).normal(size=(len(y), 40)) + y[:, None]
    tracemalloc.start()
    sf.leave_one_out(LDA(), X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 400**2 * 40  # bytes


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
@pytest.mark.parametrize(
    "estimator", [LDA(), QDA(), sf.GaussianNB(), LDA(shrinkage="oas")], ids=str
)
def test_a_gross_outlier_is_judged_as_if_never_seen(iris, estimator, size):
    X, y = iris
    X = X.copy()
    X[60] += size * np.array([1.0, -1, 1, 2])
    found = sf.leave_one_out(estimator, X, y).log_posteriors[60]
    rest = np.arange(150) != 60
    expected = clone(estimator).fit(X[rest], y[rest]).predict_log_proba(X[60:61])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "settings", [{"estimate": "predictive", "priors": sf.Dirichlet(1.0)}, {"tied": True}]
)
def test_a_class_of_one_row_is_unknown_to_the_model_without_it(settings):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 2)), np.repeat([0, 1, 2], [7, 7, 1])
    logs = sf.leave_one_out(sf.GaussianClassifier(**settings), X, y).log_posteriors
    assert logs[-1, 2] == -np.inf
    expected = sf.GaussianClassifier(**settings).fit(X[:-1], y[:-1]).predict_log_proba(X[-1:])
    np.testing.assert_allclose(logs[-1:, :2], expected)


@pytest.mark.parametrize(
    "settings",
    [{}, {"tied": True}, {"pooling": 1.0, "shrinkage": 0.2}, {"covariance": "diagonal"}],
)
def test_a_row_that_alone_makes_a_column_vary_is_left_out_too(settings):
    rng = np.random.default_rng(0)
    X, y = np.column_stack([rng.normal(size=12), np.zeros(12)]), np.arange(12) % 2
    X[5, 1] = 1.0
    rest, estimator = np.arange(12) != 5, sf.GaussianClassifier(**settings)
    logs = sf.leave_one_out(estimator, X, y).log_posteriors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the column that does not vary
        expected = estimator.fit(X[rest], y[rest]).predict_log_proba(X[5:6])
    np.testing.assert_allclose(logs[5:6], expected, rtol=1e-9)


def test_a_row_without_any_number_is_judged_by_the_priors_at_every_temperature():
    X = np.array([[0.0], [1.0], [2.0], [np.nan], [4.0], [6.0], [5.0]])
    y = np.array([0, 0, 0, 0, 1, 1, 1])
    left_out = sf.leave_one_out(sf.LDA(temperature=0.5), X, y)
    np.testing.assert_allclose(np.exp(left_out.log_posteriors[3]), [0.5, 0.5])
    fixed = sf.leave_one_out(sf.LDA(temperature=0.5), X, y, refit_priors=False)
    np.testing.assert_allclose(np.exp(fixed.log_posteriors[3]), [4 / 7, 3 / 7])


@pytest.mark.parametrize(
    "model",
    [sf.QDA(), sf.GaussianNB(), sf.QDA(shrinkage=0.1), sf.RDA(pooling=0.5, shrinkage=0.0)],
    ids=["QDA", "GaussianNB", "QDA, refitted", "RDA"],
)
def test_progress_counts_every_row_once_and_changes_nothing(model, monkeypatch):
    monkeypatch.setattr("suffice.core.estimation.rank_one_downdates._ROWS_AT_A_TIME", 32)
    X, y = load_iris(return_X_y=True)
    X = np.vstack([X, [[50.0, 1.0, 9.0, -4.0]]])  # an outlier, whose downdate loses digits
    y = np.append(y, 0)
    done = []
    shown = sf.leave_one_out(
        model, X, y, progress=lambda rows, total: done.append((rows, total))
    )
    counts = [rows for rows, _ in done]
    assert counts == sorted(counts)
    assert done[-1] == (151, 151)
    monkeypatch.undo()
    silent = sf.leave_one_out(model, X, y, progress=False)
    np.testing.assert_allclose(shown.logs, silent.logs, rtol=1e-9, atol=1e-9)
