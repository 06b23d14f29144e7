"""Third and fourth moments of columns: the algebra, the paths that collect them, and files."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice as sf
from suffice.core.moments import collect
from suffice.core.moments.higher_moments import HigherMoments
from suffice.core.table import Table


def by_hand(x, w=None):
    w = np.ones(len(x)) if w is None else w
    seen = np.isfinite(x)
    weights = (w[:, None] * seen).sum(0)
    means = np.nansum(w[:, None] * x, axis=0) / weights
    z = np.where(seen, x - means, 0.0)
    return np.stack([weights, means, *(np.sum(w[:, None] * z**p, axis=0) for p in (2, 3, 4))])


def rows(seed, n=60, d=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.exponential(size=(n, d)) + y[:, None], y, rng.integers(1, 4, n).astype(float)


def assert_sums(higher, expected):
    np.testing.assert_allclose(higher.as_array(), expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 59))
def test_parts_add_up_to_the_whole_and_a_part_is_forgotten(seed, cut):
    x, y, w = rows(seed)
    whole = sf.Moments.of(x, y, w, storage="pooled")
    parts = [
        sf.Moments.of(x[i], y[i], w[i], storage="pooled")
        for i in (slice(0, cut), slice(cut, None))
    ]
    assert_sums((parts[0] + parts[1]).higher, by_hand(x, w))
    assert_sums((whole - parts[0]).higher, by_hand(x[cut:], w[cut:]))


@pytest.mark.parametrize("storage", ["per-class", "pooled"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_compiled_loops_and_numpy_give_the_sums_by_hand(monkeypatch, storage, weighted, order):
    x, y, w = rows(1, n=700, d=5)
    x = np.asarray(x, order=order)
    weight = w if weighted else None
    small = sf.Moments.of(x, y, weight, storage=storage, fourth=False)
    monkeypatch.setattr(collect, "SMALL", 0)
    large = sf.Moments.of(x, y, weight, storage=storage, fourth=False)
    assert_sums(small.higher, by_hand(x, weight))
    assert_sums(large.higher, by_hand(x, weight))


def test_missing_cells_are_left_out_whether_kept_or_filled():
    x, y, _ = rows(2)
    x[::7, 1] = np.nan
    expected = by_hand(x)
    assert_sums(sf.Moments.of(x, y).higher, expected)
    assert_sums(sf.Moments.of(x, y, storage="diagonal").higher, expected)
    filled = sf.Moments.of(x, y, missing="indicator")
    assert_sums(filled.higher, expected)
    parts = [sf.Moments.of(x[i::2], y[i::2], missing="indicator") for i in range(2)]
    assert_sums((parts[0] + parts[1]).higher, expected)


def test_a_file_keeps_them(tmp_path):
    x, y, _ = rows(3)
    moments = sf.Moments.of(x, y)
    moments.save(tmp_path / "a.moments")
    assert_sums(sf.load(tmp_path / "a.moments").higher, by_hand(x))


def test_selected_columns_and_classes():
    x, y, _ = rows(4)
    moments = sf.Moments.of(x, y)
    assert_sums(moments.select([2, 0]).higher, by_hand(x[:, [2, 0]]))
    assert_sums((moments + sf.Moments.empty()).higher, by_hand(x))


def test_an_unknown_column_stays_unknown():
    known = HigherMoments.of_rows(np.ones((3, 1)), np.ones(3))
    assert np.isnan(known.merged(HigherMoments.unknown(1)).weights).all()


def test_digits_lost_with_a_forgotten_outlier_leave_the_column_unknown():
    x, y, _ = rows(5)
    outlier = np.array([[5e4, 1.0, 1.0]])
    fitted = sf.Moments.of(np.vstack([x, outlier]), np.append(y, 0))
    left = fitted - sf.Moments.of(outlier, [0])
    assert np.isnan(left.higher.fourths[0])
    np.testing.assert_allclose(left.higher.fourths[1:], by_hand(x)[4, 1:], rtol=1e-6)


def test_many_rows_of_a_diagonal_storage_have_none_complete_or_not(monkeypatch):
    x, y, _ = rows(6)
    monkeypatch.setattr(collect, "SMALL", 0)
    assert sf.Moments.of(x, y, storage="diagonal").higher is None
    x[3, 1] = np.nan
    assert sf.Moments.of(x, y, storage="diagonal").higher is None


def test_moments_of_many_parts_are_those_of_all_rows_even_where_a_part_is_empty():
    rng = np.random.default_rng(3)
    x = rng.exponential(size=(90, 3)) + np.array([0.0, 1e4, -7.0])
    w = rng.integers(1, 4, 90).astype(float)
    edges = [0, 0, 20, 21, 90]
    parts = [HigherMoments.of_rows(x[lo:hi], w[lo:hi]) for lo, hi in pairwise(edges)]
    whole = HigherMoments.of_rows(x, w)
    total = HigherMoments.of_parts(parts)
    np.testing.assert_allclose(total.as_array(), whole.as_array(), rtol=1e-9)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_many_incomplete_rows_have_the_moments_of_their_numbers(order, dtype, is_weighted):
    rng = np.random.default_rng(5)
    x = (rng.gamma(2.0, size=(30_001, 7)) + 1000.0).astype(dtype)
    x[rng.random(x.shape) < 0.2] = np.nan
    x[:, 6] = np.nan
    weight = rng.integers(1, 4, len(x)).astype(float) if is_weighted else None
    table = Table.of(np.asarray(x, order=order), np.zeros(len(x), int), weight)
    moments = HigherMoments.of_incomplete(table)
    for j in range(6):
        seen = ~np.isnan(x[:, j])
        w = table.weights[seen]
        z = x[seen, j].astype(float) - np.average(x[seen, j].astype(float), weights=w)
        expected = [w.sum(), (w * z**2).sum(), (w * z**3).sum(), (w * z**4).sum()]
        actual = moments.as_array()[[0, 2, 3, 4], j]
        np.testing.assert_allclose(actual, expected, rtol=1e-10)
    np.testing.assert_array_equal(moments.as_array()[:, 6], 0.0)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("n_columns", [7, 20])  # patterns by a table, and by sorting
def test_moments_of_many_rows_by_pattern_are_those_of_their_numbers(n_columns, is_weighted):
    # frequent patterns are summed, and the rows of rare ones are kept
    rng = np.random.default_rng(8)
    x = rng.gamma(2.0, size=(30_001, n_columns)) + 100.0
    x[rng.random(x.shape) < 0.1] = np.nan
    x[rng.random(len(x)) < 0.3, 3:] = np.nan
    y = rng.integers(0, 3, len(x))
    weight = rng.integers(1, 4, len(x)).astype(float) if is_weighted else None
    moments = sf.Moments.of(x, y, weight)
    assert moments.patterns.n_patterns > 0
    assert moments.patterns.single_rows.n_rows > 0
    expected = HigherMoments.of_incomplete(Table.of(x, y, weight))
    np.testing.assert_allclose(moments.higher.as_array(), expected.as_array(), rtol=1e-9)
