"""Yeo–Johnson curves as values: bijections of the line, with their slopes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import norm, yeojohnson

from suffice.core.power_transform import PowerTransform
from suffice.errors import InvalidParameterError

EXPONENTS = st.one_of(st.floats(-4, 6), st.sampled_from([0.0, 1.0, 2.0, 1e-12, 2 - 1e-12]))
ROWS = st.lists(st.floats(-50, 50), min_size=2, max_size=8)


def transform_of(exponent):
    return PowerTransform([exponent], 0.3, 1.7, -6.0, 9.0)


@given(EXPONENTS, ROWS)
def test_inverse_undoes_the_transform(exponent, values):
    t, x = transform_of(exponent), np.array(values)[:, None]
    # an error of the changed number is worth 1 / slope of it in the number itself
    reach = 1 + np.abs(x) + (1 + np.abs(t.apply(x))) / np.exp(t.log_slopes(x))
    assert (np.abs(t.inverse(t.apply(x)) - x) <= 1e-12 * reach).all()


@given(EXPONENTS, ROWS)
def test_order_is_kept(exponent, values):
    x = np.sort(np.array(values))[:, None]
    assert (np.diff(transform_of(exponent).apply(x)[:, 0]) >= 0).all()


@given(EXPONENTS, st.floats(-40, 40))
def test_slopes_are_those_of_the_curve(exponent, value):
    t, h = transform_of(exponent), 1e-5
    if min(abs(value - c) for c in (0.3, -6.0, 9.0)) < 1e-4:
        return
    below, above = t.apply(np.array([[value - h], [value + h]]))[:, 0]
    assert np.exp(t.log_jacobian(np.array([[value]]))[0]) == pytest.approx(
        (above - below) / (2 * h), rel=1e-6, abs=1e-9
    )


def test_exponent_one_is_the_identity_to_the_last_bit():
    x = np.random.default_rng(0).normal(1e8, 1, (50, 1))
    t = PowerTransform([1.0], x.mean(), x.std())
    assert np.array_equal(t.apply(x), x)
    assert np.array_equal(t.inverse(x), x)
    assert not t.log_jacobian(x).any()


@pytest.mark.parametrize("exponent", [0.0, 0.4, 1.0, 1.6, 2.0])
def test_curve_is_that_of_scipy(exponent):
    z = np.linspace(-20, 20, 101)
    found = PowerTransform([exponent]).apply(z[:, None])[:, 0]
    np.testing.assert_allclose(found, yeojohnson(z, exponent), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("exponent", [-3.0, 5.0])
def test_curve_is_that_of_scipy_up_to_the_knees_and_straight_beyond(exponent):
    t = PowerTransform([exponent], low=-2.0, high=3.0)
    z = np.linspace(-2, 3, 51)
    np.testing.assert_allclose(
        t.apply(z[:, None])[:, 0], yeojohnson(z, exponent), rtol=1e-13, atol=1e-14
    )
    far = np.arange(3.0, 9.0) if exponent < 0 else -np.arange(2.0, 8.0)
    steps = np.diff(t.apply(far[:, None])[:, 0])
    np.testing.assert_allclose(steps, steps[0], rtol=1e-9)


@given(EXPONENTS, st.floats(-9, 9), st.floats(-2, 2))
def test_a_change_of_units_changes_nothing(exponent, power, offset):
    unit = 10.0**power
    x = np.linspace(-20, 20, 21)[:, None]
    one = PowerTransform([exponent], 0.3, 1.7, -6.0, 9.0)
    two = PowerTransform(
        [exponent],
        *(
            unit * (v + offset) if i != 1 else unit * v
            for i, v in enumerate((0.3, 1.7, -6.0, 9.0))
        ),
    )
    expected = unit * (one.apply(x) + offset)
    np.testing.assert_allclose(
        two.apply(unit * (x + offset)), expected, rtol=1e-9, atol=1e-9 * unit
    )


@pytest.mark.parametrize("exponent", [-2.5, 0.0, 0.5, 1.0, 2.0, 4.0])
def test_a_gaussian_of_the_changed_feature_is_a_density_of_the_feature(exponent):
    t = transform_of(exponent)

    def density(x):
        row = np.array([[x]])
        return norm.pdf(t.apply(row)[0, 0], 0.5, 2.0) * np.exp(t.log_jacobian(row)[0])

    edges = [-np.inf, -6.0, 0.3, 9.0, np.inf]
    total = sum(integrate.quad(density, a, b, limit=200)[0] for a, b in pairwise(edges))
    assert total == pytest.approx(1, abs=1e-7)


def test_any_number_type_and_memory_order_is_taken():
    t = PowerTransform([0.5, 1.5], [1.0, 2.0], 3.0)
    x = np.arange(40.0).reshape(20, 2)
    for other in (x.astype(np.float32), x.astype(int), np.asfortranarray(x)):
        np.testing.assert_array_equal(t.apply(other), t.apply(x))
    assert t.apply(x[:0]).shape == (0, 2)


def test_blocks_of_rows_change_no_bit():
    x = np.random.default_rng(1).normal(size=(40_000, 2))
    t = PowerTransform([0.3, -1.0], high=2.0)
    assert np.array_equal(t.apply(x)[::777], t.apply(x[::777]))


def test_columns_can_be_selected():
    t = PowerTransform([0.5, -1.0, 2.5], [1.0, 2.0, 3.0], 1.0, -9.0, 9.0)
    x = np.random.default_rng(2).normal(size=(9, 3))
    part = t.select(np.array([2, 0]))
    np.testing.assert_array_equal(part.apply(x[:, [2, 0]]), t.apply(x)[:, [2, 0]])
    assert not part.equals(t.select(np.array([0, 2])))
    assert t.equals(PowerTransform(**t.arrays()))


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (([np.nan],), "exponent nan"),
        (([1.0], 0.0, 0.0), "scale 0"),
        (([1.0, 1.0], [1.0, 2.0, 3.0]), "centre has shape"),
        (([-1.0],), "levels off"),
        (([2.5], 0.0, 1.0, -np.inf, 5.0), "levels off"),
        (([-0.5], 3.0, 1.0, 0.0, 2.0), "levels off"),
    ],
)
def test_what_is_no_bijection_is_refused(arguments, found):
    with pytest.raises(InvalidParameterError, match=found):
        PowerTransform(*arguments)


def test_rows_of_other_width_are_refused():
    with pytest.raises(InvalidParameterError, match="fitted to 2 features"):
        PowerTransform([1.0, 1.0]).apply(np.zeros((3, 3)))
