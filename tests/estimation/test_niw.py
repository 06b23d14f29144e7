import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import invwishart, multivariate_normal, multivariate_t

from suffice.errors import DegenerateDataWarning, InvalidInputError, InvalidParameterError
from suffice.estimation import debiased
from suffice.estimation.debiased import debiased_classes, tied_debiased_classes
from suffice.estimation.normal_inverse_wishart import (
    NormalInverseWishart,
    posteriors,
    predictives,
    tied_posteriors,
)
from suffice.estimation.priors import Dirichlet

REFERENCE = Path(__file__).parents[1] / "reference" / "niw.json"
DATASETS = json.loads(REFERENCE.read_text(encoding="utf-8"))["datasets"]


def sums(name):
    return tuple(np.array(DATASETS[name][key], float) for key in ("weights", "means", "scatters"))


def draws(seed, n, d):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + rng.standard_normal(d)


def class_sums(x):
    z = x - x.mean(0)
    return float(len(x)), x.mean(0), z.T @ z


def squared_distances(x, density):
    z = x - density.location
    return np.einsum("ni,ni->n", z, np.linalg.solve(density.shape, z.T).T)


def log_posterior(rows, weights, densities):
    joint = np.stack([f.score(squared_distances(rows, f)) for f in densities], axis=1)
    joint += np.log(weights / weights.sum())
    return joint - logsumexp(joint, axis=1, keepdims=True)


def flat_predictive(weights, means, scatters, tied):
    k, d = means.shape
    if tied:
        learned = tied_posteriors(NormalInverseWishart.flat(d, k), weights, means, scatters.sum(0))
    else:
        learned = posteriors(NormalInverseWishart.flat(d), weights, means, scatters)
    return predictives(learned)


def unbiased(weights, means, scatters, tied):
    if tied:
        return tied_debiased_classes(weights, means, scatters.sum(0))
    return debiased_classes(weights, means, scatters)


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize(
    ("rule", "densities", "tied"),
    [
        ("lda_predictive", flat_predictive, True),
        ("qda_predictive", flat_predictive, False),
        ("lda_debiased", unbiased, True),
        ("qda_debiased", unbiased, False),
    ],
)
def test_log_posteriors_are_those_of_the_textbook(name, rule, densities, tied):
    weights, means, scatters = sums(name)
    found = log_posterior(
        np.array(DATASETS[name]["rows"]), weights, densities(weights, means, scatters, tied)
    )
    np.testing.assert_allclose(found, DATASETS[name][rule], rtol=1e-9, atol=1e-10)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 8))
def test_learning_in_two_steps_is_learning_at_once(seed, n, m):
    x = draws(seed, n + m, 3)
    prior = NormalInverseWishart(np.ones(3), 0.5, np.eye(3), 4.0)
    once = prior.posterior(*class_sums(x))
    twice = prior.posterior(*class_sums(x[:n])).posterior(*class_sums(x[n:]))
    np.testing.assert_allclose(twice.mean, once.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(twice.scale, once.scale, rtol=1e-9, atol=1e-9)
    assert twice.mean_strength == pytest.approx(once.mean_strength)
    assert twice.degrees == pytest.approx(once.degrees)


def test_no_rows_leave_the_prior_as_it_was():
    prior = NormalInverseWishart(np.ones(2), 0.5, np.eye(2), 4.0)
    after = prior.posterior(0.0, np.zeros(2), np.zeros((2, 2)))
    np.testing.assert_array_equal(after.mean, prior.mean)
    np.testing.assert_array_equal(after.scale, prior.scale)


def test_the_predictive_density_integrates_the_parameters_out():
    prior = NormalInverseWishart(np.zeros(2), 1.0, np.eye(2), 5.0)
    posterior = prior.posterior(*class_sums(draws(0, 6, 2)))
    x = np.array([0.3, -0.4])
    rng = np.random.default_rng(0)
    sigmas = invwishart(posterior.degrees, posterior.scale).rvs(4000, random_state=rng)
    # the mean integrates in closed form: x | Σ ~ N(m, Σ (1 + 1/κ))
    factor = 1 + 1 / posterior.mean_strength
    values = [multivariate_normal(posterior.mean, factor * s).pdf(x) for s in sigmas]
    student = posterior.predictive()
    exact = multivariate_t(student.location, student.shape, student.degrees).pdf(x)
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - exact) < 4 * error


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_scores_are_log_densities_of_scipy(seed, d):
    prior = NormalInverseWishart(np.zeros(d), 1.0, np.eye(d), d + 2.0)
    student = prior.posterior(*class_sums(draws(seed, 9, d))).predictive()
    x = draws(seed + 1, 5, d)
    expected = multivariate_t(student.location, student.shape, student.degrees).logpdf(x)
    found = student.score(squared_distances(x, student))
    np.testing.assert_allclose(found, np.atleast_1d(expected), rtol=1e-9, atol=1e-9)


