"""Cross-validation and the choices of classifiers of counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

import suffice as sf
from suffice.errors import InvalidParameterError
from suffice.selection.search.count_choice import ALPHAS, log_losses

KINDS = ["multinomial", "complement", "bernoulli", "poisson"]


@pytest.fixture(name="counts", scope="module")
def _counts():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 120)
    rates = rng.gamma(0.5, 1.0, (3, 15))
    return sparse.csr_array(rng.poisson(rates[y])), y


@pytest.mark.parametrize("kind", KINDS)
def test_cross_validation_from_sums_is_refitting(counts, kind):
    X, y = counts
    w = np.random.default_rng(0).random(len(y))
    result = sf.cross_validate(
        sf.CountNB(kind), X, y, {"alpha": [0.1, 2.0]}, cv=4, sample_weight=w
    )
    for point, alpha in enumerate([0.1, 2.0]):
        splits = StratifiedKFold(4).split(np.zeros(len(y)), y)
        for fold, (train, test) in enumerate(splits):
            model = sf.CountNB(kind, alpha=alpha).fit(X[train], y[train], w[train])
            logs = model.predict_log_proba(X[test])
            true_log = logs[np.arange(len(test)), y[test]]
            expected = [
                np.average(logs.argmax(1) != y[test], weights=w[test]),
                -np.average(true_log, weights=w[test]),
            ]
            assert_allclose(result.fold_losses[point, fold, :2], expected, rtol=1e-10)


def test_the_priors_of_all_rows_can_be_kept(counts):
    X, y = counts
    kept = sf.cross_validate(sf.CountNB(), X, y, cv=4, refit_priors=False)
    given = sf.CountNB(priors=np.bincount(y) / len(y))
    assert_allclose(kept.fold_losses, sf.cross_validate(given, X, y, cv=4).fold_losses)


@pytest.mark.parametrize("kind", KINDS)
def test_alpha_auto_has_the_least_leave_one_out_log_loss(counts, kind):
    X, y = counts
    chosen = sf.CountNB(kind, alpha="auto").fit(X, y).settings_.alpha
    losses = {}
    for alpha in ALPHAS:
        losses[alpha] = sf.leave_one_out(sf.CountNB(kind, alpha=alpha), X, y).log_loss
    assert chosen == min(losses, key=losses.get)


@pytest.mark.parametrize("kind", KINDS)
def test_temperature_auto_is_near_the_best_of_a_fine_grid(counts, kind):
    X, y = counts
    X = X * 5  # over-confident
    model = sf.CountNB(kind, temperature="auto").fit(X, y)
    chosen = model.settings_.temperature
    grid = np.geomspace(0.3, 300, 200)
    losses = [sf.leave_one_out(sf.CountNB(kind, temperature=t), X, y).log_loss for t in grid]
    at_chosen = sf.leave_one_out(model, X, y).log_loss
    # log T ~ N(0, 2²) keeps a model without errors from being sure beyond its rows
    penalties = np.square(np.log(grid) / 2) / (2 * len(y))
    penalty = np.square(np.log(chosen) / 2) / (2 * len(y))
    assert at_chosen + penalty <= min(losses + penalties) + 1e-4
    assert kind == "bernoulli" or chosen > 1.5  # which does not see that counts are larger


def test_alpha_and_temperature_are_chosen_together(counts):
    X, y = counts
    both = sf.CountNB(alpha="auto", temperature="auto").fit(X * 5, y)
    alone = sf.CountNB(alpha="auto").fit(X * 5, y)
    assert (
        sf.leave_one_out(both, X * 5, y).log_loss < sf.leave_one_out(alone, X * 5, y).log_loss
    )


def test_what_says_auto_must_be_fitted_before_leave_one_out(counts):
    with pytest.raises(InvalidParameterError, match="alpha of this CountNB is 'auto'"):
        sf.leave_one_out(sf.CountNB(alpha="auto"), *counts)


def test_losses_at_every_temperature_are_those_of_the_softmax():
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 30, (7, 3))
    scores[0, 2] = -np.inf
    truth = np.array([0, 1, 2, 0, 1, 2, 0])
    w = rng.random(7)
    temperatures = np.array([0.5, 1.0, 2.0])
    for t, loss in zip(temperatures, log_losses(scores, truth, w, temperatures), strict=True):
        a = scores / t
        logs = a - np.logaddexp.reduce(a, axis=1, keepdims=True)
        assert_allclose(loss, -np.average(logs[np.arange(7), truth], weights=w), rtol=1e-12)


def test_a_class_of_a_single_row_costs_the_loss_of_an_absent_class():
    X = np.array([[3, 0], [2, 1], [0, 4], [1, 3], [1, 1]])
    y = np.array(["a", "a", "b", "b", "c"])
    left_out = sf.leave_one_out(sf.CountNB(), X, y)
    assert np.isneginf(left_out.logs[4, 2])
    assert np.isfinite(left_out.log_loss)
    assert sf.CountNB(alpha="auto", temperature="auto").fit(X, y).settings_.alpha in ALPHAS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 0.1])  # whole counts are subtracted, fractions summed
def test_folds_out_of_the_total_are_refits_bit_for_bit(counts, kind, scale):
    X, y = counts
    X = X * scale
    halves = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    partial = [(np.arange(0, 40), np.arange(80, 120))]  # rows that are in neither part
    for splits in (halves, partial):
        result = sf.cross_validate(sf.CountNB(kind), X, y, cv=splits)
        for fold, (train, test) in enumerate(splits):
            logs = sf.CountNB(kind).fit(X[train], y[train]).predict_log_proba(X[test])
            expected = -logs[np.arange(len(test)), y[test]]
            assert_allclose(result.fold_losses[0, fold, 1], expected.mean(), rtol=1e-14)
