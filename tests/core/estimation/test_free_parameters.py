"""The number of free parameters of each model, and the default prior, counted by hand."""

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice.core.estimation.normal_inverse_wishart import NormalInverseWishart

# two shares of classes, three means of four features, and covariances
SHARES_AND_MEANS = 2 + 3 * 4
MODELS = [
    (sf.QDA(), 3 * 10),
    (sf.LDA(), 10),
    (sf.GaussianNB(), 3 * 4),
    (sf.GaussianClassifier(covariance="spherical"), 3),
    (sf.GaussianClassifier(covariance="diagonal", tied=True), 4),
    (sf.QDA(estimate="predictive"), 3 * 10),
    (sf.LDA(estimate="predictive"), 10),
    (sf.LDA(shrinkage=0.5), 10),
    (sf.LDA(shrinkage=sf.Shrinkage(1.0, target="identity")), 1),
    (sf.QDA(shrinkage=sf.Shrinkage(1.0, target="identity")), 3),
    (sf.QDA(shrinkage=1.0), 3 * 4),
    (sf.GaussianClassifier("VEV"), 3 * 6 + 3 + 3),
]


@pytest.mark.parametrize(("estimator", "n"), MODELS, ids=str)
def test_a_model_has_as_many_parameters_as_are_estimated(iris, estimator, n):
    X, y = iris
    assert estimator.fit(X, y).model_.model.n_parameters == SHARES_AND_MEANS + n


@pytest.mark.parametrize(
    ("estimator", "n"), [(sf.QDA(), 2 + 6 + 9), (sf.LDA(), 2 + 6 + 3), (sf.GaussianNB(), 14)]
)
def test_a_model_of_two_features_has_the_parameters_of_two(iris, estimator, n):
    X, y = iris
    model = estimator.fit(X, y).model_.model
    assert model.marginal(np.array([0, 2])).n_parameters == n


def test_the_default_prior_expects_the_pooled_variances_with_two_degrees_more_than_features(
    iris,
):
    X, y = iris
    moments = sf.Moments.of(X, y)
    pooled = moments.scatters.sum(0)
    prior = NormalInverseWishart.default(moments.weights, moments.means, pooled)
    assert prior.degrees == 6
    expected = stats.invwishart(prior.degrees, prior.scale).mean()
    np.testing.assert_allclose(expected, np.diag(np.diagonal(pooled) / 150), rtol=1e-12)
    np.testing.assert_allclose(prior.mean, X.mean(0), rtol=1e-12)
