"""Estimates of special rows: exact zeros, small weights, levels that all classes have."""

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice.core.estimation.categories import _unseen_filled
from suffice.core.estimation.normal_inverse_wishart import NormalInverseWishart


def test_a_covariance_that_happens_to_be_diagonal_has_all_its_parameters():
    cross = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    x = np.concatenate([cross, cross + 4.0])
    y = np.repeat([0, 1], 4)
    # a share, two means of two features, and covariances of three numbers
    assert sf.LDA().fit(x, y).model_.model.n_parameters == 1 + 4 + 3
    assert sf.QDA().fit(x, y).model_.model.n_parameters == 1 + 4 + 6
    assert sf.GaussianNB().fit(x, y).model_.model.n_parameters == 1 + 4 + 4


def test_an_improper_predictive_density_says_how_many_degrees_are_needed():
    prior = NormalInverseWishart(
        mean=np.zeros(3), mean_strength=1.0, degrees=2.0, scale=np.eye(3)
    )
    assert "of 3 features from 2 degrees" in prior.improper
    assert "more than 2 are needed" in prior.improper


def test_levels_that_every_class_has_keep_their_scatter():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90), "c": rng.choice(list("uvw"), 90)})
    moments = sf.Moments.of(frame, np.arange(90) % 2)
    kept = moments.select(moments.encoding.kept)
    filled = _unseen_filled(kept, np.array([0, 1]), 1)
    np.testing.assert_allclose(filled.scatters, kept.scatters, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_a_mixture_does_not_depend_on_the_unit_of_weights(factor):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2)) + 4 * rng.integers(0, 2, size=(120, 1))
    y = np.arange(120) % 2
    how = {"n_components": 2, "random_state": 0, "tol": 1e-12, "max_iter": 5000}
    mixture = sf.MixtureClassifier(prior_rows=0.0, **how).fit(x, y)
    scaled = sf.MixtureClassifier(prior_rows=0.0, **how).fit(x, y, np.full(120, factor))
    np.testing.assert_allclose(scaled.predict_proba(x), mixture.predict_proba(x), atol=1e-6)
