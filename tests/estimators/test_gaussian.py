"""The Gaussian classifiers as their users meet them."""

import gc
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice as sf
from suffice import LDA, QDA, RDA, GaussianClassifier, GaussianNB, Hyperplane, Moments, Quadric
from suffice.errors import (
    DegenerateDataWarning,
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
    SufficeError,
    TooFewClassesError,
    UnknownLabelError,
)

FAMILY = [
    LDA(),
    QDA(divisor="unbiased"),
    GaussianNB(),
    GaussianClassifier(tied=[["setosa", "virginica"]]),
    GaussianClassifier(pooling=0.3, shrinkage=sf.Shrinkage(0.2, target="sphere")),
    GaussianClassifier(covariance="diagonal", tied=True),
]


# --- units, order, streams -----------------------------------------------------------------


@pytest.mark.parametrize("estimator", FAMILY, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_change_of_units_changes_nothing(iris, estimator, seed):
    X, y = iris
    scale = 10.0 ** np.random.default_rng(seed).uniform(-9, 9, X.shape[1])
    before = estimator.fit(X, y).predict_log_proba(X)
    after = estimator.fit(X * scale, y).predict_log_proba(X * scale)
    np.testing.assert_allclose(after, before, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("estimator", FAMILY, ids=str)
def test_feature_and_row_order_change_nothing(iris, estimator):
    X, y = iris
    before = estimator.fit(X, y).predict_log_proba(X)
    rows, columns = np.random.default_rng(0).permutation(len(X)), [2, 0, 3, 1]
    after = estimator.fit(X[rows][:, columns], y[rows]).predict_log_proba(X[:, columns])
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("estimator", FAMILY[:5], ids=str)
def test_a_shift_far_from_the_origin_changes_nothing(iris, estimator):
    X, y = iris
    shifted = np.round(X * 64) / 64 + 2.0**26  # exactly representable
    before = estimator.fit(np.round(X * 64) / 64, y).predict_log_proba(np.round(X * 64) / 64)
    after = estimator.fit(shifted, y).predict_log_proba(shifted)
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-12)


def test_qda_fits_breast_cancer_and_scaled_iris(iris):
    X, y = load_breast_cancer(return_X_y=True)
    assert QDA().fit(X, y).score(X, y) > 0.97
    X, y = iris
    np.testing.assert_array_equal(
        QDA().fit(X * 0.1, y).predict(X * 0.1), QDA().fit(X, y).predict(X)
    )


def test_naive_bayes_ignores_the_unit_of_a_noise_feature():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = np.c_[rng.normal(size=(400, 2)) + y[:, None], rng.normal(size=400)]
    before = GaussianNB().fit(X, y).predict_proba(X)
    X[:, 2] *= 1e6
    np.testing.assert_allclose(GaussianNB().fit(X, y).predict_proba(X), before, rtol=1e-10)


@pytest.mark.parametrize("estimator", FAMILY, ids=str)
def test_partial_fit_in_any_grouping_equals_fit(iris, estimator):
    X, y = iris
    whole = estimator.fit(X, y).predict_log_proba(X)
    order = np.argsort(y, kind="stable")  # sorted: early chunks lack classes
    for n_chunks in (2, 7, 40):
        parts = clone(estimator)
        for rows in np.array_split(order, n_chunks):
            parts.partial_fit(X[rows], y[rows])
        np.testing.assert_allclose(parts.predict_log_proba(X), whole, rtol=1e-9, atol=1e-12)


def test_forgetting_rows_equals_never_having_seen_them(iris):
    X, y = iris
    never = QDA().fit(X[::2], y[::2])
    forgot = QDA().fit(X, y).forget(X[1::2], y[1::2])
    np.testing.assert_allclose(
        forgot.predict_log_proba(X), never.predict_log_proba(X), rtol=1e-10
    )


def test_weights_are_repetitions(iris):
    X, y = iris
    w = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = LDA().fit(X, y, sample_weight=w)
    repeated = LDA().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(
        weighted.predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-10
    )


def test_merged_moments_give_the_model_of_all_rows(iris, tmp_path):
    X, y = iris
    Moments.of(X[:70], y[:70]).save(tmp_path / "a.moments")
    Moments.of(X[70:], y[70:]).save(tmp_path / "b.moments")
    total = sf.load(tmp_path / "a.moments") + sf.load(tmp_path / "b.moments")
    merged, whole = QDA().fit_moments(total), QDA().fit(X, y)
    np.testing.assert_allclose(
        merged.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-10
    )


def test_naive_bayes_moments_refuse_to_become_lda(iris):
    X, y = iris
    with pytest.raises(MissingStatisticsError, match="storage='pooled' or 'per-class'"):
        LDA().fit_moments(GaussianNB().fit(X, y).moments_)


# --- decisions -----------------------------------------------------------------------------


def test_priors_change_without_a_refit(iris):
    X, y = iris
    base = LDA().fit(X, y)
    for priors in ([0.2, 0.3, 0.5], {"setosa": 0.2, "versicolor": 0.3, "virginica": 0.5}):
        changed = base.with_priors(priors)
        refitted = LDA(priors=priors).fit(X, y)
        np.testing.assert_allclose(
            changed.predict_log_proba(X), refitted.predict_log_proba(X), rtol=1e-12
        )
    assert base.priors_.tolist() == pytest.approx([1 / 3] * 3)


def test_costs_and_reject_choose_the_action_of_least_expected_cost(iris):
    X, y = iris
    base = QDA().fit(X[:, :2], y)
    p = base.predict_proba(X[:, :2])
    costs = np.array([[0, 1, 10], [2, 0, 5], [1, 1, 0.0]])
    expected = base.classes_[(p @ costs.T).argmin(1)]
    np.testing.assert_array_equal(base.with_costs(costs).predict(X[:, :2]), expected)
    chosen = base.with_costs(sf.Costs(reject=0.2, reject_label="?")).predict(X[:, :2])
    np.testing.assert_array_equal(chosen == "?", p.max(1) < 0.8)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"covariance": "fulll"}, InvalidParameterError, "covariance must be one of"),
        ({"divisor": "n"}, InvalidParameterError, "'mle', 'unbiased'"),
        ({"tied": [["setosa", "rose"]]}, UnknownLabelError, "'rose'"),
        ({"tied": [["setosa"], ["setosa"]]}, InvalidParameterError, "two groups"),
        ({"tied": "yes"}, InvalidParameterError, "tied must be"),
        ({"priors": [0.5, 0.2, 0.2]}, InvalidParameterError, "sum"),
        ({"priors": {"setosa": 1.0, "rose": 0.0}}, UnknownLabelError, "rose"),
        ({"priors": [1.5, -0.25, -0.25]}, SufficeError, "at least 0"),
        ({"costs": {("rose", "setosa"): 1}}, UnknownLabelError, "rose"),
        ({"costs": np.ones((2, 2))}, SufficeError, "shape"),
        ({"shrinkage": 1.5}, InvalidParameterError, "from 0 to 1"),
        ({"pooling": -0.1}, InvalidParameterError, "from 0 to 1"),
        ({"temperature": 0}, InvalidParameterError, "temperature must be a positive"),
    ],
)
def test_bad_settings_are_refused_by_name(iris, settings, error, message):
    with pytest.raises(error, match=message):
        GaussianClassifier(**settings).fit(*iris)


