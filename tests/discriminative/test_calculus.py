"""The appendix of matrix identities by finite differences, convexity, stalls and falling rates."""

import warnings

import numpy as np
import pytest

import suffice as sf
from suffice.errors import InvalidParameterError, NotConvergedWarning
from suffice.lectures import (
    GradientDescent,
    LinearGaussianRegressor,
    convexity_gap,
    descend,
    numerical_gradient,
)

rng = np.random.default_rng(0)
A = rng.normal(size=(3, 3))
X = rng.normal(size=(3, 3)) + 3 * np.eye(3)
a, b, x = rng.normal(size=(3, 3))
inverse = np.linalg.inv(X)
IDENTITIES = {
    "15 quadratic form": (lambda v: v @ A @ v, x, (A + A.T) @ x),
    "16 bilinear": (lambda M: a @ M @ b, X, np.outer(a, b)),
    "17 bilinear, transposed": (lambda M: a @ M.T @ b, X, np.outer(b, a)),
    "18 trace of an inverse": (
        lambda M: np.trace(np.linalg.inv(M) @ A),
        X,
        -inverse.T @ A.T @ inverse.T,
    ),
    "19 trace of a square": (lambda M: np.trace(M @ M.T @ A), X, (A + A.T) @ X),
    "20 log determinant": (lambda M: np.linalg.slogdet(M)[1], X, inverse.T),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_an_identity_of_the_appendix_is_the_numerical_gradient(name):
    function, at, formula = IDENTITIES[name]
    np.testing.assert_allclose(numerical_gradient(function, at), formula, atol=1e-7)


def test_identity_19_with_x_on_the_other_side_is_wrong():
    found = numerical_gradient(lambda M: np.trace(M @ M.T @ A), X)
    assert np.abs(found - X @ (A + A.T)).max() > 0.1


def test_a_convex_function_has_no_negative_gap_and_another_has():
    first, second = rng.normal(size=(2, 200, 2))
    hours, passed = sf.datasets.load("exam").arrays()
    t = np.where(passed == "yes", 1.0, -1.0)

    def cross_entropy(w):
        return np.logaddexp(0, -t * (w[0] + w[1] * hours[:, 0])).sum()

    assert convexity_gap(cross_entropy, first, second).min() >= 0
    assert convexity_gap(lambda w: -cross_entropy(w), first, second).max() <= 0
    assert convexity_gap(lambda w: np.sin(w).sum(), first, second).min() < 0
    with pytest.raises(InvalidParameterError, match="pairs of points"):
        convexity_gap(cross_entropy, first, second[:3])


def test_a_descent_that_stalls_says_so():
    with pytest.warns(NotConvergedWarning, match="lower nearby"):
        path = descend(lambda w: w[0] ** 3, lambda w: 3 * w**2, [0.0])
    assert path.is_stalled
    with pytest.warns(NotConvergedWarning, match="stalls"):
        saddle = descend(
            lambda w: w[0] ** 2 - w[1] ** 2, lambda w: np.array([2, -2]) * w, [1.0, 0.0]
        )
    assert saddle.is_stalled


def test_a_descent_to_a_minimum_does_not_stall():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not descend(lambda w: w @ w, lambda w: 2 * w, [1.0, 2.0]).is_stalled
        unfinished = descend(lambda w: w @ w, lambda w: 2 * w, [1.0], 1e-3, n_steps=5)
    assert not unfinished.is_stalled


def test_the_rate_of_a_descent_may_depend_on_the_step():
    path = descend(
        lambda w: w @ w, lambda w: 2 * w, [1.0], lambda t: 0.25 / (1 + t), n_steps=3
    )
    np.testing.assert_allclose(path.step_sizes, [0, 0.25, 0.125, 0.25 / 3])
    np.testing.assert_allclose(path.parameters[:3, 0], [1, 0.5, 0.375])
    with pytest.raises(InvalidParameterError, match="positive, got 0 at step 1"):
        descend(lambda w: w @ w, lambda w: 2 * w, [1.0], lambda t: 0.1 * (1 - t))


def test_stochastic_steps_with_decay_are_those_of_a_loop():
    hours, passed = sf.datasets.load("exam").arrays()
    t = (passed == "yes").astype(float)
    steps = GradientDescent("sgd", learning_rate=0.05, decay=0.01, standardize=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # twenty passes are few
        fitted = sf.LogisticRegression(l2=0, solver=steps, max_iter=20).fit(hours, passed)
    w = np.zeros(2)
    for step in range(400):
        row = np.array([1.0, hours[step % 20, 0]])
        y = 1 / (1 + np.exp(-w @ row))
        w -= 0.05 / (1 + 0.01 * step) * (y - t[step % 20]) * row
    np.testing.assert_allclose([fitted.intercept_[0], fitted.coef_[0, 0]], w, rtol=1e-10)
    with pytest.raises(InvalidParameterError, match="no effect on 'gd'"):
        GradientDescent("gd", decay=0.1)


def test_a_parabola_is_fitted_and_drawn_from():
    values = np.linspace(-2, 2, 200)[:, None]
    truth = 1 + 2 * values[:, 0] - 3 * values[:, 0] ** 2
    noisy = truth + 0.1 * rng.normal(size=200)
    curve = LinearGaussianRegressor(degree=2).fit(values, noisy)
    expected = np.polynomial.Polynomial.fit(values[:, 0], noisy, 2).convert().coef
    np.testing.assert_allclose([curve.intercept_, *curve.coef_], expected, rtol=1e-9)
    assert curve.variance_ == pytest.approx(0.01, rel=0.3)
    np.testing.assert_allclose(curve.sample(values, 0).mean(), truth.mean(), atol=0.05)
    with pytest.raises(InvalidParameterError, match="powers"):
        curve.fit_moments(sf.Moments.of(np.c_[values, noisy], np.zeros(200)), 1)
