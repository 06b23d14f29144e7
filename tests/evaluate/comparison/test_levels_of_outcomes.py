"""What a comparison says of held-out rows is wrong as often as it states.

The losses of the rows are drawn, so that no model is fitted. Rows have weights, lie in groups, or
are held out repeatedly.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.levels import assert_exact_rate, assert_rate, assert_uniform

from suffice.core.decision.predictions import Predictions
from suffice.evaluate.comparison import learning_curve
from suffice.evaluate.comparison.judging import Outcome
from suffice.evaluate.comparison.learning_curve import growth
from suffice.evaluate.comparison.models import CONSTANT
from suffice.evaluate.comparison.paired import ERROR, LOG_LOSS, RowLosses, choice_estimate
from suffice.evaluate.comparison.real_errors import _error_beside
from suffice.evaluate.comparison.verdict import Gain
from suffice.present.report.new_rows import compared_errors


def outcome(losses, *, name="a", rows=None, weight=None, groups=None, overlap=0.0):
    """Return the result of a model whose error and log-loss on held-out rows are (2, m)."""
    m = losses.shape[1]
    held_out = Predictions(
        classes=np.arange(2),
        truth=np.zeros(m, np.intp),
        predicted=np.zeros(m, np.intp),
        logs=None,
        rows=np.arange(m) if rows is None else rows,
        weight=weight,
    )
    return Outcome(
        name=name,
        row_losses=np.stack([*losses, losses[1]]),
        auc=np.nan,
        calibration_error=np.nan,
        n_parameters=1.0,
        fit_seconds=0.0,
        predict_seconds=0.0,
        is_generative=False,
        is_readable=False,
        held_out=held_out,
        folds=np.arange(m) % 5,
        overlap=overlap,
        learnt=(),
        notes=(),
        groups=groups,
    )


@pytest.mark.parametrize("kind", ["weights", "groups", "overlap", "repeats"])
def test_the_interval_of_an_error_counts_independent_rows(kind):
    rng = np.random.default_rng(0)
    n = 100
    missed = []
    for _ in range(1500):
        share = np.full(n, 0.3)
        about = {}
        if kind == "weights":
            about["weight"] = rng.gamma(1, size=n)
        if kind == "groups":
            about["groups"] = np.arange(n) // 5
            share = rng.beta(0.9, 2.1, n)[about["groups"]]
        if kind == "overlap":
            about["overlap"] = 1.0
            share = share + np.sqrt(0.21 / n) * rng.normal()
        wrong = (rng.random(n) < share).astype(float)
        if kind == "repeats":
            about["rows"] = np.tile(np.arange(n), 3)
            wrong = np.tile(wrong, 3)
        low, high = outcome(np.stack([wrong, wrong]), **about).interval
        missed.append(not low <= 0.3 <= high)
    assert_rate(missed, 0.03, 0.07)


@pytest.mark.parametrize("kind", ["weights", "groups"])
def test_differences_of_rows_with_weights_and_of_groups_of_rows(kind):
    rng = np.random.default_rng(1)
    n = 24
    groups = np.arange(n) // 4 if kind == "groups" else None
    p = []
    for _ in range(2000):
        weight = rng.gamma(0.7, size=n) if kind == "weights" else None
        losses = rng.normal(size=(2, 2, n))
        if groups is not None:
            losses += 2 * rng.normal(size=(2, 2, n))[:, :, groups]
        pair = [outcome(each, weight=weight, groups=groups) for each in losses]
        p.append(RowLosses.of(pair).difference(LOG_LOSS, 0, 1).p_value)
    if kind == "groups":
        assert_uniform(p)
    else:
        # the t distribution is not exact for weights
        assert_rate(np.array(p) <= 0.05, 0.02, 0.05)


def test_errors_of_few_groups_are_compared_without_added_rows():
    rng = np.random.default_rng(2)
    groups = np.arange(60) // 10
    p = []
    for _ in range(2000):
        shares = rng.beta(3, 7, (2, 6))[:, groups]
        wrong = (rng.random((2, 60)) < shares).astype(float)
        pair = [outcome(np.stack([each, each]), groups=groups) for each in wrong]
        p.append(RowLosses.of(pair).difference(ERROR, 0, 1).p_value)
    assert_rate(np.array(p) <= 0.05, 0.03, 0.065)


def with_constant(losses, *, overlap=0.0):
    """Return the losses of rows of two models, and of a constant one, (2, 3, n)."""
    n = losses.shape[2]
    return RowLosses(
        names=("a", "b", CONSTANT),
        losses=losses,
        weights=np.ones(n),
        folds=np.arange(n) % 5,
        overlap=np.full(3, overlap),
        sizes=np.ones(3),
        readable=(False, False, False),
    )


def test_a_model_as_good_as_the_constant_is_better_on_one_side():
    rng = np.random.default_rng(3)
    better, worse = [], []
    for _ in range(3000):
        rows = with_constant(rng.normal(3, 1, size=(2, 3, 12)))
        found = rows.difference(LOG_LOSS, 0, 2)
        model, _, constant = rows.means[LOG_LOSS]
        better.append(Gain("log-loss", model, constant, found.p_value).is_better)
        worse.append(Gain("log-loss", constant, model, found.p_value).is_better)
    assert_exact_rate(better, 0.025)
    assert_exact_rate(worse, 0.025)


def test_a_model_with_a_lower_loss_than_the_constant_is_better():
    rng = np.random.default_rng(10)
    is_better = []
    for _ in range(100):
        losses = rng.normal(3, 1, size=(2, 3, 12))
        losses[:, 0] -= 2.0
        rows = with_constant(losses)
        p = rows.difference(LOG_LOSS, 0, 2).p_value
        is_better.append(Gain("log-loss", *rows.means[LOG_LOSS, [0, 2]], p).is_better)
    assert_rate(is_better, 0.95, 1.0)


def test_the_choice_between_models_as_good_as_the_constant_is_better_on_one_side():
    rng = np.random.default_rng(4)
    n = 100
    is_better = []
    for _ in range(400):
        # other training rows shift the errors of both models together
        shift = np.sqrt(0.48 / n) * rng.normal()
        shares = np.array([0.4 + shift, 0.4 + shift, 0.4])
        errors = (rng.random((3, n)) < shares[:, None]).astype(float)
        found = choice_estimate(with_constant(np.stack([errors, 3 + errors]), overlap=1.0))
        is_better.append(found.p_value <= 0.05 and found.error < errors[2].mean())
    assert_rate(is_better, 0.01, 0.04)


@pytest.mark.parametrize(("excess", "least", "most"), [(0.0, 0.015, 0.036), (3.0, 0.95, 1.0)])
def test_posteriors_as_good_as_the_class_frequencies_are_rarely_useless(excess, least, most):
    rng = np.random.default_rng(5)
    is_set_aside, is_caveat = [], []
    for _ in range(2000 if excess == 0 else 200):
        losses = rng.normal(size=(2, 3, 10))
        losses[LOG_LOSS, 0] += excess
        losses[LOG_LOSS, 1] -= 9.0  # a model that can replace it
        rows = with_constant(losses)
        is_set_aside.append(0 in rows.recommendation().set_aside)
        is_caveat.append(rows.difference(LOG_LOSS, 2, 0).verdict == "better")
    assert_rate(is_set_aside, least, most)
    assert_rate(is_caveat, least, most)


@pytest.mark.parametrize(("excess", "least", "most"), [(0.0, 0.012, 0.036), (3.0, 0.95, 1.0)])
def test_unseen_groups_are_worse_on_one_side(excess, least, most):
    rng = np.random.default_rng(6)
    groups = np.arange(48) // 4
    is_worse = []
    for _ in range(1000 if excess == 0 else 100):
        losses = rng.normal(size=(2, 12))[:, groups] + 0.5 * rng.normal(size=(2, 48))
        order = rng.permutation(48)
        unseen = np.stack([losses[0] + excess] * 2)[:, order]
        by_group = outcome(unseen, rows=order, groups=groups[order])
        by_row = outcome(np.stack([losses[1]] * 2))
        is_worse.append(_error_beside("unseen groups", by_group, by_row).is_worse)
    assert_rate(is_worse, least, most)


def test_new_rows_err_more_and_less_often_than_few_held_out_rows_equally_often():
    rng = np.random.default_rng(7)
    before, after = rng.binomial(25, 0.2, 4000) / 25, rng.binomial(400, 0.2, 4000) / 400
    words = [compared_errors(b, 25, a, 400) for b, a in zip(before, after, strict=True)]
    assert_rate([each.startswith("more") for each in words], 0.015, 0.04)
    assert_rate([each.startswith("less") for each in words], 0.01, 0.035)
    assert compared_errors(0.1, 100, 0.4, 100).startswith("more")


@pytest.mark.parametrize(("spread", "n_seeds"), [(3, 80), (0.4, 60)])
def test_forecasts_count_the_errors_of_the_fall_and_of_the_rows_at_hand(
    spread, n_seeds, monkeypatch
):
    """The extrapolation is a known function of the first error, so its law is known, too."""
    rng = np.random.default_rng(8)
    n, n_repeats = 200, 40
    falls = np.array([0.0, 0.04, 0.08])
    curves = []

    def extrapolated(sizes, errors, larger_sizes):
        # skewed, so that the two ends of the interval differ
        return 0.3 - falls * np.exp(errors[0] - 0.5)

    monkeypatch.setattr(learning_curve, "_power_law", extrapolated)
    monkeypatch.setattr(learning_curve, "_curves", lambda *_, **__: (curves[-1],))
    above, below, fall_is_above = [], [], []
    for seed in range(n_seeds):
        errors = np.full((5, n_repeats), 0.4)
        errors[0] = 0.5 + spread * rng.normal(size=n_repeats)
        curves.append(
            SimpleNamespace(name="a", losses=errors[:, :, None], mean=errors[:, 0].copy)
        )
        # the interval of the error on the rows at hand is longer above it than below
        z = rng.normal()
        now = 0.3 + (0.006 if z < 0 else 0.003) * z
        result = SimpleNamespace(error=now, interval=(now - 0.003 * 1.96, now + 0.006 * 1.96))
        folds = SimpleNamespace(codes=np.arange(n) % 2, copies=None)
        found = growth(SimpleNamespace(), folds, result, n_repeats=n_repeats, seed=seed)
        above.append([each.low for each in found.forecast] > 0.3 - falls)
        below.append([each.high for each in found.forecast] < 0.3 - falls)
        fall_is_above.append(found.least_fall > falls[1])
    for missed in (*np.transpose(above), *np.transpose(below)):
        assert_rate(missed, 0.005, 0.07)
    assert_rate(fall_is_above, 0.0, 0.08)