def test_bad_rows_are_refused_by_row_and_column(iris):
    X, y = iris
    fitted = QDA().fit(X, y)
    X = X.copy()
    X[7, 2] = np.inf
    for call in (
        fitted.predict,
        fitted.predict_proba,
        fitted.model_.log_density,
        fitted.transform,
    ):
        with pytest.raises(InvalidInputError, match="infinity: row 7, column 2"):
            call(X)
    with pytest.raises(InvalidInputError, match="infinity: row 7, column 2"):
        QDA().fit(X, y)


def test_one_class_is_not_enough(iris):
    X, _ = iris
    with pytest.raises(TooFewClassesError, match="found 1 class"):
        LDA().fit(X, np.zeros(len(X)))


def test_frames_with_other_columns_are_refused(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = LDA().fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[list("abdc")])
    with pytest.raises(FeatureMismatchError, match="'a' on one side"):
        fitted.moments_ + Moments.of(frame[list("bacd")], y)


# --- what the model knows ------------------------------------------------------------------


def test_log_likelihood_from_moments_equals_the_sum_over_rows(iris):
    X, y = iris
    for estimator in FAMILY:
        fitted = estimator.fit(X, y)
        codes = np.searchsorted(fitted.classes_, y)
        rows = fitted.model_.class_log_density(X)[np.arange(len(y)), codes]
        expected = (rows + np.log(fitted.priors_)[codes]).sum()
        assert fitted.log_likelihood() == pytest.approx(expected, rel=1e-11)


