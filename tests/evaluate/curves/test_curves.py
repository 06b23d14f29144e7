"""Curves of error and trust, against scikit-learn and their own laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.linear_model import Perceptron
from sklearn.neighbors import KNeighborsClassifier

from suffice.core.decision.error_intervals import wilson
from suffice.core.decision.predictions import Predictions
from suffice.core.moments import Moments
from suffice.errors import (
    FeatureMismatchError,
    InvalidInputError,
    InvalidParameterError,
    UnknownLabelError,
)
from suffice.evaluate.curves.feature_separation import separation, standardised_coefficients
from suffice.evaluate.curves.reliability import confusion, reliability
from suffice.evaluate.curves.thresholds import (
    cost_curve,
    precision_recall_curve,
    reject_curve,
    roc_curve,
)
from suffice.present.plots.inputs import decided_by


def scored(seed, n=60, ties=False):
    """Return positives, scores in [0, 1] and small whole weights."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    positive[:2] = True, False
    score = np.clip(rng.normal(0.4 + 0.2 * positive, 0.2), 0, 1)
    return (
        positive,
        np.round(score, 1 if ties else 9),
        rng.integers(0, 4, n) + (positive * 1.0),
    )


def posteriors(seed, n=80, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    logits = rng.normal(size=(n, classes)) + 1.5 * np.eye(classes)[y]
    return y, softmax(logits, axis=1), rng.integers(1, 4, n).astype(float)


seeds = st.integers(0, 10_000)


@given(seeds, st.booleans())
def test_roc_and_its_area_are_those_of_scikit_learn(seed, ties):
    positive, score, weight = scored(seed, ties=ties)
    ours = roc_curve(positive, score, weight)
    theirs = metrics.roc_curve(positive, score, sample_weight=weight, drop_intermediate=False)
    assert ours.false_positive == pytest.approx(theirs[0])
    assert ours.true_positive == pytest.approx(theirs[1])
    area = metrics.roc_auc_score(positive, score, sample_weight=weight)
    assert ours.area == pytest.approx(area)


@given(seeds, st.booleans())
def test_average_precision_is_that_of_scikit_learn(seed, ties):
    positive, score, weight = scored(seed, ties=ties)
    ours = precision_recall_curve(positive, score, weight)
    average = metrics.average_precision_score(positive, score, sample_weight=weight)
    assert ours.average == pytest.approx(average)
    assert ours.recall[-1] == 1
    assert ours.precision[-1] == pytest.approx(ours.prevalence)


@given(seeds)
def test_a_score_and_any_increasing_function_of_it_give_one_roc_curve(seed):
    positive, score, weight = scored(seed)
    a, b = roc_curve(positive, score, weight), roc_curve(positive, np.exp(5 * score), weight)
    np.testing.assert_allclose(a.true_positive, b.true_positive)
    assert roc_curve(~positive, -score, weight).area == pytest.approx(a.area)


@given(seeds)
def test_a_whole_weight_means_that_many_copies_of_the_row(seed):
    positive, score, weight = scored(seed, ties=True)
    copies = np.repeat(np.arange(len(score)), weight.astype(int))
    for curve in (roc_curve, precision_recall_curve):
        weighted = curve(positive, score, weight)
        copied = curve(positive[copies], score[copies])
        quantity = "area" if curve is roc_curve else "average"
        assert getattr(weighted, quantity) == pytest.approx(getattr(copied, quantity))
    for even in (True, False):
        weighted = reliability(positive, score, weight, equal_counts=even)
        copied = reliability(positive[copies], score[copies], equal_counts=even)
        np.testing.assert_allclose(weighted.observed, copied.observed)
        np.testing.assert_allclose(weighted.weights, copied.counts)


def test_a_perfect_and_a_reversed_score_have_areas_one_and_zero():
    positive = [True, True, False]
    assert roc_curve(positive, [3, 2, 1]).area == 1
    assert roc_curve(positive, [1, 2, 3]).area == 0
    assert roc_curve(positive, [1, 1, 1]).area == 0.5


def test_a_ranking_needs_both_sides_and_a_score_for_each_row():
    with pytest.raises(InvalidInputError, match="one side has no rows"):
        roc_curve([True, True], [0.1, 0.2])
    with pytest.raises(InvalidInputError, match="there are none"):
        precision_recall_curve([False, False], [0.1, 0.2])
    with pytest.raises(InvalidInputError, match="one score for each"):
        roc_curve([True, False], [0.1, 0.2, 0.3])
    with pytest.raises(InvalidInputError, match="NaN"):
        roc_curve([True, False], [0.1, np.nan])


@given(seeds, st.integers(1, 12))
def test_reliability_is_that_of_scikit_learn(seed, bins):
    happened, p, _ = scored(seed)
    ours = reliability(happened, p, bins=bins)
    observed, stated = calibration_curve(happened, p, n_bins=bins)
    np.testing.assert_allclose(ours.observed, observed)
    np.testing.assert_allclose(ours.stated, stated)
    assert ours.counts.sum() == len(p)
    assert np.all(ours.low_edges <= ours.stated)
    assert np.all(ours.stated <= ours.high_edges)
    assert np.all((ours.low <= ours.observed) & (ours.observed <= ours.high))


def test_wilsons_interval_is_the_published_one():
    # 7 of 10 at 95 %: 0.397 to 0.892
    r = reliability([True] * 7 + [False] * 3, [0.7] * 10)
    np.testing.assert_allclose([r.low[0], r.high[0]], [0.3968, 0.8922], atol=1e-4)


def test_bins_of_equal_counts_hold_equal_counts():
    p = np.linspace(0, 0.2, 100)
    r = reliability(p > 0.1, p, bins=4, equal_counts=True)
    assert r.counts.tolist() == [25, 25, 25, 25]


def test_calibration_error_is_zero_where_frequencies_are_as_stated():
    r = reliability([True, False, False, False], [0.25] * 4)
    assert r.calibration_error == 0


@pytest.mark.parametrize(
    ("happened", "p", "bins"),
    [([True], [1.5], 3), ([True], [0.5, 0.6], 3), ([True], [0.5], 0)],
)
def test_reliability_says_what_is_wrong(happened, p, bins):
    with pytest.raises((InvalidInputError, InvalidParameterError)):
        reliability(happened, p, bins=bins)


class Guessing:
    """A classifier that predicts what it was told."""

    def __init__(self, classes, guesses):
        self.classes_, self.guesses = np.asarray(classes), guesses

    def predict(self, _):
        return np.asarray(self.guesses)


@given(seeds)
def test_confusion_is_that_of_scikit_learn(seed):
    y, p, weight = posteriors(seed, classes=4)
    rows = Predictions.of(y, p, sample_weight=weight)
    theirs = metrics.confusion_matrix(y, p.argmax(1), sample_weight=weight)
    np.testing.assert_allclose(confusion(rows), np.c_[theirs, np.zeros(4)])
    said = decided_by(Guessing(range(4), p.argmax(1)), p, y, sample_weight=weight)
    np.testing.assert_allclose(confusion(said), confusion(rows))


def test_refused_rows_have_a_column_of_their_own():
    told = Guessing(["a", "b"], np.array(["a", None, "b"], dtype=object))
    rows = decided_by(told, np.zeros((3, 1)), ["a", "b", "b"])
    assert confusion(rows).tolist() == [[1, 0, 0], [0, 1, 1]]
    assert rows.error == pytest.approx(1 / 3)


def test_a_class_without_rows_keeps_its_place():
    rows = decided_by(Guessing([0, 1, 2], [0, 1]), np.zeros((2, 1)), [0, 0])
    assert confusion(rows).tolist() == [[1, 1, 0, 0], [0] * 4, [0] * 4]


def test_a_label_that_is_no_class_is_named():
    told = Guessing(["a", "b"], ["a", "a"])
    with pytest.raises(UnknownLabelError, match="row 1 has label 'c'"):
        decided_by(told, np.zeros((2, 1)), ["a", "c"])
    with pytest.raises(InvalidInputError, match="2 rows but y has 3"):
        decided_by(told, np.zeros((2, 1)), ["a", "b", "b"])


@given(seeds)
def test_predictions_know_the_error_of_the_most_probable_class(seed):
    y, p, weight = posteriors(seed)
    rows = Predictions.of(y, p, sample_weight=weight)
    accuracy = metrics.accuracy_score(y, p.argmax(1), sample_weight=weight)
    assert rows.error == pytest.approx(1 - accuracy)
    np.testing.assert_allclose(rows.posteriors, p)


def test_predictions_of_a_classifier_are_its_posteriors(iris):
    X, y = iris
    knn = KNeighborsClassifier().fit(X, y)
    rows = Predictions.by(knn, X, y)
    np.testing.assert_allclose(rows.posteriors, knn.predict_proba(X))
    assert rows.error == pytest.approx(1 - knn.score(X, y))


def test_a_classifier_without_posteriors_is_refused_with_the_cure(iris):
    X, y = iris
    with pytest.raises(InvalidInputError, match="CalibratedClassifierCV"):
        Predictions.by(Perceptron().fit(X, y), X, y)


@pytest.mark.parametrize(
    ("y", "p", "classes"),
    [([], np.ones((0, 2)), [0, 1]), ([0, 1], [[1.0]], None), ([0], [[-1.0, 2.0]], [0, 1])],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in log")
def test_posteriors_of_another_shape_or_kind_are_refused(y, p, classes):
    with pytest.raises(InvalidInputError):
        Predictions.of(np.array(y, int), p, classes)


@given(seeds)
def test_the_reject_curve_is_what_counting_gives(seed):
    y, p, weight = posteriors(seed)
    rows = Predictions.of(y, p, sample_weight=weight)
    curve = reject_curve(rows)
    greatest = rows.posteriors.max(1)
    for t, rejected, error in zip(curve.thresholds, curve.rejected, curve.error, strict=True):
        kept = greatest >= t
        wrong = kept & (p.argmax(1) != y)
        assert rejected == pytest.approx(1 - weight[kept].sum() / weight.sum(), abs=1e-12)
        assert error == pytest.approx(weight[wrong].sum() / weight[kept].sum())
    assert curve.error[0] == pytest.approx(rows.error)
    assert np.all(np.diff(curve.rejected) > 0)


@given(seeds, st.floats(0.1, 10))
def test_the_cost_curve_is_what_counting_gives(seed, miss_cost):
    y, p, weight = posteriors(seed, classes=2)
    rows = Predictions.of(y, p, sample_weight=weight)
    curve = cost_curve(rows, 1, miss_cost=miss_cost)
    for t, alarms, misses in zip(
        curve.thresholds, curve.false_alarms, curve.misses, strict=True
    ):
        called = rows.posteriors[:, 1] >= t
        wrong = [weight[called & (y == 0)].sum(), weight[~called & (y == 1)].sum()]
        np.testing.assert_allclose([alarms, misses], wrong / weight.sum(), atol=1e-12)
    at_best = curve.cost[curve.thresholds == curve.best_threshold]
    assert at_best[0] == curve.cost.min()


def test_at_the_bayes_threshold_both_decisions_cost_the_same():
    rows = Predictions.of([0, 1], [[0.5, 0.5], [0.5, 0.5]])
    curve = cost_curve(rows, 1, false_alarm_cost=1, miss_cost=4)
    t = curve.bayes_threshold
    assert (1 - t) * 1 == pytest.approx(t * 4)


@pytest.mark.parametrize("costs", [(-1, 1), (0, 0), (np.nan, 1)])
def test_costs_must_be_costs(costs):
    rows = Predictions.of([0, 1], [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(InvalidParameterError):
        cost_curve(rows, 1, false_alarm_cost=costs[0], miss_cost=costs[1])


def test_standardised_coefficients_are_free_of_units_and_of_a_common_term():
    w, s = np.array([[1.0, 2.0], [3.0, 0.0], [0.0, 5.0]]), np.array([2.0, 0.5])
    unit = np.array([1e-9, 1e9])
    expected = standardised_coefficients(w, s)
    np.testing.assert_allclose(standardised_coefficients(w / unit, s * unit), expected)
    np.testing.assert_allclose(
        standardised_coefficients(w + np.array([7.0, -1.0]), s), expected
    )
    with pytest.raises(FeatureMismatchError):
        standardised_coefficients(w, s[:1])


def test_separation_is_the_f_ratio_of_scikit_learn(iris):
    from sklearn.feature_selection import f_classif

    X, y = iris
    f, _ = f_classif(X, y)
    n, k = len(y), 3
    np.testing.assert_allclose(separation(Moments.of(X, y)) * (n - k) / (k - 1), f)
    assert separation(Moments.of(np.c_[X, np.ones(n)], y))[-1] == 0


def test_the_bars_of_weighted_rows_have_their_effective_number():
    rng = np.random.default_rng(0)
    weight = rng.gamma(2, size=40)
    happened = rng.random(40) < 0.6
    found = reliability(happened, np.full(40, 0.6), weight, bins=2)
    n = weight.sum() ** 2 / np.square(weight).sum()
    low, high = wilson(np.average(happened, weights=weight), np.array(n))
    assert float(found.low[0]) == pytest.approx(float(low))
    assert float(found.high[0]) == pytest.approx(float(high))
