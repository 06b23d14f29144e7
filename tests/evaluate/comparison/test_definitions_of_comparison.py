"""Quantities of comparisons against their definitions, worked by hand."""

import itertools

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin

import suffice as sf
from suffice.evaluate.comparison import judging
from suffice.evaluate.comparison.comparison import folds_for
from suffice.evaluate.comparison.competitors import LibraryBoosting
from suffice.evaluate.comparison.importance import _importances
from suffice.evaluate.comparison.judging import _area, judged_fold
from suffice.evaluate.comparison.models import NAMED_MODELS, parse_models
from suffice.evaluate.comparison.paired import LOG_LOSS, LOSSES


class Alternating(ClassifierMixin, BaseEstimator):
    """A classifier that states 0.7 after one fit and 0.3 after the next."""

    n_fits = itertools.count()

    def fit(self, X, y):  # noqa: ARG002
        self.classes_ = np.unique(y)
        self.stated_ = 0.5 + 0.2 * (-1) ** next(Alternating.n_fits)
        return self

    def predict_proba(self, X):
        return np.tile([self.stated_, 1 - self.stated_], (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(1)]


@pytest.mark.parametrize("repeats", [2, 4])
def test_the_variance_of_the_mean_posterior_is_taken_from_the_squared_bias(repeats):
    truth = sf.GaussianClassifier.from_parameters([0.5, 0.5], [[0, 0], [0, 0]], 1.0)
    found = sf.lectures.bias_variance(
        truth, {"alternating": Alternating()}, n_rows=20, repeats=repeats
    )
    (row,) = found.rows()
    # both posteriors are 0.2 from their mean, which is the truth
    variance = 2 * 0.2**2 * repeats / (repeats - 1)
    assert row["variance"] == pytest.approx(variance)
    assert row["squared_bias"] == pytest.approx(-variance / repeats)


def test_a_fold_without_scores_leaves_no_area(iris):
    X, y = iris
    held_out = sf.leave_one_out(sf.LDA(), X, y)
    scores = held_out.logs
    assert _area(held_out, [scores[:75], scores[75:]]) > 0.99
    assert np.isnan(_area(held_out, [None, scores]))
    assert np.isnan(_area(held_out, [scores, None]))


def test_the_seconds_of_a_prediction_are_those_between_its_start_and_its_end(
    iris, monkeypatch
):
    X, y = iris
    folds = folds_for(X, y, 3, None, None, 0)
    learner = judging.learner_of(sf.LDA(), folds.X, is_plain=folds.is_plain)
    ticks = itertools.count(1000)
    monkeypatch.setattr(judging.time, "perf_counter", lambda: float(next(ticks)))
    assert judged_fold(learner, folds, 0).predict_seconds == 1.0


@pytest.mark.parametrize(("n", "n_folds"), [(60, 10), (150, 10)])
def test_small_tables_are_judged_on_ten_folds(n, n_folds):
    X = np.random.default_rng(0).normal(size=(n, 2))
    folds = folds_for(X, np.arange(n) % 2, None, None, None, 0)
    assert len(folds.splits) == n_folds


def test_models_of_one_class_are_told_apart_by_their_settings():
    names = [m.name for m in parse_models([sf.LDA(), sf.LDA(shrinkage=0.3), sf.QDA()], 0)]
    assert names[2] == "QDA"
    assert "shrinkage=0.3" in names[1]
    assert names[0] != names[1]


@pytest.mark.parametrize(
    ("library", "parameter"),
    [("LightGBM", "n_jobs"), ("XGBoost", "n_jobs"), ("CatBoost", "thread_count")],
)
def test_boosted_trees_use_one_thread_and_the_seed(library, parameter):
    pytest.importorskip(library.lower())
    settings = LibraryBoosting(library, random_state=7)._booster().get_params()
    assert settings[parameter] == 1
    assert 7 in (settings.get("random_state"), settings.get("random_seed"))


def test_a_learning_curve_repeats_twenty_times_from_the_seed_zero(iris):
    X, y = iris
    curve = sf.learning_curve(X, y, ["LDA"], sizes=[40])
    assert curve.n_repeats == 20
    same = sf.learning_curve(X, y, ["LDA"], sizes=[40], n_repeats=20, random_state=0)
    np.testing.assert_array_equal(curve["LDA"].losses, same["LDA"].losses)
    other = sf.learning_curve(X, y, ["LDA"], sizes=[40], n_repeats=20, random_state=1)
    assert not np.array_equal(curve["LDA"].losses, other["LDA"].losses)


def test_the_twenty_most_important_columns_are_shown_with_intervals():
    rng = np.random.default_rng(0)
    received = rng.normal(size=(25, 150)) + np.arange(25)[:, None]
    # each row gives the mean, so that the interval is Student's of the rises received
    given = np.broadcast_to(received.mean(1, keepdims=True), received.shape)
    names = tuple(f"c{j}" for j in range(25))
    shown = _importances(
        np.stack([received, given]), LOSSES[LOG_LOSS], names, np.ones(150), np.arange(150)
    )
    assert [each.feature for each in shown] == [f"c{j}" for j in range(24, 4, -1)]
    first = received[24]
    low, high = stats.t.interval(0.95, 149, first.mean(), stats.sem(first))
    assert shown[0].mean == pytest.approx(first.mean())
    assert shown[0].low == pytest.approx(low)
    assert shown[0].high == pytest.approx(high)


def test_models_with_linear_or_quadratic_scores_predict_quickly():
    quick = {
        model.name
        for model in parse_models([model.name for model in NAMED_MODELS], 0)
        if model.predicts_quickly
    }
    assert quick == {
        "constant",
        "LDA",
        "QDA",
        "GaussianNB",
        "RDA",
        "logistic regression",
        "least squares",
        "perceptron",
    }
