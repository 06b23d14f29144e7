"""Tests of covariances, means, normality and posteriors at their level where rows are few.

The null distributions are exact, or nearly so: an error of one degree of freedom shows.
"""

from dataclasses import replace

import numpy as np
import pytest
from tests.levels import assert_exact_rate, assert_rate, assert_uniform

import suffice as sf
from suffice.diagnostics import (
    adapt_priors,
    box_m,
    calibration,
    class_separation,
    normality,
)
from suffice.evaluate.diagnostics.diagnostic import simulated_p_values
from suffice.evaluate.diagnostics.normality import (
    Normality,
    henze_zirkler,
    marginal_p_value,
    whitened,
)
from suffice.evaluate.diagnostics.predictive_check import PredictiveCheck


def box_tests(rng, sizes, d, n_repeats, *, fourth):
    y = np.repeat(np.arange(len(sizes)), sizes)
    for _ in range(n_repeats):
        yield box_m(sf.Moments.of(rng.normal(size=(len(y), d)), y, fourth=fourth))


@pytest.mark.parametrize(("sizes", "d"), [((3, 4), 1), ((5, 5, 6), 2)])
def test_box_m_of_few_rows_without_fourth_moments(sizes, d):
    rng = np.random.default_rng(0)
    assert_uniform([t.p_value for t in box_tests(rng, sizes, d, 450, fourth=False)])


def test_the_chi_square_of_box_m():
    rng = np.random.default_rng(1)
    found = box_tests(rng, (20, 20), 4, 450, fourth=False)
    assert_uniform([test.chi_square.p_value for test in found])


@pytest.mark.parametrize(("sizes", "d"), [((10, 10), 1)])
def test_box_m_of_few_rows_with_fourth_moments(sizes, d):
    rng = np.random.default_rng(2)
    p = np.array([test.p_value for test in box_tests(rng, sizes, d, 800, fourth=True)])
    assert_rate(p <= 0.05, 0.03, 0.06)
    assert_rate(p <= 0.01, 0.002, 0.015)


def test_box_m_of_columns_with_uneven_tails():
    rng = np.random.default_rng(3)
    y = np.arange(90) % 3
    p = []
    for _ in range(400):
        x = rng.normal(size=(90, 3))
        x[:, 0] = rng.standard_t(4, 90)
        p.append(box_m(sf.Moments.of(x, y, fourth=True)).p_value)
    assert_rate(np.array(p) <= 0.05, 0.02, 0.06)


@pytest.mark.parametrize(("sizes", "d"), [((3, 2, 2), 2), ((3, 3), 1)])
def test_wilks_lambda_of_few_normal_rows(sizes, d):
    rng = np.random.default_rng(4)
    y = np.repeat(np.arange(len(sizes)), sizes)
    p = [
        class_separation(sf.Moments.of(rng.normal(size=(len(y), d)), y)).p_value
        for _ in range(600)
    ]
    assert_uniform(p)


@pytest.mark.parametrize(
    ("n", "d", "least", "most"),
    [(22, 16, 0.45, 0.65), (48, 13, 0.45, 0.57), (50, 1, 0.45, 0.53), (60, 2, 0.45, 0.55)],
)
def test_half_of_the_normal_classes_are_in_the_smaller_half(n, d, least, most):
    rng = np.random.default_rng(5)
    p = np.array([henze_zirkler(whitened(rng.normal(size=(n, d))))[1] for _ in range(1500)])
    assert_rate(p <= 0.5, least, most)


def test_normality_of_few_rows_is_adjusted_for_both_of_its_tests():
    rng = np.random.default_rng(6)
    y = np.repeat(["a"], 30)
    x = [rng.normal(size=(30, 4)) for _ in range(400)]
    p = np.array([normality(each, y).p_value for each in x])
    assert_rate(p <= 0.05, 0.025, 0.065)
    # the smaller of both p-values, each multiplied by two
    of_columns = np.array([marginal_p_value(each) for each in x[:60]])
    of_distances = np.array([henze_zirkler(whitened(each))[1] for each in x[:60]])
    smaller = np.minimum(of_columns, of_distances)
    np.testing.assert_allclose(p[:60], np.minimum(2 * smaller, 1))


