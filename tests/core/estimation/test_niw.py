"""Normal–inverse-Wishart learning, and the models that are read from it, by their laws."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import invwishart, multivariate_normal, multivariate_t

from suffice import LDA, QDA, Moments, NormalInverseWishart
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.priors import Dirichlet, class_priors
from suffice.core.estimation.settings import Settings
from suffice.errors import DegenerateDataWarning, InvalidInputError, InvalidParameterError

REFERENCE = Path(__file__).parents[2] / "reference" / "niw.json"
DATASETS = json.loads(REFERENCE.read_text(encoding="utf-8"))["datasets"]
RULES = {
    "lda_predictive": {"tied": True, "estimate": "flat"},
    "qda_predictive": {"tied": False, "estimate": "flat"},
}


def sums(name):
    return tuple(
        np.array(DATASETS[name][key], float) for key in ("weights", "means", "scatters")
    )


def moments_of(weights, means, scatters):
    """Return moments with exactly these sums, from rows that have them."""
    x, y, w = [], [], []
    for k, (n, mean, scatter) in enumerate(zip(weights, means, scatters, strict=True)):
        d = len(mean)
        values, axes = np.linalg.eigh(scatter)
        root = axes * np.sqrt(np.maximum(values, 0.0))
        # 2 d rows of weight n / 2d at mean ± √(d / n) root: their scatter is root rootᵀ
        arms = np.sqrt(d / n) * root.T
        x.append(mean + np.concatenate([arms, -arms]))
        y.append(np.full(2 * d, k))
        w.append(np.full(2 * d, n / (2 * d)))
    return Moments.of(np.concatenate(x), np.concatenate(y), np.concatenate(w))


def draws(seed, n, d):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + rng.standard_normal(d)


def class_sums(x):
    z = x - x.mean(0)
    return float(len(x)), x.mean(0), z.T @ z


def own_posteriors(prior, weights, means, scatters):
    """Return the posterior of each class, every class with a covariance of its own."""
    classes = zip(weights.tolist(), means, scatters, strict=True)
    return [prior.posterior(*of_class) for of_class in classes]


def predictive(posterior):
    """Return SciPy's density of the next row."""
    # t with f degrees at m, shape Ψ (κ + 1) / (κ f)
    f, kappa = posterior.predictive_degrees, posterior.mean_strength
    return multivariate_t(posterior.mean, posterior.scale * ((kappa + 1) / (kappa * f)), f)


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("rule", RULES)
def test_log_posteriors_are_those_of_the_textbook(name, rule):
    words = dict(RULES[rule])
    moments = moments_of(*sums(name))
    words["estimate"] = NormalInverseWishart.flat(moments.n_features)
    model = estimate(moments, Settings(**words))
    found = model.log_posterior(np.array(DATASETS[name]["rows"]))
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
    exact = predictive(posterior).pdf(x)
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - exact) < 4 * error


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_scores_are_log_densities_of_scipy(seed, d):
    prior = NormalInverseWishart(np.zeros(d), 1.0, np.eye(d), d + 2.0)
    rows = [draws(seed + k, 9, d) for k in range(2)]
    est = QDA(estimate=prior).fit(np.concatenate(rows), np.repeat([0, 1], 9))
    x = draws(seed + 2, 5, d)
    for k in range(2):
        expected = predictive(prior.posterior(*class_sums(rows[k]))).logpdf(x)
        np.testing.assert_allclose(
            est.model_.class_log_density(x)[:, k],
            np.atleast_1d(expected),
            rtol=1e-9,
            atol=1e-9,
        )


def test_map_estimates_are_the_mode_of_the_joint_density():
    posterior = NormalInverseWishart(np.ones(2), 0.5, np.eye(2), 4.0).posterior(
        *class_sums(draws(0, 8, 2))
    )

    def log_density(mu, sigma):
        normal = multivariate_normal(posterior.mean, sigma / posterior.mean_strength).logpdf(
            mu
        )
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
    own = own_posteriors(prior, weights, means, scatters)
    tied = prior.posteriors(weights, means, scatters.sum(0))
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

    own = own_posteriors(uniform(1), weights, means, scatters)
    tied = uniform(k).posteriors(weights, means, scatters.sum(0))
    for j in range(k):
        np.testing.assert_allclose(own[j].map_covariance, scatters[j] / weights[j])
        np.testing.assert_allclose(tied[j].map_covariance, scatters.sum(0) / weights.sum())
        np.testing.assert_allclose(own[j].map_mean, means[j])


