"""Folds of few rows, of streams and of weights against their definitions."""

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.errors import InvalidParameterError
from suffice.selection.validation.fold_rows import _stratified, is_partition
from suffice.selection.validation.streamed import hashed
from suffice.selection.validation.time_order import time_codes
from suffice.streams import cross_validate_stream


@pytest.mark.parametrize(("n", "n_folds"), [(3, 2), (5, 2), (9, 4), (40, 5)])
def test_a_rare_class_leaves_at_least_two_rows_a_fold_and_two_folds(n, n_folds):
    labels = np.array(["a"] * (n - 1) + ["b"])
    splits, protocol = _stratified(5, labels, None, seed=0)
    assert len(list(splits)) == n_folds
    assert protocol == f"{n_folds} stratified folds, shuffled with seed 0"


def test_fewer_folds_are_advised_only_if_there_are_two():
    with pytest.raises(InvalidParameterError, match="use cv=2, drop"):
        _stratified(5, np.array(list("aaaaaabb")), None, None)
    with pytest.raises(InvalidParameterError, match="folds: drop"):
        _stratified(5, np.array(list("aaaaaab")), None, None)


def test_rows_that_are_judged_twice_are_no_partition():
    rows = np.arange(4)
    assert is_partition([(rows[:2], rows[2:]), (rows[2:], rows[:2])], 4)
    assert not is_partition([(rows[:1], rows[:1]), (rows[:1], rows[:1])], 1)


def test_two_folds_of_a_stream_are_enough():
    result = cross_validate_stream(sf.LDA(), "iris", cv=2)
    assert result.fold_losses.shape == (1, 2, 3)


def test_blocks_of_one_class_are_judged_as_all_rows_together(monkeypatch, iris):
    X, y = iris
    frame = pl.DataFrame(X, schema=list("abcd")).with_columns(kind=pl.Series(y.astype(str)))
    whole = cross_validate_stream(sf.LDA(), frame, "kind", cv=3)
    monkeypatch.setattr("suffice.data.rows.loading.rows_per_block", lambda _: 25)
    found = cross_validate_stream(sf.LDA(), frame, "kind", cv=3)
    np.testing.assert_allclose(found.means, whole.means, rtol=1e-9)


def test_counts_of_weight_zero_are_no_rows():
    rng = np.random.default_rng(0)
    X = rng.poisson(2.0, size=(60, 4))
    y = np.arange(60) % 2
    w = np.where(np.arange(60) % 5 == 0, 0.0, 1.5)
    kept = np.flatnonzero(w)
    found = sf.leave_one_out(sf.CountNB(), X, y, w)
    expected = sf.leave_one_out(sf.CountNB(), X[kept], y[kept], w[kept])
    np.testing.assert_array_equal(found.rows, kept)
    np.testing.assert_allclose(found.logs, expected.logs)


def test_two_times_are_enough_to_tell_earlier_from_later():
    assert time_codes(np.array([7, 3, 7]), 3).tolist() == [1, 0, 1]


def test_rows_that_differ_by_little_fall_into_all_folds():
    x = np.arange(1, 201)[:, None] * 1e-20
    counts = np.bincount(hashed(x, 4), minlength=4)
    assert counts.min() > 25
    np.testing.assert_array_equal(hashed(-0.0 * x, 4), hashed(0.0 * x, 4))
