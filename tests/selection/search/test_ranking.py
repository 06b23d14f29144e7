"""The temperature of an average, against brute force."""

import numpy as np
import pytest

import suffice as sf
from suffice.selection.search.candidates import LearnerCandidate
from suffice.selection.search.ranking import Judged, Ranking


def ranking(n, seed=0, flattened=1.0):
    """Return two members whose mean is p^(1 / flattened), and the candidates with equal weights.

    The classes of the rows are drawn from p.
    """
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.5, 0.5, 0.5], n).T
    truth = (rng.uniform(size=n) > p.cumsum(0)).sum(0)
    flat = p ** (1 / flattened)
    flat /= flat.sum(0)
    noise = 0.5 * np.minimum(flat, 1 - flat) * rng.choice([-1, 1], n)
    noise[2] = -noise[0] - noise[1]
    judged = []
    for sign in (-1, 1):
        posterior = np.clip(flat + sign * 0.1 * noise, 1e-12, None)
        log_posterior = np.log(posterior / posterior.sum(0))
        candidate = LearnerCandidate("member", None, 0, 1.0, 0.0, 0.0, 0.0, weight=0.5)
        judged.append(Judged(candidate, log_posterior[truth, np.arange(n)], log_posterior))
    ranked = Ranking.of(judged, np.ones(n), {})
    return ranked, [each.candidate for each in judged]


def test_the_temperature_of_an_average_is_that_of_least_loss():
    ranked, candidates = ranking(4000, flattened=1.5)
    mean = np.exp(ranked.log_posterior).mean(0)
    true = np.exp(ranked.true_log).mean(0)
    temperatures = np.linspace(0.5, 2, 301)
    losses = [-np.log(true ** (1 / t) / (mean ** (1 / t)).sum(0)).mean() for t in temperatures]
    best = temperatures[np.argmin(losses)]
    assert best == pytest.approx(1 / 1.5, rel=0.05)
    assert ranked.temperature(candidates) == pytest.approx(best, rel=0.02)


def test_few_rows_hardly_change_the_temperature():
    ranked, candidates = ranking(5, flattened=1.5)
    assert ranked.temperature(candidates) == pytest.approx(1, abs=0.1)


def test_members_that_agree_with_the_frequencies_need_no_temperature():
    ranked, candidates = ranking(4000)
    assert ranked.temperature(candidates) == pytest.approx(1, abs=0.05)


def test_an_impossible_class_and_rows_without_weight_do_no_harm():
    ranked, candidates = ranking(50)
    log_posterior = ranked.log_posterior.copy()
    log_posterior[:, 2] = -np.inf
    log_posterior[:, :, 0] = np.nan
    true_log = np.fmax(ranked.true_log, -700.0)
    weight = ranked.weight.copy()
    weight[0] = 0
    changed = Ranking(ranked.candidates, true_log, log_posterior, weight, {})
    assert 0.5 <= changed.temperature(candidates) <= 2


def grid_of_weights():
    """Return all settings of a balance with arms of length and weight 1 to 5, and its side."""
    X = np.stack(np.meshgrid(*[np.arange(1.0, 6)] * 4), -1).reshape(-1, 4)
    return X, np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]).astype(int)


def test_an_underconfident_average_is_sharpened_for_new_rows():
    X, y = grid_of_weights()
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[:450], rows[450:]
    auto = sf.AutoClassifier().fit(X[train], y[train])
    assert auto.temperature_ < 0.9
    assert f"The temperature of the average is {auto.temperature_:.3g}." in auto.explain()
    true = np.searchsorted(auto.classes_, y[test])
    own = auto.predict_log_proba(X[test])[np.arange(len(test)), true].mean()
    auto.temperature_ = 1.0
    plain = auto.predict_log_proba(X[test])[np.arange(len(test)), true].mean()
    assert own > plain + 0.01
