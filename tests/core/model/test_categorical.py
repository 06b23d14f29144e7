"""Densities of numbers and levels: forests by brute force, unknown levels summed out."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from suffice.core.model import mixed
from suffice.core.model.covariance import FullCovariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.level_forest import LevelBlocks, LevelForest
from suffice.core.model.mixed import MixedModel
from suffice.core.moments import Moments
from suffice.errors import FeatureMismatchError, InvalidInputError, InvalidParameterError

SIZES = (3, 2, 1, 4)


def forest(rng, sizes=SIZES, n_classes=2):
    """Return a forest with its own random parents in each class."""
    parents, tables = [], []
    for _ in range(n_classes):
        order = rng.permutation(len(sizes))
        above = np.full(len(sizes), -1)
        for place, j in enumerate(order):
            above[j] = rng.choice([-1, *order[:place]])
        rows = [1 if a < 0 else sizes[a] for a in above]
        shares = [rng.dirichlet(np.ones(s), r) for s, r in zip(sizes, rows, strict=True)]
        parents.append(above)
        tables.append(tuple(np.log(share) for share in shares))
    return LevelForest(np.array(parents), tuple(tables))


def blocks(n_numbers=0, sizes=SIZES):
    return LevelBlocks(n_numbers + np.cumsum([0, *(s - 1 for s in sizes)]))


def combinations(sizes=SIZES):
    return np.array(list(itertools.product(*map(range, sizes))))


def model(rng, *, coefficients=True, tied=False):
    """Return a model of two numbers and four categories."""
    roots = rng.normal(size=(1 if tied else 2, 2, 2)) + 2 * np.eye(2)
    inner = GaussianModel.of(
        priors=np.array([0.4, 0.6]),
        centre=rng.normal(size=2),
        offsets=rng.normal(size=(2, 2)),
        covariances=[FullCovariance.of(r @ r.T) for r in roots],
        group_of=np.zeros(2, int) if tied else np.arange(2),
    )
    slopes = rng.normal(size=(len(roots), 2, 6)) if coefficients else None
    none = np.zeros(0, int)
    return MixedModel(inner, forest(rng), blocks(2), slopes, none, np.zeros(0))


def encoded(known, numbers, codes):
    return np.concatenate([numbers, known.blocks.indicators(codes)], axis=1)


seeds = st.integers(0, 10_000)


@given(seeds)
def test_probabilities_of_all_combinations_sum_to_one(seed):
    known = forest(np.random.default_rng(seed))
    np.testing.assert_allclose(
        np.exp(known.log_probability(combinations())).sum(0), 1, rtol=1e-12
    )


@given(seeds, st.lists(st.booleans(), min_size=4, max_size=4))
def test_unknown_levels_are_summed_out(seed, unknown):
    rng = np.random.default_rng(seed)
    known, row = forest(rng), np.array([rng.integers(s) for s in SIZES])
    every = combinations()
    agree = (every == row)[:, ~np.array(unknown)].all(1)
    expected = np.log(np.exp(known.log_probability(every[agree])).sum(0))
    found = known.log_probability(np.array([np.where(unknown, -1, row), row]))
    np.testing.assert_allclose(found[0], expected, rtol=1e-12, atol=1e-14)


@given(seeds)
def test_pairs_are_those_of_all_combinations(seed):
    known, every, own = forest(np.random.default_rng(seed)), combinations(), blocks()
    dense = np.zeros((len(every), own.edges[-1]))
    for j, start in enumerate(own.edges[:-1]):
        dense[np.arange(len(every)), start + every[:, j]] = 1.0
    for k, p in enumerate(np.exp(known.log_probability(every)).T):
        np.testing.assert_allclose(known.pairs(k), dense.T @ (p[:, None] * dense), atol=1e-14)


def test_samples_have_the_frequencies_of_every_combination():
    known, rng = forest(np.random.default_rng(3)), np.random.default_rng(4)
    n = 40_000
    drawn = known.sample(np.repeat([0, 1], n), rng)
    every = combinations()
    expected = np.exp(known.log_probability(every))
    for k in (0, 1):
        found = np.array([(drawn[k * n : (k + 1) * n] == c).all(1).mean() for c in every])
        bound = 5 * np.sqrt(expected[:, k] / n) + 1e-4
        assert np.all(np.abs(found - expected[:, k]) < bound)


def test_codes_and_indicators_undo_each_other():
    own, every = blocks(2), combinations()
    rows = np.concatenate([np.zeros((len(every), 2)), own.indicators(every)], axis=1)
    np.testing.assert_array_equal(own.codes(rows), every)
    rows[0, 2:4] = np.nan
    assert own.codes(rows)[0].tolist() == [-1, 0, 0, 0]


@pytest.mark.parametrize("tied", [False, True])
@given(seed=seeds)
def test_a_density_is_that_of_levels_times_that_of_numbers_given_them(tied, seed):
    rng = np.random.default_rng(seed)
    known, every = model(rng, tied=tied), combinations()
    z = rng.normal(size=(len(every), 2))
    m = known.blocks.indicators(every)
    expected = known.levels.log_probability(every)
    for k in (0, 1):
        slopes = known.coefficients[known.inner.group_of[k]]
        expected[:, k] += known.inner.class_log_density(z - m @ slopes.T)[:, k]
    np.testing.assert_allclose(known.class_log_density(encoded(known, z, every)), expected)
    np.testing.assert_allclose(known.posterior(encoded(known, z, every)).sum(1), 1)


@given(seed=seeds, unknown=st.lists(st.booleans(), min_size=4, max_size=4))
def test_unknown_levels_that_numbers_depend_on_are_summed_one_by_one(seed, unknown):
    rng = np.random.default_rng(seed)
    known, row = model(rng), np.array([rng.integers(s) for s in SIZES])
    hidden = np.array(unknown) & (np.array(SIZES) > 1)
    every = combinations()
    agree = every[(every == row)[:, ~hidden].all(1)]
    agree = np.unique(agree, axis=0)
    z = rng.normal(size=(1, 2))
    whole = encoded(known, np.repeat(z, len(agree), axis=0), agree)
    expected = np.log(np.exp(known.class_log_density(whole)).sum(0))
    open_row = encoded(known, z, row[None])
    for j in np.flatnonzero(hidden):
        open_row[:, known.blocks.starts[j] : known.blocks.starts[j + 1]] = np.nan
    np.testing.assert_allclose(known.class_log_density(open_row)[0], expected, rtol=1e-10)


def test_many_unknown_levels_take_the_numbers_at_the_expected_indicators(monkeypatch):
    rng = np.random.default_rng(0)
    known = model(rng)
    row = encoded(known, rng.normal(size=(1, 2)), np.array([[1, 1, 0, 2]]))
    row[:, known.blocks.starts[0] : known.blocks.starts[1]] = np.nan
    tried = np.array([[level, 1, 0, 2] for level in range(3)])
    joint = known.levels.log_probability(tried)
    for k in (0, 1):
        share = np.exp(joint[:, k] - np.log(np.exp(joint[:, k]).sum()))
        m = share @ known.blocks.indicators(tried)
        z = row[:, :2] - m @ known.coefficients[k].T
        expected = np.log(np.exp(joint[:, k]).sum()) + known.inner.class_log_density(z)[0, k]
        monkeypatch.setattr(mixed, "MOST_COMBINATIONS", 2)
        np.testing.assert_allclose(known.class_log_density(row)[0, k], expected, rtol=1e-12)
    monkeypatch.undo()
    assert known.class_log_density(row)[0, 1] != pytest.approx(expected)


PLACES = [(1, 4), (0, 1, 2, 3), (0, 5, 6, 7), (2, 3, 4, 5, 6, 7)]


def open_rows(known, rng, places, n=1):
    x, _ = known.sample(1, rng)
    x = np.repeat(x, n, axis=0)
    x[:, places] = np.nan
    return x


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("coefficients", [False, True])
def test_missing_cells_are_filled_by_their_mean_and_drawn_by_their_distribution(
    coefficients, places
):
    rng = np.random.default_rng(20)
    known = model(rng, coefficients=coefficients)
    rows = open_rows(known, rng, list(places), 40_000)
    drawn = known.sample_missing(rows, np.random.default_rng(1))
    mean = known.impute(rows[:1])[0]
    seen = ~np.isnan(rows[0])
    np.testing.assert_array_equal(drawn[:, seen], rows[:, seen])
    np.testing.assert_array_equal(mean[seen], rows[0, seen])
    assert np.isin(drawn[:, 2:], (0, 1)).all()
    error = 5 * drawn.std(0) / np.sqrt(len(rows)) + 1e-9
    assert np.all(np.abs(drawn.mean(0) - mean) < error)
    levels = known.blocks.codes(drawn)
    every = np.unique(levels, axis=0)
    trial = np.repeat(rows[:1], len(every), axis=0)
    trial[:, 2:] = known.blocks.indicators(every)
    expected = np.exp(known.log_density(trial) - known.log_density(rows[:1]))
    found = [(levels == level).all(1).mean() for level in every]
    assert np.abs(found - expected).max() < 0.015


def test_many_unknown_levels_are_filled_from_the_tree(monkeypatch):
    rng = np.random.default_rng(21)
    known = model(rng, coefficients=False)
    rows = open_rows(known, rng, [2, 3, 5, 6, 7], 20_000)
    exact = known.impute(rows[:1])
    monkeypatch.setattr(mixed, "MOST_COMBINATIONS", 1)
    np.testing.assert_allclose(known.impute(rows[:1]), exact, rtol=1e-10)
    drawn = known.sample_missing(rows, np.random.default_rng(0))
    assert np.isin(drawn[:, 2:], (0, 1)).all()
    assert np.abs(drawn.mean(0) - exact[0]).max() < 0.02


def test_a_class_without_rows_fills_nothing():
    rng = np.random.default_rng(22)
    known = model(rng).with_priors(np.array([1.0, 0.0]))
    rows = open_rows(known, rng, [0, 2, 3])
    alone = known.with_priors(np.array([1 - 1e-300, 1e-300]))
    np.testing.assert_allclose(known.impute(rows), alone.impute(rows))
    assert np.isfinite(known.sample_missing(rows, rng)).all()


@pytest.mark.parametrize("coefficients", [False, True])
def test_missing_numbers_are_integrated_out(coefficients):
    rng = np.random.default_rng(23)
    known = model(rng, coefficients=coefficients)
    x, _ = known.sample(5, rng)
    x[:, 1] = np.nan
    grid = np.linspace(-60, 60, 20_001)
    for row in x:
        tried = np.repeat(row[None], len(grid), axis=0)
        tried[:, 1] = grid
        total = np.log(trapezoid(np.exp(known.class_log_density(tried)), grid, axis=0))
        np.testing.assert_allclose(known.class_log_density(row[None])[0], total, rtol=1e-7)
    nothing = np.full((1, known.n_features), np.nan)
    np.testing.assert_allclose(known.posterior(nothing), [[0.4, 0.6]])


def test_errors_name_the_row_of_the_table():
    known = model(np.random.default_rng(24))
    x, _ = known.sample(30, np.random.default_rng(0))
    x[::2, 2:4] = np.nan
    x[17, 1] = 1e200
    with pytest.raises(InvalidInputError, match="row 17 is so far"):
        known.posterior(x)
    x[23, 0] = np.inf
    with pytest.raises(InvalidInputError, match="row 23, column 0"):
        known.posterior(x)


@pytest.mark.parametrize("coefficients", [False, True])
def test_means_and_covariances_are_those_of_samples(coefficients):
    known = model(np.random.default_rng(7), coefficients=coefficients)
    x, k = known.sample(60_000, np.random.default_rng(8))
    assert np.isin(x[:, 2:], (0, 1)).all()
    assert abs((k == 1).mean() - 0.6) < 0.01
    for at in (0, 1):
        own = x[k == at]
        scale = np.sqrt(np.diagonal(known.covariance_matrices[at]))
        assert np.all(
            np.abs(own.mean(0) - known.means[at]) < 5 * scale / np.sqrt(len(own)) + 1e-9
        )
        gap = np.abs(np.cov(own.T) - known.covariance_matrices[at])
        assert np.all(gap < 0.05 * np.outer(scale, scale) + 1e-9)


def test_the_likelihood_of_moments_is_the_sum_over_their_rows():
    rng = np.random.default_rng(11)
    known = model(rng)
    x, k = known.sample(300, rng)
    total = known.log_joint(x)[np.arange(300), k].sum()
    moments = Moments.of(x, k, storage="per-class")
    assert known._log_likelihood(moments) == pytest.approx(total, rel=1e-12)
    with pytest.raises(FeatureMismatchError, match="the model has 8 features"):
        known._log_likelihood(moments.select([0, 1]))


def test_other_priors_and_temperatures_change_posteriors_alone():
    rng = np.random.default_rng(5)
    known = model(rng)
    x, _ = known.sample(50, rng)
    moved = known.with_priors(np.array([0.9, 0.1])).with_temperature(2.0)
    np.testing.assert_array_equal(moved.class_log_density(x), known.class_log_density(x))
    a = (known.class_log_density(x) + np.log([0.9, 0.1])) / 2
    expected = np.exp(a - np.logaddexp(a[:, :1], a[:, 1:]))
    np.testing.assert_allclose(moved.posterior(x), expected)


def test_the_formula_of_independent_categories_scores_like_the_model():
    rng = np.random.default_rng(6)
    known = model(rng, coefficients=False)
    none = np.full((2, 4), -1)
    tables = tuple(
        tuple(np.log(rng.dirichlet(np.ones(s), 1)) for s in SIZES) for _ in range(2)
    )
    known = replace(known, levels=LevelForest(none, tables))
    x, _ = known.sample(50, rng)
    codes = known.blocks.codes(x)
    formula = known.formula
    scores = formula.scorer.joint(x[:, :2])
    scores += sum(term[:, codes[:, j]].T for j, term in enumerate(formula.levels))
    np.testing.assert_allclose(scores, known.scores(x))


def test_what_a_tree_has_not_is_refused():
    known = model(np.random.default_rng(1))
    with pytest.raises(InvalidParameterError, match="not a hyperplane"):
        known.as_gaussian()
    with pytest.raises(InvalidParameterError, match="categories='indicators'"):
        _ = known.formula
    far = np.zeros((2, known.n_features))
    far[1, 0] = 1e200
    with pytest.raises(InvalidInputError, match="row 1"):
        known.posterior(far)


def test_the_bayes_error_is_simulated_from_valid_rows():
    error = model(np.random.default_rng(2)).bayes_error(2000, np.random.default_rng(0))
    assert 0 < error < 0.5
    assert not error.is_exact
