"""The predictive check against brute force, and its p-values where the model is true."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris

import suffice as sf
from suffice.errors import (
    DegenerateDataWarning,
    FeatureMismatchError,
    InvalidParameterError,
    UnknownLabelError,
)
from suffice.evaluate.diagnostics import predictive_check
from suffice.evaluate.diagnostics.predictive_check import anderson_darling
from suffice.present.plots.style import COLOURS


def two_classes(rng, sizes=(40, 60), d=2):
    y = np.repeat(["a", "b"], sizes)
    return rng.standard_normal((len(y), d)) + 2.0 * (y == "b")[:, None], y


def test_anderson_darling_is_its_integral():
    u = np.sort(np.random.default_rng(0).uniform(size=7))
    # A² = n ∫ (F_n(t) − t)² / (t (1 − t)) dt
    grid = np.linspace(0, 1, 2_000_001)[1:-1]
    empirical = np.searchsorted(u, grid, side="right") / 7
    integral = 7 * ((empirical - grid) ** 2 / (grid * (1 - grid))).mean()
    found = anderson_darling(np.log(u)[:, None], np.log1p(-u)[:, None])
    np.testing.assert_allclose(found, [integral], rtol=1e-4)


def test_statistics_are_those_of_the_definitions(iris):
    X, y = iris
    est = sf.QDA().fit(X, y)
    found = predictive_check(est, X, y, simulations=39).values[0]
    for k, label in enumerate(est.classes_):
        u = X[y == label] - est.means_[k]
        squares = np.einsum("ij,jk,ik->i", u, np.linalg.inv(est.covariance_[k]), u)
        levels = np.sort(stats.chi2.cdf(squares, 4))
        a2 = anderson_darling(np.log(levels)[:, None], np.log1p(-levels)[:, None])
        np.testing.assert_allclose(found[k, 0], a2[0], rtol=1e-6)
        z = np.sort(u[:, 1] / np.sqrt(est.covariance_[k][1, 1]))
        a2 = anderson_darling(stats.norm.logcdf(z)[:, None], stats.norm.logsf(z)[:, None])
        np.testing.assert_allclose(found[k, 2], a2[0], rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("preset", [sf.LDA, sf.QDA, sf.GaussianNB])
def test_p_values_are_uniform_where_the_model_is_true(preset):
    rng = np.random.default_rng(1)
    p = []
    for seed in range(50):
        X, y = two_classes(rng)
        est = preset().fit(X, y)
        p.append(predictive_check(est, X, y, simulations=39, random_state=seed).p_values)
    p = np.array(p)
    assert (np.abs(p.mean(0) - 0.5125) < 3.5 * 0.29 / np.sqrt(50)).all()
    assert ((p <= 0.05).mean(0) <= 0.15).all()


@pytest.mark.slow
def test_a_sample_of_larger_classes_keeps_the_level():
    rng = np.random.default_rng(3)
    p = []
    for seed in range(50):
        X, y = two_classes(rng, (60, 90))
        est = sf.QDA().fit(X, y)
        check = predictive_check(est, X, y, simulations=39, max_rows=40, random_state=seed)
        p.append(check.p_values)
    assert check.n_used.tolist() == [40, 40]
    assert "a sample of 40 rows of each larger class" in str(check)
    p = np.array(p)
    assert (np.abs(p.mean(0) - 0.5125) < 3.5 * 0.29 / np.sqrt(50)).all()


def test_a_sample_of_the_rows_of_the_fit_is_enough():
    rng = np.random.default_rng(4)
    X, y = two_classes(rng, (400, 600))
    est = sf.LDA().fit(X, y)
    found = predictive_check(est, X[::4], y[::4], simulations=39)
    assert found.n_used.tolist() == [100, 150]
    assert found.p_value > 0.05


def test_heavy_tails_skew_and_correlation_are_found_and_named():
    rng = np.random.default_rng(6)
    X, y = two_classes(rng, (300, 300))
    heavy = X.copy()
    heavy[y == "b"] = 2 + rng.standard_t(3, size=(300, 2))
    found = predictive_check(sf.QDA().fit(heavy, y), heavy, y, simulations=39)
    assert found.p_value == 0.05
    assert "the distances of the rows of class 'b' from the class mean (p ≤ 0.025" in str(
        found
    )
    skew = X.copy()
    skew[y == "a", 1] = rng.exponential(size=300)
    found = predictive_check(sf.QDA().fit(skew, y), skew, y, simulations=99)
    assert "'1' in class 'a'" in str(found)
    joint = X.copy()
    joint[:, 1] = 0.9 * joint[:, 0] + 0.3 * joint[:, 1]
    naive = predictive_check(sf.GaussianNB().fit(joint, y), joint, y, simulations=99)
    assert naive.p_values[0] < 0.05 < naive.p_values[1]


def test_unequal_covariances_are_found_in_a_tied_model_only():
    rng = np.random.default_rng(7)
    y = np.repeat(["narrow", "wide"], 200)
    X = rng.standard_normal((400, 3)) * np.where(y == "wide", 3.0, 1.0)[:, None]
    tied = predictive_check(sf.LDA().fit(X, y), X, y, simulations=99)
    own = predictive_check(sf.QDA().fit(X, y), X, y, simulations=99)
    assert tied.p_value < 0.05 <= own.p_value
    assert str(own).startswith("Data drawn from the model look like the real data (")


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_change_nothing(iris, scale):
    X, y = iris
    Z = X * np.array([1.0, scale, 1.0, 1 / scale])
    a, b = (predictive_check(sf.LDA().fit(x, y), x, y, simulations=39) for x in (X, Z))
    np.testing.assert_allclose(b.values[0], a.values[0], rtol=1e-6)
    assert b.p_values == a.p_values


def test_the_seed_decides_and_nothing_else(iris):
    X, y = iris
    est = sf.QDA().fit(X, y)
    a, b, c = (predictive_check(est, X, y, simulations=39, random_state=s) for s in (1, 1, 2))
    assert a.values.tolist() == b.values.tolist()
    assert a.values.tolist() != c.values.tolist()
    assert est.score(X, y) == 0.98


def test_only_the_classes_of_the_rows_are_compared(iris):
    X, y = iris
    some = y != "versicolor"
    found = predictive_check(sf.LDA().fit(X, y), X[some], y[some], simulations=39)
    assert found.classes.tolist() == ["setosa", "virginica"]


@pytest.mark.parametrize("preset", [sf.LDA, sf.QDA])
def test_columns_without_variance_of_their_own_are_left_out_and_named(preset):
    rng = np.random.default_rng(9)
    X, y = two_classes(rng, (60, 80))
    more = np.column_stack([X, np.full(140, 1e8 + 0.1), X[:, 0] + X[:, 1]])
    with pytest.warns(DegenerateDataWarning):
        est = preset().fit(more, y)
    found = predictive_check(est, more, y, simulations=39)
    assert len(found.left_out) == 2
    assert str(found).endswith(f"; columns left out: {', '.join(map(repr, found.left_out))}")
    assert found.values[0].shape == (2, 3)
    plain = predictive_check(preset().fit(X, y), X, y, simulations=39)
    np.testing.assert_allclose(found.values[0], plain.values[0], rtol=1e-6)
    assert found.p_values == plain.p_values


def test_more_features_than_rows_are_checked_with_shrinkage():
    rng = np.random.default_rng(10)
    X, y = two_classes(rng, (8, 9), d=20)
    est = sf.LDA(shrinkage=0.5).fit(X, y)
    assert predictive_check(est, X, y, simulations=39).left_out == ()


def test_bad_input_is_refused_by_name(iris):
    X, y = iris
    est = sf.LDA().fit(X, y)
    with pytest.raises(InvalidParameterError, match="needs a fitted Gaussian classifier"):
        predictive_check(object(), X, y)
    with pytest.raises(InvalidParameterError, match="at least 39"):
        predictive_check(est, X, y, simulations=5)
    with pytest.raises(UnknownLabelError, match="without rows of class 'rose'"):
        predictive_check(est, X[:2], ["setosa", "rose"])
    with pytest.raises(
        FeatureMismatchError, match="3 features, but the model was fitted to 4"
    ):
        predictive_check(est, X[:, :3], y)
    weighted = sf.LDA().fit(X, y, np.linspace(1, 2, 150))
    with pytest.raises(InvalidParameterError, match="fitted with weights"):
        predictive_check(weighted, X, y)


def test_a_sample_of_rows_keeps_the_names_of_columns():
    X, y = load_iris(return_X_y=True, as_frame=True)
    found = predictive_check(sf.LDA().fit(X, y), X, y, simulations=39, max_rows=20)
    assert found.feature_names == tuple(X.columns)


def test_every_class_is_in_the_legend_by_its_own_name_and_colour():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.array(["_b", "$a$", "c"])[np.arange(60) % 3]
    ax = predictive_check(sf.LDA().fit(X, y), X, y, simulations=39).plot()
    texts = ax.get_legend().get_texts()
    assert [text.get_text().strip() for text in texts] == ["$a$", "_b", "c"]
    assert not any(text.get_parse_math() for text in texts)
    assert [line.get_color() for line in ax.get_legend().get_lines()] == list(COLOURS[:3])
    plt.close(ax.figure)


def test_a_transformed_model_is_checked_in_its_transformed_features(iris):
    X, y = iris
    model = sf.LDA(power="yeo-johnson").fit(X, y)
    transformed = model.moments_.power.apply(X)
    checks = (
        predictive_check(model, X, y, simulations=39),
        predictive_check(sf.LDA().fit(transformed, y), transformed, y, simulations=39),
    )
    assert checks[0].p_values == checks[1].p_values
