"""Drift against exact distributions: every table of the same margins, and tests of normal rows."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import comb

import suffice as sf
from suffice.diagnostics import drift
from suffice.evaluate.diagnostics.column_tests import Column, mean_test, spread_test


def chi_square(table):
    expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    return (np.square(table - expected) / expected).sum()


def tables_of_the_same_margins(table):
    """Yield every table (2, L) with these margins, and its probability if rows are alike."""
    n_new = table[1].sum()
    totals = table.sum(0)
    for new in itertools.product(*(range(total + 1) for total in totals)):
        if sum(new) == n_new:
            ways = np.prod([comb(m, k) for m, k in zip(totals, new, strict=True)])
            yield np.array([totals - new, new]), ways / comb(totals.sum(), n_new)


@pytest.mark.parametrize("counts", [[[9, 3, 2], [2, 4, 1]], [[12, 1, 1], [3, 2, 4]]])
def test_levels_are_compared_by_the_mean_and_variance_of_every_table_of_these_margins(counts):
    table = np.array(counts)
    frames = [pd.DataFrame({"c": np.repeat(list("abc"), row)}) for row in table]
    labels = np.arange(table[0].sum()) % 2
    (found,) = drift(sf.GaussianNB().fit(frames[0], labels), frames[1]).columns
    pairs = [(chi_square(t), p) for t, p in tables_of_the_same_margins(table)]
    statistics, probabilities = np.array(pairs).T
    assert probabilities.sum() == pytest.approx(1)
    mean = probabilities @ statistics
    variance = probabilities @ np.square(statistics - mean)
    gamma = stats.gamma(mean**2 / variance, scale=variance / mean)
    assert found.p_value == pytest.approx(gamma.sf(chi_square(table)), rel=1e-9)


def columns_of_a_normal_shape(n_old, n_new, step, variances=(1.0, 1.0)):
    """Return two samples that have together no skewness and the kurtosis 3."""
    n = n_old + n_new
    shares = np.array([n_old, n_new]) / n
    e = step * np.array([-n_new, n_old]) / n  # means about the common one
    v = np.array(variances)
    third = -shares @ (3 * e * v + e**3)
    total_variance = shares @ (v + e**2)
    fourth = 3 * total_variance**2 - shares @ (4 * e * third + 6 * e**2 * v + e**4)
    old = Column(n_old, 0.0, v[0], third, fourth)
    return old, Column(n_new, step, v[1], third, fourth)


@pytest.mark.parametrize(("n_old", "n_new"), [(20, 20), (200, 8)])
def test_means_of_normal_shapes_are_compared_by_students_test(n_old, n_new):
    old, new = columns_of_a_normal_shape(n_old, n_new, step=0.8)
    deviations = [np.sqrt(c.variance * c.n / (c.n - 1)) for c in (old, new)]
    expected = stats.ttest_ind_from_stats(
        *(old.mean, deviations[0], old.n), *(new.mean, deviations[1], new.n)
    )
    assert mean_test(old, new) == pytest.approx(expected.pvalue, rel=2e-3)


def test_spreads_of_normal_shapes_are_compared_by_the_f_test():
    v = np.array([1.0, 1.7])
    shares = np.array([60, 35]) / 95
    fourth = 3 * (shares @ v) ** 2
    old, new = (Column(n, 0.0, s, 0.0, fourth) for n, s in [(60, 1.0), (35, 1.7)])
    ratio = (1.7 * 35 / 34) / (60 / 59)
    assert spread_test(old, new) == pytest.approx(2 * stats.f(34, 59).sf(ratio), rel=1e-9)


def test_means_over_missing_cells_have_the_covariance_of_the_rows_that_have_both_columns():
    rng = np.random.default_rng(3)
    old, new = (rng.normal(size=(n, 3)) + rng.normal(size=(n, 1)) for n in (80, 50))
    for x in (old, new):
        x[rng.random(x.shape) < 0.25] = np.nan
    y = np.arange(80) % 2
    found = drift(sf.LDA().fit(old, y), new)
    # covariances of pairs of columns, about the means of classes and then of all rows
    covariances = []
    inverse_sizes = []
    for x, labels in ((old, y), (new, np.zeros(50))):
        has = (~np.isnan(x)).astype(float)
        pairs = has.T @ has
        inverse_sizes.append(pairs / np.outer(np.diagonal(pairs), np.diagonal(pairs)))
        classes = np.unique(labels)
        means = np.array([np.nanmean(x[labels == k], axis=0) for k in classes])
        shares = np.array([np.mean(labels == k) for k in classes])
        total = np.zeros((3, 3))
        for k, mean, share in zip(classes, means, shares, strict=True):
            z = np.where(has == 1, x - mean, 0.0)[labels == k]
            present = has[labels == k]
            total += share * (z.T @ z) / (present.T @ present)
            total += share * np.outer(mean - shares @ means, mean - shares @ means)
        covariances.append(len(x) * total)
    v = sum(covariances) / 128 * sum(inverse_sizes)
    delta = np.nanmean(new, axis=0) - np.nanmean(old, axis=0)
    assert found.statistic == pytest.approx(delta @ np.linalg.solve(v, delta), rel=1e-9)
    observed = (~np.isnan(old)).sum(0) + (~np.isnan(new)).sum(0)
    assert found.error_df == observed.min() - 2
