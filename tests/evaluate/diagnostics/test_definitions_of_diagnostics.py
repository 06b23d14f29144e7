"""Limits and adjustments of diagnostics against their definitions."""

import warnings

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice.diagnostics import box_m, drift, normality, predictive_check
from suffice.errors import InvalidInputError
from suffice.evaluate.diagnostics.data import _near_copies
from suffice.evaluate.diagnostics.diagnostic import varying_columns
from suffice.evaluate.diagnostics.normality import (
    _simulated_null,
    _statistic,
    henze_zirkler,
    marginal_p_value,
    whitened,
)


@pytest.mark.parametrize("n_rare", [1, 2])
def test_a_number_counts_in_the_joint_test_if_its_kurtosis_is_at_most_half_the_rows(n_rare):
    # one of n rows at 1 has κ − 3 = 1/(p (1 − p)) − 6, and 60 rows allow at most 30
    rng = np.random.default_rng(n_rare)
    old = rng.normal(size=(60, 2))
    new = rng.normal(size=(60, 2))
    for x in (old, new):
        x[:, 1] = rng.normal(size=60) * 1e-9
    n = 120
    # the excess κ − 3 of the second column, both samples together, is 29.5 or 30.5
    target = 29.5 if n_rare == 1 else 30.5
    share = (1 - np.sqrt(1 - 4 / (target + 6))) / 2  # of a value 1, weighted
    w = np.full(n, (1 - share) / (n - 2))
    w[[0, 60]] = share / 2
    w *= n
    for x in (old, new):
        x[0, 1] += 1.0
    model = sf.LDA().fit(old, np.arange(60) % 2, sample_weight=w[:60])
    found = drift(model, new, w[60:])
    assert found.df == (2 if n_rare == 1 else 1)


def test_a_column_that_new_rows_lack_does_not_count_in_the_joint_test():
    rng = np.random.default_rng(0)
    old = rng.normal(size=(80, 3))
    new = rng.normal(size=(50, 3))
    y = np.arange(80) % 2
    without = drift(sf.LDA().fit(old[:, :2], y), new[:, :2])
    new[:, 2] = np.nan
    found = drift(sf.LDA().fit(old, y), new)
    assert found.df == without.df == 2
    assert found.statistic == pytest.approx(without.statistic)


def test_rows_that_share_less_than_half_of_their_numbers_are_no_copies():
    rng = np.random.default_rng(0)

    def told(n_shared):
        x = rng.normal(size=(200, 5))
        x[100:, :n_shared] = x[:100, :n_shared]
        return _near_copies({f"x{j}": x[:, j] for j in range(5)}, np.arange(200) % 2)

    assert told(2) == ("", {})
    hint, figures = told(3)
    assert hint
    assert figures == {"equal_rows": 1.0, "n_columns": 5}


def test_columns_are_combinations_only_if_rows_are_enough_to_tell():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(7, 4))
    x[:, 3] = x[:, 0] + x[:, 1]
    # 7 rows of 2 classes leave 5 degrees of freedom, 5 rows leave 3
    assert len(varying_columns(sf.Moments.of(x, [0, 0, 0, 1, 1, 1, 1]))) == 3
    assert len(varying_columns(sf.Moments.of(x[:5], [0, 0, 1, 1, 1]))) == 4


def test_a_predictive_check_needs_one_column_that_varies():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=60), np.ones(60)])
    y = np.arange(60) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = predictive_check(sf.LDA().fit(x, y), x, y, simulations=39)
        constant = sf.LDA().fit(np.ones((60, 2)), y)
    assert len(found.feature_names) == 1
    with pytest.raises(InvalidInputError, match="varies within classes"):
        predictive_check(constant, np.ones((60, 2)), y, simulations=39)


def test_a_sample_of_rows_is_drawn_with_the_seed_zero(iris):
    X, y = iris
    found = normality(X, y, max_rows=30)
    again = normality(X, y, max_rows=30, random_state=0)
    np.testing.assert_array_equal(found.statistics, again.statistics)
    other = normality(X, y, max_rows=30, random_state=1)
    assert not np.array_equal(found.statistics, other.statistics)


@pytest.mark.parametrize(("n", "n_tests"), [(15, 2), (16, 1)])
def test_fewer_than_eight_rows_a_direction_have_two_tests(n, n_tests):
    x = np.sqrt(np.random.default_rng(0).exponential(size=(n, 2)))
    p = henze_zirkler(whitened(x))[1]
    expected = p if n_tests == 1 else min(2 * p, 2 * marginal_p_value(x), 1.0)
    assert 2 * p < 1
    assert p < marginal_p_value(x)
    found = normality(x, np.zeros(n))
    assert found.p_values[0] == pytest.approx(expected)


@pytest.mark.parametrize("n", [12, 19, 20, 30])
def test_columns_have_dagostinos_and_anscombes_tests_adjusted_by_sidak(n):
    x = np.random.default_rng(0).exponential(size=(n, 3))
    p_values = [stats.skewtest(x[:, j]).pvalue for j in range(3)]
    if n >= 20:
        p_values += [stats.kurtosistest(x[:, j]).pvalue for j in range(3)]
    expected = 1 - (1 - min(p_values)) ** len(p_values)
    assert marginal_p_value(x) == pytest.approx(expected)


def test_the_simulated_null_has_the_moments_of_log_statistics_of_normal_rows():
    rng = np.random.default_rng(99)
    logs = [np.log(_statistic(whitened(rng.normal(size=(10, 1))))) for _ in range(4000)]
    null = _simulated_null(10, 1)
    assert null.log_mean == pytest.approx(np.mean(logs), abs=0.1)
    assert null.log_deviation == pytest.approx(np.std(logs), rel=0.1)
    assert null.skewness == pytest.approx(stats.skew(logs), abs=0.35)
    assert abs(stats.skew(logs)) > 0.4


def test_a_class_without_rows_is_no_part_of_boxs_test(iris):
    X, y = iris
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = box_m(sf.Moments.of(X, y, classes=[*np.unique(y), "none"]))
    assert found.classes.tolist() == np.unique(y).tolist()
    assert len(found.left_out) == 0
