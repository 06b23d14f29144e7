"""Henze–Zirkler against other programs, brute force, simulation and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from suffice.errors import DegenerateDataWarning, InvalidInputError, InvalidParameterError
from suffice.evaluate.diagnostics import normality
from suffice.evaluate.diagnostics.normality import (
    _simulated_null,
    henze_zirkler,
    marginal_p_value,
    whitened,
)

TABLES = ["iris", "wine", "crabs", "banknote", "penguins_numeric"]


def brute(x):
    n, d = x.shape
    u = x - x.mean(0)
    g = u @ np.linalg.inv(u.T @ u / n) @ u.T
    squares = np.diag(g)[:, None] + np.diag(g) - 2 * g
    b = (1 / np.sqrt(2) * (n * (2 * d + 1) / 4) ** (1 / (d + 4))) ** 2
    return n * (
        np.exp(-b / 2 * squares).mean()
        - 2 * (1 + b) ** (-d / 2) * np.exp(-b * np.diag(g) / (2 * (1 + b))).mean()
        + (1 + 2 * b) ** (-d / 2)
    )


@pytest.mark.parametrize("name", TABLES)
def test_it_is_that_of_the_definition_and_of_pingouin(table, reference, name):
    X, y, _ = table(name)
    found = normality(X, y)
    values = [brute(X[y == label]) for label in np.unique(y)]
    np.testing.assert_allclose(found.statistics, values, rtol=1e-7)
    known = np.array(reference("diagnostics")[name]["henze_zirkler"])
    np.testing.assert_allclose(found.statistics, known[:, 0], rtol=1e-6)
    # others print the asymptotic p-value, which is ours where rows are many
    is_asymptotic = found.n_used >= 8 * found.directions
    np.testing.assert_allclose(
        found.p_values[is_asymptotic], known[is_asymptotic, 1], rtol=1e-6
    )


def test_setosa_has_the_values_that_the_r_package_mvn_prints(iris, reference):
    known = reference("diagnostics")["published"]["MVN_setosa"]
    found = normality(*iris)
    ours = found.statistics[0], found.p_values[0]
    np.testing.assert_allclose(
        ours, [known[name] for name in ("henze_zirkler", "henze_zirkler_p")], rtol=1e-6
    )


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_no_affine_map_changes_them_at_any_scale(seed, d):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [20, 30])
    X = rng.exponential(size=(50, d))
    scale = 10.0 ** rng.uniform(-9, 9, d)
    A = (rng.standard_normal((d, d)) + 3 * np.eye(d)) * scale
    moved = X @ A + rng.normal(size=d) * 100 * scale
    a, b = normality(X, y), normality(moved, y)
    np.testing.assert_allclose(b.statistics, a.statistics, rtol=1e-6, atol=1e-8)


def test_order_of_rows_and_blocks_of_pairs_do_not_matter():
    rng = np.random.default_rng(0)
    X, y = rng.exponential(size=(700, 3)), np.zeros(700, int)
    order = rng.permutation(700)
    a, b = (normality(z, y).statistics for z in (X, X[order]))
    np.testing.assert_allclose(a, b, rtol=1e-9)
    np.testing.assert_allclose(a, [brute(X)], rtol=1e-9)


@pytest.mark.parametrize(("n", "d"), [(60, 1), (40, 2), (60, 5)])
def test_p_values_are_near_uniform_for_gaussian_rows(n, d):
    rng = np.random.default_rng(n + d)
    y = np.zeros(n, int)
    p = np.array([normality(rng.standard_normal((n, d)), y).p_values[0] for _ in range(400)])
    assert stats.kstest(p, "uniform").pvalue > 0.005


@pytest.mark.parametrize("draw", ["exponential", "standard_cauchy", "uniform"])
def test_classes_that_are_not_gaussian_are_found_and_named(draw):
    rng = np.random.default_rng(3)
    y = np.repeat(["good", "bad"], 300)
    X = np.where(
        (y == "good")[:, None],
        rng.standard_normal((600, 2)),
        getattr(rng, draw)(size=(600, 2)),
    )
    found = normality(X, y)
    assert found.p_value < 1e-6
    assert str(found).startswith("Not Gaussian: class 'bad' (p < 0.0001)")


def test_large_classes_are_sampled_and_the_result_says_so():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((3000, 2)), np.repeat([0, 1], [2900, 100])
    found = normality(X, y, max_rows=500)
    assert found.n_used.tolist() == [500, 100]
    assert found.n_rows.tolist() == [2900, 100]
    assert "a sample of 500 rows of each larger class" in str(found)
    again, other = normality(X, y, max_rows=500), normality(X, y, max_rows=500, random_state=9)
    assert found.statistics.tolist() == again.statistics.tolist()
    assert (found.statistics == other.statistics).tolist() == [False, True]


def test_means_of_a_hundred_million_lose_little():
    rng = np.random.default_rng(5)
    X, y = np.round(rng.standard_normal((80, 3)) * 64) / 64, np.zeros(80, int)
    a, b = (normality(X + shift, y).statistics for shift in (0.0, 1e8))
    np.testing.assert_allclose(b, a, rtol=1e-9)


def test_small_classes_are_left_out_and_flat_ones_judged_where_they_vary():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((71, 3)), np.repeat(["a", "b", "c", "d"], [30, 36, 4, 1])
    X[y == "b", 2] = 1e8 + 0.1
    with pytest.warns(
        DegenerateDataWarning,
        match="classes 'c', 'd' cannot be tested for normality: a class that",
    ):
        found = normality(X, y)
    assert found.classes.tolist() == ["a", "b"]
    assert str(found).endswith(
        "; class 'b' varies in only 2 of 3 directions; too few rows to test 'c', 'd'"
    )
    with pytest.raises(InvalidInputError, match="Use fewer columns, or collect more rows"):
        normality(X[y == "c"], y[y == "c"])


def test_constant_and_dependent_columns_change_nothing():
    rng = np.random.default_rng(9)
    X, y = rng.exponential(size=(60, 3)), np.repeat([0, 1], 30)
    more = np.column_stack([X, np.full(60, 0.1), X[:, 0] - 1e6 * X[:, 1], X[:, 2] * 1e-9])
    a, b = normality(X, y), normality(more, y)
    assert b.directions.tolist() == [3, 3]
    np.testing.assert_allclose(b.statistics, a.statistics, rtol=1e-6)


def test_bad_rows_are_refused_by_name():
    X, y = np.random.default_rng(7).standard_normal((20, 2)), np.repeat([0, 1], 10)
    with pytest.raises(InvalidInputError, match="contains NaN: row 3, column 1"):
        normality(np.where(np.arange(40).reshape(20, 2) == 7, np.nan, X), y)
    with pytest.raises(InvalidInputError, match="20 rows but y has 19"):
        normality(X, y[:-1])
    with pytest.raises(InvalidInputError, match="no rows"):
        normality(X[:0], y[:0])
    with pytest.raises(InvalidParameterError, match="max_rows must be at least 1"):
        normality(X, y, max_rows=0)


def test_integers_and_frames_are_rows_too():
    import pandas as pd

    rng = np.random.default_rng(8)
    X, y = rng.integers(0, 50, (40, 2)), np.repeat(["a", "b"], 20)
    a, b = normality(X, y), normality(pd.DataFrame(X, columns=["u", "v"]), pd.Series(y))
    assert a.statistics.tolist() == b.statistics.tolist()


def test_classes_that_vary_in_different_numbers_of_directions_are_not_told_one_number():
    X, y = np.random.default_rng(7).standard_normal((90, 4)), np.repeat(["a", "b", "c"], 30)
    X[y == "b", 3] = 1.0
    X[y == "c", 2:] = 1.0
    assert "; classes 'b', 'c' vary in only 2 to 3 of 4 directions" in str(normality(X, y))


def test_the_distribution_for_few_rows_is_that_of_simulated_statistics():
    n, d = 12, 2
    rng = np.random.default_rng([n, d])
    logs = np.log([brute(rng.normal(size=(n, d))) for _ in range(999)])
    null = _simulated_null(n, d)
    assert null.log_mean == pytest.approx(logs.mean())
    assert null.log_deviation == pytest.approx(logs.std(ddof=1))
    assert null.skewness == pytest.approx(stats.skew(logs))


def test_columns_are_judged_by_skewness_on_either_side_and_kurtosis_adjusted_for_all():
    x = np.random.default_rng(4).gamma(6, size=(30, 2))
    skewness = stats.skewtest(x).pvalue
    kurtosis = stats.kurtosistest(x).pvalue
    expected = 1 - (1 - min(*skewness, *kurtosis)) ** 4
    assert marginal_p_value(x) == pytest.approx(expected)
    assert marginal_p_value(-x) == pytest.approx(expected)
    # fewer rows have no test of kurtosis
    few = 1 - (1 - stats.skewtest(x[:12]).pvalue.min()) ** 2
    assert marginal_p_value(x[:12]) == pytest.approx(few)


def test_few_rows_have_two_tests_and_a_p_value_adjusted_for_both():
    x = np.random.default_rng(5).gamma(20, size=(36, 6))
    by_distance = henze_zirkler(whitened(x))[1]
    by_columns = marginal_p_value(x)
    least = min(by_distance, by_columns)
    assert least < 0.5
    assert normality(x, np.zeros(36)).p_value == pytest.approx(2 * least)
    # 8 rows for each direction have one test
    many = x[:, :4]
    assert normality(many, np.zeros(36)).p_value == pytest.approx(
        henze_zirkler(whitened(many))[1]
    )
