"""Analysis of variance from moments, against other programs, exact cases and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from suffice import Moments
from suffice.diagnostics import class_separation, feature_tests, hotelling_t2
from suffice.errors import (
    DegenerateDataWarning,
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
    UnknownLabelError,
)

TABLES = ["iris", "wine", "crabs", "banknote", "penguins_numeric"]


def four(found):
    return (found.wilks, found.pillai, found.hotelling_lawley, found.roy)


@pytest.mark.parametrize("name", TABLES)
def test_the_four_criteria_are_those_of_statsmodels(table, reference, name):
    X, y, _ = table(name)
    known = reference("diagnostics")[name]["manova"].values()
    for ours, theirs in zip(four(class_separation(Moments.of(X, y))), known, strict=True):
        values = [ours.value, ours.f.statistic, ours.f.df1, ours.f.df2]
        np.testing.assert_allclose(values, theirs[:4], rtol=1e-7)
        np.testing.assert_allclose(ours.f.p_value, theirs[4], rtol=1e-4, atol=1e-300)


@pytest.mark.parametrize("name", TABLES)
def test_canonical_correlations_are_those_of_statsmodels(table, reference, name):
    X, y, _ = table(name)
    found = class_separation(Moments.of(X, y)).canonical
    known = np.array(reference("diagnostics")[name]["canonical"])
    np.testing.assert_allclose(np.stack([found.correlations, found.lambdas], 1), known, rtol=1e-7)


@pytest.mark.parametrize("name", TABLES)
def test_two_classes_and_single_features_are_those_of_pingouin_and_scipy(table, reference, name):
    X, y, _ = table(name)
    m, known = Moments.of(X, y), reference("diagnostics")[name]
    t = hotelling_t2(m, *m.classes[:2].tolist())
    values = [t.statistic, t.f.statistic, t.f.df1, t.f.df2]
    np.testing.assert_allclose(values, known["hotelling"][:4], rtol=1e-8)
    np.testing.assert_allclose(t.p_value, known["hotelling"][4], rtol=1e-6)
    f = feature_tests(m)
    np.testing.assert_allclose([f.f, f.p_values], known["f_oneway"], rtol=1e-8)


def test_iris_has_the_values_that_r_prints(iris, reference):
    found = class_separation(Moments.of(*iris))
    known = reference("diagnostics")["published"]["R_manova"]
    for ours, name in ((found.wilks, "Wilks"), (found.pillai, "Pillai"), (found.roy, "Roy")):
        values = [ours.value, ours.f.statistic, ours.f.df1, ours.f.df2, ours.f.p_value]
        np.testing.assert_allclose(values, known[name], rtol=5e-7)
    np.testing.assert_allclose(found.hotelling_lawley.value, known["Hotelling-Lawley"][0])
    # the degrees of freedom of the second canonical correlation: 3 and 145
    second = found.canonical.f[1]
    assert (second.df1, second.df2) == (3, 145)


def test_the_roots_are_eigenvalues_and_wilks_a_ratio_of_determinants(table):
    X, y, _ = table("wine")
    m = Moments.of(X, y)
    found, W, B = class_separation(m), m.pooled_scatter, m.between_scatter
    eigenvalues = np.sort(np.linalg.eigvals(np.linalg.solve(W, B)).real)[::-1][:2]
    np.testing.assert_allclose(found.roots, eigenvalues, rtol=1e-8)
    ratio = np.exp(np.linalg.slogdet(W)[1] - np.linalg.slogdet(W + B)[1])
    np.testing.assert_allclose(found.wilks.value, ratio, rtol=1e-8)


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_with_two_classes_all_criteria_are_hotellings_exact_test(seed, d):
    rng = np.random.default_rng(seed)
    y = np.repeat(["a", "b"], [12, 17])
    m = Moments.of(rng.standard_normal((29, d)) + (y == "b")[:, None], y)
    t2 = hotelling_t2(m)
    for criterion in four(class_separation(m)):
        if criterion.name.startswith("Hotelling"):
            continue
        assert criterion.kind == "exact"
        np.testing.assert_allclose(criterion.f.statistic, t2.f.statistic, rtol=1e-9)
        np.testing.assert_allclose(criterion.f.p_value, t2.p_value, rtol=1e-7)
    np.testing.assert_allclose(t2.statistic, 27 * class_separation(m).roots[0], rtol=1e-9)


def test_one_feature_is_fishers_and_students_test(iris):
    X, y = iris
    found = class_separation(Moments.of(X[:, :1], y)).wilks.f
    np.testing.assert_allclose(
        found.statistic, stats.f_oneway(*(X[y == k, 0] for k in np.unique(y)))[0]
    )
    pair = y != "setosa"
    t = stats.ttest_ind(X[y == "versicolor", 0], X[y == "virginica", 0])
    ours = hotelling_t2(Moments.of(X[pair][:, :1], y[pair]))
    np.testing.assert_allclose([ours.statistic, ours.p_value], [t.statistic**2, t.pvalue])


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(2, 4))
def test_no_affine_map_changes_them_at_any_scale(seed, d, k):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % k
    X = rng.standard_normal((60, d)) + rng.standard_normal((k, d))[y]
    scale = 10.0 ** rng.uniform(-9, 9, d)
    A = (rng.standard_normal((d, d)) + 3 * np.eye(d)) * scale
    moved = X @ A + rng.normal(size=d) * 100 * scale
    a, b = class_separation(Moments.of(X, y)), class_separation(Moments.of(moved, y))
    np.testing.assert_allclose(b.roots, a.roots, rtol=1e-7, atol=1e-10)
    ta, tb = (hotelling_t2(Moments.of(z, y), 0, 1) for z in (X, moved))
    np.testing.assert_allclose(tb.statistic, ta.statistic, rtol=1e-7)
    fa, fb = feature_tests(Moments.of(X, y)), feature_tests(Moments.of(X * scale, y))
    np.testing.assert_allclose(fb.f, fa.f, rtol=1e-9)


def test_pooled_sums_are_enough_and_diagonal_ones_for_single_features(iris):
    X, y = iris
    full = Moments.of(X, y)
    pooled, diagonal = (Moments.of(X, y, storage=s) for s in ("pooled", "diagonal"))
    np.testing.assert_allclose(class_separation(pooled).roots, class_separation(full).roots)
    np.testing.assert_allclose(feature_tests(diagonal).f, feature_tests(full).f)
    with pytest.raises(MissingStatisticsError):
        class_separation(diagonal)
    with pytest.raises(MissingStatisticsError):
        hotelling_t2(pooled, "setosa", "virginica")


@pytest.mark.parametrize(("d", "k"), [(1, 3), (2, 3), (4, 3), (3, 5)])
def test_p_values_are_uniform_where_means_are_equal(d, k):
    rng = np.random.default_rng(d * 10 + k)
    y, p, last = np.arange(40) % k, [], []
    for _ in range(300):
        found = class_separation(Moments.of(rng.standard_normal((40, d)), y))
        p.append([c.f.p_value for c in four(found)[:3]] + [found.bartlett.p_value])
        last.append(found.canonical.p_values[0])
    for column in np.array(p).T:
        assert stats.kstest(column, "uniform").pvalue > 0.005
    np.testing.assert_allclose(last, np.array(p)[:, 0])


def test_the_second_canonical_correlation_is_tested_on_its_own():
    rng = np.random.default_rng(3)
    y, p = np.arange(60) % 3, []
    for _ in range(300):
        X = rng.standard_normal((60, 4))
        X[:, 0] += 5.0 * y  # all means on one line
        p.append(class_separation(Moments.of(X, y)).canonical.p_values)
    p = np.array(p)
    assert (p[:, 0] < 1e-6).all()
    assert stats.kstest(p[:, 1], "uniform").pvalue > 0.01


def test_weights_are_counts(iris):
    X, y = iris
    twice = Moments.of(X, y, np.full(len(y), 2.0))
    repeated = Moments.of(np.vstack([X, X]), np.concatenate([y, y]))
    for a, b in zip(four(class_separation(twice)), four(class_separation(repeated)), strict=True):
        np.testing.assert_allclose(a.f.statistic, b.f.statistic, rtol=1e-9)
    np.testing.assert_allclose(feature_tests(twice).p_values, feature_tests(repeated).p_values)
    for found in (
        class_separation(twice),
        feature_tests(twice),
        hotelling_t2(twice, "setosa", "virginica"),
    ):
        assert str(found).endswith("weights taken as counts")


def test_absent_classes_change_nothing(iris):
    X, y = iris
    more = Moments.of(X, y, classes=["aaa", "zzz"])
    a, b = class_separation(more), class_separation(Moments.of(X, y))
    np.testing.assert_allclose(a.roots, b.roots)
    assert a.n_classes == 3
    two = y != "setosa"
    assert hotelling_t2(Moments.of(X[two], y[two], classes=["aaa"])).labels == (
        "versicolor",
        "virginica",
    )


def test_order_of_labels_turns_the_difference_round(iris):
    m = Moments.of(*iris)
    a, b = hotelling_t2(m, "setosa", "virginica"), hotelling_t2(m, "virginica", "setosa")
    np.testing.assert_allclose(a.standardised, -b.standardised)
    np.testing.assert_allclose(a.statistic, b.statistic)
    assert a.standardised[2] < -5


def test_features_without_variance_are_infinite_or_unknown():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = np.column_stack([rng.standard_normal(40), 1e8 + y, np.full(40, 0.1)])
    found = feature_tests(Moments.of(X, y))
    assert np.isfinite(found.f[0])
    assert (found.f[1], found.p_values[1], found.explained[1]) == (np.inf, 0.0, 1.0)
    assert np.isnan(found.f[2])
    assert np.isnan(found.p_values[2])


def test_columns_without_variance_of_their_own_are_left_out_and_named(iris):
    X, y = iris
    more = np.column_stack([X, np.full(150, 1e8 + 0.1), X[:, 0] - X[:, 1]])
    with pytest.warns(DegenerateDataWarning, match="columns '4', '5' left out: constant"):
        found = class_separation(Moments.of(more, y))
    np.testing.assert_allclose(found.roots, class_separation(Moments.of(X, y)).roots, rtol=1e-7)
    assert "; columns left out: " in str(found)
    with pytest.warns(DegenerateDataWarning, match="left out"):
        t = hotelling_t2(Moments.of(more, y), "setosa", "virginica")
    known = hotelling_t2(Moments.of(X, y), "setosa", "virginica")
    np.testing.assert_allclose(t.statistic, known.statistic, rtol=1e-7)
    assert t.f.df1 == 4


@pytest.mark.parametrize("with_others", [False, True])
def test_columns_that_separate_without_error_are_refused_by_name(iris, with_others):
    X, y = iris
    code = np.unique(y, return_inverse=True)[1]
    column = code + (X[:, 0] if with_others else 0)
    with pytest.raises(InvalidInputError, match=r"columns '\d' differ between classes but not"):
        class_separation(Moments.of(np.column_stack([X, column]), y))


def test_bad_input_is_refused_by_name(iris):
    X, y = iris
    m = Moments.of(X, y)
    with pytest.raises(InvalidInputError, match="columns '0' left out: constant"):
        class_separation(Moments.of(np.ones((150, 1)), y))
    with pytest.raises(InvalidInputError, match="1 degrees of freedom for 2 features"):
        class_separation(Moments.of(X[[0, 1, 60]], y[[0, 1, 60]]))
    with pytest.raises(InvalidInputError, match="must exceed the number of classes"):
        feature_tests(Moments.of(X, y, np.full(150, 0.01)))
    with pytest.raises(InvalidParameterError, match="name two different classes"):
        hotelling_t2(m)
    with pytest.raises(InvalidParameterError, match="name two different classes"):
        hotelling_t2(m, "setosa", "setosa")
    with pytest.raises(UnknownLabelError, match="label 'rose' is not a class with rows"):
        hotelling_t2(m, "setosa", "rose")


def test_verdicts_read_like_sentences(iris, table):
    X, y = iris
    m = Moments.of(X, y)
    rng = np.random.default_rng(1)
    noise = Moments.of(rng.standard_normal(X.shape), y)
    assert str(class_separation(noise)).startswith("Class means: no evidence that they differ (")
    assert str(hotelling_t2(m, "setosa", "virginica")).startswith(
        "Means of 'setosa' and 'virginica' differ (T² = "
    )
    assert "no evidence" in str(hotelling_t2(noise, "setosa", "virginica"))
    assert str(class_separation(m).canonical).startswith("2 of 2 canonical correlations")
    assert str(feature_tests(m)).startswith("4 of 4 features differ between classes")
