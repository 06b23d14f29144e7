"""Identical rows are never learnt from and judged at once; coincidence is no copy."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold

import suffice as sf
from suffice.core.table import Table
from suffice.core.table.sampling import stratified_folds
from suffice.selection.validation.copies import Copies, row_hashes
from suffice.selection.validation.folds import Folds, search_folds
from suffice.selection.validation.whole_groups import joined_groups


def copied(seed, n=60, d=4, times=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).repeat(times, 0)
    y = rng.integers(0, 2, n).repeat(times)
    order = rng.permutation(len(y))
    return X[order], y[order]


def shares_a_row(X, train, test):
    learnt = {tuple(row) for row in np.asarray(X)[train].tolist()}
    return any(tuple(row) in learnt for row in np.asarray(X)[test].tolist())


@pytest.mark.parametrize("seed", [0, None])
def test_no_fold_judges_a_row_that_it_has_learnt(seed):
    X, y = copied(1)
    folds = Folds.of(X, y, 5, seed=seed)
    assert not any(shares_a_row(X, train, test) for train, test in folds.splits)
    tested = np.concatenate([test for _, test in folds.splits])
    assert sorted(tested.tolist()) == list(range(len(y)))
    assert folds.protocol.endswith("identical rows in one fold")
    assert (folds.copies.n_rows, folds.copies.n_distinct) == (180, 60)


def test_folds_of_the_search_keep_copies_together():
    X, y = copied(2)
    splits = search_folds(Table.of(X, y), 5, 0)
    assert len(splits) == 5
    assert not any(shares_a_row(X, train, test) for train, test in splits)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_sets_are_those_of_brute_force(seed, times):
    X, y = copied(seed, n=12, times=times)
    found = Copies.of(Table.of(X, y)).set_of
    for i, j in itertools.combinations(range(len(y)), 2):
        assert (found[i] == found[j]) == bool((X[i] == X[j]).all())


def test_rows_of_few_values_agree_by_coincidence():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(400, 4)).astype(float)
    y = rng.integers(0, 2, 400)
    assert len(np.unique(X, axis=0)) < 82
    assert Copies.of(Table.of(X, y)) is None
    assert Folds.of(X, y, 5, seed=0).copies is None


def test_tables_without_copies_have_the_folds_of_scikit_learn(iris):
    for X, y in (iris, load_wine(return_X_y=True)):
        expected = StratifiedKFold(10, shuffle=True, random_state=3).split(X, y)
        for (train, test), split in zip(
            Folds.of(X, y, 10, seed=3).splits, expected, strict=True
        ):
            assert np.array_equal(train, split[0])
            assert np.array_equal(test, split[1])
        table = Table.of(X, y)
        plain = stratified_folds(table.codes, 5, 1)
        for ours, theirs in zip(search_folds(table, 5, 1), plain, strict=True):
            assert np.array_equal(ours[1], theirs[1])


def test_one_copied_row_of_continuous_columns_is_found():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 3))
    X[49] = X[7]
    found = Copies.of(Table.of(X, np.arange(50) % 2))
    assert found.n_rows == 1
    assert found.set_of[7] == found.set_of[49]


def test_zero_and_minus_zero_are_one_value_and_missing_cells_agree():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3))
    X[0] = [0.0, 1.5, np.nan]
    X[1] = [-0.0, 1.5, np.nan]
    assert Copies.of(Table.of(X, np.arange(40) % 2)).n_rows == 1


def test_categories_count_as_features():
    rng = np.random.default_rng(6)
    X = pd.DataFrame(
        {"a": rng.normal(size=40), "b": rng.normal(size=40), "c": ["u", "v"] * 20}
    )
    y = np.arange(40) % 2
    twice = pd.concat([X, X], ignore_index=True)
    assert Folds.of(twice, np.r_[y, y], 5, seed=0).copies.n_rows == 40
    other = pd.concat([X, X.assign(c=["v", "u"] * 20)], ignore_index=True)
    assert Folds.of(other, np.r_[y, y], 5, seed=0).copies is None


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_groups_and_copies_join_as_by_brute_force(data):
    n = data.draw(st.integers(1, 12))
    codes = st.lists(st.integers(0, 5), min_size=n, max_size=n)
    groups = np.unique(data.draw(codes), return_inverse=True)[1]
    sets = np.unique(data.draw(codes), return_inverse=True)[1]
    joined = joined_groups(groups, sets)
    reach = (groups[:, None] == groups) | (sets[:, None] == sets)
    for _ in range(n):
        reach = reach | (reach.astype(int) @ reach.astype(int) > 0)
    assert np.array_equal(joined[:, None] == joined, reach)


def test_groups_stay_whole_with_their_copies():
    X, y = copied(7, n=80, times=1)
    X[70:] = X[:10]
    groups = np.arange(80) // 2
    folds = Folds.of(X, y, 4, groups=groups, seed=0)
    for train, test in folds.splits:
        assert not shares_a_row(X, train, test)
        assert not set(groups[train]) & set(groups[test])


def test_exact_cross_validation_of_copies_equals_refitting():
    X, y = copied(8)
    found = sf.cross_validate(sf.LDA(), X, y, cv=5)
    for fold, (train, test) in enumerate(Folds.of(X, y, 5).splits):
        fitted = sf.LDA().fit(X[train], y[train])
        assert found.fold_losses[0, fold, 0] == pytest.approx(
            np.mean(fitted.predict(X[test]) != y[test])
        )


@pytest.mark.parametrize("name", ["decision tree", "nearest neighbours", "AutoGaussian"])
def test_coin_flips_of_copied_rows_cannot_be_predicted(name):
    X, y = copied(9, n=100)
    result = sf.compare(X, y, [name], cv=5, progress=False)
    assert result[name].error > 0.35
    assert result.copies.n_rows == 300
    assert result.copies.error_together == result[result.reference].error
    limit = 0.5 if name == "AutoGaussian" else 0.05  # which chooses without copies, too
    assert result.copies.error_apart < limit


def test_automatic_classifiers_choose_without_copies():
    X, y = copied(10, n=100)
    auto = sf.AutoGaussian().fit(X, y)
    assert min(choice.log_loss for choice in auto.choices_) > 0.6


def test_different_rows_of_small_whole_numbers_have_different_hashes():
    levels = np.arange(-3.0, 4.0)
    X = np.array(list(itertools.product(levels, repeat=5)))
    table = Table.of(X, np.arange(len(X)) % 2)
    assert len(set(row_hashes(table).tolist())) == len(X)
    zeros = Table.of(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]]), [0, 1, 0])
    first, second, third = row_hashes(zeros).tolist()
    assert first == second != third