def test_class_density_matches_scipy(iris):
    X, y = iris
    fitted = QDA().fit(X, y)
    for k, (mean, cov) in enumerate(zip(fitted.means_, fitted.covariance_, strict=True)):
        expected = stats.multivariate_normal(mean, cov).logpdf(X)
        np.testing.assert_allclose(
            fitted.model_.class_log_density(X)[:, k], expected, rtol=1e-9
        )


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (LDA(), 2 + 12 + 10),
        (QDA(), 2 + 12 + 30),
        (GaussianNB(), 2 + 12 + 12),
        (GaussianClassifier(covariance="spherical", tied=True), 2 + 12 + 1),
        (GaussianClassifier(tied=[["setosa", "virginica"]]), 2 + 12 + 20),
    ],
)
def test_parameters_are_counted(iris, estimator, expected):
    fitted = estimator.fit(*iris)
    assert fitted.model_.model.n_parameters == expected
    assert fitted.model_.bic(fitted.moments_) - fitted.model_.aic(
        fitted.moments_
    ) == pytest.approx(expected * (np.log(150) - 2))


@pytest.mark.parametrize(
    "words",
    [{}, {"tied": True}, {"covariance": "diagonal"}, {"covariance": "VEI"}, {"shrinkage": 1}],
)
def test_classes_without_rows_have_no_parameters(iris, words):
    X, y = iris
    few = y != "virginica"
    fitted = GaussianClassifier(**words).fit(X, y, sample_weight=few.astype(float))
    expected = GaussianClassifier(**words).fit(X[few], y[few])
    assert fitted.model_.model.n_parameters == expected.model_.model.n_parameters
    assert fitted.model_.bic(fitted.moments_) == pytest.approx(
        expected.model_.bic(expected.moments_), rel=1e-12
    )


@pytest.mark.parametrize(
    "words", [{"covariance": "diagonal"}, {"covariance": "tree"}, {"estimate": "predictive"}]
)
def test_nor_have_they_probabilities_of_levels_or_degrees_of_freedom(iris, words):
    X, y = iris
    frame = pd.DataFrame(X[:, :3], columns=list("abc"))
    frame["d"] = np.array(["low", "mid", "high"])[np.digitize(X[:, 3], [0.5, 1.5])]
    frame["e"] = np.where(X[:, 0] > 5.8, "long", "short")
    few = y != "virginica"
    fitted = GaussianClassifier(**words).fit(frame, y, sample_weight=few.astype(float))
    expected = GaussianClassifier(**words).fit(frame, y)
    gone = expected.model_.model.n_parameters - fitted.model_.model.n_parameters
    assert 3 * gone == expected.model_.model.n_parameters + 1  # as all classes have as many


def test_samples_have_the_moments_of_the_model():
    model = GaussianClassifier().fit(*sample_of_the_lecture(4000))
    X, y = model.sample(200_000, random_state=1)
    again = GaussianClassifier().fit(X, y)
    np.testing.assert_allclose(again.means_, model.means_, atol=0.02)
    np.testing.assert_allclose(again.covariance_, model.covariance_, atol=0.03)
    np.testing.assert_allclose(again.priors_, model.priors_, atol=0.01)


def sample_of_the_lecture(n):
    """π = (0.7, 0.3), μ = (2, 1) and (1, 2), Σ = I."""
    rng = np.random.default_rng(0)
    y = rng.choice(2, n, p=[0.7, 0.3])
    return rng.normal(size=(n, 2)) + np.array([[2.0, 1.0], [1.0, 2.0]])[y], y


def test_bayes_error_of_two_tied_classes_is_exact():
    fitted = LDA(priors="uniform").fit(*sample_of_the_lecture(4000))
    gap = fitted.means_[0] - fitted.means_[1]
    delta = np.sqrt(gap @ np.linalg.solve(fitted.covariance_, gap))
    assert fitted.model_.bayes_error().is_exact
    assert fitted.model_.bayes_error() == pytest.approx(stats.norm.cdf(-delta / 2), rel=1e-12)
    tilted = fitted.with_priors([0.8, 0.2]).model_.bayes_error()
    X, y = fitted.with_priors([0.8, 0.2]).sample(400_000, random_state=3)
    simulated = (fitted.with_priors([0.8, 0.2]).predict(X) != y).mean()
    assert tilted == pytest.approx(simulated, abs=3e-3)


