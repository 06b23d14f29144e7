import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import OAS, ledoit_wolf
from sklearn.datasets import load_iris, load_wine

from suffice.core.estimation.shrinkage import ledoit_wolf_intensity, oas_intensity, oas_rule

UNITS = st.lists(st.integers(-9, 9), min_size=4, max_size=4)


def sums(x):
    z = x - x.mean(0)
    return float(len(x)), z.T @ z, np.square(z).T @ np.square(z)


def standardised(x):
    return (x - x.mean(0)) / x.std(0)


def classes_of(load):
    x, y = load(return_X_y=True)
    return [x[y == k] for k in np.unique(y)]


def draws(seed, n, d):
    rng = np.random.default_rng(seed)
    return rng.standard_t(6, (n, d)) @ rng.standard_normal((d, d)) + 5


SAMPLES = [*classes_of(load_iris), *classes_of(load_wine), draws(0, 7, 20), draws(1, 300, 2)]


@pytest.mark.parametrize("x", SAMPLES, ids=lambda x: f"{x.shape}")
def test_oas_is_that_of_scikit_learn_on_standardised_rows(x):
    weight, scatter, _ = sums(x)
    expected = OAS().fit(standardised(x)).shrinkage_
    assert oas_intensity(weight, scatter) == pytest.approx(expected, rel=1e-10)


def rule_of_chen_and_others(n, d, trace_of_square, trace):
    """Return equation 23 of Chen et al. (2010)."""
    top = (1 - 2 / d) * trace_of_square + trace**2
    return top / ((n + 1 - 2 / d) * (trace_of_square - trace**2 / d))


@pytest.mark.parametrize(("d", "least", "most"), [(2, 1.5, 2), (10, 1.0185, 1.1112)])
def test_oas_differs_from_the_paper_by_as_much_as_its_docstring_says(d, least, most):
    n = 1e6
    traces_of_square = np.linspace(d * (1 + 1e-3), d**2, 50)  # of correlations, tr R = d
    ratios = [
        oas_rule(n, d, square, d) / rule_of_chen_and_others(n, d, square, d)
        for square in traces_of_square
    ]
    assert min(ratios) == pytest.approx(least, rel=1e-3)
    assert max(ratios) == pytest.approx(most, rel=1e-3)


@pytest.mark.parametrize("x", SAMPLES, ids=lambda x: f"{x.shape}")
@pytest.mark.parametrize("block_size", [3, 1000])
def test_ledoit_wolf_is_that_of_scikit_learn_on_standardised_rows(x, block_size):
    expected = ledoit_wolf(standardised(x), block_size=block_size)[1]
    assert ledoit_wolf_intensity(*sums(x)) == pytest.approx(expected, rel=1e-10, abs=1e-14)


def test_pooled_sums_give_the_intensity_of_rows_centred_by_class():
    parts = classes_of(load_wine)
    weight, scatter, fourth = (sum(each) for each in zip(*map(sums, parts), strict=True))
    z = np.concatenate([x - x.mean(0) for x in parts])
    expected = ledoit_wolf(z / z.std(0), assume_centered=True)[1]
    assert ledoit_wolf_intensity(weight, scatter, fourth) == pytest.approx(expected, rel=1e-10)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(0, 10**6), UNITS)
def test_intensities_do_not_depend_on_units(seed, exponents):
    x = draws(seed, 12, 4)
    units = 10.0 ** np.array(exponents)
    (n, s, q), (_, s_scaled, q_scaled) = sums(x), sums(x * units)
    assert oas_intensity(n, s_scaled) == pytest.approx(oas_intensity(n, s), rel=1e-9)
    assert ledoit_wolf_intensity(n, s_scaled, q_scaled) == pytest.approx(
        ledoit_wolf_intensity(n, s, q), rel=1e-8, abs=1e-12
    )


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 6))
def test_intensities_lie_between_zero_and_one(seed, n, d):
    weight, scatter, fourth = sums(draws(seed, n, d))
    assert 0 <= oas_intensity(weight, scatter) <= 1
    assert 0 <= ledoit_wolf_intensity(weight, scatter, fourth) <= 1


def test_a_constant_column_counts_as_a_column_of_zeros():
    x = draws(3, 30, 4)
    x[:, 1] = x[0, 1]
    weight, scatter, fourth = sums(x)
    scatter[1] = scatter[:, 1] = fourth[1] = fourth[:, 1] = 0
    z = (x - x.mean(0)) / np.where(np.arange(4) == 1, 1, x.std(0))
    z[:, 1] = 0
    assert oas_intensity(weight, scatter) == pytest.approx(OAS().fit(z).shrinkage_, rel=1e-10)
    assert ledoit_wolf_intensity(weight, scatter, fourth) == pytest.approx(
        ledoit_wolf(z)[1], rel=1e-10
    )


def test_a_sphere_is_shrunk_all_the_way_and_one_feature_not_at_all():
    assert oas_intensity(50.0, np.eye(3)) == 1.0
    assert oas_intensity(50.0, np.eye(1)) == 0.0
    assert ledoit_wolf_intensity(50.0, np.eye(1), np.eye(1)) == 0.0
    assert ledoit_wolf_intensity(50.0, 50 * np.eye(2), np.full((2, 2), 50.0)) == 1.0
