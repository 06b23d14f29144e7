"""Drift against exact distributions: every table of the same margins, and the plain F test."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import comb

import suffice as sf
from suffice.diagnostics import drift
from suffice.evaluate.diagnostics.drift import drift_between
from suffice.evaluate.diagnostics.row_sums import RowSums


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


def test_spreads_of_unknown_kurtosis_are_compared_as_those_of_gaussians():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 2))
    new = rng.normal(size=(35, 2)) * [1.3, 0.8]
    labels = np.arange(60) % 2
    before = sf.Moments.of(x, labels, fourth=False)
    after = sf.Moments.of(new, labels[:35], fourth=False)
    columns = drift_between(RowSums(before), RowSums(after)).columns
    spreads = [column for column in columns if column.what == "spread"]
    for j, found in enumerate(spreads):
        ratio = new[:, j].var(ddof=1) / x[:, j].var(ddof=1)
        f = stats.f(34, 59)
        assert found.p_value == pytest.approx(2 * min(f.cdf(ratio), f.sf(ratio)), rel=1e-9)
    assert len(spreads) == 2
