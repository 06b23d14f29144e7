"""Intervals of choices, importances and forecasts, and the rule of thresholds, by definition."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from suffice.core.decision.error_intervals import wilson
from suffice.core.decision.predictions import Predictions
from suffice.evaluate.comparison import learning_curve
from suffice.evaluate.comparison.importance import _importances
from suffice.evaluate.comparison.learning_curve import _power_law, growth
from suffice.evaluate.comparison.paired import RowLosses, choice_estimate
from suffice.evaluate.comparison.verdict import ClassRecall, _useful_threshold

RARER_CLASS_IS_MISSED = (ClassRecall(1, 0, 10),)


def row_losses(names, overlap):
    n = 60
    rng = np.random.default_rng(0)
    losses = rng.random((2, len(names), n))
    losses[0] = losses[0] < 0.3
    return RowLosses(
        names=names,
        losses=losses,
        weights=np.ones(n),
        folds=np.arange(n) % 5,
        overlap=np.full(len(names), overlap),
        sizes=np.ones(len(names)),
        readable=(False,) * len(names),
    )


@pytest.mark.parametrize(
    ("names", "overlap", "counted"),
    [(("a",), 0.1, 0.1), (("a", "b"), 0.1, 0.5 * 5 / 4), (("a", "b"), 0.9, 0.9)],
)
def test_a_choice_among_models_counts_at_least_half_of_the_rows_that_folds_share(
    names, overlap, counted
):
    found = choice_estimate(row_losses(names, overlap))
    low, high = wilson(np.array(found.error), np.array(60 / (1 + counted)))
    assert (found.low, found.high) == pytest.approx((float(low), float(high)))


def test_an_importance_by_errors_has_two_rows_more_one_that_rises_and_one_that_falls():
    rng = np.random.default_rng(1)
    rises = rng.integers(-1, 2, (2, 1, 50)).astype(float)
    (by_error,) = _importances(rises, "error", ("a",), np.ones(50), np.arange(50))
    (by_log_loss,) = _importances(rises, "log_loss", ("a",), np.ones(50), np.arange(50))
    influences = rises.sum(0)[0] - 2 * rises[0].mean()
    quantile = stats.t(49).ppf(0.975)
    for found, added in ((by_error, 2), (by_log_loss, 0)):
        half = quantile * np.sqrt((np.square(influences).sum() + added) / 50 / 49)
        assert found.high - found.mean == pytest.approx(half)
        assert found.mean - found.low == pytest.approx(half)


def test_a_forecast_joins_the_interval_of_the_error_and_that_of_the_fall(monkeypatch):
    rng = np.random.default_rng(2)
    n_repeats = 8
    errors = 0.15 + 0.2 * np.geomspace(1, 0.3, 5)[:, None]
    errors = errors + 0.03 * rng.normal(size=(5, n_repeats))
    curve = SimpleNamespace(name="a", losses=errors[:, :, None], mean=lambda: errors.mean(1))
    monkeypatch.setattr(learning_curve, "_curves", lambda *_, **__: (curve,))
    folds = SimpleNamespace(codes=np.arange(200) % 2, copies=None)
    outcome = SimpleNamespace(error=0.24, interval=(0.236, 0.246))
    found = growth(SimpleNamespace(), folds, outcome, n_repeats=n_repeats)
    sizes = np.array([200, 400, 800])
    falls = []
    for _ in range(2000):
        drawn = errors[:, rng.integers(0, n_repeats, n_repeats)].mean(1)
        law = _power_law(found.sizes, drawn, sizes)
        falls.append(law[0] - law)
    low, high = np.quantile(falls, [0.025, 0.975], axis=0)
    law = _power_law(found.sizes, errors.mean(1), sizes)
    fall = law[0] - law
    for i, forecast in enumerate(found.forecast):
        assert forecast.error == pytest.approx(0.24 - fall[i])
        below = np.hypot(0.24 - 0.236, high[i] - fall[i])
        above = np.hypot(0.246 - 0.24, fall[i] - low[i])
        assert forecast.error - forecast.low == pytest.approx(below, rel=0.25)
        assert forecast.high - forecast.error == pytest.approx(above, rel=0.25)
    assert high[2] - fall[2] > 0.01  # the fall counts more than the error here


@pytest.mark.parametrize("overlap", [0.0, 0.5])
def test_a_threshold_is_offered_from_two_standard_errors_of_the_auc_on(overlap):
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1], [40, 10])
    p = np.clip(0.3 + 0.2 * truth + 0.1 * rng.normal(size=50), 0.01, 0.99)
    held_out = Predictions.of(truth, np.stack([1 - p, p], axis=1), [0, 1])
    # A − 2 √(A (1 − A)(1 + o)/10) = ½ is a quadratic equation:
    # (A − ½)² = 4 A (1 − A)(1 + o)/10
    c = 0.4 * (1 + overlap)
    edge = np.roots([1 + c, -(1 + c), 0.25]).max()
    for auc, is_offered in ((edge + 1e-6, True), (edge - 1e-6, False)):
        model = SimpleNamespace(
            held_out=held_out,
            folds=np.arange(50) % 5,
            auc=auc,
            n_rows=50,
            effective_rows=50 / (1 + overlap),
        )
        assert (_useful_threshold(model, RARER_CLASS_IS_MISSED) is not None) == is_offered


@pytest.mark.parametrize(("n_folds", "is_offered"), [(1, False), (2, True), (3, True)])
def test_a_threshold_is_offered_only_where_rows_were_held_out_in_turn(n_folds, is_offered):
    truth = np.repeat([0, 1], [40, 10])
    p = np.where(truth == 1, 0.6, 0.4)
    model = SimpleNamespace(
        held_out=Predictions.of(truth, np.stack([1 - p, p], axis=1), [0, 1]),
        folds=np.arange(50) % n_folds,
        auc=1.0,
        n_rows=50,
        effective_rows=50.0,
    )
    assert (_useful_threshold(model, RARER_CLASS_IS_MISSED) is not None) == is_offered