def test_simulated_bayes_error_is_within_its_standard_error_and_bound(iris):
    fitted = QDA().fit(*iris)
    error = fitted.model_.bayes_error(50_000, random_state=0)
    X, y = fitted.sample(200_000, random_state=5)
    simulated = (fitted.predict(X) != y).mean()
    assert abs(error - simulated) < 4 * np.hypot(error.standard_error, 4e-4)
    assert error < error.upper_bound


def test_partially_tied_classes_meet_in_a_plane_and_part_in_a_quadric(iris):
    X, y = iris
    fitted = GaussianClassifier(tied=[["versicolor", "virginica"], ["setosa"]]).fit(X, y)
    inside, across = (
        fitted.boundary("versicolor", "virginica"),
        fitted.boundary("setosa", "virginica"),
    )
    assert isinstance(inside, Hyperplane)
    assert isinstance(across, Quadric)
    joint = fitted.model_.model.log_joint(X)
    np.testing.assert_allclose(inside.evaluate(X), joint[:, 1] - joint[:, 2], atol=1e-9)
    np.testing.assert_allclose(across.evaluate(X), joint[:, 0] - joint[:, 2], atol=1e-9)
    with pytest.raises(UnknownLabelError, match="'rose'"):
        fitted.boundary("rose", "setosa")
    with pytest.raises(ValueError, match="class 'setosa' is named twice"):
        fitted.boundary("setosa", "setosa")


def test_linear_scores_are_coef_and_intercept(iris):
    X, y = iris
    fitted = LDA().fit(X, y)
    scores = X @ fitted.coef_.T + fitted.intercept_
    gap = scores - scores.max(1, keepdims=True)
    posterior = np.exp(gap) / np.exp(gap).sum(1, keepdims=True)
    np.testing.assert_allclose(posterior, fitted.predict_proba(X), atol=1e-10)
    two = LDA().fit(X[50:], y[50:])
    np.testing.assert_allclose(
        (X @ two.coef_.T + two.intercept_).ravel(), two.decision_function(X), rtol=1e-8
    )
    with pytest.raises(AttributeError, match="tied=True"):
        _ = QDA().fit(X, y).coef_


def test_log_probabilities_do_not_floor_far_from_the_data(iris):
    X, y = iris
    far = X[:1] * 1e4
    for estimator in (LDA(), QDA(), GaussianNB()):
        fitted = estimator.fit(X, y)
        joint = fitted.model_.model.log_joint(far)
        np.testing.assert_allclose(
            fitted.predict_log_proba(far), joint - joint.max(), rtol=1e-9, atol=1e-300
        )
        assert fitted.predict_log_proba(far).min() < -1e5


def test_a_high_temperature_softens_and_a_low_one_makes_the_softmax_hard(iris):
    X, y = iris
    soft, hard = (LDA(temperature=t).fit(X, y).predict_proba(X) for t in (1e9, 1e-6))
    np.testing.assert_allclose(soft, 1 / 3, atol=1e-6)
    assert set(np.unique(hard.round(6))) == {0.0, 1.0}


# --- degenerate data -----------------------------------------------------------------------


def test_missing_directions_are_named_and_the_model_still_works():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    X["twice"], X["flat"] = 2 * X["a"], 7.0
    y = np.repeat(["no", "yes"], 30)
    X["b"] += 3 * (y == "yes")
    for estimator in (LDA(), QDA()):
        with pytest.warns(
            DegenerateDataWarning, match="rank 3 instead of 5.*'flat'.*'(a|twice)'"
        ):
            fitted = estimator.fit(X, y)
        plain = type(estimator)().fit(X[["a", "b", "c"]], y)
        np.testing.assert_allclose(
            fitted.predict_log_proba(X), plain.predict_log_proba(X[["a", "b", "c"]]), rtol=1e-6
        )


def test_missing_variance_of_a_shared_covariance_is_that_of_all_rows():
    X = np.random.default_rng(0).normal(size=(9, 3))
    X[:, 1] = 1.0
    y = np.repeat(["a", "b", "c"], 3)
    with pytest.warns(
        DegenerateDataWarning, match="all classes share .9 rows.*column 1 is"
    ) as w:
        LDA().fit(X, y)
    message = str(w[0].message)
    assert "pool" not in message
    assert (
        ". In directions in which no class varies, the model uses the variance of" in message
    )
    assert "it uses 1e-09 of this variance. To avoid this, drop this column" in message
    with pytest.warns(
        DegenerateDataWarning, match="classes 'a', 'b', 'c' .9 rows.*drop this col"
    ):
        QDA().fit(X, y)


