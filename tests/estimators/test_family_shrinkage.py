"""Pooling and shrinkage as settings: Friedman's values, closed forms, units, refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import OAS, ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from suffice import LDA, QDA, RDA, GaussianClassifier, GaussianNB, Moments, Shrinkage
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.settings import Settings
from suffice.errors import (
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
    SufficeWarning,
)
from suffice.persistence.load import load_classifier

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "rda.json").read_text(encoding="utf-8")
)["datasets"]
CASES = [(name, point) for name, found in REFERENCE.items() for point in found["grid"]]
CLOSED_FORMS = ["oas", "ledoit-wolf"]


@pytest.mark.parametrize(
    ("name", "point"), CASES, ids=[f"{n}-{p['lambda']}-{p['gamma']}" for n, p in CASES]
)
def test_the_raw_target_gives_the_values_of_friedman(table, name, point):
    X, y, _ = table(name)
    est = GaussianClassifier(
        pooling=point["lambda"], shrinkage=Shrinkage(point["gamma"], target="identity")
    ).fit(X, y)
    found = est.predict_log_proba(X[REFERENCE[name]["rows"]])
    np.testing.assert_allclose(found, point["log_posterior"], rtol=1e-9, atol=1e-10)
    assert round((1 - est.score(X, y)) * len(y)) == point["errors"]


@pytest.mark.parametrize("name", ["iris", "wine", "crabs"])
def test_shrinkage_of_each_class_is_that_of_scikit_learn_on_its_standardised_rows(table, name):
    X, y, _ = table(name)
    found = {rule: QDA(shrinkage=rule).fit(X, y).covariance_ for rule in CLOSED_FORMS}
    for k, label in enumerate(np.unique(y)):
        x = X[y == label]
        s = x.std(0)
        z = (x - x.mean(0)) / s
        expected = {"oas": OAS().fit(z).covariance_, "ledoit-wolf": ledoit_wolf(z)[0]}
        for rule in CLOSED_FORMS:
            np.testing.assert_allclose(
                found[rule][k], expected[rule] * np.outer(s, s), rtol=1e-9, atol=1e-12
            )


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_scikit_learn_averages_what_we_find_for_each_class(table, name):
    X, y, _ = table(name)
    theirs = LinearDiscriminantAnalysis(
        solver="lsqr", shrinkage="auto", store_covariance=True
    ).fit(X, y)
    ours = QDA(shrinkage="ledoit-wolf").fit(X, y)
    averaged = np.einsum("k,kij->ij", ours.priors_, ours.covariance_)
    np.testing.assert_allclose(averaged, theirs.covariance_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", CLOSED_FORMS)
def test_tied_classes_have_the_intensity_of_all_rows_about_their_class_means(table, rule):
    X, y, _ = table("wine")
    z = X - np.stack([X[y == label].mean(0) for label in y])
    s = z.std(0)
    unit = z / s
    found = {
        "oas": OAS(assume_centered=True).fit(unit).covariance_,
        "ledoit-wolf": ledoit_wolf(unit, assume_centered=True)[0],
    }
    est = LDA(shrinkage=rule).fit(X, y)
    np.testing.assert_allclose(est.covariance_, found[rule] * np.outer(s, s), rtol=1e-9)
    # pooling all the way is tying
    pooled = QDA(shrinkage=rule, pooling=1.0).fit(X, y)
    np.testing.assert_allclose(pooled.covariance_[1], est.covariance_, rtol=1e-12)


@pytest.mark.parametrize("rule", CLOSED_FORMS)
def test_the_raw_target_has_the_raw_intensity_of_scikit_learn(table, rule):
    X, y, _ = table("iris")
    x = X[y == "virginica"]
    expected = {"oas": OAS().fit(x).covariance_, "ledoit-wolf": ledoit_wolf(x)[0]}[rule]
    found = QDA(shrinkage=Shrinkage(rule, target="identity")).fit(X, y).covariance_[2]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("target", ["diagonal", "sphere"])
@pytest.mark.parametrize("rule", [*CLOSED_FORMS, 0.4])
@given(st.lists(st.floats(-9, 9), min_size=4, max_size=4))
def test_a_change_of_units_changes_nothing(iris, rule, target, powers):
    X, y = iris
    est = GaussianClassifier(
        tied=[["setosa", "virginica"]], pooling=0.3, shrinkage=Shrinkage(rule, target=target)
    )
    units = 10.0 ** np.array(powers)
    before = est.fit(X, y).predict_log_proba(X)
    after = est.fit(X * units, y).predict_log_proba(X * units)
    np.testing.assert_allclose(after, before, rtol=1e-7, atol=1e-10)


def test_moments_collected_without_options_serve_every_closed_form(iris):
    X, y = iris
    moments = Moments.of(X, y)
    for rule in CLOSED_FORMS:
        one, two = LDA(shrinkage=rule).fit(X, y), LDA(shrinkage=rule).fit_moments(moments)
        np.testing.assert_allclose(two.covariance_, one.covariance_, rtol=1e-12)
    with pytest.raises(MissingStatisticsError, match="fourth"):
        LDA(shrinkage="ledoit-wolf").fit_moments(Moments.of(X, y, fourth=False))


def test_a_stream_gives_the_intensity_of_the_whole(iris):
    X, y = iris
    est = QDA(shrinkage="ledoit-wolf")
    for rows in np.array_split(np.random.default_rng(0).permutation(150), 4):
        est.partial_fit(X[rows], y[rows])
    whole = QDA(shrinkage="ledoit-wolf").fit(X, y)
    np.testing.assert_allclose(est.covariance_, whole.covariance_, rtol=1e-9)
    est.partial_fit(X[:40] + 1, y[:40]).forget(X[:40] + 1, y[:40])
    np.testing.assert_allclose(est.covariance_, whole.covariance_, rtol=1e-6)


def test_weights_count_rows(iris):
    X, y = iris
    w = np.random.default_rng(1).integers(0, 4, 150)
    for rule in CLOSED_FORMS:
        one = QDA(shrinkage=rule).fit(X, y, w)
        two = QDA(shrinkage=rule).fit(np.repeat(X, w, 0), np.repeat(y, w))
        np.testing.assert_allclose(one.covariance_, two.covariance_, rtol=1e-9)


def test_shrinkage_cures_fewer_rows_than_features():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(24, 40)), np.arange(24) % 2
    for rule in CLOSED_FORMS:
        est = QDA(shrinkage=rule).fit(X, y)  # no warning
        assert np.isfinite(est.predict_log_proba(X)).all()


def test_variances_of_naive_bayes_shrink_towards_the_sphere_only(iris):
    X, y = iris
    plain = GaussianNB().fit(X, y).covariance_
    with pytest.warns(SufficeWarning, match=r"shrinkage=0\.5 has no effect"):
        same = GaussianClassifier(shrinkage=0.5, covariance="diagonal").fit(X, y).covariance_
    np.testing.assert_allclose(same, plain)
    pooled = (
        GaussianClassifier(tied=True, covariance="diagonal").fit(X, y).covariance_.diagonal()
    )
    found = (
        GaussianClassifier(shrinkage=Shrinkage(1.0, target="sphere"), covariance="diagonal")
        .fit(X, y)
        .covariance_
    )
    ratios = found.diagonal(axis1=1, axis2=2) / pooled
    np.testing.assert_allclose(ratios, ratios[:, :1] * np.ones(4), rtol=1e-12)


def test_settings_left_to_the_estimator_are_open_until_it_chooses(iris):
    recipe = Settings(pooling="auto", shrinkage="auto")
    assert recipe.open_settings == ("pooling", "shrinkage")
    assert not recipe.needs_fourth
    with pytest.raises(InvalidParameterError, match="chosen by the estimator"):
        estimate(Moments.of(*iris), recipe)
    half = recipe.with_regularisation(pooling=0.25, shrinkage=None)
    assert half.open_settings == ("shrinkage",)
    assert half.regularisation.pooling == 0.25
    whole = half.with_regularisation(pooling=None, shrinkage="oas")
    assert not whole.open_settings
    assert whole.regularisation.pooling == 0.25
    np.testing.assert_allclose(
        estimate(Moments.of(*iris), whole).covariance_matrices,
        QDA(pooling=0.25, shrinkage="oas").fit(*iris).covariance_,
    )


def test_the_preset_leaves_pooling_and_shrinkage_to_the_estimator():
    assert RDA().get_params()["pooling"] == "auto"
    assert RDA().get_params()["shrinkage"] == "auto"
    assert RDA().settings().open_settings == ("pooling", "shrinkage")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shrinkage": "oas", "covariance": "diagonal"}, "has none: use covariance='full'"),
        ({"shrinkage": "ledoitwolf"}, "'ledoit-wolf', .*got 'ledoitwolf'"),
        ({"shrinkage": -0.1}, r"number from 0 to 1, .* got -0\.1"),
        ({"shrinkage": True}, "got True"),
        ({"pooling": 1.5}, r"pooling must be None, a number from 0 to 1, or 'auto', got 1\.5"),
        ({"pooling": "oas"}, "pooling must be"),
    ],
)
def test_bad_settings_are_refused_by_name(iris, settings, message):
    with pytest.raises(InvalidParameterError, match=message):
        GaussianClassifier(**settings).fit(*iris)


def test_a_loaded_classifier_refuses_the_rows_that_the_estimator_refuses(iris, tmp_path):
    X, y = iris
    est = GaussianClassifier(shrinkage="ledoit-wolf").fit(X, y)
    est.save(tmp_path / "a.model")
    holes = np.where(np.arange(X.shape[1]) == 1, np.nan, X)
    for fitted in (est, load_classifier(tmp_path / "a.model")):
        with pytest.raises(InvalidInputError, match="NaN: row 0, column 1"):
            fitted.predict(holes)


@pytest.mark.parametrize("n_rows", [60, 12])
def test_a_target_with_variance_in_every_feature_needs_no_other_for_constant_features(n_rows):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, 20)) + y[:, None]
    X[:, 3] = 5.0
    # a warning would be an error
    model = LDA(shrinkage=Shrinkage(0.4, target="identity")).fit(X, y)
    z = X - np.stack([X[y == 0].mean(0), X[y == 1].mean(0)])[y]
    sigma = z.T @ z / n_rows
    expected = 0.6 * sigma + 0.4 * np.trace(sigma) / 20 * np.eye(20)
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-9, atol=1e-12)
