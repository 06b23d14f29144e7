"""Tests of drift raise false alarms as often as they say where few rows show an error of 1.

The null distributions are exact, or nearly so: bands are those of chance.
"""

import numpy as np
import pytest
from scipy import stats
from tests.levels import assert_exact_rate, assert_rate, assert_uniform

import suffice as sf
from suffice.core.decision.error_intervals import holm
from suffice.diagnostics import drift
from suffice.evaluate.diagnostics.column_tests import (
    Column,
    mean_test,
    share_test,
    spread_test,
)
from suffice.evaluate.diagnostics.drift import ColumnDrift, Drift, drift_between
from suffice.evaluate.diagnostics.row_sums import RowSums


def columns(x):
    z = x - x.mean(0)
    moments = zip(x.mean(0), (z**2).mean(0), (z**3).mean(0), (z**4).mean(0), strict=True)
    return [Column(len(x), *values) for values in moments]


def p_values(test, old, new):
    return np.array([test(*pair) for pair in zip(columns(old), columns(new), strict=True)])


def test_means_of_five_normal_rows_have_the_level_of_students_t():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(2, 6000)), rng.normal(size=(3, 6000))

    def without_shape(before, after):
        unknown = {"third": np.nan, "fourth": np.nan}
        return mean_test(before._replace(**unknown), after._replace(**unknown))

    assert_uniform(p_values(without_shape, old, new))


@pytest.mark.parametrize("sign", [-1, 1])
def test_means_of_skewed_columns_rise_and_fall_equally_often(sign):
    rng = np.random.default_rng(1)
    old = sign * rng.exponential(size=(500, 3000))
    new = sign * rng.exponential(size=(10, 3000))
    is_alarm = p_values(mean_test, old, new) <= 0.05
    rises = new.mean(0) > old.mean(0)
    assert_exact_rate(is_alarm & rises, 0.025)
    assert_exact_rate(is_alarm & ~rises, 0.025)


def test_small_p_values_of_means_with_heavy_tails_are_as_rare_as_they_say():
    rng = np.random.default_rng(2)
    (old,) = columns(rng.laplace(size=(20_000, 1)))
    p = np.array([mean_test(old, new) for new in columns(rng.laplace(size=(6, 20_000)))])
    assert_uniform(p, levels=(0.005, 0.01, 0.05, 0.5))


def test_extreme_tails_have_an_inequality():
    rng = np.random.default_rng(3)

    def rows(shape):
        return rng.normal(size=shape) * np.where(rng.random(shape) < 0.01, 30.0, 1.0)

    (old,) = columns(rows((20_000, 1)))
    p = np.array([mean_test(old, new) for new in columns(rows((10, 3000)))])
    assert_rate(p <= 0.01, 0.0, 0.01)
    assert_rate(p <= 0.05, 0.005, 0.05)


@pytest.mark.parametrize(("n", "m"), [(60, 8), (8, 60)])
def test_spreads_of_eight_uniform_rows(n, m):
    rng = np.random.default_rng(4)
    p = p_values(spread_test, rng.random((n, 8000)), rng.random((m, 8000)))
    p = p[np.isfinite(p)]
    assert len(p) > 6000
    assert_rate(p <= 0.05, 0.04, 0.055)


def test_spreads_of_sixteen_normal_rows_rise_and_fall_equally_often():
    rng = np.random.default_rng(5)
    old, new = rng.normal(size=(30, 8000)), rng.normal(size=(30, 8000))
    p = p_values(spread_test, old, new)
    is_alarm = p <= 0.05
    rises = new.std(0) > old.std(0)
    for side in (rises, ~rises):
        assert_rate((is_alarm & side)[np.isfinite(p)], 0.02, 0.032)


def test_two_levels_rise_and_fall_equally_often():
    """Every table of given margins counts with its probability, so that nothing is simulated."""
    rises, falls = [], []
    for n_hits in range(5, 36):
        table = stats.hypergeom(70, n_hits, 30)
        hits = np.arange(max(0, n_hits - 40), min(n_hits, 30) + 1)
        p = [
            share_test(np.array([[n_hits - k, 40.0 - n_hits + k], [k, 30.0 - k]]))
            for k in hits
        ]
        likelihood = np.where(np.array(p) <= 0.05, table.pmf(hits), 0.0)
        rises.append(likelihood[hits > n_hits * 3 / 7].sum())
        falls.append(likelihood[hits < n_hits * 3 / 7].sum())
    assert 0.022 <= np.mean(rises) <= 0.026
    assert 0.022 <= np.mean(falls) <= 0.026


@pytest.mark.parametrize(("n_levels", "n", "m"), [(3, 20, 15), (4, 60, 30), (6, 60, 30)])
def test_several_levels(n_levels, n, m):
    rng = np.random.default_rng(6)
    shares = np.ones(n_levels) / n_levels
    old = rng.multinomial(n, shares, 3500).astype(float)
    new = rng.multinomial(m, shares, 3500).astype(float)
    p = np.array([share_test(np.stack(pair)) for pair in zip(old, new, strict=True)])
    assert_rate(p <= 0.05, 0.04, 0.06)
    assert_rate(p <= 0.2, 0.18, 0.22)
    assert_rate(p <= 0.5, 0.46, 0.54)


def test_several_levels_two_of_which_are_rare():
    rng = np.random.default_rng(13)
    shares = [0.96, 0.02, 0.02]
    tables = np.stack(
        [rng.multinomial(300, shares, 4000), rng.multinomial(6, shares, 4000)], 1
    )
    p = np.array([share_test(table.astype(float)) for table in tables])
    assert_rate(p <= 0.05, 0.03, 0.06)


