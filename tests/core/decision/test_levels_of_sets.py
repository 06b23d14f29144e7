"""Sets of classes, and limits of outliers, at the rates that they state, with few rows."""

import numpy as np
import pytest
from scipy import stats
from tests.levels import assert_exact_rate, assert_rate

import suffice as sf
from suffice.core.decision.conformal import NonconformityScores
from suffice.core.model.bayes_error import ErrorRate
from suffice.data import density_threshold
from suffice.data.density_threshold import fitted_row_threshold, outlier_threshold


@pytest.mark.parametrize(("n", "coverage"), [(19, 0.92), (19, 0.9), (9, 0.85), (5, 0.8)])
def test_a_set_holds_the_class_as_often_as_its_rank_says(n, coverage):
    rng = np.random.default_rng(0)
    scores = np.sort(rng.random((6000, n)), axis=1)
    limits = [NonconformityScores(row, np.ones(n)).threshold(coverage) for row in scores]
    # the new score is equally likely to have any of n + 1 ranks
    expected = np.ceil((n + 1) * coverage - 1e-9) / (n + 1)
    assert coverage <= expected < coverage + 1 / (n + 1)
    assert_exact_rate(rng.random(6000) > limits, 1 - expected)


def test_a_set_of_weighted_rows_holds_the_class_as_often_as_asked():
    rng = np.random.default_rng(1)
    scores = np.sort(rng.random((6000, 19)), axis=1)
    weights = rng.gamma(2, size=(6000, 19))
    limits = [
        NonconformityScores(*row).threshold(0.9) for row in zip(scores, weights, strict=True)
    ]
    assert_rate(rng.random(6000) > limits, 0.07, 0.1)


def test_few_rows_flag_new_rows_at_the_rate(monkeypatch):
    monkeypatch.setattr(density_threshold, "_DRAWS", 2000)
    rng = np.random.default_rng(2)
    y = np.arange(10) % 2
    new_y = np.arange(100) % 2
    flags = []
    for _ in range(200):
        # classes far apart, so that a row is judged by the density of its own class
        fitted = sf.LDA().fit(rng.normal(size=(10, 2)) + 50 * y[:, None], y).model_
        new = rng.normal(size=(100, 2)) + 50 * new_y[:, None]
        flags.append(fitted.log_density(new) < outlier_threshold(fitted, 0.05))
    assert_rate(flags, 0.038, 0.062)


def test_few_rows_are_flagged_themselves_no_more_often_than_the_rate(monkeypatch):
    monkeypatch.setattr(density_threshold, "_DRAWS", 4000)
    rng = np.random.default_rng(5)
    y = np.arange(24) % 2
    flags = []
    for _ in range(40):
        x = rng.normal(size=(24, 6)) + y[:, None]
        fitted = sf.LDA().fit(x, y).model_
        flags.append(fitted.log_density(x) < fitted_row_threshold(fitted, 0.05))
    assert_rate(flags, 0.005, 0.05)


def test_sets_calibrated_on_the_rows_of_the_fit_hold_the_class_of_new_rows():
    rng = np.random.default_rng(3)
    missed = []
    for _ in range(60):
        y, new_y = rng.integers(0, 2, 24), rng.integers(0, 2, 100)
        x = rng.normal(size=(24, 6)) + y[:, None]
        new = rng.normal(size=(100, 6)) + new_y[:, None]
        fitted = sf.LDA().fit(x, y).calibrate(x, y)
        missed.append(~fitted.predict_set(new, 0.8).covers(new_y))
    # of 24 scores, the 20th is exceeded in 5 of 25
    assert_rate(missed, 0.17, 0.23)


def test_a_simulated_error_is_within_two_standard_errors_in_95_percent():
    rng = np.random.default_rng(4)
    simulated = [ErrorRate.mean(losses) for losses in rng.random((4000, 60))]
    is_near = [abs(each - 0.5) <= 2 * each.standard_error for each in simulated]
    # 59 degrees of freedom, with a variance divided by n
    assert_exact_rate(is_near, 1 - 2 * stats.t(59).sf(2 * np.sqrt(59 / 60)))
