"""Boosted trees: gradient boosting over bins, as good as scikit-learn's."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss

from suffice.core.model.trees import BoostedTrees, reached_leaves
from suffice.core.table import Table
from suffice.selection.search import boosting, learners
from suffice.selection.search.boosting import fit_boosting, judge_boosting


def rings(n_rows, n_classes, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 4))
    radius = np.square(x[:, :2]).sum(1) + 0.2 * rng.normal(size=n_rows)
    y = np.digitize(radius, [1.0, 2.5][: n_classes - 1])
    return x, y


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_held_out_log_loss_is_about_that_of_histogram_boosting(n_classes):
    x, y = rings(2500, n_classes, 0)
    train, test = Table.of(x[:1500], y[:1500]), Table.of(x[1500:], y[1500:])
    judged = judge_boosting(train, test, seed=0)
    assert 10 < judged.n_rounds < boosting.MOST_ROUNDS
    np.testing.assert_allclose(judged.posterior.sum(1), 1)
    peer = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=12).fit(
        x[:1500], y[:1500]
    )
    ours = fit_boosting(train, n_rounds=judged.n_rounds, n_repeats=2, seed=0)
    p = ours.posterior(test.x)
    peer_loss = log_loss(test.codes, peer.predict_proba(test.x))
    assert log_loss(test.codes, judged.posterior) < 1.05 * peer_loss
    assert log_loss(test.codes, p) < 1.05 * peer_loss


def test_the_scores_of_held_out_rows_are_those_of_the_trees(monkeypatch):
    x, y = rings(600, 3, 1)
    train, test = Table.of(x[:400], y[:400]), Table.of(x[400:], y[400:])
    monkeypatch.setattr(boosting, "MOST_ROUNDS", 8)
    judged = judge_boosting(train, test, seed=3)
    fitted = fit_boosting(train, n_rounds=judged.n_rounds, n_repeats=1, seed=3)
    np.testing.assert_allclose(fitted.posterior(test.x), judged.posterior, rtol=1e-12)


def test_one_round_without_sampling_is_a_newton_step_in_each_leaf(monkeypatch):
    x, y = rings(300, 2, 2)
    monkeypatch.setattr(boosting, "_ROW_SHARE", 1.0)
    w = np.random.default_rng(0).uniform(0.5, 2, 300)
    trees = fit_boosting(Table.of(x, y, w), n_rounds=1, n_repeats=1, seed=0)
    leaves = reached_leaves(trees, x)[:, 0]
    weight = w / w.mean()
    p = 1 / (1 + np.exp(-trees.baseline[1]))
    for leaf in np.unique(leaves):
        inside = leaves == leaf
        g = (weight * (p - y))[inside].sum()
        h = (weight * p * (1 - p))[inside].sum()
        assert inside.sum() >= 20
        np.testing.assert_allclose(trees.value[leaf], -0.1 * g / (h + 1.0))


def test_rows_that_a_round_leaves_out_still_move_with_its_trees(monkeypatch):
    y = np.arange(200) % 2
    monkeypatch.setattr(boosting, "_ROW_SHARE", 0.6)
    trees = fit_boosting(
        Table.of(y[:, None].astype(float), y), n_rounds=2, n_repeats=1, seed=0
    )
    first, second = trees.value[trees.right[trees.roots]]  # of the rows of class 1
    assert trees.baseline[1] == 0
    p = 1 / (1 + np.exp(-first))
    # −η Σ g / (Σ h + λ) of m rows that all have the same posterior
    m = np.arange(20, 101)
    steps = 0.1 * m * (1 - p) / (m * p * (1 - p) + 1)
    assert np.abs(steps - second).min() < 1e-12


def test_late_rounds_learn_at_a_higher_rate():
    from suffice.selection.search.boosting_loops import BoostingSettings, _rate_of

    settings = BoostingSettings(0.1, 60, 0.4, 12, 20, 1e-3, 1.0, 100, 4, 20)
    rates = [_rate_of(round_, settings) for round_ in (0, 60, 90, 120, 240, 900)]
    np.testing.assert_allclose(rates, [0.1, 0.1, 0.15, 0.2, 0.4, 0.4])


@pytest.mark.parametrize(("most_trees", "n_repeats"), [(9, 3), (8, 2)])
def test_many_trees_are_repeated_less_often(monkeypatch, most_trees, n_repeats):
    x, y = rings(300, 3, 8)
    monkeypatch.setattr(learners, "_MANY_BOOSTED_TREES", most_trees)
    learner = learners.BoostedLearner(n_repeats=3, seed=0)
    (trees,) = learner.learn(Table.of(x, y), [3], judging=False)
    assert len(trees.roots) == 3 * 3 * n_repeats


def test_the_first_split_has_the_greatest_gain(monkeypatch):
    rng = np.random.default_rng(4)
    x = rng.integers(0, 30, (200, 3)).astype(float)
    y = (x[:, 1] + 5 * rng.normal(size=200) > 12).astype(int)
    monkeypatch.setattr(boosting, "_ROW_SHARE", 1.0)
    trees = fit_boosting(Table.of(x, y), n_rounds=1, n_repeats=1, seed=0)
    p = 1 / (1 + np.exp(-trees.baseline[1]))
    g, h = p - y, p * (1 - p)

    def gain(j, t):
        parts = [x[:, j] <= t, x[:, j] > t]
        if min(part.sum() for part in parts) < 20:
            return -np.inf
        return sum(g[part].sum() ** 2 / (h * part.sum() + 1.0) for part in parts)

    j, t = max(
        ((j, t) for j in range(3) for t in np.unique(x[:, j])), key=lambda split: gain(*split)
    )
    assert trees.feature[0] == j
    assert t < trees.threshold[0] < t + 1


def test_trees_of_one_class_and_of_no_rounds_predict_frequencies():
    x, y = rings(100, 2, 5)
    table = Table.of(x, y)
    trees = fit_boosting(table, n_rounds=0, n_repeats=1, seed=0)
    share = (y.sum() + 0.5) / (len(y) + 1)
    np.testing.assert_allclose(trees.posterior(x[:3])[:, 1], share)
    assert trees.posterior(x[:0]).shape == (0, 2)


def test_features_far_from_zero_are_split_alike():
    x, y = rings(800, 2, 6)
    x = np.round(x, 3)  # exact in double precision after the shift
    near = fit_boosting(Table.of(x, y), n_rounds=20, n_repeats=1, seed=0)
    far = fit_boosting(Table.of(x + 2.0**30, y), n_rounds=20, n_repeats=1, seed=0)
    np.testing.assert_allclose(far.posterior(x + 2.0**30), near.posterior(x), atol=1e-6)


def test_few_rows_are_answered_alike_without_the_compiler(monkeypatch):
    x, y = rings(500, 3, 7)
    trees = fit_boosting(Table.of(x, y), n_rounds=5, n_repeats=2, seed=0)
    compiled = trees.scores(x)
    monkeypatch.setattr("suffice.core.model.trees._is_small", lambda *_: True)
    np.testing.assert_allclose(trees.scores(x), compiled, rtol=1e-12)
    n_leaves = np.count_nonzero(trees.left == np.arange(len(trees.left)))
    assert trees.n_parameters == 2 * (len(trees.left) - n_leaves) + n_leaves + 2
    assert isinstance(replace(trees, value=0 * trees.value), BoostedTrees)