def test_shares_of_several_levels_that_change_are_seen():
    rng = np.random.default_rng(14)
    old, new = (
        rng.multinomial(60, [0.6, 0.2, 0.2], 200),
        rng.multinomial(60, [0.2, 0.6, 0.2], 200),
    )
    p = np.array(
        [share_test(np.stack(pair).astype(float)) for pair in zip(old, new, strict=True)]
    )
    assert_rate(p <= 0.05, 0.95, 1.0)


def test_all_means_of_five_normal_rows_have_the_level_of_hotellings_test():
    rng = np.random.default_rng(7)

    def sums(n_rows, mean=0.0):
        x = rng.normal(mean, size=(n_rows, 2))
        return RowSums(sf.Moments.of(x, np.zeros(n_rows, int)))

    assert_uniform([drift_between(sums(3), sums(2)).p_value for _ in range(800)])
    p = [drift_between(sums(30), sums(20, mean=1.5)).p_value for _ in range(20)]
    assert_rate(np.array(p) <= 0.05, 0.95, 1.0)


def test_columns_with_extreme_tails_have_no_part_in_the_test_of_all_means():
    rng = np.random.default_rng(15)

    def sums(n_rows):
        x = rng.normal(size=(n_rows, 5))
        x[:, 1:] *= np.where(rng.random((n_rows, 4)) < 0.02, 30.0, 1.0)
        return RowSums(sf.Moments.of(x, np.zeros(n_rows, int)))

    p = [drift_between(sums(300), sums(6)).p_value for _ in range(200)]
    assert_rate(np.array(p) <= 0.05, 0.02, 0.075)


def test_any_of_several_columns_raises_an_alarm_in_five_percent():
    rng = np.random.default_rng(8)
    for n_tests in (1, 3):
        p = rng.random((6000, n_tests))
        # P(any p ≤ α/m) = 1 − (1 − α/m)ᵐ of independent tests
        expected = 1 - (1 - 0.05 / n_tests) ** n_tests
        assert_exact_rate([holm(each).min() <= 0.05 for each in p], expected)
    # once a column has moved, the two others share the level
    p = np.column_stack([np.zeros(6000), rng.random((6000, 2))])
    assert_exact_rate([holm(each)[1:].min() <= 0.05 for each in p], 1 - 0.975**2)


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_weights_of_new_rows_are_no_drift_whatever_their_sum(scale):
    rng = np.random.default_rng(9)
    fitted = sf.LDA().fit(rng.normal(size=(3000, 2)), np.arange(3000) % 2)
    p = []
    for _ in range(200):
        weight = scale * rng.gamma(2, size=60)
        p.append(drift(fitted, rng.normal(size=(60, 2)), sample_weight=weight).p_value)
    assert_rate(np.array(p) <= 0.05, 0.02, 0.075)


def sums_of(x):
    """Return the sums of rows that may have missing cells."""
    complete = sf.Moments.of(np.arange(2.0 * x.shape[1]).reshape(2, -1), [0, 0])
    return RowSums.like(complete, x)


def test_missing_cells_become_more_and_less_frequent_equally_often():
    rng = np.random.default_rng(10)
    more, less = [], []
    for _ in range(100):
        old, new = rng.normal(size=(24, 6)), rng.normal(size=(12, 6))
        old[rng.random(old.shape) < 0.25] = np.nan
        new[rng.random(new.shape) < 0.25] = np.nan
        for column in drift_between(sums_of(old), sums_of(new)).columns:
            if column.what == "missing":
                more.append(column.p_value <= 0.05 and column.after > column.before)
                less.append(column.p_value <= 0.05 and column.after < column.before)
    assert_rate(more, 0.005, 0.04)
    assert_rate(less, 0.01, 0.04)


def test_missing_cells_are_no_drift_of_all_means():
    rng = np.random.default_rng(18)

    def rows():
        x = rng.normal(size=(150, 4)) + rng.normal(size=(150, 1))
        x[rng.random(x.shape) < 0.3] = np.nan
        return sums_of(x)

    p = [drift_between(rows(), rows()).p_value for _ in range(90)]
    assert_rate(np.array(p) <= 0.05, 0.02, 0.075)


def test_numbers_with_two_values_rise_and_fall_equally_often():
    rng = np.random.default_rng(11)
    old, new = rng.random((2, 90, 400)) < 0.2
    found = drift_between(sums_of(np.where(old, 3.0, -1.0)), sums_of(np.where(new, 3.0, -1.0)))
    is_alarm = np.array([column.p_value <= 0.05 for column in found.columns])
    rises = np.array([column.after > column.before for column in found.columns])
    assert len(is_alarm) == 400
    assert_exact_rate(is_alarm & rises, 0.025)
    assert_exact_rate(is_alarm & ~rises, 0.025)


def test_any_column_has_moved_in_five_percent():
    rng = np.random.default_rng(12)
    is_alarm = []
    for p in rng.random((4000, 3)):
        columns = [ColumnDrift(str(j), "mean", 0.0, 1.0, 1.0, p[j]) for j in range(3)]
        is_alarm.append(bool(Drift(tuple(columns), 0.0, 0, np.nan, 9.0, 9.0).moved))
    assert_exact_rate(is_alarm, 1 - (1 - 0.05 / 3) ** 3)
