"""Comparisons, choices and forecasts are wrong as often as they say.

Losses are drawn such that the stated distribution is exact, or nearly so, and rows are few: an
error of one degree of freedom shows.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from tests.levels import assert_exact_rate, assert_rate, assert_uniform

from suffice.core.decision.error_intervals import effective_rows, newcombe, wilson
from suffice.core.decision.predictions import Predictions
from suffice.evaluate.comparison import learning_curve
from suffice.evaluate.comparison.importance import _importances
from suffice.evaluate.comparison.learning_curve import growth
from suffice.evaluate.comparison.paired import (
    CHOICE_SHARE,
    ERROR,
    LOG_LOSS,
    RowLosses,
    choice_estimate,
)
from suffice.evaluate.comparison.real_errors import RealError
from suffice.evaluate.comparison.verdict import (
    ClassRecall,
    _balanced_accuracy,
    _useful_threshold,
)
from suffice.evaluate.curves.reliability import reliability


def row_losses(losses, *, overlap=0.0, grouped=False, n_folds=5):
    """Return the losses (2, M, n) of models named a, b, …."""
    _, n_models, n = losses.shape
    return RowLosses(
        names=tuple("abcdef"[:n_models]),
        losses=losses,
        weights=np.ones(n),
        folds=np.arange(n) % n_folds,
        overlap=np.full(n_models, overlap),
        sizes=np.ones(n_models),
        readable=(False,) * n_models,
        grouped=grouped,
    )


@pytest.mark.parametrize("n", [3, 4])
def test_differences_of_few_normal_losses_have_the_level_of_students_t(n):
    rng = np.random.default_rng(0)
    found = [
        row_losses(rng.normal(size=(2, 2, n))).difference(LOG_LOSS, 0, 1) for _ in range(5000)
    ]
    assert_uniform([each.p_value for each in found])
    # the interval misses on each side in 2.5 %
    assert_exact_rate([each.low > 0 for each in found], 0.025)
    assert_exact_rate([each.high < 0 for each in found], 0.025)


def test_differences_that_all_rows_share_through_training_rows_count():
    rng = np.random.default_rng(1)
    n, overlap = 6, 1.5
    p = []
    for _ in range(5000):
        losses = rng.normal(size=(2, 2, n))
        # other training rows shift the mean difference, of variance σ²/n, by overlap · σ²/n
        losses[:, 0] += np.sqrt(2 * overlap / n) * rng.normal()
        # only one of the models depends on its training rows
        rows = row_losses(losses, overlap=[overlap, 0.0])
        p.append(rows.difference(LOG_LOSS, 0, 1).p_value)
    assert_uniform(p)


def test_any_pair_of_four_models_differs_in_five_percent():
    rng = np.random.default_rng(2)
    pairs = [(a, b) for a in range(4) for b in range(a)]
    alarms = []
    for _ in range(2500):
        rows = row_losses(rng.normal(size=(2, 4, 60)))
        alarms.append(min(rows.difference(LOG_LOSS, a, b).p_value for a, b in pairs) <= 0.05)
    # Bonferroni's bound, which is close for pairs
    assert_rate(alarms, 0.035, 0.053)


def test_differences_of_errors_of_few_rows():
    """Every number of rows that one model alone misclassifies counts with its probability."""
    n = 20
    level = 0.0
    for first in range(n + 1):
        for second in range(n + 1 - first):
            errors = np.zeros((2, n))
            errors[0, :first] = 1
            errors[1, first : first + second] = 1
            found = row_losses(np.stack([errors, errors])).difference(ERROR, 0, 1)
            if found.p_value <= 0.05:
                counts = (first, second, n - first - second)
                level += stats.multinomial(n, [0.25, 0.25, 0.5]).pmf(counts)
    # conservative: two rows are added
    assert 0.031 <= level <= 0.035


@pytest.mark.parametrize(
    ("n", "share", "least", "most"), [(30, 0.2, 0.013, 0.03), (200, 0.3, 0.035, 0.053)]
)
def test_differences_of_errors(n, share, least, most):
    rng = np.random.default_rng(3)
    rows = (rng.random((4000, 2, 2, n)) < share).astype(float)
    p = [row_losses(losses).difference(ERROR, 0, 1).p_value for losses in rows]
    assert_rate(np.array(p) <= 0.05, least, most)


def test_an_error_is_worse_on_one_side_only():
    rng = np.random.default_rng(14)

    def is_worse(shift):
        losses = rng.normal(size=(2, 2, 6))
        losses[:, 0] += shift
        found = row_losses(losses, grouped=True).difference(ERROR, 0, 1)
        return RealError("unseen groups", 0.0, 0.0, 1.0, 6, found.mean, found.p_value).is_worse

    assert_exact_rate([is_worse(0.0) for _ in range(5000)], 0.025)
    assert_rate([is_worse(4.0) for _ in range(200)], 0.95, 1.0)


@pytest.mark.parametrize("n", [10, 20, 50, 200])
def test_wilsons_interval_misses_in_five_percent_on_average_over_shares(n):
    """Every number of errors counts with its probability, so that nothing is simulated."""
    k = np.arange(n + 1)
    low, high = wilson(k / n, np.full(n + 1, float(n)))
    above, below = [], []
    for share in np.linspace(0.05, 0.95, 181):
        p = stats.binom(n, share).pmf(k)
        above.append(p[low > share].sum())
        below.append(p[high < share].sum())
    assert 0.02 <= np.mean(above) <= 0.03
    assert 0.02 <= np.mean(below) <= 0.03


def test_new_errors_are_more_and_fewer_equally_often():
    rng = np.random.default_rng(5)
    before, after = rng.binomial(200, 0.3, 5000) / 200, rng.binomial(80, 0.3, 5000) / 80
    low, high = np.array(
        [newcombe(b, 200, a, 80) for b, a in zip(before, after, strict=True)]
    ).T
    assert_exact_rate(low > 0, 0.025)
    assert_exact_rate(high < 0, 0.025)


@pytest.mark.parametrize("overlap", [0.0, 1.0])
def test_an_error_of_rows_that_share_training_rows(overlap):
    rng = np.random.default_rng(6)
    n = 200
    missed = []
    for _ in range(6000):
        share = 0.3 + np.sqrt(0.21 * overlap / n) * rng.normal()
        wrong = (rng.random(n) < share).astype(float)
        low, high = wilson(wrong.mean(), effective_rows(wrong, np.ones(n), overlap))
        missed.append(not low <= 0.3 <= high)
    assert_rate(missed, 0.04, 0.06)


@pytest.mark.parametrize(
    ("n_groups", "least", "most"), [(3, 0.015, 0.04), (4, 0.035, 0.065), (6, 0.045, 0.075)]
)
def test_an_error_of_few_groups(n_groups, least, most):
    rng = np.random.default_rng(7)
    shares = rng.beta(2.7, 6.3, (5000, n_groups))
    missed = []
    for wrong in rng.binomial(50, shares) / 50:
        n = effective_rows(wrong, np.full(n_groups, 50.0), grouped=True)
        low, high = wilson(wrong.mean(), n)
        missed.append(not low <= 0.3 <= high)
    assert_rate(missed, least, most)


def test_weighted_rows_of_a_calibration_chart():
    rng = np.random.default_rng(8)
    missed = []
    for _ in range(3000):
        happened = rng.random(60) < 0.4
        weight = rng.gamma(0.7, size=60)
        bins = reliability(happened, np.full(60, 0.4), weight, bins=1)
        missed.append(not bins.low[0] <= 0.4 <= bins.high[0])
    assert_rate(missed, 0.035, 0.065)


def test_the_error_of_a_choice_counts_that_other_rows_lead_to_another_choice():
    rng = np.random.default_rng(9)
    n, n_folds = 150, 2
    overlap = CHOICE_SHARE * n_folds / (n_folds - 1)
    missed = []
    for _ in range(700):
        share = 0.3 + np.sqrt(0.21 * overlap / n) * rng.normal()
        errors = (rng.random((2, n)) < share).astype(float)
        losses = np.stack([errors, rng.normal(1, 1, (2, n))])
        found = choice_estimate(row_losses(losses, n_folds=n_folds))
        missed.append(not found.low <= 0.3 <= found.high)
    assert_rate(missed, 0.03, 0.065)


def test_an_importance_of_three_rows_has_the_level_of_students_t():
    rng = np.random.default_rng(10)
    above, below = [], []
    for received in rng.normal(size=(3500, 1, 3)):
        given = np.full((1, 3), received.mean())
        rises = np.stack([received, given])
        (found,) = _importances(rises, "log_loss", ("a",), np.ones(3), np.arange(3))
        above.append(found.low > 0)
        below.append(found.high < 0)
    assert_exact_rate(above, 0.025)
    assert_exact_rate(below, 0.025)


def balanced_accuracies(rng, n, k, n_repeats, *, known):
    """Yield the gains of guesses, for rows of which a share is known."""
    for _ in range(n_repeats):
        truth = np.arange(n) % k
        wrong = (rng.integers(0, k, n) != truth) & (rng.random(n) >= known)
        rows = SimpleNamespace(weights=np.ones(n), truth=truth, wrong=wrong)
        yield _balanced_accuracy(
            SimpleNamespace(held_out=rows, n_rows=n, effective_rows=float(n))
        )


@pytest.mark.parametrize(("n", "k"), [(30, 2), (60, 3), (200, 2)])
def test_a_balanced_accuracy_of_guesses(n, k):
    rng = np.random.default_rng(11)
    gains = list(balanced_accuracies(rng, n, k, 3000, known=0.0))
    assert_rate([gain.p_value <= 0.05 for gain in gains], 0.045, 0.075)
    assert_rate([gain.is_better for gain in gains], 0.015, 0.04)
    gains = balanced_accuracies(rng, n, k, 100, known=0.7)
    assert_rate([gain.is_better for gain in gains], 0.9, 1.0)


def test_a_balanced_accuracy_of_rows_that_share_training_rows():
    rng = np.random.default_rng(17)
    is_alarm = []
    for _ in range(3000):
        # other training rows shift the accuracy of 60 rows, of variance ¼/60, by as much again
        share = 0.5 + np.sqrt(0.25 / 60) * rng.normal()
        wrong = rng.random(60) < share
        rows = SimpleNamespace(weights=np.ones(60), truth=np.arange(60) % 2, wrong=wrong)
        model = SimpleNamespace(held_out=rows, n_rows=60, effective_rows=30.0)
        is_alarm.append(_balanced_accuracy(model).p_value <= 0.05)
    assert_rate(is_alarm, 0.04, 0.07)


@pytest.mark.parametrize(
    ("auc", "overlap", "least", "most"),
    [(0.5, 0.0, 0.0, 0.02), (0.5, 1.0, 0.0, 0.02), (0.75, 0.0, 0.6, 1.0)],
)
def test_a_threshold_of_useless_posteriors_is_rarely_offered(auc, overlap, least, most):
    rng = np.random.default_rng(12)
    truth = np.arange(60) % 2
    is_missed = (ClassRecall(0, 0, 30),)
    is_offered = []
    for _ in range(600):
        # other training rows add a share to the variance of the area
        shift = np.sqrt(2) * stats.norm.ppf(auc) + 0.266 * np.sqrt(overlap) * rng.normal()
        p = stats.norm.cdf(rng.normal(size=60) + shift * truth)
        area = np.mean(p[truth == 1][:, None] > p[truth == 0])
        model = SimpleNamespace(
            held_out=Predictions.of(truth, np.stack([1 - p, p], axis=1), [0, 1]),
            folds=np.arange(60) % 5,
            auc=area,
            n_rows=60,
            effective_rows=60 / (1 + overlap),
        )
        is_offered.append(_useful_threshold(model, is_missed) is not None)
    assert_rate(is_offered, least, most)


@pytest.mark.slow
def test_forecasts_count_the_uncertainty_of_the_fall(monkeypatch):
    rng = np.random.default_rng(13)
    n = 200
    codes = np.arange(n) % 2
    first = learning_curve._default_sizes(codes, 140, 5)[0]

    def truth(n_rows):
        return 0.1 + 0.25 * (np.asarray(n_rows) / first) ** -0.6

    above, below = [], []
    for seed in range(150):
        # curves so uncertain, and errors so certain, that the fall decides alone
        sizes = learning_curve._default_sizes(codes, 140, 5)
        errors = truth(sizes)[:, None] + 0.15 * rng.normal(size=(5, 40))
        curve = SimpleNamespace(name="a", losses=errors[:, :, None], mean=errors[:, 0].copy)
        monkeypatch.setattr(learning_curve, "_curves", lambda *_, c=curve, **__: (c,))
        z = rng.normal() / 1.96
        now = float(truth(n)) + (0.006 if z > 0 else 0.002) * z
        outcome = SimpleNamespace(error=now, interval=(now - 0.006, now + 0.002))
        folds = SimpleNamespace(codes=codes, copies=None)
        found = growth(SimpleNamespace(), folds, outcome, n_repeats=40, seed=seed)
        above.append([each.low > truth(each.n_rows) for each in found.forecast])
        below.append([each.high < truth(each.n_rows) for each in found.forecast])
    for side in (above, below):
        for missed in np.transpose(side):
            assert_rate(missed, 0.005, 0.08)
    assert_rate(np.array(above) | np.array(below), 0.03, 0.11)


def test_an_importance_of_few_groups_has_the_level_of_students_t():
    rng = np.random.default_rng(15)
    groups = np.arange(30) // 5
    above, below = [], []
    for by_group in rng.normal(size=(3000, 2, 1, 6)):
        rises = by_group[:, :, groups]
        (found,) = _importances(rises, "log_loss", ("a",), np.ones(30), groups)
        above.append(found.low > 0)
        below.append(found.high < 0)
    # a group receives and gives values, which are independent here: the variance is doubled
    expected = stats.t(5).sf(stats.t(5).ppf(0.975) * np.sqrt(2))
    assert_rate(above, 0, 2 * expected)
    assert_rate(below, 0, 2 * expected)


def test_an_importance_by_error_covers_rare_rises():
    rng = np.random.default_rng(16)
    missed = []
    for received in (rng.random((2000, 1, 60)) < 0.03).astype(float):
        rises = np.stack([received, np.full((1, 60), received.mean())])
        (found,) = _importances(rises, "error", ("a",), np.ones(60), np.arange(60))
        missed.append(not found.low <= 0.03 <= found.high)
    assert_rate(missed, 0.0, 0.05)
