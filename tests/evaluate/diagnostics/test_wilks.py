"""Analysis of variance from moments, against other programs, exact cases and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from suffice import Moments
from suffice.errors import DegenerateDataWarning, InvalidInputError, MissingStatisticsError
from suffice.evaluate.diagnostics import class_separation

TABLES = ["iris", "wine", "crabs", "banknote", "penguins_numeric"]


def of_wilks(found):
    return [found.wilks_lambda, found.statistic, found.df1, found.df2]


@pytest.mark.parametrize("name", TABLES)
def test_wilks_lambda_and_its_f_are_those_of_statsmodels(table, reference, name):
    X, y, _ = table(name)
    *values, p = reference("diagnostics")[name]["wilks"]
    found = class_separation(Moments.of(X, y))
    np.testing.assert_allclose(of_wilks(found), values, rtol=1e-7)
    np.testing.assert_allclose(found.p_value, p, rtol=1e-4, atol=1e-300)


@pytest.mark.parametrize("name", TABLES)
def test_canonical_correlations_are_those_of_statsmodels(table, reference, name):
    X, y, _ = table(name)
    found = class_separation(Moments.of(X, y))
    known = np.array(reference("diagnostics")[name]["canonical"])
    np.testing.assert_allclose(found.correlations, known[:, 0], rtol=1e-7)
    np.testing.assert_allclose(found.wilks_lambda, known[0, 1], rtol=1e-7)


def test_iris_has_the_values_that_r_prints(iris, reference):
    found = class_separation(Moments.of(*iris))
    known = reference("diagnostics")["published"]["R_wilks"]
    np.testing.assert_allclose([*of_wilks(found), found.p_value], known, rtol=5e-7)


def test_the_roots_are_eigenvalues_and_wilks_a_ratio_of_determinants(table):
    X, y, _ = table("wine")
    m = Moments.of(X, y)
    found, W, B = class_separation(m), m.pooled_scatter, m.between_scatter
    eigenvalues = np.sort(np.linalg.eigvals(np.linalg.solve(W, B)).real)[::-1][:2]
    np.testing.assert_allclose(found.roots, eigenvalues, rtol=1e-8)
    ratio = np.exp(np.linalg.slogdet(W)[1] - np.linalg.slogdet(W + B)[1])
    np.testing.assert_allclose(found.wilks_lambda, ratio, rtol=1e-8)


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_with_two_classes_it_is_hotellings_exact_test(seed, d):
    rng = np.random.default_rng(seed)
    y = np.repeat(["a", "b"], [12, 17])
    X = rng.standard_normal((29, d)) + (y == "b")[:, None]
    found = class_separation(Moments.of(X, y))
    sigma = (11 * np.cov(X[:12].T) + 16 * np.cov(X[12:].T)) / 27
    delta = X[:12].mean(0) - X[12:].mean(0)
    t2 = 12 * 17 / 29 * delta @ np.linalg.solve(np.atleast_2d(sigma), delta)
    np.testing.assert_allclose(t2, 27 * found.roots[0], rtol=1e-7)
    # F = (v − d + 1) T² / (d v)
    np.testing.assert_allclose(found.statistic, (28 - d) * t2 / (d * 27), rtol=1e-7)
    np.testing.assert_allclose(
        found.p_value, stats.f.sf(found.statistic, d, 28 - d), rtol=1e-9
    )


def test_one_feature_is_fishers_test(iris):
    X, y = iris
    found = class_separation(Moments.of(X[:, :1], y))
    known = stats.f_oneway(*(X[y == k, 0] for k in np.unique(y)))
    np.testing.assert_allclose([found.statistic, found.p_value], known, rtol=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(2, 4))
def test_no_affine_map_changes_it_at_any_scale(seed, d, k):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % k
    X = rng.standard_normal((60, d)) + rng.standard_normal((k, d))[y]
    scale = 10.0 ** rng.uniform(-9, 9, d)
    A = (rng.standard_normal((d, d)) + 3 * np.eye(d)) * scale
    moved = X @ A + rng.normal(size=d) * 100 * scale
    a, b = class_separation(Moments.of(X, y)), class_separation(Moments.of(moved, y))
    np.testing.assert_allclose(b.roots, a.roots, rtol=1e-7, atol=1e-10)


def test_pooled_sums_are_enough(iris):
    X, y = iris
    pooled = class_separation(Moments.of(X, y, storage="pooled"))
    np.testing.assert_allclose(pooled.roots, class_separation(Moments.of(X, y)).roots)
    with pytest.raises(MissingStatisticsError):
        class_separation(Moments.of(X, y, storage="diagonal"))


@pytest.mark.parametrize(("d", "k"), [(1, 3), (2, 3), (4, 3), (3, 5)])
def test_p_values_are_uniform_where_means_are_equal(d, k):
    rng = np.random.default_rng(d * 10 + k)
    y = np.arange(40) % k
    draws = (Moments.of(rng.standard_normal((40, d)), y) for _ in range(300))
    p = [class_separation(m).p_value for m in draws]
    assert stats.kstest(p, "uniform").pvalue > 0.005


def test_weights_are_counts(iris):
    X, y = iris
    twice = class_separation(Moments.of(X, y, np.full(len(y), 2.0)))
    repeated = class_separation(Moments.of(np.vstack([X, X]), np.concatenate([y, y])))
    np.testing.assert_allclose(of_wilks(twice), of_wilks(repeated), rtol=1e-9)
    assert str(twice).endswith("multiply other weights by Σw/Σw²")


def test_absent_classes_change_nothing(iris):
    X, y = iris
    more = Moments.of(X, y, classes=["aaa", "zzz"])
    a, b = class_separation(more), class_separation(Moments.of(X, y))
    np.testing.assert_allclose(a.roots, b.roots)
    assert a.df1 == b.df1


def test_columns_without_variance_of_their_own_are_left_out_and_named(iris):
    X, y = iris
    more = np.column_stack([X, np.full(150, 1e8 + 0.1), X[:, 0] - X[:, 1]])
    with pytest.warns(DegenerateDataWarning, match="columns '4', '5' are left out, because"):
        found = class_separation(Moments.of(more, y))
    np.testing.assert_allclose(
        found.roots, class_separation(Moments.of(X, y)).roots, rtol=1e-7
    )
    assert "; columns left out: " in str(found)
    assert found.df1 == 8


@pytest.mark.parametrize("with_others", [False, True])
def test_columns_that_separate_without_error_are_refused_by_name(iris, with_others):
    X, y = iris
    code = np.unique(y, return_inverse=True)[1]
    column = code + (X[:, 0] if with_others else 0)
    moments = Moments.of(np.column_stack([X, column]), y)
    refused = pytest.raises(
        InvalidInputError, match=r"column '\d', alone .* differs between classes but not"
    )
    with refused, pytest.warns(DegenerateDataWarning, match="left out"):
        class_separation(moments)


def test_bad_input_is_refused_by_name(iris):
    X, y = iris
    with pytest.raises(InvalidInputError, match="no column varies within classes"):
        class_separation(Moments.of(np.ones((150, 1)), y))
    with pytest.raises(InvalidInputError, match=r"leave 1 degree of freedom, .* 2 features"):
        class_separation(Moments.of(X[[0, 1, 60]], y[[0, 1, 60]]))


def test_verdicts_read_like_sentences(iris):
    X, y = iris
    rng = np.random.default_rng(1)
    noise = Moments.of(rng.standard_normal(X.shape), y)
    assert str(class_separation(noise)).startswith("No evidence that the class means differ (")
    assert str(class_separation(Moments.of(X, y))).startswith(
        "Class means differ (Wilks' lambda"
    )


def test_missing_cells_leave_no_test_but_the_correlations():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 3))
    x[rng.random(x.shape) < 0.2] = np.nan
    found = class_separation(Moments.of(x, np.arange(60) % 2))
    assert np.isnan(found.p_value)
    assert "not tested, since cells are missing" in str(found)
    assert np.isfinite(found.correlations).all()