def test_map_estimates_are_the_mode_of_the_joint_density():
    posterior = NormalInverseWishart(np.ones(2), 0.5, np.eye(2), 4.0).posterior(
        *class_sums(draws(0, 8, 2))
    )

    def log_density(mu, sigma):
        normal = multivariate_normal(posterior.mean, sigma / posterior.mean_strength).logpdf(mu)
        return normal + invwishart(posterior.degrees, posterior.scale).logpdf(sigma)

    mu, sigma = posterior.map_mean, posterior.map_covariance
    best = log_density(mu, sigma)
    for step in ([1e-3, 0], [0, 1e-3], [-1e-3, 0], [0, -1e-3]):
        assert log_density(mu + step, sigma) < best
    for step in ([[1, 0], [0, 0]], [[0, 0], [0, 1]], [[0, 1], [1, 0]]):
        for size in (1e-3, -1e-3):
            assert log_density(mu, sigma + size * np.array(step)) < best


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(0, 10**6), st.floats(0, 5))
def test_tied_learning_adds_what_each_class_teaches(seed, strength):
    prior = NormalInverseWishart(np.ones(3), strength, np.eye(3), 4.0)
    parts = [class_sums(draws(seed + k, 4, 3)) for k in range(3)]
    weights, means, scatters = (np.array(each) for each in zip(*parts, strict=True))
    own = posteriors(prior, weights, means, scatters)
    tied = tied_posteriors(prior, weights, means, scatters.sum(0))
    expected = prior.scale + sum(one.scale - prior.scale for one in own)
    for one, shared in zip(own, tied, strict=True):
        np.testing.assert_allclose(shared.scale, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(shared.mean, one.mean, rtol=1e-12, atol=1e-12)
        assert shared.degrees == prior.degrees + 12
        assert shared.mean_strength == one.mean_strength


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_a_uniform_prior_gives_maximum_likelihood(name):
    weights, means, scatters = sums(name)
    k, d = means.shape

    def uniform(m):
        return NormalInverseWishart(np.zeros(d), 0.0, np.zeros((d, d)), -(d + 1.0 + m), m)

    own = posteriors(uniform(1), weights, means, scatters)
    tied = tied_posteriors(uniform(k), weights, means, scatters.sum(0))
    for j in range(k):
        np.testing.assert_allclose(own[j].map_covariance, scatters[j] / weights[j])
        np.testing.assert_allclose(tied[j].map_covariance, scatters.sum(0) / weights.sum())
        np.testing.assert_allclose(own[j].map_mean, means[j])


def test_one_class_is_tied_to_itself():
    prior = NormalInverseWishart(np.ones(2), 0.5, np.eye(2), 4.0)
    weight, mean, scatter = class_sums(draws(0, 8, 2))
    weights = np.array([weight])
    (own,) = posteriors(prior, weights, mean[None], scatter[None])
    (tied,) = tied_posteriors(prior, weights, mean[None], scatter)
    np.testing.assert_allclose(tied.scale, own.scale)
    np.testing.assert_allclose(tied.map_covariance, own.map_covariance)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(0, 10**6), st.lists(st.integers(-9, 9), min_size=3, max_size=3))
def test_the_default_prior_follows_the_units(seed, exponents):
    units = 10.0 ** np.array(exponents)
    parts = [class_sums(draws(seed + k, 5, 3)) for k in range(2)]
    weights, means, scatters = (np.array(each) for each in zip(*parts, strict=True))
    pooled = scatters.sum(0)
    one = NormalInverseWishart.default(weights, means, pooled)
    other = NormalInverseWishart.default(weights, means * units, pooled * np.outer(units, units))
    np.testing.assert_allclose(other.scale, one.scale * np.outer(units, units), rtol=1e-10)
    np.testing.assert_allclose(other.mean, one.mean * units, rtol=1e-9, atol=1e-12 * units.max())


