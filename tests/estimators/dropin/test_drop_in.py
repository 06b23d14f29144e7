"""The drop-in beside scikit-learn's own classes, and what it refuses."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import sklearn.discriminant_analysis
import sklearn.ensemble
import sklearn.linear_model
import sklearn.naive_bayes
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice.sklearn as ours
from suffice.core.moments import Moments
from suffice.errors import InvalidParameterError

THEIRS = {
    "LinearDiscriminantAnalysis": sklearn.discriminant_analysis.LinearDiscriminantAnalysis,
    "QuadraticDiscriminantAnalysis": sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis,
    "GaussianNB": sklearn.naive_bayes.GaussianNB,
    "LogisticRegression": sklearn.linear_model.LogisticRegression,
}
_PRECISE = {"tol": 1e-10, "max_iter": 10_000, "solver": "newton-cholesky"}
SETTINGS = (
    ("LinearDiscriminantAnalysis", {}),
    ("LinearDiscriminantAnalysis", {"store_covariance": True, "priors": [0.2, 0.3, 0.5]}),
    ("LinearDiscriminantAnalysis", {"n_components": 1}),
    ("LinearDiscriminantAnalysis", {"solver": "lsqr"}),
    ("LinearDiscriminantAnalysis", {"solver": "lsqr", "shrinkage": "auto"}),
    ("LinearDiscriminantAnalysis", {"solver": "eigen", "shrinkage": 0.3}),
    ("LinearDiscriminantAnalysis", {"solver": "eigen", "shrinkage": "auto"}),
    ("LinearDiscriminantAnalysis", {"solver": "lsqr", "covariance_estimator": LedoitWolf()}),
    ("QuadraticDiscriminantAnalysis", {}),
    ("QuadraticDiscriminantAnalysis", {"reg_param": 0.1, "store_covariance": True}),
    ("QuadraticDiscriminantAnalysis", {"solver": "eigen", "shrinkage": "auto"}),
    ("QuadraticDiscriminantAnalysis", {"priors": [0.2, 0.3, 0.5]}),
    ("GaussianNB", {}),
    ("GaussianNB", {"var_smoothing": 0.1, "priors": [0.2, 0.3, 0.5]}),
    ("LogisticRegression", _PRECISE),
    ("LogisticRegression", _PRECISE | {"C": 0.01}),
    ("LogisticRegression", _PRECISE | {"fit_intercept": False}),
    ("LogisticRegression", _PRECISE | {"class_weight": "balanced", "C": 30}),
    ("LogisticRegression", _PRECISE | {"class_weight": {"a": 5.0}}),
)

COUNT_SETTINGS = (
    ("MultinomialNB", {}),
    ("MultinomialNB", {"alpha": 0.01, "fit_prior": False}),
    ("MultinomialNB", {"alpha": np.linspace(0.1, 2, 6), "class_prior": [0.2, 0.3, 0.5]}),
    ("MultinomialNB", {"alpha": 0.0, "force_alpha": False}),
    ("ComplementNB", {}),
    ("ComplementNB", {"norm": True, "alpha": 0.3}),
    ("BernoulliNB", {}),
    ("BernoulliNB", {"binarize": 1.0, "alpha": 0.3, "class_prior": [0.2, 0.3, 0.5]}),
    ("CategoricalNB", {}),
    ("CategoricalNB", {"min_categories": 12, "alpha": 0.3}),
)


@pytest.mark.filterwarnings("ignore:alpha too small")
@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
@pytest.mark.parametrize(("name", "settings"), COUNT_SETTINGS)
def test_counts_give_scikit_learns_attributes_and_posteriors(name, settings, make):
    if name == "CategoricalNB":
        make = np.asarray
    rng = np.random.default_rng(0)
    codes = rng.choice(3, 150, p=[0.5, 0.3, 0.2])
    X = make(rng.poisson(rng.gamma(1.0, 1.0, (3, 6))[codes]))
    y = np.array(["a", "b", "c"])[codes]
    w = rng.random(150)
    mine = getattr(ours, name)(**settings)
    theirs = getattr(sklearn.naive_bayes, name)(**settings)
    for start in (0, 70):
        part = slice(start, start + 80)
        mine.partial_fit(X[part], y[part], classes=["a", "b", "c"], sample_weight=w[part])
        theirs.partial_fit(X[part], y[part], classes=["a", "b", "c"], sample_weight=w[part])
    expected = theirs.predict_joint_log_proba(X)
    np.testing.assert_allclose(mine.predict_joint_log_proba(X), expected, rtol=1e-12)
    mine.fit(X, y)
    theirs.fit(X, y)
    expected = theirs.predict_log_proba(X)
    np.testing.assert_allclose(mine.predict_log_proba(X), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mine.class_count_, theirs.class_count_, rtol=1e-12)
    for a, b in zip(mine.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.fixture(name="rows")
def _rows():
    rng = np.random.default_rng(7)
    codes = rng.choice(3, size=300, p=[0.5, 0.3, 0.2])
    mixed = rng.normal(size=(300, 4)) @ (np.eye(4) + 0.3 * rng.normal(size=(4, 4)))
    return mixed + rng.normal(size=(3, 4))[codes] + 1, np.array(["a", "b", "c"])[codes]


def _fitted(name, settings, *rows):
    return THEIRS[name](**settings).fit(*rows), getattr(ours, name)(**settings).fit(*rows)


def _comparable(value):
    return np.abs(np.asarray(value))  # axes have no sign


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_answers_and_attributes_are_those_of_scikit_learn(name, settings, rows):
    theirs, own = _fitted(name, settings, *rows)
    public = {k for k in vars(theirs) if k.endswith("_")} - {"n_iter_"}
    assert public <= set(vars(own))
    for attribute in public - {"classes_", "scalings_", "rotations_"}:
        expected, found = getattr(theirs, attribute), getattr(own, attribute)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9, err_msg=attribute)
    np.testing.assert_array_equal(own.classes_, theirs.classes_)
    np.testing.assert_array_equal(own.predict(rows[0]), theirs.predict(rows[0]))
    for verb in ("predict_proba", "predict_log_proba"):
        found, expected = getattr(own, verb)(rows[0]), getattr(theirs, verb)(rows[0])
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    if hasattr(theirs, "decision_function"):
        found, expected = own.decision_function(rows[0]), theirs.decision_function(rows[0])
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert own.get_params() == theirs.get_params()
    assert isinstance(own, THEIRS[name])


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_discriminant_axes_agree_up_to_sign(solver, rows):
    theirs, own = _fitted("LinearDiscriminantAnalysis", {"solver": solver}, *rows)
    found, expected = own.transform(rows[0]), theirs.transform(rows[0])
    np.testing.assert_allclose(_comparable(found), _comparable(expected), rtol=1e-7, atol=1e-9)
    theirs, own = _fitted("QuadraticDiscriminantAnalysis", {}, *rows)
    for k in range(3):
        np.testing.assert_allclose(own.scalings_[k], theirs.scalings_[k], rtol=1e-9)
        found, expected = own.rotations_[k], theirs.rotations_[k]
        np.testing.assert_allclose(
            _comparable(found), _comparable(expected), rtol=1e-7, atol=1e-9
        )


@pytest.mark.parametrize(
    "name", ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"]
)
@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_rows_are_fitted_from_sums_by_our_engine(name, solver, rows, monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(THEIRS[name], "fit", refuse)
    getattr(ours, name)(solver=solver).fit(*rows)
    with pytest.raises(AssertionError):  # more features than rows: scikit-learn's own solver
        getattr(ours, name)(solver=solver).fit(np.eye(4), [0, 0, 1, 1])


@pytest.mark.parametrize("name", THEIRS)
def test_single_precision_is_kept(name, rows):
    x, y = rows[0].astype(np.float32), rows[1]
    theirs, own = _fitted(name, {}, x, y)
    for attribute in (
        "coef_",
        "intercept_",
        "means_",
        "theta_",
        "var_",
        "priors_",
        "class_prior_",
    ):
        if hasattr(theirs, attribute):
            assert getattr(own, attribute).dtype == getattr(theirs, attribute).dtype, attribute
    found, expected = own.predict_proba(x), theirs.predict_proba(x)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.parametrize("mixed", [np.eye(3), np.ones((3, 3)) + np.eye(3)])
def test_small_variances_beside_large_ones_keep_their_digits(mixed):
    rng = np.random.default_rng(0)
    x, y = (
        rng.normal(size=(400, 3)) @ np.diag([1e7, 1.0, 1e-3]) @ mixed,
        rng.integers(2, size=400),
    )
    theirs, own = _fitted("QuadraticDiscriminantAnalysis", {"tol": 0.0}, x, y)
    for k in range(2):
        np.testing.assert_allclose(own.scalings_[k], theirs.scalings_[k], rtol=1e-4)


def test_batches_of_naive_bayes_add_up_in_any_order(rows):
    x, y = rows
    w = np.random.default_rng(0).random(len(y))
    whole = ours.GaussianNB().fit(x, y, w)
    parts = ours.GaussianNB()
    for part in (slice(200, 300), slice(0, 200)):
        parts.partial_fit(x[part], y[part], ["a", "b", "c"], w[part])
    for name in ("theta_", "class_count_", "class_prior_"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-12)
    np.testing.assert_allclose(parts.var_, whole.var_, rtol=1e-8)
    assert isinstance(parts.moments_, Moments)


def test_a_class_without_weight_is_never_predicted(rows):
    x, y = rows
    fit = ours.LogisticRegression(class_weight={"a": 1, "b": 2, "c": 0}).fit(x, y)
    assert fit.coef_.shape == (3, 4)
    assert not fit.predict_proba(x)[:, 2].any()
    # as scikit-learn's, whose intercept of the class only sinks slowly
    theirs = THEIRS["LogisticRegression"](class_weight={"a": 1, "b": 2, "c": 0}, **_PRECISE)
    np.testing.assert_allclose(fit.coef_, theirs.fit(x, y).coef_, atol=1e-3)
    one = ours.LogisticRegression().fit(x, y == "a", sample_weight=(y == "a").astype(float))
    assert one.predict(x).all()


@pytest.mark.parametrize(
    "settings", [{"solver": "liblinear"}, {"l1_ratio": 1, "solver": "saga"}, {"l1_ratio": 0.5}]
)
def test_other_penalties_are_refused(settings, rows):
    with pytest.raises(
        InvalidParameterError, match=r"is not part of .*scikit-learn's own class"
    ):
        ours.LogisticRegression(**settings).fit(*rows)


def test_sparse_rows_give_the_coefficients_of_dense_ones(rows):
    dense = ours.LogisticRegression().fit(*rows)
    fitted = ours.LogisticRegression().fit(csr_matrix(rows[0]), rows[1])
    np.testing.assert_allclose(fitted.coef_, dense.coef_, atol=1e-8)
    posteriors = fitted.predict_proba(csr_matrix(rows[0]))
    np.testing.assert_allclose(posteriors, dense.predict_proba(rows[0]), atol=1e-8)
    assert ours.LogisticRegression().__sklearn_tags__().input_tags.sparse


def test_a_descent_cut_short_warns_as_scikit_learn_does(rows):
    with pytest.warns(ConvergenceWarning, match="lbfgs failed to converge after 1 iterations"):
        ours.LogisticRegression(max_iter=1).fit(*rows)


def test_a_warm_start_goes_on_where_the_last_fit_ended(rows):
    again = ours.LogisticRegression(warm_start=True).fit(*rows)
    first = again.n_iter_[0]
    assert again.fit(*rows).n_iter_[0] < first


def test_fitted_models_survive_pickle_and_clone(rows):
    for name in THEIRS:
        fit = getattr(ours, name)().fit(*rows)
        again = pickle.loads(pickle.dumps(fit))
        np.testing.assert_array_equal(again.predict_proba(rows[0]), fit.predict_proba(rows[0]))
        assert type(clone(fit)) is getattr(ours, name)


def test_attributes_set_by_hand_count(rows):
    theirs, own = _fitted("QuadraticDiscriminantAnalysis", {}, *rows)
    for fit in (theirs, own):
        fit.scalings_ = [2 * scaling for scaling in fit.scalings_]
        fit.priors_ = np.array([0.1, 0.1, 0.8])
    np.testing.assert_allclose(own.predict_proba(rows[0]), theirs.predict_proba(rows[0]))


def test_patching_replaces_the_classes_everywhere_in_scikit_learn_and_can_be_undone():
    before = {name: THEIRS[name] for name in THEIRS}
    ours.patch()
    ours.patch()
    try:
        assert sklearn.discriminant_analysis.LinearDiscriminantAnalysis is (
            ours.LinearDiscriminantAnalysis
        )
        assert sklearn.naive_bayes.GaussianNB is ours.GaussianNB
        assert sklearn.linear_model.LogisticRegression is ours.LogisticRegression
        assert sklearn.linear_model._logistic.LogisticRegression is ours.LogisticRegression
        assert sklearn.ensemble._stacking.LogisticRegression is ours.LogisticRegression
    finally:
        ours.unpatch()
    ours.unpatch()
    assert sklearn.ensemble._stacking.LogisticRegression is before["LogisticRegression"]
    assert sklearn.naive_bayes.GaussianNB is before["GaussianNB"]
    assert ours.GaussianNB is not before["GaussianNB"]


def test_patching_from_many_threads_leaves_one_state():
    threads = [threading.Thread(target=ours.patch) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert sklearn.naive_bayes.GaussianNB is ours.GaussianNB
    finally:
        ours.unpatch()
    assert sklearn.naive_bayes.GaussianNB is THEIRS["GaussianNB"]


@pytest.mark.slow
def test_code_imported_after_a_patch_uses_our_classes():
    code = (
        "import suffice.sklearn; suffice.sklearn.patch()\n"
        "from sklearn.naive_bayes import GaussianNB\n"
        "from sklearn.pipeline import make_pipeline\n"
        "print(type(make_pipeline(GaussianNB())[0]).__module__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "suffice.estimators.dropin.gaussian"


@pytest.mark.slow
@parametrize_with_checks([getattr(ours, name)() for name in THEIRS])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