def test_the_skewness_and_kurtosis_of_one_normal_column_are_two_tests():
    rng = np.random.default_rng(17)
    p = [marginal_p_value(rng.normal(size=(50, 1))) for _ in range(450)]
    assert_rate(np.array(p) <= 0.05, 0.03, 0.075)


@pytest.mark.parametrize("sign", [-1, 1])
def test_skewness_to_either_side_is_not_normal(sign):
    rng = np.random.default_rng(7)
    p = [marginal_p_value(sign * rng.gamma(2, size=(30, 4))) for _ in range(60)]
    assert_rate(np.array(p) <= 0.05, 0.75, 1.0)


@pytest.mark.parametrize("draw", ["uniform", "laplace"])
def test_tails_lighter_and_heavier_than_normal_are_not_normal(draw):
    rng = np.random.default_rng(8)
    p = [marginal_p_value(getattr(rng, draw)(-1, 1, size=(80, 6))) for _ in range(60)]
    assert_rate(np.array(p) <= 0.05, 0.75, 1.0)


def test_p_values_of_twenty_replicates_are_ranks():
    rng = np.random.default_rng(9)
    statistics = rng.normal(size=(21, 20_000))
    p = simulated_p_values(statistics[0], statistics[1:])
    for rank in (1, 2, 10, 20):
        assert_exact_rate(p <= rank / 21 + 1e-9, rank / 21)
    assert_exact_rate(p <= 0.05, 1 / 21)


def test_a_predictive_check_is_adjusted_for_both_of_its_tests():
    rng = np.random.default_rng(10)
    alarms = []
    for _ in range(4000):
        check = PredictiveCheck(
            classes=np.arange(2),
            feature_names=("a",),
            n_used=np.full(2, 30),
            n_rows=np.full(2, 30),
            values=rng.random((200, 2, 2)),
            quantiles=np.zeros((200, 2, 99)),
            left_out=(),
        )
        alarms.append(check.p_value <= 0.05)
    # each of two independent tests at 2.5 %
    assert_exact_rate(alarms, 1 - 0.975**2)


def test_calibration_of_weighted_rows():
    rng = np.random.default_rng(11)
    p = []
    for i in range(300):
        stated = rng.uniform(0.5, 1, 100)
        y = (rng.random(100) < stated).astype(int)
        posteriors = np.stack([1 - stated, stated], axis=1)
        weight = rng.gamma(0.5, size=100)
        found = calibration(
            y, posteriors, [0, 1], sample_weight=weight, simulations=59, random_state=i
        )
        p.append(found.p_value)
    assert_rate(np.array(p) <= 0.05, 0.02, 0.075)
    assert_rate(np.array(p) <= 0.5, 0.4, 0.6)


def test_coefficients_and_odds_ratios_of_logistic_regression():
    rng = np.random.default_rng(12)
    p, z, above, below = [], [], [], []
    for _ in range(280):
        x = rng.normal(size=(120, 2))
        y = (rng.random(120) < 1 / (1 + np.exp(-0.5 * x[:, 1]))).astype(int)
        summary = sf.LogisticRegression(l2=0.0).fit(x, y).summary(x, y)
        low, high = summary.odds_intervals
        p.append(summary.p_values[0, 1])
        z.append(summary.z[0, 1])
        above.append(low[0, 2] > np.exp(0.5))
        below.append(high[0, 2] < np.exp(0.5))
    assert_rate(np.array(p) <= 0.05, 0.02, 0.075)
    for side in (-1, 1):
        assert_rate((np.array(p) <= 0.05) & (np.sign(z) == side), 0.008, 0.05)
    assert_rate(above, 0.01, 0.045)
    assert_rate(below, 0.01, 0.045)
    assert_rate(np.array(above) | np.array(below), 0.02, 0.07)


def test_any_of_four_normal_classes_is_rejected_in_five_percent():
    rng = np.random.default_rng(13)
    each = np.ones(4, int)
    p = [
        Normality(each, each * 1.0, values, each, each, each, each[:0], 1).p_value
        for values in rng.random((6000, 4))
    ]
    assert_exact_rate(np.array(p) <= 0.05, 1 - (1 - 0.05 / 4) ** 4)