@pytest.mark.parametrize("estimator", [LDA(), QDA(), GaussianNB()], ids=str)
def test_one_row_classes_borrow_the_pooled_variance(iris, estimator):
    X, y = iris
    keep = np.r_[0:100, 120]  # one virginica
    if isinstance(estimator, LDA):
        fitted = estimator.fit(X[keep], y[keep])
    else:
        with pytest.warns(
            DegenerateDataWarning, match="class 'virginica' .1 row.*set pooling"
        ):
            fitted = estimator.fit(X[keep], y[keep])
    assert fitted.score(X, y) > 0.8
    assert np.isfinite(fitted.predict_log_proba(X)).all()


def test_more_features_than_rows_is_usable_and_unit_free():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 10)
    X = rng.normal(size=(20, 50)) + 2 * y[:, None]
    new = rng.normal(size=(200, 50)) + 2 * np.repeat([0, 1], 100)[:, None]
    scale = 10.0 ** rng.uniform(-6, 6, 50)
    for estimator in (LDA(), QDA()):
        with pytest.warns(DegenerateDataWarning):
            fitted = estimator.fit(X, y)
        labels = fitted.predict(new)
        assert (labels == np.repeat([0, 1], 100)).mean() > 0.9
        with pytest.warns(DegenerateDataWarning):
            np.testing.assert_array_equal(
                estimator.fit(X * scale, y).predict(new * scale), labels
            )


def test_digits_with_constant_pixels_are_classified():
    X, y = load_digits(return_X_y=True)
    with pytest.warns(DegenerateDataWarning, match="constant"):
        fitted = GaussianNB().fit(X, y)
    assert fitted.score(X, y) > 0.85
    with pytest.warns(DegenerateDataWarning):
        assert LDA().fit(X, y).score(X, y) > 0.95


def test_a_class_absent_from_the_data_gets_prior_zero(iris):
    X, y = iris
    fitted = LDA().partial_fit(X, y, classes=["rose", *np.unique(y)])
    assert fitted.predict_proba(X)[:, 0].max() == 0
    np.testing.assert_allclose(
        fitted.predict_proba(X)[:, 1:], LDA().fit(X, y).predict_proba(X)
    )


# --- the contract beyond the suite ---------------------------------------------------------


def test_grid_search_pipelines_and_pandas_output(iris):
    X, y = iris
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LDA()), {"lda__shrinkage": [None, 0.1, 0.5]}, cv=3
    ).fit(X, y)
    assert search.best_score_ > 0.95
    frame = (
        LDA()
        .set_output(transform="pandas")
        .fit_transform(pd.DataFrame(X, columns=list("abcd")), y)
    )
    assert list(frame.columns) == ["lda0", "lda1"]


def test_two_threads_may_fit_and_predict_at_once():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60_000, 6)), rng.integers(0, 3, 60_000)
    expected = QDA().fit(X, y).predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: QDA().fit(X, y).predict_proba(X), range(8))
        for posterior in found:
            np.testing.assert_array_equal(posterior, expected)


def test_saved_estimators_predict_the_same(iris, tmp_path):
    X, y = iris
    for estimator in [*FAMILY, QDA(costs=sf.Costs({("setosa", "virginica"): 5}, reject=0.3))]:
        estimator.fit(X, y).save(tmp_path / "m.suffice")
        again = sf.load(tmp_path / "m.suffice")
        assert type(again) is type(estimator)
        np.testing.assert_array_equal(
            again.predict_log_proba(X), estimator.predict_log_proba(X)
        )
        np.testing.assert_array_equal(again.predict(X), estimator.predict(X))


@pytest.mark.parametrize(
    ("preset", "fixed", "general"),
    [
        (LDA(shrinkage=0.2), "tied", GaussianClassifier(tied=True, shrinkage=0.2)),
        (QDA(shrinkage=0.2), "tied", GaussianClassifier(tied=False, shrinkage=0.2)),
        (
            GaussianNB(divisor="unbiased"),
            "covariance",
            GaussianClassifier("diagonal", divisor="unbiased"),
        ),
    ],
)
def test_a_preset_has_no_setting_for_what_it_stands_for(iris, preset, fixed, general):
    with pytest.raises(TypeError, match=fixed):
        type(preset)(**{fixed: "full"})
    with pytest.raises(ValueError, match="Invalid parameter"):
        clone(preset).set_params(**{fixed: "full"})
    found = clone(preset).fit(*iris).predict_log_proba(iris[0])
    np.testing.assert_array_equal(found, general.fit(*iris).predict_log_proba(iris[0]))


