"""Sums of rows in other array libraries, taken where they lie, equal those of NumPy."""

import numpy as np
import pytest
from tests.cuda import LIBRARIES, asarray_of

import suffice as sf
from suffice.core.moments import device
from suffice.core.table import foreign
from suffice.errors import InvalidInputError


@pytest.fixture(params=LIBRARIES)
def library(request, monkeypatch):
    return asarray_of(request.param, monkeypatch)


def rows(n=600, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n) * 3 + 5
    scale, offset = (
        np.array([1.0, 2.0, 1e-3, 1e3, 1.0])[:d],
        np.array([0, 1e8, 0, 1, -1e8])[:d],
    )
    return (
        rng.normal(size=(n, d)) * scale + offset + y[:, None] * 0.1,
        y,
        rng.uniform(0.1, 2, n),
    )


def assert_same(found, expected):
    assert found.classes.tolist() == expected.classes.tolist()
    assert found.counts.tolist() == expected.counts.tolist()
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-13)
    gap = (found.means - expected.means) + (found.means_low - expected.means_low)
    spread = np.sqrt(expected.scatter.pooled_diagonal() / expected.total_weight)
    assert np.abs(gap / spread).max() < 1e-12
    assert found.storage == expected.storage
    sums = {"per-class": "scatters", "pooled": "pooled_scatter", "diagonal": "diagonals"}
    a, b = (getattr(m, sums[m.storage]) for m in (found, expected))
    scale = np.sqrt(np.maximum(expected.scatter.pooled_diagonal(), 1e-300))
    assert (
        np.abs(
            (a - b) / (scale**2 if found.storage == "diagonal" else np.outer(scale, scale))
        ).max()
        < 1e-12
    )


@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_equal_those_of_the_host(library, storage, weighted):
    x, y, w = rows()
    w = w if weighted else None
    expected = sf.Moments.of(x, y, w, storage=storage, fourth=False)
    given = None if w is None else library(w)
    assert_same(sf.Moments.of(library(x), library(y), given, storage=storage), expected)
    assert_same(sf.Moments.of(library(x), y, w, storage=storage), expected)


@pytest.mark.parametrize(("d", "k"), [(1, 3), (16, 300), (50, 2), (70, 7), (200, 5)])
def test_any_width_and_number_of_classes(library, d, k):
    rng = np.random.default_rng(d)
    y = rng.integers(0, k, 3000)
    x = rng.normal(size=(3000, d)) + 1e6 + y[:, None]
    w = rng.uniform(0.5, 2, 3000)
    expected = sf.Moments.of(x, y, w, storage="per-class", fourth=False)
    assert_same(
        sf.Moments.of(library(x), library(y), library(w), storage="per-class"), expected
    )
    small = sf.Moments.of(library(x.astype(np.float32)), y, storage="per-class")
    exact = sf.Moments.of(x.astype(np.float32), y, storage="per-class", fourth=False)
    scale = np.abs(exact.scatters).max()
    assert np.abs(small.scatters - exact.scatters).max() / scale < 2e-6


def test_labels_of_any_kind(library):
    x, y, _ = rows()
    for labels in (y, y - 300, y * 1000, y.astype(float)):
        found = sf.Moments.of(library(x), library(labels))
        assert found.classes.tolist() == np.unique(labels).tolist()
        assert_same(found, sf.Moments.of(x, labels, fourth=False))
    text = np.array(["a", "b", "c", "d"])[(y - 5) // 3]
    assert_same(sf.Moments.of(library(x), text), sf.Moments.of(x, text, fourth=False))
    known = sf.Moments.of(library(x), library(y), classes=[0, 5, 99])
    assert_same(known, sf.Moments.of(x, y, classes=[0, 5, 99], fourth=False))


def test_labels_that_are_none_are_refused_as_on_the_host(library):
    x, y, _ = rows()
    hole, between = y.astype(float), y.astype(float)
    hole[7], between[3] = np.nan, 0.5
    for labels, told in (
        (hole, "row 7"),
        (between, "continuous .row 3"),
        (y[:, None], "ravel"),
    ):
        with pytest.raises(InvalidInputError, match=told):
            sf.Moments.of(x, labels)
        with pytest.raises(InvalidInputError, match=told):
            sf.Moments.of(library(x), library(labels))


def test_blocks_and_halves_merge(library):
    x, y, w = rows()
    whole = sf.Moments.of(x, y, w, storage="per-class", fourth=False)
    there = sf.Moments.of(
        library(x[:250]), library(y[:250]), library(w[:250]), storage="per-class"
    )
    here = sf.Moments.of(x[250:], y[250:], w[250:], storage="per-class", fourth=False)
    assert_same(there + here, whole)
    labels, codes = device.device_labels(library(x), library(y))
    parts = device.device_sums(
        library(x), codes, library(w), len(labels), "per-class", block=97
    )
    blank = np.zeros(len(labels), np.intp)
    merged = sum(sf.Moments(labels, None, blank, *part) for part in parts)
    np.testing.assert_allclose(merged.scatters, whole.scatters, rtol=1e-10, atol=1e-7)
    assert merged.weights.sum() == pytest.approx(w.sum(), rel=1e-13)


def test_a_row_of_weight_zero_is_absent_whatever_it_holds(library):
    x, y, w = rows()
    w[::7] = 0
    expected = sf.Moments.of(x, y, w, fourth=False)
    x[::7] = np.nan
    assert_same(sf.Moments.of(library(x), library(y), library(w)), expected)


def test_the_host_looks_at_what_is_not_finite(library):
    x, y, _ = rows()
    x[3, 2] = np.nan
    with_hole = sf.Moments.of(library(x), library(y))
    assert with_hole.patterns is not None
    assert_same(with_hole, sf.Moments.of(x, y))
    x[3, 2] = np.inf
    with pytest.raises(InvalidInputError, match="infinity: row 3, column 2"):
        sf.Moments.of(library(x), library(y))


def test_constant_columns_integers_and_halves(library):
    x, y, _ = rows()
    x[:, 1] = 7
    assert sf.Moments.of(library(x), library(y)).pooled_scatter[1, 1] == 0
    whole = (x[:, :1] * 10).astype(np.int32)
    assert_same(sf.Moments.of(library(whole), y), sf.Moments.of(whole, y, fourth=False))


def test_wrong_lengths_and_weights_are_refused(library):
    x, y, w = rows()
    with pytest.raises(InvalidInputError, match="600 rows but y has 599"):
        sf.Moments.of(library(x), library(y[:-1]))
    w[5] = -1
    with pytest.raises(InvalidInputError, match="row 5"):
        sf.Moments.of(library(x), library(y), library(w))


def test_blocks_get_smaller_until_they_fit():
    class OutOfMemoryError(Exception):
        pass

    asked = []

    def answer(lo, hi):
        asked.append(hi - lo)
        if hi - lo > 5000:
            raise OutOfMemoryError
        return range(lo, hi)

    found = [i for part in foreign.in_blocks(answer, 20_000, 1 << 16) for i in part]
    assert found == list(range(20_000))
    assert max(asked[2:]) <= 5000
    with pytest.raises(MemoryError, match="no memory left"):
        list(foreign.in_blocks(lambda lo, hi: answer(0, 10**6), 10, 1 << 13))
