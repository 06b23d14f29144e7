"""Tests of one column in two samples against every permutation, and numbers worked by hand."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from suffice.evaluate.diagnostics.column_tests import (
    Column,
    mean_test,
    pooled_shape,
    share_test,
    spread_test,
    two_values,
    upper_tail,
)


def column(x):
    z = x - x.mean()
    return Column(len(x), x.mean(), np.mean(z**2), np.mean(z**3), np.mean(z**4))


def moments_over_permutations(values, n_new):
    """Return skewness and excess kurtosis of the mean of so many values, over all choices."""
    means = [np.mean(choice) for choice in combinations(values, n_new)]
    return stats.skew(means), stats.kurtosis(means)


def test_the_shape_of_two_samples_is_that_of_their_rows_together():
    rng = np.random.default_rng(0)
    old = rng.exponential(size=40)
    new = 3 - 2 * rng.exponential(size=25)
    rows = np.concatenate([old, new])
    shape = pooled_shape(column(old), column(new))
    assert shape.variance == pytest.approx(rows.var())
    assert shape.skewness == pytest.approx(stats.skew(rows))
    assert shape.kurtosis == pytest.approx(stats.kurtosis(rows) + 3)


def test_the_two_values_of_a_column_are_found_whichever_is_rare():
    for rare, common in ((5.0, 2.0), (2.0, 5.0)):
        old = np.array([rare] * 3 + [common] * 9)
        new = np.array([rare] * 1 + [common] * 6)
        assert two_values(column(old), column(new)) == pytest.approx((2.0, 5.0))


def test_a_mean_of_normal_columns_is_judged_by_students_t():
    n_old, n_new = 30, 12
    old = Column(n_old, 0.0, 1.0, np.nan, np.nan)
    new = Column(n_new, 0.8, 1.5, np.nan, np.nan)
    # s² = (30 · 1 + 12 · 1.5) / 40,  t = 0.8 / (s √(1/30 + 1/12))
    t = 0.8 / np.sqrt((30 + 18) / 40 * (1 / 30 + 1 / 12))
    assert mean_test(old, new) == pytest.approx(2 * stats.t(40).sf(t))


def test_the_skewness_and_kurtosis_of_a_mean_are_those_over_all_permutations():
    values = np.array([0.0, 0.1, 0.3, 0.4, 0.8, 1.0, 1.7, 3.9, 6.0, 9.0])
    new = values[[3, 7, 8]]
    old = np.delete(values, [3, 7, 8])
    skewness, _ = moments_over_permutations(values, 3)
    shape = pooled_shape(column(old), column(new))
    n, n1, n2 = 10, 7, 3
    stated = shape.skewness * (n1 - n2) / (n - 2) * np.sqrt((n - 1) / (n1 * n2))
    assert stated == pytest.approx(skewness)
    # with these moments the p-value is as the gamma distribution and Student's t give it
    z = (new.mean() - values.mean()) / np.std(
        [np.mean(choice) for choice in combinations(values, 3)]
    )
    t = z * np.sqrt((n - 2) / (n - 1 - z**2))
    z = stats.norm.isf(stats.t(n - 2).sf(t))
    excess = (stats.kurtosis(values)) * (n**2 - 6 * n1 * n2) / (n * n1 * n2)
    rest = excess - 1.5 * skewness**2
    assert rest <= 0
    gamma = stats.pearson3(skewness)
    expected = min(2 * min(gamma.sf(z), gamma.cdf(z)), 1.0)
    assert mean_test(column(old), column(new)) == pytest.approx(expected, rel=1e-9)


def test_a_mean_with_extreme_tails_is_judged_by_chebyshevs_and_markovs_inequalities():
    n1, n2 = 400, 5
    n = n1 + n2
    kurtosis = 300.0
    for step in (0.3, 2.0, 5.0):
        old = Column(n1, 0.0, 1.0, 0.0, kurtosis)
        new = Column(n2, step, 1.0, 0.0, kurtosis)
        shape = pooled_shape(old, new)
        z = step * n1 / n / np.sqrt(shape.variance / n2 * n1 / (n - 1))
        excess = (shape.kurtosis - 3) * (n**2 - 6 * n1 * n2) / (n * n1 * n2)
        assert excess > 1
        bound = min(1 / max(z**2, 1), (3 + excess) / max(z**4, 1))
        assert mean_test(old, new) >= bound * (1 - 1e-12)
        if step == 5.0:
            assert mean_test(old, new) == pytest.approx(bound)


@pytest.mark.parametrize("skewness", [0.7, -0.7, 2.0, -2.0])
def test_the_tail_of_a_skewed_number_is_pearsons(skewness):
    for z in (-1.5, 0.0, 0.4, 2.5):
        assert upper_tail(z, skewness) == pytest.approx(stats.pearson3(skewness).sf(z))


def brute_force_mid_p(table):
    """Return Σ P(less likely) + ½ Σ P(as likely) over all tables of these margins."""
    hits = table[:, 0].sum()
    law = stats.hypergeom(table.sum(), hits, table[1].sum())
    p = law.pmf(np.arange(hits + 1))
    observed = law.pmf(table[1, 0])
    is_equal = np.isclose(p, observed, rtol=1e-7, atol=0)
    return p[(p < observed) & ~is_equal].sum() + 0.5 * p[is_equal].sum()


@pytest.mark.parametrize(
    "table",
    [
        [[8, 2], [1, 5]],
        [[2, 8], [5, 1]],
        [[3, 30], [9, 14]],
        [[0, 7], [3, 2]],
        [[5, 5], [5, 5]],
    ],
)
def test_two_levels_have_fishers_mid_p(table):
    table = np.array(table, float)
    expected = brute_force_mid_p(table)
    assert share_test(table) == pytest.approx(min(expected, 1.0))
    assert share_test(table[:, ::-1]) == pytest.approx(min(expected, 1.0))
    assert share_test(table[::-1]) == pytest.approx(min(expected, 1.0))


def test_pearsons_statistic_has_the_mean_and_variance_of_all_permutations():
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    n_new = 4
    statistics = []
    for choice in combinations(range(9), n_new):
        new = np.bincount(labels[list(choice)], minlength=3)
        counts = np.array([np.bincount(labels, minlength=3) - new, new], float)
        expected = counts.sum(1, keepdims=True) * counts.sum(0) / 9
        statistics.append((np.square(counts - expected) / expected).sum())
    mean = np.mean(statistics)
    variance = np.var(statistics)
    counts = np.array([[3, 2, 0], [0, 1, 3]], float)
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / 9
    observed = (np.square(counts - expected) / expected).sum()
    law = stats.gamma(mean**2 / variance, scale=variance / mean)
    assert share_test(counts) == pytest.approx(law.sf(observed))
    with_empty_level = np.insert(counts, 1, 0.0, axis=1)
    assert share_test(with_empty_level) == pytest.approx(law.sf(observed))


@pytest.mark.parametrize("third", [0.0, 1.2])
@pytest.mark.parametrize("step", [0.7, -1.1])
def test_a_mean_with_heavier_tails_than_its_skewness_tells_is_judged_by_students_t(
    step, third
):
    n1, n2 = 60, 6
    n = n1 + n2
    old = Column(n1, 0.0, 1.0, third, 9.0)
    new = Column(n2, step, 1.0, third, 9.0)
    shape = pooled_shape(old, new)
    z = step * n1 / n / np.sqrt(shape.variance / n2 * n1 / (n - 1))
    z = stats.norm.isf(stats.t(n - 2).sf(z * np.sqrt((n - 2) / (n - 1 - z**2))))
    skewness = shape.skewness * (n1 - n2) / (n - 2) * np.sqrt((n - 1) / (n1 * n2))
    excess = (shape.kurtosis - 3) * (n**2 - 6 * n1 * n2) / (n * n1 * n2)
    # Student's t with ν degrees of freedom has the excess 6/(ν − 4) and the variance ν/(ν − 2)
    df = 4 + 6 / (excess - 1.5 * skewness**2)
    assert 4 < df < 30
    assert excess < 1
    z = stats.norm.isf(stats.t(df).sf(z * np.sqrt(df / (df - 2))))
    law = stats.pearson3(skewness)
    expected = 2 * min(law.sf(z), law.cdf(z))
    assert mean_test(old, new) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("variance", [0.6, 1.0, 1.7])
@pytest.mark.parametrize("kurtosis", [3.0, 5.0])
def test_spreads_are_compared_by_f_with_the_degrees_of_box_and_andersen(variance, kurtosis):
    n1, n2 = 90, 50
    old = Column(n1, 0.0, 1.0, 0.0, kurtosis)
    new = Column(n2, 0.0, variance, 0.0, kurtosis * variance**2)
    pooled_variance = (n1 + n2 * variance) / (n1 + n2)
    pooled = kurtosis * (n1 + n2 * variance**2) / (n1 + n2) / pooled_variance**2
    factor = 2 / (pooled - 1)
    law = stats.f(factor * (n2 - 1), factor * (n1 - 1))
    ratio = variance * n2 / (n2 - 1) / (n1 / (n1 - 1))
    expected = min(2 * min(law.cdf(ratio), law.sf(ratio)), 1.0)
    assert spread_test(old, new) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kurtosis", [2.0, 3.0, 5.0])
def test_spreads_are_not_compared_with_fewer_than_15_degrees_of_freedom(kurtosis):
    # 2/(κ − 1) n degrees of the smaller sample, with κ of both together
    enough = int(np.ceil(15 * (kurtosis - 1) / 2))
    old = Column(300.0, 0.0, 1.0, 0.0, kurtosis)
    for n_new, has_test in ((enough, True), (enough - 1, False)):
        new = Column(float(n_new), 0.0, 1.0, 0.0, kurtosis)
        assert np.isfinite(spread_test(old, new)) == has_test
        assert np.isfinite(spread_test(new, old)) == has_test
