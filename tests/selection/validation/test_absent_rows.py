"""Rows of weight zero are absent everywhere, and errors number the rows of the data."""

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import LeaveOneOut, PredefinedSplit

import suffice as sf
from suffice.errors import InvalidInputError, TooFewClassesError

CHOOSING = [sf.RDA(), sf.LDA(temperature="auto"), sf.QDA(shrinkage="auto", power="auto")]
LEARNING = [*CHOOSING, sf.LDA(), sf.LDA(power="yeo-johnson"), sf.AutoGaussian()]


@pytest.fixture
def few(iris):
    """Weights of which whole folds of rows have none."""
    X, y = iris
    weight = np.zeros(len(y))
    weight[[*range(8), *range(50, 58), *range(100, 108)]] = 1.0
    return X, y, weight


@pytest.mark.parametrize("estimator", [*CHOOSING, sf.AutoGaussian()], ids=str)
def test_settings_are_chosen_from_the_rows_that_count(few, estimator):
    X, y, w = few
    weighted = estimator.fit(X, y, w).predict_proba(X)
    alone = estimator.fit(X[w > 0], y[w > 0]).predict_proba(X)
    np.testing.assert_allclose(weighted, alone, atol=1e-9)


@pytest.mark.filterwarnings("ignore::suffice.errors.DegenerateDataWarning")
def test_bagging_around_an_estimator_that_chooses(iris):
    X, y = iris
    bags = BaggingClassifier(sf.RDA(), n_estimators=8, max_samples=0.1, random_state=0)
    assert bags.fit(X, y).score(X, y) > 0.85


@pytest.mark.parametrize("estimator", LEARNING, ids=str)
def test_one_class_of_positive_weight_is_told(iris, estimator):
    X, y = iris
    with pytest.raises(TooFewClassesError, match="at least 2 classes"):
        estimator.fit(X, y, (y == "setosa").astype(float))


def test_cross_validation_divides_the_rows_that_count(few):
    X, y, w = few
    kept = w > 0
    for cv in (4, LeaveOneOut()):
        found = sf.cross_validate(sf.LDA(), X, y, cv=cv, sample_weight=w)
        alone = sf.cross_validate(sf.LDA(), X[kept], y[kept], cv=cv)
        np.testing.assert_allclose(found.fold_losses, alone.fold_losses, rtol=1e-9)
    day = np.arange(150) % 4
    day[kept] = np.where(day[kept] == 3, 0, day[kept])  # no row of day 3 counts
    for splitter in (PredefinedSplit(day), list(PredefinedSplit(day).split())):
        found = sf.cross_validate(sf.LDA(), X, y, cv=splitter, sample_weight=w)
        alone = sf.cross_validate(sf.LDA(), X[kept], y[kept], cv=PredefinedSplit(day[kept]))
        np.testing.assert_allclose(found.fold_losses, alone.fold_losses, rtol=1e-9)
    given = [(np.arange(100), np.arange(100, 150)), (np.arange(20, 50), np.arange(20))]
    with pytest.raises(
        InvalidInputError, match="fold 1 has no training row with positive weight"
    ):
        sf.cross_validate(sf.LDA(), X, y, cv=given, sample_weight=w)


def test_a_row_of_weight_zero_is_not_left_out(iris):
    X, y = iris
    w = np.ones(150)
    w[[3, 77]] = 0
    gone = X.copy()
    gone[3] = np.nan
    found, alone = (
        sf.leave_one_out(sf.QDA(), gone, y, w),
        sf.leave_one_out(sf.QDA(), X[w > 0], y[w > 0]),
    )
    np.testing.assert_allclose(found.log_posteriors, alone.log_posteriors, rtol=1e-9)
    assert found.rows.tolist() == np.flatnonzero(w).tolist()


def learners():
    for estimator in LEARNING[:-1]:  # the last one takes missing values
        yield pytest.param(lambda X, y, w, e=estimator: e.fit(X, y, w), id=str(estimator))
    yield pytest.param(
        lambda X, y, w: sf.cross_validate(sf.LDA(), X, y, cv=5, sample_weight=w), id="cv"
    )
    yield pytest.param(
        lambda X, y, w: sf.cross_validate(
            sf.LDA(), X, y, {"power": [None, "yeo-johnson"]}, sample_weight=w
        ),
        id="grid",
    )
    yield pytest.param(lambda X, y, w: sf.leave_one_out(sf.LDA(), X, y, w), id="left out")
    yield pytest.param(lambda X, y, w: sf.Moments.of(X, y, w, missing="refuse"), id="moments")


@pytest.mark.parametrize("learn", list(learners()))
def test_the_row_named_is_the_row_of_the_data(iris, learn):
    X, y = iris
    bad = X.copy()
    bad[[33, 99], 2] = -np.inf, np.inf
    w = np.ones(150)
    w[20] = 0
    with pytest.raises(InvalidInputError, match="infinity: row 33, column 2"):
        learn(bad, y, w)
    w[33] = 0  # absent, so the next one is named
    with pytest.raises(InvalidInputError, match="infinity: row 99, column 2"):
        learn(bad, y, w)
    w[99] = 0
    learn(bad, y, w)


def test_large_tables_too_have_absent_rows(iris):
    X, y = np.tile(iris[0], (500, 1)), np.tile(iris[1], 500)
    bad, w = X.copy(), np.ones(len(y))
    bad[40_033, 2], w[40_033] = np.nan, 0
    found, without = sf.Moments.of(bad, y, w, missing="refuse"), np.arange(len(y)) != 40_033
    np.testing.assert_allclose(found.scatters, sf.Moments.of(X[without], y[without]).scatters)
    bad[60_000, 1] = -np.inf
    with pytest.raises(InvalidInputError, match="infinity: row 60000, column 1"):
        sf.Moments.of(bad, y, w, missing="refuse")