def test_the_default_prior_is_proper_for_one_row_and_for_fewer_rows_than_features():
    d = 6
    parts = [class_sums(draws(k, n, d)) for k, n in enumerate((1, 3, 2))]
    weights, means, scatters = (np.array(each) for each in zip(*parts, strict=True))
    pooled = scatters.sum(0)
    prior = NormalInverseWishart.default(weights, means, pooled)
    own = posteriors(prior, weights, means, scatters)
    for student in predictives([*own, *tied_posteriors(prior, weights, means, pooled)]):
        assert student.degrees > 2
        assert np.linalg.eigvalsh(student.shape).min() > 0
        assert np.isfinite(student.log_constant)


def test_the_default_prior_takes_total_spread_where_classes_have_none():
    weights, pooled = np.array([1.0, 1.0]), np.zeros((1, 1))
    prior = NormalInverseWishart.default(weights, np.array([[0.0], [4.0]]), pooled)
    np.testing.assert_allclose(prior.scale, [[4.0]])
    with pytest.warns(DegenerateDataWarning, match=r"columns \[0\] are constant"):
        prior = NormalInverseWishart.default(weights, np.array([[4.0], [4.0]]), pooled)
    np.testing.assert_allclose(prior.scale, [[1.0]])


def test_debiased_scores_are_unbiased():
    rng = np.random.default_rng(0)
    mu, sigma = np.array([1.0, -1.0]), np.array([[2.0, 0.6], [0.6, 1.0]])
    x = np.array([[0.5, 0.5]])
    samples = rng.multivariate_normal(mu, sigma, size=(4000, 9))
    scores = []
    for sample in samples:
        found = debiased(*class_sums(sample), degrees=8.0)
        scores.append(found.score(squared_distances(x, found))[0])
    error = np.std(scores) / np.sqrt(len(scores))
    assert abs(np.mean(scores) - multivariate_normal(mu, sigma).logpdf(x[0])) < 4 * error


def test_too_few_rows_are_said_with_a_cure():
    flat = NormalInverseWishart.flat(3)
    parts = [class_sums(draws(k, n, 3)) for k, n in enumerate((9, 3))]
    weights, means, scatters = (np.array(each) for each in zip(*parts, strict=True))
    with pytest.raises(InvalidInputError, match=r"class 1: .*use a proper prior"):
        predictives(posteriors(flat, weights, means, scatters))
    with pytest.raises(InvalidInputError, match=r"class 1: .*2 degrees of freedom.*more than 4"):
        debiased_classes(weights, means, scatters)


def test_a_duplicated_column_is_refused():
    weights, means = np.array([9.0, 9.0]), np.zeros((2, 2))
    scatters = np.ones((2, 2, 2))
    for densities in (flat_predictive, unbiased):
        for tied in (True, False):
            with pytest.raises(InvalidInputError, match=r"class 0: .*duplicated columns"):
                densities(weights, means, scatters, tied)


def test_settings_of_a_prior_are_checked():
    with pytest.raises(InvalidParameterError, match="mean_strength"):
        NormalInverseWishart(np.zeros(2), -1.0, np.eye(2), 4.0)
    with pytest.raises(InvalidParameterError, match="scale"):
        NormalInverseWishart(np.zeros(2), 1.0, np.eye(3), 4.0)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=6), st.floats(1e-3, 1e3))
def test_expected_priors_are_smoothed_frequencies(weights, concentration):
    w = np.array(weights)
    belief = Dirichlet.symmetric(len(w), concentration).posterior(w)
    np.testing.assert_allclose(
        belief.mean, (w + concentration) / (w.sum() + len(w) * concentration)
    )
    assert belief.mean.sum() == pytest.approx(1)


def test_most_probable_priors_of_a_uniform_prior_are_frequencies():
    belief = Dirichlet.symmetric(3).posterior(np.array([5.0, 3.0, 0.0]))
    np.testing.assert_allclose(belief.mode, [0.625, 0.375, 0.0])


def test_priors_without_a_mode_are_refused():
    with pytest.raises(InvalidParameterError, match=r"class 1 has concentration 0\.5"):
        _ = Dirichlet(np.array([2.0, 0.5])).mode
    with pytest.raises(InvalidParameterError, match="with some rows"):
        _ = Dirichlet.symmetric(2).mode
    with pytest.raises(InvalidParameterError, match="positive"):
        Dirichlet(np.array([1.0, 0.0]))
