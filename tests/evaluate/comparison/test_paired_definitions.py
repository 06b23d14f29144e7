"""Differences of losses between two models, against samples that are written out."""

import numpy as np
import pytest
from scipy import stats

from suffice.evaluate.comparison.models import CONSTANT
from suffice.evaluate.comparison.paired import RowLosses


def row_losses(errors, logs, overlap=(0.0, 0.0), names=("a", "b"), weights=None):
    n = errors.shape[1]
    return RowLosses(
        names=names,
        losses=np.stack([errors, logs]),
        weights=np.ones(n) if weights is None else weights,
        folds=np.zeros(n, int),
        overlap=np.array(overlap),
        sizes=np.ones(len(names)),
        readable=(False,) * len(names),
    )


@pytest.fixture
def losses():
    rng = np.random.default_rng(0)
    return (rng.random((2, 60)) < [[0.2], [0.3]]).astype(float), rng.exponential(size=(2, 60))


def test_errors_are_compared_with_two_rows_more_one_wrong_by_each(losses):
    errors, logs = losses
    found = row_losses(errors, logs, overlap=(0.1, 0.25)).mean_difference(0, 0, 1)
    sample = np.append(errors[0] - errors[1], [1.0, -1.0])
    assert found.mean == pytest.approx((errors[0] - errors[1]).mean())
    assert found.centre == pytest.approx(sample.mean())
    # Nadeau and Bengio: the variance of the mean times 1 + n / n_train
    assert found.standard_error == pytest.approx(stats.sem(sample) * np.sqrt(1.25))
    assert found.df == 61


def test_log_losses_are_compared_as_they_are_and_adjusted_for_the_number_of_pairs(losses):
    errors, logs = losses
    three = row_losses(
        np.vstack([errors, errors[:1]]),
        np.vstack([logs, logs[:1] + 1]),
        overlap=(0.0, 0.0, 0.0),
        names=("a", "b", "c"),
    )
    found = three.difference(1, 0, 1)
    sample = logs[0] - logs[1]
    expected = stats.ttest_1samp(sample, 0.0)
    half = stats.sem(sample) * stats.t(59).ppf(1 - 0.05 / 6)
    assert found.p_value == pytest.approx(min(1.0, 3 * expected.pvalue))
    assert (found.low, found.high) == pytest.approx(
        (sample.mean() - half, sample.mean() + half)
    )


def test_against_the_constant_model_there_is_one_question(losses):
    errors, logs = losses
    found = row_losses(errors, logs, names=("a", CONSTANT)).difference(1, 0, 1)
    assert found.p_value == pytest.approx(stats.ttest_1samp(logs[0] - logs[1], 0.0).pvalue)


def test_weights_are_repetitions_of_rows_with_fewer_effective_ones(losses):
    errors, logs = losses
    weights = np.repeat([1.0, 3.0], 30)
    found = row_losses(errors, logs, weights=weights).mean_difference(1, 0, 1)
    d = logs[0] - logs[1]
    n = 120**2 / (30 + 270)
    variance = np.average(np.square(d - np.average(d, weights=weights)), weights=weights)
    assert found.mean == pytest.approx(np.average(d, weights=weights))
    assert found.standard_error == pytest.approx(np.sqrt(variance / (n - 1)))
