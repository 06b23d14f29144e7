"""Moments are a commutative monoid, and subtraction undoes addition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from suffice import Moments
from suffice.errors import ForgetError
from suffice.persistence.moments_file import arrays_of

STORAGES = ["per-class", "pooled", "diagonal"]
D = 3


@st.composite
def tables(draw, min_rows=0):
    n = draw(st.integers(min_rows, 14))
    x = draw(arrays(np.float64, (n, D), elements=st.floats(-1e3, 1e3, width=32)))
    y = draw(arrays(np.int64, (n,), elements=st.integers(0, 3)))
    w = draw(arrays(np.float64, (n,), elements=st.sampled_from([0.0, 0.25, 1.0, 2.0, 3.5])))
    offset = draw(st.sampled_from([0.0, 1e5, -1e8]))
    if n and not w.any():
        w = w + 1.0
    return x + offset, y, w


def moments_of(rows, storage="per-class", **options):
    x, y, w = rows
    return Moments.of(x, y, w, storage=storage, classes=range(4), **options)


def assert_same(a, b, rtol=1e-10):
    size = 1 + max(np.abs(a.means).max(initial=0), np.abs(b.means).max(initial=0))
    np.testing.assert_array_equal(a.counts, b.counts)
    np.testing.assert_allclose(a.weights, b.weights, rtol=rtol)
    np.testing.assert_allclose(a.means, b.means, rtol=rtol, atol=1e-15 * size)
    left, right = (arrays_of(m)["scatter"] for m in (a, b))
    scale = 1 + max(np.abs(left).max(initial=0), np.abs(right).max(initial=0))
    np.testing.assert_allclose(left, right, rtol=rtol, atol=rtol * scale)
    if a.fourth is not None and b.fourth is not None:
        left, right = a.fourth.fourths, b.fourth.fourths
        scale = 1 + max(np.abs(left).max(initial=0), np.abs(right).max(initial=0))
        np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-9 * scale)


def squares(m, storage):
    return m.scatter.pooled_diagonal() if storage == "pooled" else m.diagonals


def joined(*parts):
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


@pytest.mark.parametrize("storage", STORAGES)
@given(tables(), tables(), tables())
def test_merge_is_associative(storage, a, b, c):
    a, b, c = (moments_of(rows, storage) for rows in (a, b, c))
    assert_same((a + b) + c, a + (b + c))


@pytest.mark.parametrize("storage", STORAGES)
@given(tables(), tables())
def test_merge_is_commutative(storage, a, b):
    a, b = moments_of(a, storage), moments_of(b, storage)
    assert_same(a + b, b + a)


@pytest.mark.parametrize("storage", STORAGES)
@given(tables())
def test_empty_is_the_identity(storage, rows):
    m = moments_of(rows, storage)
    for same in (m + Moments.empty(), Moments.empty() + m, sum([m])):
        assert same.storage == m.storage
        assert_same(same, m, rtol=0)


@pytest.mark.parametrize("storage", STORAGES)
@given(tables(), tables(), tables())
def test_chunks_make_the_whole(storage, a, b, c):
    whole = moments_of(joined(a, b, c), storage)
    assert_same(
        moments_of(a, storage) + moments_of(b, storage) + moments_of(c, storage), whole
    )


@pytest.mark.parametrize("storage", STORAGES)
@given(tables(), tables(min_rows=1))
def test_forgetting_is_never_having_seen(storage, keep, drop):
    whole, never = moments_of(joined(keep, drop), storage), moments_of(keep, storage)
    try:
        left = whole - moments_of(drop, storage)
    except ForgetError:
        # only where fewer than six digits of some sum of squares would be left
        held, kept = (squares(m, storage) for m in (whole, never))
        assert np.any((kept <= 1e-9 * held) & (held > 0))
        return
    scale = 1 + np.abs(whole.scatter.pooled_diagonal()).max()
    np.testing.assert_array_equal(left.counts, never.counts)
    np.testing.assert_allclose(left.weights, never.weights, rtol=1e-10)
    np.testing.assert_allclose(
        left.means, never.means, rtol=1e-10, atol=1e-10 * np.sqrt(scale)
    )
    np.testing.assert_allclose(
        left.scatter.pooled_diagonal(), never.scatter.pooled_diagonal(), atol=1e-10 * scale
    )


@given(tables(min_rows=1), st.randoms(use_true_random=False))
def test_row_order_does_not_matter(rows, random):
    x, y, w = rows
    order = list(range(len(x)))
    random.shuffle(order)
    assert_same(moments_of(rows), moments_of((x[order], y[order], w[order])))


@given(tables(min_rows=1), st.permutations(range(D)))
def test_feature_order_only_permutes(rows, order):
    x, y, w = rows
    assert_same(moments_of((x[:, order], y, w)), moments_of(rows).select(order))


@given(tables(min_rows=1))
def test_zero_weight_is_absence(rows):
    x, y, w = rows
    seen = w > 0
    assert_same(moments_of(rows), moments_of((x[seen], y[seen], w[seen])), rtol=1e-14)


@given(tables(min_rows=1), st.integers(1, 3))
def test_weight_is_repetition(rows, times):
    x, y, w = rows
    w = np.ceil(w)
    again = tuple(
        np.repeat(part, w.astype(int) * times, axis=0) for part in (x, y, np.ones(len(w)))
    )
    weighted, repeated = moments_of((x, y, w * times)), moments_of(again)
    np.testing.assert_allclose(weighted.weights, repeated.weights)
    scale = 1 + np.abs(repeated.scatters).max()
    np.testing.assert_allclose(weighted.scatters, repeated.scatters, atol=1e-10 * scale)


def test_labels_unite_on_merge():
    one = Moments.of([[1.0], [2.0]], ["a", "c"])
    two = Moments.of([[3.0]], ["b"])
    both = one + two
    assert both.classes.tolist() == ["a", "b", "c"]
    assert both.means.ravel().tolist() == [1.0, 3.0, 2.0]
    assert (both - two).weights.tolist() == [1.0, 0.0, 1.0]
