"""The least-squares classifier and the linear Gaussian regression as users meet them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression, RidgeClassifier

from suffice.core.moments import Moments
from suffice.errors import InvalidInputError, InvalidParameterError, TooFewClassesError
from suffice.estimators.least_squares import LeastSquaresClassifier, LinearGaussianRegressor


def test_the_classifier_picks_what_scikit_learns_unpenalised_ridge_picks(iris):
    X, y = iris
    ours, theirs = LeastSquaresClassifier().fit(X, y), RidgeClassifier(alpha=0).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(2 * ours.coef_, theirs.coef_, rtol=1e-8)


def test_rows_sums_and_batches_give_the_same_classifier(iris):
    X, y = iris
    whole = LeastSquaresClassifier().fit(X, y)
    sums = LeastSquaresClassifier().fit_moments(Moments.of(X, y))
    parts = LeastSquaresClassifier()
    order = np.random.default_rng(0).permutation(len(y))
    for chunk in np.array_split(order, 6):
        parts.partial_fit(X[chunk], y[chunk], classes=np.unique(y))
    for other in (sums, parts):
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-9)
        np.testing.assert_array_equal(other.predict(X), whole.predict(X))


def test_moments_carry_the_names_of_features(iris):
    frame = pd.DataFrame(iris[0], columns=["sl", "sw", "pl", "pw"])
    fit = LeastSquaresClassifier().fit_moments(Moments.of(frame, iris[1]))
    assert fit.feature_names_in_.tolist() == ["sl", "sw", "pl", "pw"]
    assert fit.predict(frame).shape == (150,)
    assert "pl" in fit.boundary("setosa", "virginica").equation()


def test_two_classes_have_one_score(iris):
    X, y = iris[0][50:], iris[1][50:]
    fit = LeastSquaresClassifier().fit(X, y)
    assert fit.coef_.shape == (1, 4)
    scores = fit.decision_function(X)
    np.testing.assert_array_equal(
        fit.predict(X), np.where(scores > 0, "virginica", "versicolor")
    )


def test_one_class_is_refused():
    with pytest.raises(TooFewClassesError, match="at least 2 classes"):
        LeastSquaresClassifier().fit([[1.0], [2.0]], ["a", "a"])
    with pytest.raises(TooFewClassesError, match="at least 2 classes"):
        LeastSquaresClassifier().fit([[1.0], [2.0]], ["a", "b"], sample_weight=[1, 0])


@pytest.fixture
def line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) * [1, 1e6, 1e-6] + [0, 1e6, 0]
    y = 2 + X @ [1.0, 1e-6, 3e6] + 0.5 * rng.normal(size=400)
    return X, y


@pytest.mark.parametrize("weighted", [False, True])
def test_the_regression_is_that_of_scikit_learn(line, weighted):
    X, y = line
    w = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else None
    ours = LinearGaussianRegressor().fit(X, y, sample_weight=w)
    # in these units scikit-learn would take the third feature for rounding and drop it
    near = X * [1, 1e-6, 1e6]
    theirs = LinearRegression().fit(near, y, sample_weight=w)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(near), rtol=1e-8)
    residual = y - ours.predict(X)
    assert ours.variance_ == pytest.approx(np.average(residual**2, weights=w))


def test_the_unbiased_variance_is_that_of_ordinary_regression():
    x = np.array([1.0, 2, 3, 4, 5, 6])
    y = np.array([1.1, 1.9, 3.2, 3.8, 5.3, 5.9])
    fit = LinearGaussianRegressor(divisor="unbiased").fit(x[:, None], y)
    known = stats.linregress(x, y)
    residual = y - known.intercept - known.slope * x
    assert fit.coef_[0] == pytest.approx(known.slope)
    assert fit.variance_ == pytest.approx((residual**2).sum() / 4)


def test_samples_follow_the_model(line):
    X, y = line
    fit = LinearGaussianRegressor().fit(X, y)
    rows = np.tile(X[:1], (20_000, 1))
    drawn = fit.sample(rows, random_state=0)
    mean, std = fit.predict(X[:1]), [np.sqrt(fit.variance_)]
    assert stats.kstest(drawn, "norm", args=(mean[0], std[0])).pvalue > 0.01
    np.testing.assert_array_equal(drawn, fit.sample(rows, random_state=0))


def test_a_column_of_moments_can_be_regressed_on_the_others(iris):
    frame = pd.DataFrame(iris[0], columns=["sl", "sw", "pl", "pw"])
    moments = Moments.of(frame, iris[1])
    features, target = frame[["sl", "sw", "pl"]], frame["pw"]
    plain = LinearRegression().fit(features, target)
    for name in ("pw", 3, -1):
        fit = LinearGaussianRegressor().fit_moments(moments, name)
        np.testing.assert_allclose(fit.coef_, plain.coef_, rtol=1e-9)
        np.testing.assert_allclose(fit.predict(features), plain.predict(features), rtol=1e-9)
    for name in ("pollen", 4):
        with pytest.raises(InvalidParameterError, match="no column"):
            LinearGaussianRegressor().fit_moments(moments, name)


def test_too_few_rows_for_an_unbiased_variance_are_refused():
    with pytest.raises(InvalidInputError, match="divisor='mle'"):
        LinearGaussianRegressor(divisor="unbiased").fit([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(InvalidParameterError, match="divisor must be one of"):
        LinearGaussianRegressor(divisor="n").fit([[1.0], [2.0]], [1.0, 2.0])
