from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from suffice.core.model import GaussianModel
from suffice.core.model.geometry.boundary import boundary_between
from suffice.core.model.geometry.hyperplane import Hyperplane
from suffice.core.model.geometry.quadric import Quadric
from suffice.errors import InvalidParameterError


@dataclass(frozen=True, eq=False)
class GaussianScore:
    """A class and, in a model, its own covariance."""

    mean: np.ndarray
    precision: np.ndarray
    log_det: float
    log_prior: float

    def dense_precision(self):
        return self.precision

    def precision_times(self, x):
        return x @ self.precision

    def evaluate(self, x):
        u = x - self.mean
        quadratic = np.einsum("ij,ij->i", u @ self.precision, u)
        return self.log_prior - 0.5 * (self.log_det + quadratic)


def between(a, b, *, tied, labels=None):
    model = GaussianModel(
        log_priors=np.array([a.log_prior, b.log_prior]),
        centre=np.zeros(len(a.mean)),
        offsets=np.stack([a.mean, b.mean]),
        covariances=(a,) if tied else (a, b),
        group_of=np.array([0, 0 if tied else 1]),
        n_covariance_parameters=0,
    )
    return boundary_between(model, 0, 1, labels=labels)


def random_score(rng, d, offset=0.0, units=1.0):
    factor = rng.normal(size=(d, d)) + 2 * np.eye(d)
    sigma = factor @ factor.T * np.outer(units * np.ones(d), units * np.ones(d))
    mean = offset + rng.normal(size=d) * units
    return GaussianScore(
        mean, np.linalg.inv(sigma), np.linalg.slogdet(sigma)[1], np.log(rng.uniform(0.1, 0.9))
    ), sigma


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans())
def test_the_value_is_the_log_odds_of_the_classes(seed, d, tied):
    rng = np.random.default_rng(seed)
    (a, sigma_a), (b, sigma_b) = random_score(rng, d), random_score(rng, d)
    if tied:
        b, sigma_b = GaussianScore(b.mean, a.precision, a.log_det, b.log_prior), sigma_a
    x = rng.normal(size=(6, d)) * 3
    expected = (
        multivariate_normal(a.mean, sigma_a).logpdf(x)
        + a.log_prior
        - multivariate_normal(b.mean, sigma_b).logpdf(x)
        - b.log_prior
    )
    boundary = between(a, b, tied=tied, labels=("a", "b"))
    assert isinstance(boundary, Hyperplane if tied else Quadric)
    np.testing.assert_allclose(boundary.evaluate(x), np.ravel(expected), rtol=1e-7, atol=1e-7)
    swapped = between(b, a, tied=tied, labels=("b", "a"))
    np.testing.assert_allclose(swapped.evaluate(x), -boundary.evaluate(x), atol=1e-7)
    assert boundary.side(x).tolist() == swapped.side(x).tolist()


@pytest.mark.parametrize("tied", [True, False])
def test_means_at_a_hundred_million_lose_nothing(tied):
    P_a, P_b = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.0, -0.25], [-0.25, 3.0]])
    m_a, m_b = np.array([1e8 + 0.5, -1e8]), np.array([1e8 - 0.25, -1e8 + 1])
    a = GaussianScore(m_a, P_a, 0.25, -0.5)
    b = GaussianScore(m_b, P_a if tied else P_b, 0.25 if tied else 0.75, -1.0)
    x = np.array([1e8, -1e8]) + np.random.default_rng(0).integers(-64, 64, (20, 2)) / 16
    exact = [float(_exact(a, row) - _exact(b, row)) for row in x]
    boundary = between(a, b, tied=tied)
    np.testing.assert_allclose(boundary.evaluate(x), exact, rtol=1e-12, atol=1e-12)


def _exact(score, x):
    u = [Fraction(v) - Fraction(m) for v, m in zip(x, score.mean, strict=True)]
    P = [[Fraction(p) for p in row] for row in score.precision]
    form = sum(u[i] * P[i][j] * u[j] for i in range(2) for j in range(2))
    return Fraction(score.log_prior) - (Fraction(score.log_det) + form) / 2


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("units", [(1e-9, 1e9), (1e9, 1.0), (1e-9, 1e-9)])
def test_units_of_features_do_not_change_the_log_odds(tied, units):
    s = np.array(units)
    rng = np.random.default_rng(5)
    (a, _), (b, _) = random_score(rng, 2), random_score(rng, 2)
    x = rng.normal(size=(9, 2))
    plain = between(a, b, tied=tied).evaluate(x)
    scaled = [
        GaussianScore(c.mean * s, c.precision / np.outer(s, s), c.log_det, c.log_prior)
        for c in (a, b)
    ]
    again = between(*scaled, tied=tied).evaluate(x * s)
    np.testing.assert_allclose(again, plain, rtol=1e-10)


def test_a_very_narrow_class_keeps_its_digits_near_its_own_mean():
    a = GaussianScore(np.array([1.0]), np.array([[1e12]]), -np.log(1e12), 0.0)
    b = GaussianScore(np.array([0.0]), np.array([[1.0]]), 0.0, 0.0)
    x = 1.0 + np.array([[0.0], [1e-6], [-3e-6]])
    expected = a.evaluate(x) - b.evaluate(x)
    np.testing.assert_allclose(between(a, b, tied=False).evaluate(x), expected)


def test_equal_classes_have_no_boundary_but_a_preference():
    a = GaussianScore(np.zeros(2), np.eye(2), 0.0, np.log(0.7))
    b = GaussianScore(np.zeros(2), np.eye(2), 0.0, np.log(0.3))
    for tied in (True, False):
        same = between(a, b, tied=tied, labels=("a", "b"))
        assert same.side([[1.0, 2.0]]).tolist() == ["a"]
        assert same.signed_distance([[1.0, 2.0]]).tolist() == [np.inf]


def test_the_boundary_of_one_feature_with_two_variances_is_two_points():
    a = GaussianScore(np.array([0.0]), np.array([[1.0]]), 0.0, np.log(0.5))
    b = GaussianScore(np.array([0.0]), np.array([[0.25]]), np.log(4.0), np.log(0.5))
    cut = np.sqrt(np.log(4) / 0.75)
    np.testing.assert_allclose(between(a, b, tied=False).roots(), [-cut, cut])


def test_precisions_without_full_rank_are_allowed():
    a = GaussianScore(np.array([1.0, 5.0]), np.diag([1.0, 0.0]), 0.0, 0.0)
    b = GaussianScore(np.array([-1.0, 5.0]), np.diag([2.0, 0.0]), 0.0, 0.0)
    x = np.array([[0.3, 7.0]])
    expected = a.evaluate(x) - b.evaluate(x)
    np.testing.assert_allclose(between(a, b, tied=False).evaluate(x), expected)


def test_a_class_of_prior_zero_is_named():
    a = GaussianScore(np.zeros(1), np.eye(1), 0.0, 0.0)
    b = GaussianScore(np.ones(1), np.eye(1), 0.0, -np.inf)
    with pytest.raises(InvalidParameterError, match="class 'salmon' has prior 0"):
        between(a, b, tied=True, labels=("bass", "salmon"))
