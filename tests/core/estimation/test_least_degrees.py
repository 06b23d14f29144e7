"""How few degrees of freedom leave a most probable covariance, and a density of the next row."""

import numpy as np
import pytest

from suffice import GaussianClassifier
from suffice.core.estimation.normal_inverse_wishart import NormalInverseWishart
from suffice.errors import InvalidInputError, InvalidParameterError

X = np.random.default_rng(0).normal(size=(20, 2))
Y = np.arange(20) % 2


def with_prior(degrees, use):
    return GaussianClassifier(
        estimate=NormalInverseWishart(np.zeros(2), 1.0, np.eye(2), degrees, use=use)
    )


def test_the_most_probable_covariance_divides_by_degrees_features_and_two():
    # ten rows of each class: ν = −13.5 + 10, and ν + d + 2 = ½
    model = with_prior(-13.5, "map").fit(X, Y)
    for k in range(2):
        rows = X[k == Y]
        mean = rows.mean(0)
        scatter = (rows - mean).T @ (rows - mean)
        scale = np.eye(2) + scatter + 10 / 11 * np.outer(mean, mean)
        found = model.model_.model.covariance_of(k).dense()
        np.testing.assert_allclose(found, scale / 0.5, rtol=1e-12)
    with pytest.raises(InvalidParameterError, match="too few for a posterior mode"):
        with_prior(-14.0, "map").fit(X, Y)


def test_the_density_of_the_next_row_needs_a_degree_for_each_feature_but_one():
    # ν − d + 1 = ½
    model = with_prior(-8.5, "predictive").fit(X, Y)
    np.testing.assert_allclose(model.model_.model.degrees, [0.5, 0.5])
    with pytest.raises(InvalidInputError, match=r"predictive density of .* is not proper"):
        with_prior(-9.0, "predictive").fit(X, Y)
