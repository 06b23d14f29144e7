"""Later rows are judged by models of earlier ones, from sums as by refitting."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import suffice as sf
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.selection.validation.folds import Folds
from suffice.selection.validation.time_order import time_blocks


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) + y[:, None], y, rng.permutation(n) // 2


def test_every_fold_learns_from_earlier_rows_only():
    X, y, time = rows()
    folds = Folds.of(X, y, 5, time=time)
    assert len(folds.splits) == 5
    for train, test in folds.splits:
        assert time[train].max() < time[test].min()
        assert len(train) == (time < time[test].min()).sum()
    tested = np.concatenate([test for _, test in folds.splits])
    assert len(set(tested)) == len(tested) == 200 - len(folds.splits[0][0])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=2, max_size=60), st.integers(2, 7))
def test_blocks_are_in_the_order_of_time_and_keep_equal_times_together(times, n_blocks):
    codes = np.unique(times, return_inverse=True)[1]
    blocks = time_blocks(codes, n_blocks)
    order = np.argsort(codes, kind="stable")
    assert (np.diff(blocks[order]) >= 0).all()
    for time in set(codes.tolist()):
        assert len(set(blocks[codes == time].tolist())) == 1
    assert set(blocks.tolist()) == set(range(blocks.max() + 1))


def test_blocks_of_different_times_have_equal_sizes():
    assert np.bincount(time_blocks(np.arange(60), 6)).tolist() == [10] * 6


@pytest.mark.parametrize(
    "estimator", [sf.LDA(), sf.QDA(shrinkage=0.1), DecisionTreeClassifier(random_state=0)]
)
def test_losses_equal_refitting_the_rows_before(estimator):
    X, y, time = rows()
    found = sf.cross_validate(estimator, X, y, cv=4, time=time)
    for fold, (train, test) in enumerate(Folds.of(X, y, 4, time=time).splits):
        predicted = (
            type(estimator)(**estimator.get_params()).fit(X[train], y[train]).predict(X[test])
        )
        assert found.fold_losses[0, fold, 0] == pytest.approx(np.mean(predicted != y[test]))


def test_sums_of_earlier_blocks_are_added_not_collected_again():
    X, y, time = rows()
    folds = Folds.of(X, y, 5, time=time)
    trains, _ = folds.moments("per-class", fourth=False)
    for moments, (train, _) in zip(trains, folds.splits, strict=True):
        direct = sf.Moments.of(X[train], y[train])
        np.testing.assert_allclose(moments.means, direct.means, rtol=1e-12)
        np.testing.assert_allclose(moments.scatters, direct.scatters, rtol=1e-10)


def test_dates_and_texts_are_times():
    X, y, time = rows()
    expected = Folds.of(X, y, 3, time=time).splits
    days = np.datetime64("2020-01-01") + time
    for given_time in (days, pd.Series(days), np.datetime_as_string(days)):
        for ours, theirs in zip(
            Folds.of(X, y, 3, time=given_time).splits, expected, strict=True
        ):
            assert np.array_equal(ours[1], theirs[1])


def test_a_world_that_changes_is_seen_by_later_rows_only():
    rng = np.random.default_rng(1)
    n = 600
    time = np.arange(n)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2)) + 3 * y[:, None] + (time / 100)[:, None]  # the classes move
    random_error = sf.compare(X, y, ["LDA"], 5, progress=False)["LDA"].error
    later = sf.compare(X, y, ["LDA"], 5, time=time, progress=False)
    assert later["LDA"].error > random_error + 0.05
    assert later.protocol == "5 blocks of later rows, each predicted from the rows before it"


def test_copies_of_later_rows_are_not_learnt_from():
    X, y, time = rows()
    X[:20] = X[180:]
    time = np.arange(200)
    folds = Folds.of(X, y, 4, time=time)
    for train, test in folds.splits:
        learnt = {tuple(row) for row in X[train].tolist()}
        assert not any(tuple(row) in learnt for row in X[test].tolist())
    found = sf.cross_validate(sf.LDA(), X, y, cv=4, time=time)
    train, test = folds.splits[-1]
    predicted = sf.LDA().fit(X[train], y[train]).predict(X[test])
    assert found.fold_losses[0, -1, 0] == pytest.approx(np.mean(predicted != y[test]))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"time": np.zeros(200)}, "all rows have the time 0.0"),
        ({"time": np.arange(5)}, "time has shape \\(5,\\), but there are 200 rows"),
        ({"time": np.r_[np.nan, np.arange(199)]}, "row 0 .counted from 0. has no time"),
        (
            {"time": np.arange(200), "groups": np.arange(200)},
            "in different ways: pass one of them",
        ),
        (
            {"time": np.arange(200), "cv": [(np.arange(9), np.arange(9, 20))]},
            "number of blocks",
        ),
    ],
)
def test_times_that_make_no_sense_are_refused(options, match):
    X, y, _ = rows()
    with pytest.raises((InvalidInputError, InvalidParameterError), match=match):
        sf.compare(X, y, ["LDA"], **{"cv": 5, **options}, progress=False)


def test_earlier_rows_of_one_class_teach_nothing():
    X, _, _ = rows()
    with pytest.raises(InvalidInputError, match="the earlier rows have only one class"):
        sf.cross_validate(sf.LDA(), X, np.arange(200) >= 199, cv=3, time=np.arange(200))


def test_rows_of_one_time_are_not_independent():
    X, y, time = rows()
    assert Folds.of(X, y, 4, time=time).groups.tolist() == time.tolist()
    assert Folds.of(X, y, 4, time=np.arange(200)).groups is None