def test_one_class_is_tied_to_itself():
    prior = NormalInverseWishart(np.ones(2), 0.5, np.eye(2), 4.0)
    weight, mean, scatter = class_sums(draws(0, 8, 2))
    weights = np.array([weight])
    (own,) = own_posteriors(prior, weights, mean[None], scatter[None])
    (tied,) = prior.posteriors(weights, mean[None], scatter)
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
    other = NormalInverseWishart.default(
        weights, means * units, pooled * np.outer(units, units)
    )
    np.testing.assert_allclose(other.scale, one.scale * np.outer(units, units), rtol=1e-10)
    np.testing.assert_allclose(
        other.mean, one.mean * units, rtol=1e-9, atol=1e-12 * units.max()
    )


def test_the_default_prior_is_proper_for_one_row_and_for_fewer_rows_than_features():
    d = 6
    parts = [class_sums(draws(k, n, d)) for k, n in enumerate((1, 3, 2))]
    weights, means, scatters = (np.array(each) for each in zip(*parts, strict=True))
    pooled = scatters.sum(0)
    prior = NormalInverseWishart.default(weights, means, pooled)
    own = own_posteriors(prior, weights, means, scatters)
    for posterior in [*own, *prior.posteriors(weights, means, pooled)]:
        assert posterior.predictive_degrees > 2
        assert np.linalg.eigvalsh(posterior.scale).min() > 0
        assert np.isfinite(predictive(posterior).logpdf(posterior.mean))


def test_the_default_prior_takes_total_spread_where_classes_have_none():
    weights, pooled = np.array([1.0, 1.0]), np.zeros((1, 1))
    prior = NormalInverseWishart.default(weights, np.array([[0.0], [4.0]]), pooled)
    np.testing.assert_allclose(prior.scale, [[4.0]])
    with pytest.warns(DegenerateDataWarning, match=r"column 0 is constant"):
        prior = NormalInverseWishart.default(weights, np.array([[4.0], [4.0]]), pooled)
    np.testing.assert_allclose(prior.scale, [[1.0]])


def test_too_few_rows_are_said_with_a_cure():
    X = np.concatenate([draws(k, n, 3) for k, n in enumerate((9, 3))])
    y = np.repeat([0, 1], (9, 3))
    with pytest.raises(InvalidInputError, match=r"class 1: .*use a proper prior"):
        QDA(estimate=NormalInverseWishart.flat(3)).fit(X, y)


def test_a_duplicated_column_is_refused():
    X = np.repeat(np.random.default_rng(0).normal(size=(18, 1)), 2, axis=1)
    y = np.repeat([0, 1], 9)
    for kind in (LDA, QDA):
        with pytest.raises(InvalidInputError, match=r"class.* 0.*: .*duplicated columns"):
            kind(estimate=NormalInverseWishart.flat(2)).fit(X, y)


def test_settings_of_a_prior_are_checked():
    with pytest.raises(InvalidParameterError, match="mean_strength"):
        NormalInverseWishart(np.zeros(2), -1.0, np.eye(2), 4.0)
    with pytest.raises(InvalidParameterError, match="scale"):
        NormalInverseWishart(np.zeros(2), 1.0, np.eye(3), 4.0)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=6), st.floats(1e-3, 1e3))
def test_expected_priors_are_smoothed_frequencies(weights, concentration):
    w, classes = np.array(weights), np.arange(len(weights))
    mean = class_priors(Dirichlet(concentration), classes, w)
    np.testing.assert_allclose(mean, (w + concentration) / (w.sum() + len(w) * concentration))
    assert mean.sum() == pytest.approx(1)


def test_most_probable_priors_of_a_uniform_prior_are_frequencies():
    mode = class_priors(Dirichlet(1), np.arange(3), np.array([5.0, 3.0, 0.0]), at_mode=True)
    np.testing.assert_allclose(mode, [0.625, 0.375, 0.0])


def test_priors_without_a_mode_are_refused():
    with pytest.raises(
        InvalidParameterError,
        match=r"Dirichlet\(alpha=0\.5\), the posterior of the priors may have no mode",
    ):
        class_priors(Dirichlet(0.5), np.arange(2), np.ones(2), at_mode=True)
    with pytest.raises(InvalidInputError, match="no class has any weight"):
        class_priors(Dirichlet(1), np.arange(2), np.zeros(2), at_mode=True)
    with pytest.raises(InvalidParameterError, match="positive"):
        Dirichlet(0.0)


@pytest.mark.parametrize("learning", ["map", NormalInverseWishart.flat(2, use="map")])
def test_a_class_without_rows_leaves_the_covariance_that_others_share(learning):
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.repeat([0, 1], 15)
    known = LDA(estimate=learning).fit(X, y)
    more = LDA(estimate=learning).fit_moments(Moments.of(X, y, classes=[0, 1, 2, 3]))
    np.testing.assert_allclose(more.covariance_, known.covariance_, rtol=1e-14)
