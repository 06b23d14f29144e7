"""Exponents of greatest likelihood against scikit-learn's, and what they do not depend on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import PowerTransformer, StandardScaler

from suffice.core.power_transform import PowerTransform
from suffice.errors import InvalidInputError


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_exponents_are_those_of_scikit_learn_on_standardised_features(load):
    X, _ = load(return_X_y=True)
    z = StandardScaler().fit_transform(X)
    theirs = PowerTransformer(standardize=False).fit(z)
    ours = PowerTransform.of(X)
    np.testing.assert_allclose(ours.exponents, theirs.lambdas_, atol=1e-5)
    np.testing.assert_allclose(
        (ours.apply(X) - ours.centre) / ours.scale, theirs.transform(z), atol=1e-4
    )


def draws(seed, n=60):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            rng.lognormal(size=n),
            rng.normal(size=n),
            -rng.exponential(size=n),
            rng.poisson(3, n),
        ]
    )


@given(st.integers(0, 10**6), st.lists(st.floats(-9, 9), min_size=4, max_size=4))
def test_exponents_do_not_depend_on_units(seed, powers):
    x, units = draws(seed), 10.0 ** np.array(powers)
    one, two = PowerTransform.of(x), PowerTransform.of(x * units + 3 * units)
    np.testing.assert_allclose(two.exponents, one.exponents, atol=2e-5)


@given(st.integers(0, 10**6))
def test_a_mirrored_feature_has_a_mirrored_exponent(seed):
    x = draws(seed)
    one, two = PowerTransform.of(x), PowerTransform.of(-x)
    np.testing.assert_allclose(two.exponents, 2 - one.exponents, atol=2e-5)


def test_weights_count_rows():
    x = draws(0)
    w = np.random.default_rng(1).integers(0, 4, len(x))
    one, two = PowerTransform.of(x, w), PowerTransform.of(np.repeat(x, w, axis=0))
    for name, values in one.arrays().items():
        np.testing.assert_allclose(values, two.arrays()[name], atol=1e-5, err_msg=name)


def test_many_rows_are_sampled_by_the_seed_alone():
    x = draws(2, 50_000)
    one = PowerTransform.of(x)
    assert one.equals(PowerTransform.of(x))
    assert not one.equals(PowerTransform.of(x, seed=1))
    np.testing.assert_allclose(one.exponents, PowerTransform.of(x, seed=1).exponents, atol=0.1)


def test_features_of_one_or_two_values_are_left_alone():
    x = np.column_stack([np.full(9, 7.0), np.arange(9) % 2, np.arange(9.0)])
    assert PowerTransform.of(x).exponents[:2].tolist() == [1.0, 1.0]
    np.testing.assert_array_equal(PowerTransform.of(x).apply(x)[:, :2], x[:, :2])


def test_a_skewed_feature_becomes_symmetric():
    x = np.random.default_rng(3).lognormal(size=(5000, 1))
    y = PowerTransform.of(x).apply(x)[:, 0]
    z = (y - y.mean()) / y.std()
    assert abs((z**3).mean()) < 0.3


def test_missing_values_have_no_say_and_an_infinite_one_is_named():
    x = draws(0)
    holes = x.copy()
    holes[::3, 2] = np.nan
    found = PowerTransform.of(holes)
    assert found.exponents[2] == PowerTransform.of(x[~np.isnan(holes[:, 2])]).exponents[2]
    assert found.exponents[0] == PowerTransform.of(x).exponents[0]
    x[7, 2] = np.inf
    with pytest.raises(InvalidInputError, match="infinity: row 7, column 2"):
        PowerTransform.of(x)


def test_a_large_mean_takes_no_digits_from_the_transform():
    rng = np.random.default_rng(0)
    # numbers with so few digits that adding 1e8 is exact
    x = np.round(np.exp(rng.normal(size=(2000, 2))) * 2**20) / 2**20
    near, far = PowerTransform.of(x), PowerTransform.of(x + 1e8)
    np.testing.assert_allclose(far.exponents, near.exponents, rtol=1e-12)
    np.testing.assert_allclose(far.apply(x + 1e8) - 1e8, near.apply(x), atol=3e-8)
    slopes = far.log_jacobian(x + 1e8), near.log_jacobian(x)
    np.testing.assert_allclose(*slopes, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("scale", "fate"), [(1e-200, "underflow to zero"), (1e160, "overflow")]
)
def test_a_column_whose_squares_are_no_numbers_is_named(scale, fate):
    x = np.random.default_rng(0).normal(size=(20, 2)) * [1.0, scale]
    with pytest.raises(InvalidInputError, match=f"squares of column 1 {fate}: rescale"):
        PowerTransform.of(x)


def test_rows_and_weights_that_do_not_fit_together_are_refused():
    x = np.random.default_rng(0).normal(size=(20, 2))
    for rows, weight in (
        (x[:, 0], None),
        (x, np.ones(3)),
        (x, -np.ones(20)),
        (x, np.zeros(20)),
    ):
        with pytest.raises(InvalidInputError):
            PowerTransform.of(rows, weight)


def test_a_number_too_large_to_transform_is_named_by_row_and_column():
    steep = PowerTransform([1.0, 5.0], low=np.array([-1.0, -1.0]))
    rows = np.array([[1.0, 2.0], [1.0, 1e200]])
    with pytest.raises(
        InvalidInputError, match="row 1, column 1 holds a number that is infinite"
    ):
        steep.apply_observed(rows)