def check_of_exchangeable_data_sets(rng):
    """Return a check of 19 drawn data sets, which resemble the real one in every figure."""
    return PredictiveCheck(
        classes=np.arange(60),
        feature_names=("a", "b", "c"),
        n_used=np.full(60, 30),
        n_rows=np.full(60, 30),
        values=rng.random((20, 60, 4)),
        quantiles=rng.random((200, 60, 99)),
        left_out=(),
    )


def test_each_feature_of_each_class_is_checked_at_its_level():
    rng = np.random.default_rng(14)
    rows = [row for _ in range(20) for row in check_of_exchangeable_data_sets(rng).rows()]
    p = np.array([row["p_value"] for row in rows])
    # the ranks of a statistic among 20 are equally likely
    for rank in (1, 2, 10, 19):
        assert_exact_rate(p <= rank / 20 + 1e-9, rank / 20)


def test_real_rows_unlike_all_drawn_ones_are_an_alarm():
    check = check_of_exchangeable_data_sets(np.random.default_rng(18))
    values = np.random.default_rng(19).random((200, 60, 4))
    values[0] += 1.0
    unlike = replace(check, values=values)
    assert unlike.p_value <= 0.05
    assert all(row["p_value"] <= 0.05 for row in unlike.rows())
    assert replace(check, values=-values).p_value > 0.05


def test_the_envelope_of_drawn_quantiles_misses_on_each_side_in_two_and_a_half_percent():
    check = check_of_exchangeable_data_sets(np.random.default_rng(15))
    low, high = check.envelope
    observed = check.quantiles[0]
    # of 200 exchangeable numbers, five lie below the fifth smallest of the 199 others
    assert_exact_rate(observed < low, 0.025)
    assert_exact_rate(observed > high, 0.025)


def test_the_envelope_of_39_replicates_reaches_from_the_smallest_to_the_largest():
    check = check_of_exchangeable_data_sets(np.random.default_rng(20))
    few = replace(check, quantiles=check.quantiles[:40])
    np.testing.assert_array_equal(few.envelope[0], few.quantiles[1:].min(0))
    np.testing.assert_array_equal(few.envelope[1], few.quantiles[1:].max(0))


def test_bars_of_two_standard_errors_of_log_determinants():
    rng = np.random.default_rng(21)
    found = list(box_tests(rng, (30, 30), 2, 300, fourth=False))
    z = np.array([test.log_det_excess / test.log_det_errors for test in found])
    assert_rate(np.abs(z) > 2, 0.02, 0.075)
    np.testing.assert_allclose(z.std(0), 1, atol=0.1)


def box_p_value(x, y, *, fourth):
    return box_m(sf.Moments.of(x, y, fourth=fourth)).p_value


EFFECTS = {
    "normality": lambda x, y: normality(np.exp(x), y).p_value,
    "normality of few rows": lambda x, y: normality(np.exp(x[:30]), y[:30]).p_value,
    "Box's M": lambda x, y: box_p_value(x * (1 + 2 * y[:, None]), y, fourth=True),
    "Box's M of normal classes": lambda x, y: box_p_value(
        x * (1 + 2 * y[:, None]), y, fourth=False
    ),
    "Box's M by χ²": lambda x, y: (
        box_m(sf.Moments.of(x * (1 + 2 * y[:, None]), y)).chi_square.p_value
    ),
    "Wilks' lambda": lambda x, y: class_separation(sf.Moments.of(x + y[:, None], y)).p_value,
    "prior shift": lambda x, y: (
        adapt_priors(sf.LDA().fit(x + 2 * y[:, None], y), x[y == 0])[1].p_value
    ),
}


@pytest.mark.parametrize("test", EFFECTS)
def test_large_effects_are_seen(test):
    rng = np.random.default_rng(16)
    y = np.arange(80) % 2
    p = [EFFECTS[test](rng.normal(size=(80, 3)), y) for _ in range(20)]
    assert_rate(np.array(p) <= 0.05, 0.9, 1.0)
