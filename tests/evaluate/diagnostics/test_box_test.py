"""Box's M against other programs, its own exact distribution, and its laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from suffice import Moments
from suffice.errors import (
    DegenerateDataWarning,
    InvalidInputError,
    MissingStatisticsError,
    TooFewClassesError,
)
from suffice.evaluate.diagnostics import box_m
from suffice.evaluate.diagnostics.box_m import _cumulant, _inflation_df, cumulant_test

TABLES = ["iris", "iris_sepals", "wine", "crabs", "banknote", "penguins_numeric"]


def rows_of(table, name):
    X, y, _ = table("iris" if name.startswith("iris") else name)
    return X[:, : {"iris_sepals": 2, "iris_length": 1}.get(name, X.shape[1])], y


def brute_m(X, y):
    groups = [X[y == k] for k in np.unique(y)]
    v = np.array([len(g) - 1 for g in groups])
    sigmas = [np.atleast_2d(np.cov(g.T)) for g in groups]
    pooled = sum(a * s for a, s in zip(v, sigmas, strict=True)) / v.sum()
    logs = np.array([np.linalg.slogdet(s)[1] for s in sigmas])
    return v.sum() * np.linalg.slogdet(pooled)[1] - v @ logs


@pytest.mark.parametrize("name", TABLES)
def test_the_chi_square_is_that_of_statsmodels_and_pingouin(table, reference, name):
    X, y = rows_of(table, name)
    known, found = reference("diagnostics")[name]["box"], box_m(Moments.of(X, y))
    chi = found.chi_square
    np.testing.assert_allclose(found.statistic, brute_m(X, y), rtol=1e-9)
    np.testing.assert_allclose(
        [chi.statistic, chi.statistic], [known["chi2"], known["pingouin_chi2"]]
    )
    np.testing.assert_allclose(chi.p_value, known["chi2_p"], rtol=1e-6)


def test_iris_has_the_published_value(iris, reference):
    known = reference("diagnostics")["published"]["heplots_boxM"]
    found = box_m(Moments.of(*iris)).chi_square
    assert (round(found.statistic, 3), found.df) == (known["chi2"], known["df"])


def test_one_feature_is_bartletts_test(table, reference):
    X, y = rows_of(table, "iris_length")
    found = box_m(Moments.of(X, y))
    bartlett = stats.bartlett(*(X[y == k, 0] for k in np.unique(y))).statistic
    c = (3 / 49 - 1 / 147) / (3 * 2)
    np.testing.assert_allclose(found.statistic, bartlett * (1 + c), rtol=1e-12)
    known = reference("diagnostics")["iris_length"]["box"]
    np.testing.assert_allclose(found.chi_square.statistic, known["chi2"])


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_no_affine_map_changes_it_at_any_scale(seed, d):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [15, 20, 30])
    X = rng.standard_normal((65, d)) * (1 + y[:, None])
    scale = 10.0 ** rng.uniform(-9, 9, d)
    A = (rng.standard_normal((d, d)) + 3 * np.eye(d)) * scale
    moved = X @ A + rng.normal(size=d) * 100 * scale
    a, b = box_m(Moments.of(X, y)), box_m(Moments.of(moved, y))
    np.testing.assert_allclose(b.statistic, a.statistic, rtol=1e-8)
    np.testing.assert_allclose(b.log_det_excess, a.log_det_excess, rtol=1e-7, atol=1e-7)


def test_merged_parts_and_weights_give_what_the_rows_give(iris):
    X, y = iris
    whole = box_m(Moments.of(X, y))
    parts = box_m(Moments.of(X[::2], y[::2]) + Moments.of(X[1::2], y[1::2]))
    np.testing.assert_allclose(parts.statistic, whole.statistic, rtol=1e-10)
    twice = box_m(Moments.of(X, y, np.full(len(y), 2.0)))
    repeated = box_m(Moments.of(np.vstack([X, X]), np.concatenate([y, y])))
    np.testing.assert_allclose(twice.p_value, repeated.p_value, rtol=1e-9)
    assert "weights are treated as counts" in str(twice)
    assert "weights" not in str(repeated)


@pytest.mark.parametrize(("d", "sizes"), [(1, (5, 9)), (2, (12, 7, 20)), (4, (9, 11, 13))])
def test_p_values_are_uniform_where_covariances_are_equal(d, sizes):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(sizes)), sizes)
    draws = (Moments.of(rng.standard_normal((len(y), d)), y) for _ in range(300))
    p = [box_m(m).p_value for m in draws]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_cumulants_and_chi_square_agree_for_classes_of_some_size():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1, 2], 40)
    found = box_m(Moments.of(rng.standard_normal((120, 3)), y))
    assert abs(found.cumulants.p_value - found.chi_square.p_value) < 0.01


def test_log_determinants_are_free_of_the_bias_of_small_classes():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], [8, 200])
    draws = [box_m(Moments.of(rng.standard_normal((208, 3)), y)) for _ in range(300)]
    excess = np.array([found.log_det_excess[0] for found in draws])
    assert abs(excess.mean()) < 3 * excess.std() / np.sqrt(300)
    np.testing.assert_allclose(excess.std(), draws[0].log_det_errors[0], rtol=0.15)


def test_a_singular_class_is_left_out_and_named():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((62, 3)), np.repeat(["a", "b", "c"], [30, 30, 2])
    with pytest.warns(DegenerateDataWarning, match="leaves out class 'c'"):
        found = box_m(Moments.of(X, y))
    assert found.classes.tolist() == ["a", "b"]
    np.testing.assert_allclose(found.statistic, brute_m(X[:60], y[:60]), rtol=1e-10)
    assert "class 'c' left out" in str(found)


def test_a_column_constant_within_a_class_is_named_at_any_offset():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((90, 2)), np.repeat([0, 1, 2], 30)
    X[y == 1, 1] = 0.1 + 1e8
    with pytest.warns(DegenerateDataWarning, match="leaves out class 1,"):
        assert box_m(Moments.of(X, y)).classes.tolist() == [0, 2]


def test_columns_without_variance_of_their_own_are_left_out_and_named():
    rng = np.random.default_rng(9)
    X, y = rng.standard_normal((90, 3)), np.repeat([0, 1, 2], 30)
    more = np.column_stack([np.full(90, 0.1), X, X[:, 0] + 1e-3 * X[:, 1], y])
    with pytest.warns(
        DegenerateDataWarning, match=r"columns '0', '\d', '5' are left out, because"
    ):
        found = box_m(Moments.of(more, y))
    np.testing.assert_allclose(found.statistic, brute_m(X, y), rtol=1e-7)
    assert str(found).endswith("'5'")


def test_it_refuses_by_name_where_nothing_can_be_compared():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((40, 2)), np.repeat([0, 1], 20)
    flat = X * np.array([1, 0])[None] + (y[:, None] * X[:, :1] * np.array([0, 1]))
    with pytest.raises(
        InvalidInputError, match=r"2 classes whose .* the covariance of 0, 1 is singular"
    ):
        box_m(Moments.of(flat, y))
    with pytest.raises(InvalidInputError, match="Weights are treated as counts"):
        box_m(Moments.of(X, y, np.full(40, 0.05)))
    with pytest.raises(InvalidInputError, match=r"of 0 is singular: .* Weights are treated"):
        box_m(Moments.of(X, y, np.where(y == 0, 0.05, 1.0)))
    with pytest.raises(TooFewClassesError, match=r"at least 2 classes .* found 1 class \[0\]"):
        box_m(Moments.of(X[:20], y[:20]))
    with pytest.raises(MissingStatisticsError, match="per-class"):
        box_m(Moments.of(X, y, storage="pooled"))


def null_draws(v, d, n_draws, rng):
    """Return M of classes that share one covariance, by Wishart matrices; which does not matter."""
    W = [stats.wishart(n, np.eye(d)).rvs(n_draws, rng).reshape(-1, d, d) for n in v]
    own = [n * np.linalg.slogdet(w / n)[1] for n, w in zip(v, W, strict=True)]
    return v.sum() * np.linalg.slogdet(sum(W) / v.sum())[1] - sum(own)


@pytest.mark.parametrize(
    ("d", "sizes"), [(1, (2, 2)), (3, (4, 5)), (10, (11, 60)), (25, (26, 27))]
)
def test_cumulants_hold_the_level_where_the_usual_approximations_fail(d, sizes):
    v = np.array(sizes) - 1.0
    draws = null_draws(v, d, 2000, np.random.default_rng(0))
    k1, k2 = (_cumulant(v, d, r) for r in (1, 2))
    assert abs(draws.mean() - k1) < 4 * np.sqrt(k2 / 2000)
    np.testing.assert_allclose(draws.var(), k2, rtol=0.2)
    p = np.array([cumulant_test(m, v, d).p_value for m in draws])
    for level in (0.01, 0.05, 0.2):
        assert abs(np.mean(p < level) - level) < 3.5 * np.sqrt(level * (1 - level) / 2000)


def test_cumulants_become_those_of_chi_square_with_many_rows():
    v, d = np.array([1e7, 3e6, 2e7]), 3
    np.testing.assert_allclose(
        [_cumulant(v, d, r) for r in (1, 2, 3)], [12, 24, 96], rtol=1e-5
    )
    p = [cumulant_test(15.0, scale * v, d).p_value for scale in (0.3, 1, 1e3, 1e9)]
    np.testing.assert_allclose(p, stats.chi2.sf(15, 12), rtol=1e-4)


def test_the_verdict_names_the_classes_that_differ():
    rng = np.random.default_rng(8)
    y = np.repeat(["narrow", "wide"], 50)
    X = rng.standard_normal((100, 2)) * np.where(y == "wide", 3, 1)[:, None]
    assert str(box_m(Moments.of(X, y))).startswith(
        "Covariances differ: class 'wide' spreads most, 'narrow' least (Box's M = "
    )
    same = box_m(Moments.of(rng.standard_normal((100, 2)), y))
    assert str(same).startswith("Equal covariances: no evidence against them (Box's M = ")


def test_uneven_tails_leave_fewer_degrees_of_freedom():
    rng = np.random.default_rng(5)
    y = np.arange(240) % 2
    x = np.stack([rng.standard_t(5, 240), rng.uniform(size=240)], axis=1)
    centred = x - np.stack([x[y == 0].mean(0), x[y == 1].mean(0)])[y]
    z = centred / np.sqrt(np.square(centred).mean(0))
    # what each variance, and the covariance, adds to E M:  (κ − 1)/2, and the rest of the sum
    fourths = (z**2).T @ z**2 / 240
    correlation = (z[:, 0] @ z[:, 1]) / 240
    elliptical = fourths.sum() / (2 * 3 + 2 * (1 + 2 * correlation**2)) * 240 / 238
    # classes that differ have larger fourth moments together, in proportion to M
    m = brute_m(x, y)
    first = cumulant_test(3 * m / (4 * elliptical - 1), np.array([119.0, 119.0]), 2)
    elliptical /= 1 + 2 / 240 * (first.statistic / first.df - 1)
    inflation = (4 * elliptical - 1) / 3
    of_variances = (np.diagonal(fourths) - 1) / 2
    rest = 3 * inflation - of_variances.sum()
    share = (3 * inflation) ** 2 / (3 * (np.square(of_variances).sum() + rest**2))
    assert 0.3 < share < 0.95
    found = box_m(Moments.of(x, y, fourth=True))
    assert found.inflation == pytest.approx(inflation)
    assert found.effective_share == pytest.approx(share)
    test = cumulant_test(found.statistic / inflation, found.degrees, 2)
    law = stats.f(share * test.df, found.inflation_df)
    assert found.p_value == pytest.approx(law.sf(test.statistic / test.df))


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_the_error_of_the_inflation_is_that_of_simulated_normal_classes(correlation):
    rng = np.random.default_rng(7)
    n, d = 80, 4
    y = np.arange(n) % 2
    inflations = []
    degrees = []
    for _ in range(600):
        common = rng.normal(size=(n, 1))
        x = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * rng.normal(size=(n, d))
        found = box_m(Moments.of(x, y, fourth=True))
        inflations.append(found.inflation)
        degrees.append(found.inflation_df)
    assert np.mean(inflations) == pytest.approx(1, abs=0.03)
    relative_variance = np.var(inflations) / np.mean(inflations) ** 2
    assert 2 / np.median(degrees) == pytest.approx(relative_variance, rel=0.2)


def test_correlated_normal_classes_keep_the_level():
    rng = np.random.default_rng(8)
    y = np.arange(150) % 3
    p = []
    for _ in range(400):
        x = np.sqrt(0.8) * rng.normal(size=(150, 1)) + np.sqrt(0.2) * rng.normal(size=(150, 6))
        p.append(box_m(Moments.of(x, y, fourth=True)).p_value)
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.075


def test_classes_that_differ_do_not_pass_for_heavy_tails():
    rng = np.random.default_rng(9)
    y = np.arange(200) % 2
    x = rng.normal(size=(200, 2)) * np.where(y == 0, 1.0, 2.0)[:, None]
    found = box_m(Moments.of(x, y, fourth=True))
    assert found.inflation < 1.5
    assert "heavy tails" not in str(found)


def test_heavy_tails_are_said_to_make_the_test_cautious():
    rng = np.random.default_rng(6)
    y = np.arange(300) % 2
    heavy = box_m(Moments.of(rng.standard_t(3, size=(300, 3)), y, fourth=True))
    normal = box_m(Moments.of(rng.normal(size=(300, 3)), y, fourth=True))
    assert "p ≤ 0.05 occurs in at most 5 % of tables" in str(heavy)
    assert "heavy tails" not in str(normal)


def test_the_error_of_the_inflation_of_one_feature_is_that_of_fishers_kurtosis():
    x = np.random.default_rng(9).normal(size=(12, 1))
    moments = Moments.of(x, np.arange(12) % 2, fourth=True)
    # Fisher (1930): the variance of the kurtosis m₄/m₂², here of 12 rows about 2 means
    n = 12 - 2 + 1
    variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    # the inflation is (3(1 + κ) − 1)/2, and the kurtosis is 3(1 + κ)
    inflation = 1.2
    relative_error = np.sqrt(variance) / 3 * (2 * inflation + 1) / (2 * inflation)
    df = _inflation_df(moments, np.arange(2), inflation)
    assert df == pytest.approx(2 / relative_error**2)


def test_an_inflation_without_error_has_a_finite_number_of_degrees_of_freedom():
    # the kurtosis of 3 numbers about their mean is 3/2, whatever they are
    moments = Moments.of(np.array([[0.0], [1.0], [0.0], [2.0]]), [0, 0, 1, 1], fourth=True)
    assert _inflation_df(moments, np.arange(2), 1.0) == pytest.approx(2e12)


def test_missing_cells_leave_no_test_but_the_statistic():
    rng = np.random.default_rng(10)
    x = rng.normal(size=(90, 3))
    x[rng.random(x.shape) < 0.2] = np.nan
    found = box_m(Moments.of(x, np.arange(90) % 3))
    assert np.isnan([found.p_value, *(row["p_value"] for row in found.rows())]).all()
    assert str(found).startswith("Equal covariances: not tested, since cells are missing")
    assert found.statistic > 0
