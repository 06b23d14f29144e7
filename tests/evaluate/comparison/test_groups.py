"""Rows that belong together: folds of whole groups, and intervals that count groups, not rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import suffice as sf
from suffice.core.decision.error_intervals import effective_rows, wilson
from suffice.errors import InvalidInputError


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 2)) + 1.2 * y[:, None], y


def test_copies_of_a_row_in_one_group_tell_no_more_than_the_row():
    X, y = rows()
    ten = np.repeat(np.arange(120), 10)
    widths = []
    for at, groups in ((np.arange(120), None), (ten, ten), (ten, None)):
        low, high = sf.compare(X[at], y[at], ["LDA"], 5, groups=groups)["LDA"].interval
        widths.append(high - low)
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    assert widths[2] == pytest.approx(widths[1], rel=0.1)  # found without being named


def test_a_difference_of_two_models_is_tested_by_groups():
    X, y = rows()
    ten = np.repeat(np.arange(120), 10)
    widths = []
    for at, groups in ((np.arange(120), None), (ten, ten), (ten, None)):
        result = sf.compare(X[at], y[at], ["LDA", "constant"], 5, groups=groups)
        (difference,) = (d for d in result.differences() if d.model == "constant")
        widths.append(difference.high - difference.low)
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    assert widths[2] == pytest.approx(widths[1], rel=0.1)  # found without being named


def test_groups_of_one_row_change_nothing_but_a_little_by_t():
    X, y = rows()
    alone = sf.compare(X, y, ["LDA"], 5, groups=np.arange(120))["LDA"]
    n = effective_rows(alone.row_losses[0], np.ones(120), alone.overlap)
    wide = wilson(np.array(alone.error), np.array(n))
    assert alone.interval == pytest.approx(tuple(map(float, wide)), abs=0.002)


def test_the_variance_of_an_error_is_that_of_sums_over_groups():
    rng = np.random.default_rng(1)
    groups, weights = rng.integers(0, 9, 80), rng.random(80) + 0.5
    wrong = (rng.random(80) < 0.2 + 0.6 * (groups % 2)).astype(float)
    mean = np.average(wrong, weights=weights)
    sums = [np.sum((weights * (wrong - mean))[groups == g]) for g in range(9)]
    variance = np.square(sums).sum() / weights.sum() ** 2  # of the mean over groups
    totals = np.bincount(groups, weights)
    means = np.bincount(groups, weights * wrong) / totals
    found = effective_rows(means, totals, grouped=True)
    t = stats.t.ppf(0.975, 8) / stats.norm.ppf(0.975)
    assert found == pytest.approx(mean * (1 - mean) / variance / t**2)
    # no error at all says nothing of how they come: each group counts as one row
    assert effective_rows(np.zeros(8), np.full(8, 10.0), grouped=True) == pytest.approx(8)


def test_a_few_groups_tell_a_great_difference_and_no_error_more_exactly_than_rows():
    X, y = rows(240)
    X += 3 * y[:, None]
    groups = np.arange(240) // 2 % 3  # in which nothing differs
    result, alone = (sf.compare(X, y, ["LDA"], 3, groups=g) for g in (groups, None))
    (difference,) = (d for d in result.differences() if d.model == "constant")
    assert difference.p_value < 0.01
    for name in ("LDA", "constant"):
        (low, high), (least, most) = result[name].interval, alone[name].interval
        assert high - low >= most - least


def test_a_row_without_a_group_is_refused():
    X, y = rows()
    groups = np.array(["a", "b", "c", None] * 30, dtype=object)
    with pytest.raises(InvalidInputError, match=r"row 3 .counted from 0. has no group"):
        sf.compare(X, y, ["LDA"], 3, groups=groups)


def test_there_are_by_default_no_more_folds_than_groups():
    X, y = rows()
    result = sf.compare(X, y, ["LDA"], None, groups=pd.Series(np.arange(120) % 4))
    assert result.protocol == "4 stratified folds of whole groups, shuffled with seed 0"


def test_a_class_of_fewer_groups_than_folds_is_judged_without_a_warning():
    X, y = rows()
    y = np.where(np.arange(120) < 4, 2, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = sf.compare(X, y, ["LDA"], 5, groups=np.arange(120) // 4)
    assert result.n_rows == 120


def test_groups_that_are_the_classes_are_refused():
    X, y = rows()
    for groups in (y, np.where(y == 1, "b", "a")):
        with pytest.raises(InvalidInputError, match="the groups are the classes"):
            sf.compare(X, y, ["LDA"], groups=groups)