def test_rda_leaves_two_settings_open():
    assert (RDA().pooling, RDA().shrinkage, RDA(pooling=0.1).pooling) == ("auto", "auto", 0.1)
    assert RDA().settings().open_settings == ("pooling", "shrinkage")


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_the_number_of_threads_reaches_fit_and_prediction(iris, monkeypatch, n_jobs):
    from suffice.core import threads
    from suffice.core.model.gaussian import GaussianModel

    seen, read = [], GaussianModel._read
    monkeypatch.setattr(
        GaussianModel,
        "_read",
        lambda *asked: seen.append(threads.n_threads_of(None)) or read(*asked),
    )
    LDA(n_jobs=n_jobs).fit(*iris).predict(iris[0])
    assert seen == [threads.usable_cores() if n_jobs == -1 else n_jobs]


@pytest.mark.parametrize("settings", [{}, {"shrinkage": "auto"}])
def test_a_fit_never_reads_the_callers_rows_again(iris, settings):
    X, y = iris[0].copy(), iris[1].copy()
    fitted, new = QDA(**settings).fit(X, y), iris[0][::7]
    before = fitted.predict_log_proba(new)
    X[:], y[:] = 1e6, "rose"
    np.testing.assert_array_equal(fitted.predict_log_proba(new), before)
    assert fitted.predict(new).tolist() == QDA(**settings).fit(*iris).predict(new).tolist()
    held = gc.get_referrers(X)
    assert not any(isinstance(holder, dict) and holder is vars(fitted) for holder in held)


def test_nothing_is_as_large_as_the_square_of_the_number_of_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 3)), np.arange(4000) // 2
    tracemalloc.start()
    LDA().fit(X, y).predict(X[:5])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2000**2 * 8 / 4


@pytest.mark.slow
def test_small_fits_never_import_numba():
    code = (
        "import sys, numpy as np, suffice as sf;"
        "X = np.random.default_rng(0).normal(size=(150, 4)); y = np.arange(150) % 3;"
        "sf.LDA().fit(X, y).predict(X); sf.QDA().fit(X, y).predict_proba(X);"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_suffice_imports_nothing_heavy():
    code = "import sys, suffice; assert not {'numpy', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_public_names_are_exactly_all():
    assert len(sf.__all__) == len(set(sf.__all__))
    for name in sf.__all__:
        assert getattr(sf, name).__name__.split(".")[-1] == name


@pytest.mark.parametrize(
    "estimator",
    [
        LDA(),
        LDA(power="yeo-johnson"),
        LDA(temperature=2.0),
        LDA(priors=[0.2, 0.8, 0.0]),
        LDA(estimate="map"),
        GaussianClassifier(tied=True, covariance="diagonal"),
    ],
    ids=str,
)
@pytest.mark.parametrize("k", [2, 3])
def test_the_decision_function_is_the_linear_score(iris, estimator, k):
    X, y = iris[0][: 50 * k], iris[1][: 50 * k]
    if estimator.priors is not None and k == 2:
        estimator = LDA(priors=[0.2, 0.8])
    fitted = estimator.fit(X, y)
    rows = X if fitted.moments_.power is None else fitted.moments_.power.apply(X)
    expected = rows @ fitted.coef_.T + fitted.intercept_
    found = fitted.decision_function(X)
    np.testing.assert_allclose(found, expected[:, 0] if k == 2 else expected, atol=1e-9)


@pytest.mark.parametrize("preset", [LDA, QDA, GaussianNB, RDA])
def test_an_unknown_setting_is_refused_in_the_name_of_the_class(preset):
    with pytest.raises(
        TypeError, match=rf"{preset.__name__}\.__init__\(\).*unexpected keyword.*'foo'"
    ):
        preset(foo=1)


@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
@pytest.mark.parametrize(
    "settings", [{}, {"tied": True}, {"shrinkage": 0.5}, {"pooling": 0.5}]
)
def test_forgetting_the_only_row_of_a_level_leaves_the_others_as_they_were(settings):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 2)), columns=["u", "v"])
    frame["level"] = ["b", "c", "b", "c", "c", "b", "c", "b", "c", "c", "b", "a"]
    y = np.arange(12) % 2
    fitted = GaussianClassifier(**settings).fit(frame, y).forget(frame[11:], y[11:])
    never = GaussianClassifier(**settings).fit(frame[:11], y[:11])
    np.testing.assert_allclose(
        fitted.predict_proba(frame[:11]), never.predict_proba(frame[:11]), rtol=1e-9
    )
