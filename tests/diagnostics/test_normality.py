"""Mardia and Henze–Zirkler against other programs, brute force, simulation and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from suffice.diagnostics import normality
from suffice.errors import DegenerateDataWarning, InvalidInputError, InvalidParameterError

TABLES = ["iris", "wine", "crabs", "banknote", "penguins_numeric"]


def measures(shape):
    return shape.skewness, abs(shape.kurtosis_z), shape.henze_zirkler


def brute(x):
    n, d = x.shape
    u = x - x.mean(0)
    g = u @ np.linalg.inv(u.T @ u / n) @ u.T
    squares = np.diag(g)[:, None] + np.diag(g) - 2 * g
    b = (1 / np.sqrt(2) * (n * (2 * d + 1) / 4) ** (1 / (d + 4))) ** 2
    hz = n * (
        np.exp(-b / 2 * squares).mean()
        - 2 * (1 + b) ** (-d / 2) * np.exp(-b * np.diag(g) / (2 * (1 + b))).mean()
        + (1 + 2 * b) ** (-d / 2)
    )
    return (g**3).mean(), (np.diag(g) ** 2).mean(), hz


@pytest.mark.parametrize("name", TABLES)
def test_all_three_are_those_of_the_definitions_and_of_pingouin(table, reference, name):
    X, y, _ = table(name)
    found = normality(X, y)
    for k, label in enumerate(np.unique(y)):
        s = found.shapes[k]
        values = (s.skewness, s.kurtosis, s.henze_zirkler)
        np.testing.assert_allclose(values, brute(X[y == label]), rtol=1e-7)
    ours = [[s.henze_zirkler, s.p_values[2]] for s in found.shapes]
    np.testing.assert_allclose(ours, reference("diagnostics")[name]["henze_zirkler"], rtol=1e-6)


def test_setosa_has_the_values_that_the_r_package_mvn_prints(iris, reference):
    known = reference("diagnostics")["published"]["MVN_setosa"]
    s = normality(*iris).shapes[0]
    # that package prints the asymptotic forms for n ≥ 20, and the corrected skewness besides
    plain = s.n * s.skewness / 6, (s.kurtosis - 24) / np.sqrt(8 * 24 / s.n)
    np.testing.assert_allclose(plain, [known["skewness_chi2"], known["kurtosis_z"]], rtol=1e-12)
    corrected = s.skewness_chi_square, s.p_values[0], s.henze_zirkler, s.p_values[2]
    names = ("small_skewness_chi2", "small_skewness_p", "henze_zirkler", "henze_zirkler_p")
    np.testing.assert_allclose(corrected, [known[name] for name in names], rtol=1e-6)


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
    for one, two in zip(a.shapes, b.shapes, strict=True):
        np.testing.assert_allclose(measures(two), measures(one), rtol=1e-6, atol=1e-8)


def test_order_of_rows_and_blocks_of_pairs_do_not_matter():
    rng = np.random.default_rng(0)
    X, y = rng.exponential(size=(700, 3)), np.zeros(700, int)
    order = rng.permutation(700)
    a, b = (normality(z, y).shapes[0] for z in (X, X[order]))
    np.testing.assert_allclose(measures(a), measures(b), rtol=1e-9)
    np.testing.assert_allclose((a.skewness, a.kurtosis, a.henze_zirkler), brute(X), rtol=1e-9)


@pytest.mark.parametrize(("n", "d"), [(60, 1), (40, 2), (60, 5)])
def test_p_values_are_near_uniform_for_gaussian_rows(n, d):
    rng = np.random.default_rng(n + d)
    y = np.zeros(n, int)
    p = np.array([normality(rng.standard_normal((n, d)), y).p_values[0] for _ in range(400)])
    assert stats.kstest(p[:, 0], "uniform").pvalue > 0.005
    assert stats.kstest(p[:, 2], "uniform").pvalue > 0.005
    # the kurtosis is standardised exactly, but its tails are not yet those of a normal
    assert 0.01 < (p[:, 1] < 0.05).mean() < 0.09


def test_kurtosis_has_the_exact_mean_and_variance_of_few_rows():
    rng = np.random.default_rng(1)
    y = np.zeros(8, int)
    z = [normality(rng.standard_normal((8, 3)), y).shapes[0].kurtosis_z for _ in range(3000)]
    assert abs(np.mean(z)) < 4 / np.sqrt(3000)
    assert abs(np.var(z) - 1) < 0.15


@pytest.mark.parametrize("draw", ["exponential", "standard_cauchy", "uniform"])
def test_classes_that_are_not_gaussian_are_found_and_named(draw):
    rng = np.random.default_rng(3)
    y = np.repeat(["good", "bad"], 300)
    X = np.where(
        (y == "good")[:, None], rng.standard_normal((600, 2)), getattr(rng, draw)(size=(600, 2))
    )
    found = normality(X, y)
    assert found.p_value < 1e-6
    assert str(found).startswith("Not Gaussian: 'bad' (clearest: ")


def test_large_classes_are_sampled_and_the_result_says_so():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((3000, 2)), np.repeat([0, 1], [2900, 100])
    found = normality(X, y, max_rows=500)
    assert [s.n for s in found.shapes] == [500, 100]
    assert found.n_rows == (2900, 100)
    assert "a sample of 500 rows of larger classes" in str(found)
    again, other = normality(X, y, max_rows=500), normality(X, y, max_rows=500, random_state=9)
    assert found.shapes[0] == again.shapes[0]
    assert found.shapes[0] != other.shapes[0]
    assert found.shapes[1] == other.shapes[1]


def test_means_of_a_hundred_million_lose_little():
    rng = np.random.default_rng(5)
    X, y = np.round(rng.standard_normal((80, 3)) * 64) / 64, np.zeros(80, int)
    a, b = (normality(X + shift, y).shapes[0] for shift in (0.0, 1e8))
    np.testing.assert_allclose(measures(b), measures(a), rtol=1e-9)


def test_small_classes_are_left_out_and_flat_ones_judged_where_they_vary():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((71, 3)), np.repeat(["a", "b", "c", "d"], [30, 36, 4, 1])
    X[y == "b", 2] = 1e8 + 0.1
    with pytest.warns(DegenerateDataWarning, match="normality for classes 'c', 'd': rows that"):
        found = normality(X, y)
    assert found.classes.tolist() == ["a", "b"]
    assert str(found).endswith(
        "; only 2 of 3 directions vary in 'b'; too few rows to test 'c', 'd'"
    )
    with pytest.raises(InvalidInputError, match="use fewer columns, or collect more rows"):
        normality(X[y == "c"], y[y == "c"])


def test_constant_and_dependent_columns_change_nothing():
    rng = np.random.default_rng(9)
    X, y = rng.exponential(size=(60, 3)), np.repeat([0, 1], 30)
    more = np.column_stack([X, np.full(60, 0.1), X[:, 0] - 1e6 * X[:, 1], X[:, 2] * 1e-9])
    a, b = normality(X, y), normality(more, y)
    for one, two in zip(a.shapes, b.shapes, strict=True):
        assert two.d == 3
        np.testing.assert_allclose(measures(two), measures(one), rtol=1e-6)


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
    assert a.shapes == b.shapes
