"""Estimates of special rows: exact zeros, small weights, levels that all classes have."""

import warnings

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice.core.estimation import edda_axes
from suffice.core.estimation.categories import _of_observed_rows, _unseen_filled
from suffice.core.estimation.degenerate import filled_variances
from suffice.core.estimation.normal_inverse_wishart import NormalInverseWishart
from suffice.errors import NotConvergedWarning


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
    assert "of 3 features is not proper: it needs more than 2 degrees" in prior.improper
    assert "of which there are 2" in prior.improper


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


def test_a_column_without_any_variance_gets_the_variance_one():
    filled = filled_variances(
        np.array([[0.0, 0.0, 2.0]]), np.array([0.0, 3.0, 5.0]), np.array([0.0, 4.0, 6.0])
    )
    np.testing.assert_array_equal(filled, [[1.0, 3.0, 2.0]])


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_a_mixture_counts_the_shares_means_and_covariances_of_its_components(covariance):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)) + 5 * rng.integers(0, 2, size=(200, 1))
    fitted = sf.MixtureClassifier(2, covariance=covariance).fit(x, np.arange(200) % 2)
    n_of_covariance = 6 if covariance == "full" else 3
    # a prior; in each class a share, and two components of a mean and a covariance
    assert fitted.model_.model.n_parameters == 1 + 2 * (1 + 2 * (3 + n_of_covariance))


def test_the_mean_of_a_mixture_of_many_columns_is_that_of_its_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 81))
    x[::4] += 3.0
    y = np.arange(800) % 2
    fitted = sf.MixtureClassifier(2, random_state=0).fit(x, y)
    expected = [x[y == 0].mean(0), x[y == 1].mean(0)]
    np.testing.assert_allclose(fitted.model_.model.means, expected, atol=1e-9)


def test_a_temperature_divides_log_odds(iris):
    X, y = iris
    plain = sf.QDA().fit(X[:100], y[:100]).predict_log_proba(X)
    tempered = sf.QDA(temperature=2.0).fit(X[:100], y[:100]).predict_log_proba(X)
    np.testing.assert_allclose(
        tempered[:, 0] - tempered[:, 1], (plain[:, 0] - plain[:, 1]) / 2, rtol=1e-9
    )


@pytest.mark.parametrize("unbiased", [False, True])
def test_squares_of_observed_rows_are_scaled_to_all_rows_of_the_class(unbiased):
    x = np.random.default_rng(0).normal(size=(24, 3))
    moments = sf.Moments.of(x, np.arange(24) % 2)
    # of twelve rows of the first class six have the second column, and none has the third
    weights = np.array([[12.0, 6.0, 0.0], [12.0, 12.0, 12.0]])
    scaled = _of_observed_rows(moments, weights, np.arange(2), unbiased=unbiased)
    factor = 11 / 5 if unbiased else 2
    expected = moments.diagonals * [[1.0, factor, 1.0], [1.0, 1.0, 1.0]]
    np.testing.assert_allclose(scaled.diagonals, expected)


@pytest.mark.parametrize(("share", "warns"), [(0.95, True), (1.05, False)])
def test_axes_that_have_not_settled_are_reported_by_the_likelihood_they_would_gain(
    monkeypatch, share, warns
):
    cross = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    x = np.concatenate([cross * [3.0, 1.0], cross * [4.0, 0.5]])  # axes are the coordinates
    y = np.repeat([0, 1], 4)
    descend = edda_axes.descend_axes
    angle = 1e-3
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def stopped_early(start, at, most):
        best = descend(start, at, most)
        point = at(best.axes @ turn)
        # the value is −2 log-likelihood per row
        monkeypatch.setattr(edda_axes, "UNFINISHED", share * (point.value - best.value) / 2)
        return point

    monkeypatch.setattr(edda_axes, "descend_axes", stopped_early)
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always", NotConvergedWarning)
        sf.GaussianClassifier(covariance="VVE").fit(x, y)
    assert bool(recorded) == warns
