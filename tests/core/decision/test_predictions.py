"""Losses of held-out rows."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_softmax

from suffice.core.decision.error_intervals import effective_rows, holm, newcombe, wilson
from suffice.core.decision.predictions import (
    ABSENT_LOSS,
    Predictions,
    losses_of_rows,
    summed_losses,
)


def test_a_row_of_no_known_class_is_not_taken_for_one_of_the_last():
    logs = np.log([[0.1, 0.9], [0.1, 0.9]])
    rows = Predictions.of_logs(["a", "new"], logs, ["a", "b"], strict=False)
    error, log_loss, brier = rows.row_losses
    np.testing.assert_allclose(error, [1, 1])
    np.testing.assert_allclose(log_loss, [-np.log(0.1), ABSENT_LOSS])
    np.testing.assert_allclose(brier, [0.81 + 0.81, 0.01 + 0.81 + 1])


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 7), (7, 7), (12, 150), (1, 1)])
@pytest.mark.parametrize("confidence", [0.95, 0.5, 0.99])
def test_intervals_of_shares_are_those_of_wilson(hits, n, confidence):
    found = wilson(np.array([hits / n]), np.array([n]), confidence)
    expected = stats.binomtest(hits, n).proportion_ci(confidence, method="wilson")
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-12, atol=1e-15)


def test_the_interval_of_a_difference_of_shares_is_that_of_newcombe():
    # Newcombe (1998), Table II (a): 56/70 against 48/80
    assert newcombe(48 / 80, 80, 56 / 70, 70) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert newcombe(0 / 20, 20, 0 / 10, 10) == pytest.approx((-0.1611, 0.2775), abs=5e-5)


def test_adjusted_p_values_are_those_of_holm_step_by_step():
    p = np.array([0.04, np.nan, 0.01, 0.5, 0.03])
    # 4 × 0.01, 3 × 0.03, at least that, and 0.5
    np.testing.assert_allclose(holm(p), [0.09, np.nan, 0.04, 0.5, 0.09])
    np.testing.assert_allclose(holm(np.array([0.6, 0.7])), [1.0, 1.0])


def test_weighted_rows_count_as_many_as_give_a_mean_of_the_same_variance():
    losses = np.array([0.0, 1.0, 1.0, 0.0])
    assert effective_rows(losses, np.ones(4)) == pytest.approx(4)
    # (1 + 1 + 2 + 4)² / (1 + 1 + 4 + 16)
    assert effective_rows(losses, np.array([1.0, 1.0, 2.0, 4.0])) == pytest.approx(64 / 22)
    assert effective_rows(losses, np.ones(4), overlap=0.25) == pytest.approx(4 / 1.25)


def test_groups_count_as_many_rows_as_their_own_variance_allows():
    losses = np.array([0.0, 0.5, 1.0, 0.1])  # mean error of each group
    weights = np.array([10.0, 20.0, 10.0, 40.0])
    mean = (losses @ weights) / 80
    variance = weights**2 @ np.square(losses - mean) / (weights @ weights)
    n = 80**2 / (weights @ weights) * mean * (1 - mean) / variance
    widening = stats.t(3).ppf(0.975) / stats.norm.ppf(0.975)
    found = effective_rows(losses, weights, grouped=True)
    assert found == pytest.approx(n / widening**2)


def test_losses_are_the_definitions_row_by_row():
    p = np.array([[0.7, 0.2, 0.1], [0.2, 0.3, 0.5], [0.05, 0.9, 0.05]])
    truth = np.array([0, 1, 2])
    error, log_loss, brier = losses_of_rows(np.log(p), truth)
    one_hot = np.eye(3)[truth]
    np.testing.assert_allclose(error, [0, 1, 1])
    np.testing.assert_allclose(log_loss, -np.log([0.7, 0.3, 0.05]))
    np.testing.assert_allclose(brier, np.square(p - one_hot).sum(1))


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_summed_losses_are_those_of_the_rows(temperature):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(3, 2, 30)) * 3  # classes, settings, rows
    truth = rng.integers(0, 3, 30)
    weight = rng.random(30)
    found = summed_losses(scores.copy(), truth, weight, np.array([temperature]))
    for setting in range(2):
        logs = log_softmax(scores[:, setting] / temperature, axis=0).T
        expected = losses_of_rows(logs, truth) @ weight
        np.testing.assert_allclose(found[setting, 0], expected, rtol=1e-10)


def test_of_equal_scores_the_first_class_is_predicted():
    scores = np.zeros((2, 1, 2))
    found = summed_losses(scores, np.array([0, 1]), np.array([1.0, 10.0]), np.ones(1))
    assert found[0, 0, 0] == 10.0
