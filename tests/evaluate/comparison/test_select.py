"""A classifier is picked by estimates and tested once, on rows that had no part in the choice."""

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from suffice.errors import InvalidParameterError


@pytest.fixture(scope="module")
def wine(table):
    X, y, _ = table("wine")
    return X, y


@pytest.mark.parametrize("change", [{}, {"cv": 4}])
def test_the_test_error_is_that_of_the_pick_refitted_without_the_test_part(change, wine):
    X, y = wine
    chosen = sf.lectures.select(X, y, ["LDA", "NB", "tree"], **change)
    parts = chosen.parts
    learnt = np.setdiff1d(np.arange(len(y)), parts.test.rows)
    refitted = {"LDA": sf.LDA(), "GaussianNB": sf.GaussianNB()}[chosen.pick]
    refitted.fit(X[learnt], y[learnt])
    wrong = refitted.predict(parts.test.X) != parts.test.y
    assert chosen.test_error == pytest.approx(wrong.mean())
    np.testing.assert_allclose(
        chosen.estimator.predict_proba(X), refitted.predict_proba(X), rtol=1e-9
    )
    low, high = chosen.test_interval
    assert low <= chosen.test_error <= high


def test_the_choice_goes_by_the_validation_part_alone(wine):
    X, y = wine
    chosen = sf.lectures.select(X, y, ["LDA", "NB", "least squares"])
    train, validation, _ = chosen.parts
    for name, estimator in {"LDA": sf.LDA(), "GaussianNB": sf.GaussianNB()}.items():
        wrong = estimator.fit(*train).predict(validation.X) != validation.y
        assert chosen.comparison.to_frame().loc[name, "error"] == pytest.approx(wrong.mean())


def test_rows_of_the_test_part_cannot_change_the_choice(wine):
    X, y = wine
    honest = sf.lectures.select(X, y, ["LDA", "NB", "tree"])
    twisted = X.copy()
    twisted[honest.parts.test.rows] += 1e3
    again = sf.lectures.select(twisted, y, ["LDA", "NB", "tree"])
    columns = ["error", "log_loss"]
    pd.testing.assert_frame_equal(
        honest.comparison.to_frame()[columns], again.comparison.to_frame()[columns]
    )
    assert again.test_error > 0.3


def test_another_criterion_may_pick_another(wine):
    X, y = wine
    models = {"right": sf.LDA(), "shy": sf.LDA(temperature=20.0)}
    for criterion in ("error", "log_loss", "brier"):
        assert sf.lectures.select(X, y, models, criterion=criterion).pick == "right"
    assert (
        sf.lectures.select(
            X, y, {"a": sf.LDA(), "b": DummyClassifier()}, criterion="log_loss"
        ).pick
        == "a"
    )


def test_frames_stay_frames(wine):
    X, y = wine
    frame = pd.DataFrame(X).rename(columns=lambda j: f"x{j}")
    chosen = sf.lectures.select(frame, y, ["LDA", "tree"], cv=3)
    assert list(chosen.estimator.feature_names_in_) == list(frame.columns)


def test_a_selection_says_what_it_found(wine):
    text = repr(sf.lectures.select(*wine, ["LDA"]))
    assert text.startswith("Selection(LDA: test error")
    assert "on 36 rows" in text


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"criterion": "auc"}, "criterion must be"),
        ({"test": 0}, "test=0"),
        ({"validation": 0}, "validation=0"),
        ({"models": [RidgeClassifier()], "criterion": "log_loss"}, "no model has posteriors"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused(change, match, wine):
    with pytest.raises(InvalidParameterError, match=match):
        sf.lectures.select(*wine, **({"models": ["LDA"]} | change))


@pytest.mark.parametrize("criterion", ["error", "log_loss", "brier"])
def test_the_pick_has_the_least_criterion_of_all(criterion, wine):
    models = {
        "guess": DummyClassifier(strategy="prior"),
        "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
        "LDA": sf.LDA(),
        "spherical": sf.GaussianClassifier("spherical"),
    }
    chosen = sf.lectures.select(*wine, models, cv=4, criterion=criterion)
    losses = chosen.comparison.to_frame()[criterion]
    assert losses.nunique() > 2
    assert chosen.pick == losses.idxmin() == "LDA"


def test_a_pick_that_takes_only_numbers_learns_from_an_encoded_table():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    frame = pd.DataFrame({"a": rng.normal(size=120) + y, "b": np.where(y == 1, "u", "v")})
    chosen = sf.lectures.select(frame, y, {"tree": DecisionTreeClassifier(random_state=0)})
    assert chosen.test_error == 0.0
    assert (chosen.estimator.predict(frame) == y).all()
