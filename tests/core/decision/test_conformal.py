"""Prediction sets cover as often as they promise."""

import math
import pickle

import numpy as np
import pytest

from suffice import LDA, QDA, Costs, Moments, load
from suffice.core.decision.conformal import NonconformityScores
from suffice.errors import InvalidParameterError, MissingStatisticsError

ESTIMATORS = [LDA(), QDA(shrinkage=0.2, pooling=0.1)]


def rows(n, seed):
    """Draw skewed classes, so that no Gaussian model is true."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.exponential(size=(n, 2)) + 0.8 * np.array([[0, 0], [1, 0], [0, 1]])[y], y


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=["lda", "rda"])
def test_coverage_is_kept_though_the_model_is_wrong(estimator):
    coverages, hits = [0.7, 0.9, 0.97], []
    for seed in range(40):
        X, y = rows(80, seed)
        new, truth = rows(200, 1000 + seed)
        fitted = estimator.fit(X, y).calibrate(X, y)
        hits.append([fitted.predict_set(new, c).covers(truth).mean() for c in coverages])
    # 40 calibrations of 80 rows: the mean coverage has a standard error of about 0.007
    assert np.mean(hits, axis=0) == pytest.approx(coverages, abs=0.025)


def test_sets_grow_with_coverage_and_shrink_with_certainty(iris):
    X, y = iris
    fitted = LDA().fit(X, y).calibrate(X, y)
    small, large = fitted.predict_set(X, 0.8), fitted.predict_set(X, 0.999)
    assert (small.members <= large.members).all()
    assert large.sizes[:50].max() >= 1
    assert fitted.predict_set(X[:1])[0] == ["setosa"]
    assert len(fitted.predict_set(X[:5]).to_list()) == 5


def test_calibration_is_asked_for_where_there_is_none(iris):
    X, y = iris
    from_sums = QDA().fit_moments(Moments.of(X, y))
    for fitted in (from_sums, QDA().fit(X, y)):
        with pytest.raises(MissingStatisticsError, match=r"calibrate\(X, y\)"):
            fitted.predict_set(X)
    whole = QDA().fit(X, y).calibrate(X, y)
    expected = whole.predict_set(X).members
    np.testing.assert_array_equal(from_sums.calibrate(X, y).predict_set(X).members, expected)
    for changed in (whole.partial_fit(X[:5], y[:5]), from_sums.forget(X[:5], y[:5])):
        with pytest.raises(MissingStatisticsError):
            changed.predict_set(X)


def test_calibration_is_pickled_and_saved(iris, tmp_path):
    X, y = iris
    fitted = LDA().fit(X, y).calibrate(X, y)
    fitted.save(tmp_path / "m.suffice")
    for again in (pickle.loads(pickle.dumps(fitted)), load(tmp_path / "m.suffice")):
        found = again.predict_set(X, 0.9).members
        np.testing.assert_array_equal(found, fitted.predict_set(X, 0.9).members)


def test_coverage_must_be_a_share(iris):
    with pytest.raises(InvalidParameterError, match="between 0 and 1"):
        LDA().fit(*iris).calibrate(*iris).predict_set(iris[0], coverage=95)


@pytest.mark.parametrize("coverage", [0.1, 0.3, 0.5, 0.55, 0.79, 0.8, 0.81, 0.9, 0.91, 0.95])
def test_the_threshold_of_nine_rows_is_the_exact_order_statistic(coverage):
    nine = NonconformityScores(np.arange(1, 10) / 10, np.ones(9))
    # ⌈(n + 1) coverage⌉-th smallest of n = 9; beyond the ninth nothing is ruled out
    rank = math.ceil(round(10 * coverage, 9))
    expected = rank / 10 if rank <= 9 else np.inf
    assert nine.threshold(coverage) == pytest.approx(expected)


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.7, 1.0])
def test_a_coverage_of_whole_ranks_gives_that_rank_though_weights_round(weight):
    for n in range(2, 60):
        scores = NonconformityScores(np.arange(1.0, n + 1), np.full(n, weight))
        ranks = [scores.threshold(i / (n + 1)) for i in range(1, n + 1)]
        assert ranks == list(range(1, n + 1))


def test_only_the_ratios_of_weights_count_in_the_threshold():
    few = np.array([0.1, 0.2, 0.3])
    # of weights 1, 2, 1 and a new row of their mean 4/3: shares 3/16, 9/16, 12/16
    for scale in (1.0, 3.0):
        weighted = NonconformityScores(few, scale * np.array([1.0, 2.0, 1.0]))
        found = [weighted.threshold(c) for c in (0.18, 0.19, 0.56, 0.57, 0.75, 0.76)]
        assert found == [0.1, 0.2, 0.2, 0.3, 0.3, np.inf]


def test_the_callers_buffer_may_change_after_fit(iris):
    X, y = iris[0].copy(), iris[1].copy()
    fitted = QDA().fit(X, y).calibrate(X, y)
    before = fitted.predict_set(iris[0], 0.9).members
    X[:], y[:] = 0.0, y[0]
    np.testing.assert_array_equal(fitted.predict_set(iris[0], 0.9).members, before)
    assert fitted.predict_set(iris[0], 0.9).covers(iris[1]).mean() >= 0.85


def test_other_priors_undo_the_calibration(iris):
    fitted = LDA().fit(*iris).calibrate(*iris)
    with pytest.raises(MissingStatisticsError, match="calibrate"):
        fitted.with_priors("uniform").predict_set(iris[0])
    assert len(fitted.with_costs(Costs(reject=0.1)).predict_set(iris[0])) == 150


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_rows_held_out_guarantee_the_coverage(coverage):
    """Split-conformal sets cover at least as often as asked, and at most 1/(n + 1) more."""
    hits, fitted = [], QDA().fit(*rows(15, 5))  # few rows: a bad model
    for seed in range(400):
        new, truth = rows(20, 2000 + seed)
        fitted.calibrate(new[:19], truth[:19], held_out=True)
        hits.append(fitted.predict_set(new[19:], coverage).covers(truth[19:])[0])
    # the exact probability is ⌈20 coverage⌉ / 20 but for ties; three standard errors of 400 draws
    assert np.mean(hits) == pytest.approx(math.ceil(20 * coverage) / 20, abs=0.075)


def test_rows_held_out_are_judged_by_the_model_as_it_is(iris, tmp_path):
    X, y = iris
    fitted = LDA().fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2], held_out=True)
    own = np.searchsorted(fitted.classes_, y[1::2])
    scores = np.sort(1 - fitted.predict_proba(X[1::2])[np.arange(75), own])
    limit = scores[math.ceil(76 * 0.9) - 1]
    expected = 1 - fitted.predict_proba(X) <= limit * (1 + 1e-12)
    np.testing.assert_array_equal(fitted.predict_set(X, 0.9).members, expected)
    fitted.save(tmp_path / "m.suffice")
    again = load(tmp_path / "m.suffice").predict_set(X, 0.9).members
    np.testing.assert_array_equal(again, expected)
    # a label that fit never saw is as strange as can be
    fitted.calibrate(X[1::2], np.full(75, "other"), held_out=True)
    assert fitted.predict_set(X, 0.9).sizes.tolist() == [3] * 150


def test_a_set_holds_the_classes_whose_score_is_at_most_the_threshold():
    scores = NonconformityScores(np.arange(1, 10) / 10, np.ones(9))
    posteriors = np.array([[0.7, 0.2, 0.1], [0.2, 0.4, 0.4], [0.05, 0.05, 0.9]])
    sets = scores.sets(np.array(["a", "b", "c"]), posteriors, 0.8)  # q = 0.8, the 8th of 9
    assert sets.to_list() == [["a", "b"], ["a", "b", "c"], ["c"]]
    assert scores.sets(np.array(["a", "b", "c"]), posteriors, 0.95).sizes.tolist() == [3, 3, 3]
