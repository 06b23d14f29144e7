"""The classifier by itself: likelihoods, criteria, samples and true errors by their definitions."""

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice.core.decision.predictions import Predictions


@pytest.fixture(scope="module")
def fitted(iris):
    return sf.QDA().fit(*iris)


def test_the_likelihood_of_sums_is_that_of_the_rows_and_criteria_follow_from_it(iris, fitted):
    X, y = iris
    logs = 0.0
    for label in np.unique(y):
        rows = X[y == label]
        density = stats.multivariate_normal(rows.mean(0), np.cov(rows.T, bias=True))
        logs += density.logpdf(rows).sum() + len(rows) * np.log(len(rows) / len(y))
    model = fitted.model_
    assert model.log_likelihood(fitted.moments_) == pytest.approx(logs, rel=1e-10)
    assert model.rows_log_likelihood(X, y) == pytest.approx(logs, rel=1e-10)
    assert model.aic(fitted.moments_) == pytest.approx(2 * 44 - 2 * logs, rel=1e-10)
    assert model.bic(fitted.moments_) == pytest.approx(44 * np.log(150) - 2 * logs, rel=1e-10)


@pytest.mark.parametrize("n", [1, 7])
def test_a_sample_of_one_class_has_as_many_rows_as_were_asked_for(fitted, n):
    X, y = fitted.model_.sample(n, np.random.default_rng(0), "virginica")
    assert X.shape == (n, 4)
    assert y.tolist() == ["virginica"] * n
    assert len(fitted.model_.sample(n, np.random.default_rng(0))[1]) == n


@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_the_true_error_of_a_rule_does_not_depend_on_the_temperature(iris, temperature):
    model = sf.QDA(temperature=temperature).fit(*iris).model_
    setosa = model.true_error(lambda x: np.full(len(x), "setosa"), n_samples=2000)
    assert setosa == pytest.approx(2 / 3, abs=0.05)  # three classes of one size
    own = model.true_error(model, n_samples=20_000)
    assert own == pytest.approx(float(model.bayes_error(20_000)), abs=1e-9)


def test_a_linear_rule_between_two_gaussians_has_its_exact_error(iris):
    X, y = iris
    estimator = sf.LDA().fit(X[50:], y[50:])
    model = estimator.model_
    sigma = model.covariances
    delta = model.model.means[1] - model.model.means[0]
    # Φ(−Δ/2), Δ the Mahalanobis distance of two means under equal priors
    distance = np.sqrt(delta @ np.linalg.solve(sigma, delta))
    error = stats.norm.cdf(-distance / 2)
    assert model.true_error(estimator) == pytest.approx(error, rel=1e-9)


def test_costs_print_what_they_were_made_of():
    assert repr(sf.Costs()) == "Costs()"
    assert repr(sf.Costs(reject=0.1)) == "Costs(reject=0.1)"
    assert (
        repr(sf.Costs(reject=0.1, reject_label="?")) == "Costs(reject=0.1, reject_label='?')"
    )
    assert repr(sf.Costs([[0, 1], [2, 0]])) == "Costs(matrix=[[0, 1], [2, 0]])"


def test_rows_without_posteriors_have_an_error_and_no_other_loss():
    rows = Predictions(
        classes=np.array(["a", "b"]),
        truth=np.array([0, 1, 1]),
        predicted=np.array([0, 0, -1]),
        logs=None,
        rows=np.array([2, 0, 1]),
    )
    np.testing.assert_array_equal(rows.row_losses[0], [0, 1, 1])
    assert rows.row_losses.shape == (3, 3)
    assert np.isnan(rows.row_losses[1:]).all()
    assert rows.error == pytest.approx(2 / 3)
    assert rows.in_order().truth.tolist() == [1, 1, 0]
    assert rows.take(slice(1)).rows.tolist() == [2]
