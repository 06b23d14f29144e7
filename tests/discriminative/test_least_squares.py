import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.core.moments import Moments
from suffice.discriminative.least_squares import (
    joint_moments,
    regress_column,
    regress_indicators,
)
from suffice.errors import InvalidInputError


def _indicators(moments):
    """Return (w_0, w) of each class, (K, 1 + d)."""
    fit = regress_indicators(moments)
    return np.column_stack([fit.at_origin, fit.weights])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 4)) @ rng.normal(size=(4, 4)) + 5, rng.integers(0, 3, 90)


def design(x):
    return np.column_stack([np.ones(len(x)), x])


def test_indicator_regression_is_least_squares(data):
    x, codes = data
    expected = np.linalg.lstsq(design(x), np.eye(3)[codes], rcond=None)[0].T
    fit = _indicators(Moments.of(x, codes))
    np.testing.assert_allclose(fit[:, 0], expected[:, 0], rtol=1e-9)
    np.testing.assert_allclose(fit[:, 1:], expected[:, 1:], rtol=1e-9)


def test_the_fitted_indicators_sum_to_one(data):
    fit = _indicators(Moments.of(*data))
    assert fit[:, 0].sum() == pytest.approx(1)
    np.testing.assert_allclose(fit[:, 1:].sum(0), 0, atol=1e-13)


def test_weights_count_as_repetitions(data):
    x, codes = data
    times = np.random.default_rng(1).integers(0, 4, len(x))
    a = _indicators(Moments.of(x, codes, times))
    b = _indicators(Moments.of(np.repeat(x, times, 0), np.repeat(codes, times)))
    np.testing.assert_allclose(a[:, 1:], b[:, 1:], rtol=1e-9)


def test_duplicated_and_constant_columns_do_not_change_the_fit(data):
    x, codes = data
    wide = np.column_stack([x, x[:, 1], np.full(len(x), 7.0)])
    plain, odd = (_indicators(Moments.of(m, codes)) for m in (x, wide))
    np.testing.assert_allclose(
        odd[:, 0] + wide @ odd[:, 1:].T, plain[:, 0] + x @ plain[:, 1:].T, atol=1e-9
    )
    np.testing.assert_array_equal(odd[:, 1:][:, -1], 0)


@given(st.lists(st.integers(-9, 9), min_size=4, max_size=4))
def test_units_do_not_change_the_fit(powers):
    rng = np.random.default_rng(0)
    x, codes = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    factor = 10.0 ** np.array(powers)
    a, b = (_indicators(Moments.of(m, codes)) for m in (x, x * factor))
    np.testing.assert_allclose(b[:, 1:] * factor, a[:, 1:], rtol=1e-9)
    np.testing.assert_allclose(b[:, 0], a[:, 0], rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_regression_on_a_column_is_least_squares(data, weighted):
    x, _ = data
    y = x @ [1.0, -2.0, 0.5, 0.0] + np.random.default_rng(1).normal(size=len(x))
    w = np.random.default_rng(2).uniform(0.5, 2, len(x)) if weighted else np.ones(len(x))
    root = np.sqrt(w)[:, None]
    beta = np.linalg.lstsq(root * design(x), root[:, 0] * y, rcond=None)[0]
    moments = joint_moments(x, y, w if weighted else None)
    intercept, slopes, variance = regress_column(moments, 4)
    np.testing.assert_allclose([intercept, *slopes], beta, rtol=1e-8)
    residual = w @ (y - design(x) @ beta) ** 2
    assert variance == pytest.approx(residual / w.sum(), rel=1e-10)
    unbiased = regress_column(moments, 4, unbiased=True)[2]
    assert unbiased == pytest.approx(residual / (w.sum() - 5), rel=1e-10)


def test_any_column_can_be_the_target(data):
    x, codes = data
    intercept, slopes, _ = regress_column(Moments.of(x, codes), 1)
    others = design(np.delete(x, 1, axis=1))
    beta = np.linalg.lstsq(others, x[:, 1], rcond=None)[0]
    np.testing.assert_allclose([intercept, *slopes], beta, rtol=1e-8)


def test_an_unbiased_variance_needs_more_rows_than_coefficients():
    x = np.random.default_rng(0).normal(size=(3, 2))
    moments = joint_moments(x, x[:, 0] + 1, None)
    assert regress_column(moments, 2)[2] == pytest.approx(0, abs=1e-20)
    with pytest.raises(InvalidInputError, match="divisor='mle'"):
        regress_column(moments, 2, unbiased=True)
