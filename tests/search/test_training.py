"""Views for categories: log-odds learnt inside each fold, and indicators with more variance."""

from dataclasses import replace

import numpy as np
import pytest

import suffice as sf
from suffice.estimation.recipe import Recipe
from suffice.model.views import LevelLogOdds, Plain, Softened
from suffice.moments import Moments
from suffice.search.candidates import softened
from suffice.search.plan import Grid, judged
from suffice.search.training import Cells, log_odds_map, log_odds_view
from suffice.table import Table
from suffice.table.sampling import stratified_folds

N, L, K = 300, 25, 3
LEVELS = (np.arange(2, 2 + L - 1),)  # of a category of 25 levels, the first has no feature


def rows(seed, strength):
    """Return two numbers and a category, which says something of the class or nothing."""
    rng = np.random.default_rng(seed)
    y = np.arange(N) % K
    level = rng.integers(L, size=N)
    level = np.where(rng.random(N) < strength, (level // K * K + y) % L, level)
    x = np.c_[rng.normal(size=(N, 2)), np.eye(L)[level][:, 1:]]
    return Table.of(x, y), Cells.of(Table.of(x, y), stratified_folds(y, 5, 0))


def grid(view, points, levels=()):
    return Grid(view, Recipe.parse(), points, levels)


POINTS = tuple((p, np.array([0.1, 0.5, 1.0])) for p in (0.0, 0.5, 1.0))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_log_odds_of_random_labels_show_no_gain_though_those_of_all_rows_would(seed):
    table, cells = rows(seed, 0.0)
    view = log_odds_view(Plain(), table, LEVELS)
    losses = -judged(cells, [grid(view, POINTS, LEVELS)], 9).true_log
    se = losses.std(1) / np.sqrt(N)
    assert (losses.mean(1) > np.log(K) - 2 * se - 1e-3).all()
    # the same log-odds learnt from the rows that judge them
    assert -judged(cells, [grid(view, POINTS)], 1).true_log.mean() < np.log(K) - 0.02


@pytest.mark.parametrize("pooling", [0.0, 0.5, 1.0])
def test_folds_of_log_odds_are_judged_like_models_fitted_again(pooling):
    table, cells = rows(0, 0.5)
    view = log_odds_view(Plain(), table, LEVELS)
    found = judged(cells, [grid(view, ((pooling, np.array([0.3])),), LEVELS)], 1)
    recipe, again = found.candidates[0].recipe, []
    for f in range(5):
        lo, hi = cells.fold_edges[f : f + 2]
        train = cells.table.take(np.r_[0:lo, hi:N])
        own = log_odds_view(Plain(), train, LEVELS)
        model = recipe.estimate(Moments.of_table(train.with_rows(own.apply(train.x))), quiet=True)
        model = model.with_temperature(found.candidates[0].temperature)
        p = model.posterior(own.apply(cells.table.x[lo:hi]))
        again.append(np.log(p[np.arange(hi - lo), cells.table.codes[lo:hi]]))
    np.testing.assert_allclose(found.true_log[0], np.concatenate(again), rtol=1e-6)


def test_log_odds_are_those_of_smoothed_counts():
    sums = np.array([[0.0, 6.0, 1.0], [0.0, 1.0, 7.0]])  # two levels of three
    weights = np.array([10.0, 20.0])
    change = log_odds_map(sums, weights, [np.array([1, 2])], np.ones(3))
    smoothed = np.array([[3, 6, 1], [12, 1, 7]]) + 2.0 * weights[:, None] / 30
    odds = np.log(smoothed[1] / 20) - np.log(smoothed[0] / 10)
    np.testing.assert_allclose(change, [[1, 0], [0, odds[1] - odds[0]], [0, odds[2] - odds[0]]])


def test_noise_on_indicators_is_judged_as_it_is_learnt():
    table, cells = rows(0, 0.5)
    view = Softened.of(Plain(), table.x, 0.5)
    np.testing.assert_allclose(view.noise, [0, 0, *[0.125] * (L - 1)])
    found = judged(cells, [grid(view, POINTS)], 9)
    plain = Moments.of_table(table)
    expected = plain.scatters + plain.weights[:, None, None] * np.diag(view.noise)
    np.testing.assert_allclose(found.moments[id(view)].scatters, expected, atol=1e-9)
    np.testing.assert_allclose(softened(plain, view.noise).scatters, expected)
    pooled = softened(replace(Moments.of_table(table, storage="pooled")), view.noise)
    np.testing.assert_allclose(pooled.pooled_scatter, expected.sum(0))
    recipe, again = found.candidates[0].recipe, []
    for f in range(5):
        lo, hi = cells.fold_edges[f : f + 2]
        train = cells.table.take(np.r_[0:lo, hi:N])
        model = recipe.estimate(softened(Moments.of_table(train), view.noise), quiet=True)
        model = model.with_temperature(found.candidates[0].temperature)
        p = model.posterior(cells.table.x[lo:hi])
        again.append(np.log(p[np.arange(hi - lo), cells.table.codes[lo:hi]]))
    np.testing.assert_allclose(found.true_log[0], np.concatenate(again), rtol=1e-6)


def test_auto_gaussian_judges_both_and_files_keep_them(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    city = np.where(rng.random(N) < 0.4, 3 * rng.integers(4, size=N) + y, rng.integers(12, size=N))
    X = pd.DataFrame({"size": rng.normal(size=N) + y, "city": [f"c{c}" for c in city]})
    auto = sf.AutoGaussian(fourier_features=False).fit(X, y)
    kinds = {type(c.view) for c in auto.choices_}
    assert {Softened, LevelLogOdds} <= kinds
    assert {type(m.candidate.view) for m in auto.members_} & {Softened, LevelLogOdds}
    auto.save(tmp_path / "auto.suffice")
    again = sf.load(tmp_path / "auto.suffice")
    np.testing.assert_array_equal(again.predict_proba(X), auto.predict_proba(X))
