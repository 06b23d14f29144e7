"""Sums of rows with missing numbers: the laws of moments hold, and nothing is lost."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice as sf
from suffice import Moments
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.settings import Settings
from suffice.core.moments import collect, pattern_keys
from suffice.core.table import Table
from suffice.errors import FileFormatError, ForgetError, InvalidInputError

STORAGES = ("per-class", "pooled", "diagonal")


def table(seed, n=60, d=3, share=0.3, offset=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) + offset
    x[rng.random(x.shape) < share] = np.nan
    return x, rng.integers(0, 3, n), rng.choice([0.5, 1.0, 2.0], n)


def cells(moments):
    """Return weight, mean and scatter of every class and pattern, rows summed by brute force."""
    sums = moments.patterns
    if moments.storage == "diagonal":
        found = sums.column_sums
        return {
            k: (
                found.counts[k],
                found.weights[k],
                found.means[k] + found.means_low[k],
                found.scatter.values[k],
            )
            for k in range(found.n_classes)
        }
    blocks, found = sums.blocks, {}
    scatters = np.zeros((len(blocks.weights), *blocks.scatters.shape[1:]))
    scatters[blocks.with_scatter] = blocks.scatters
    keys = [
        (k, tuple(o)) for k, o in zip(blocks.class_of, blocks.observed.tolist(), strict=True)
    ]
    for key in set(keys):
        at = [i for i, other in enumerate(keys) if other == key]
        w, mean = blocks.weights[at], blocks.means[at]
        centre = w @ mean / w.sum()
        between = (w[:, None] * (mean - centre)).T @ (mean - centre)
        found[key] = (
            int(blocks.counts[at].sum()),
            w.sum(),
            centre,
            scatters[at].sum(0) + between,
        )
    return found


def assert_same(a, b, atol=1e-10):
    np.testing.assert_array_equal(a.counts, b.counts)
    for name in ("weights", "means"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=atol)
    np.testing.assert_allclose(a.scatter.values, b.scatter.values, atol=atol)
    ours, theirs = cells(a), cells(b)
    assert ours.keys() == theirs.keys()
    for key, values in ours.items():
        for mine, yours in zip(values, theirs[key], strict=True):
            np.testing.assert_allclose(mine, yours, atol=atol)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from(STORAGES), st.lists(st.integers(0, 60), max_size=4)
)
def test_chunks_in_any_order_and_grouping_are_the_whole(seed, storage, cuts):
    x, y, w = table(seed)
    parts = [
        Moments.of(x[i], y[i], w[i], storage=storage, fourth=False)
        for i in np.split(np.random.default_rng(seed).permutation(60), sorted(cuts))
        if len(i)
    ]
    whole = Moments.of(x, y, w, storage=storage, fourth=False)
    assert_same(sum(parts), whole)
    assert_same(sum(parts[::-1]), whole)
    assert_same(parts[0] + sum(parts[1:], start=Moments.empty()), whole)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(STORAGES), st.integers(1, 59))
def test_what_is_forgotten_was_never_there(seed, storage, cut):
    x, y, w = table(seed)
    options = {"storage": storage, "fourth": False, "classes": [0, 1, 2]}
    first = Moments.of(x[:cut], y[:cut], w[:cut], **options)
    rest = Moments.of(x[cut:], y[cut:], w[cut:], **options)
    if rest.patterns is None or first.patterns is None:
        return
    try:
        assert_same((first + rest) - first, rest)
    except ForgetError as error:  # two numbers left that agree by chance
        assert "digits left" in str(error)  # noqa: PT017


def test_rows_that_were_never_added_are_not_forgotten():
    x, y, _ = table(1)
    total = Moments.of(x, y)
    with pytest.raises(ForgetError, match="pattern of missing values"):
        total - Moments.of(
            total.patterns.single_rows.x[:1] + 1, total.patterns.single_rows.codes[:1]
        )


@pytest.mark.parametrize("storage", STORAGES)
def test_complete_rows_join_as_the_pattern_without_holes(storage):
    x, y, w = table(2)
    full = np.nan_to_num(x[:25])
    a = Moments.of(full, y[:25], w[:25], storage=storage, fourth=False)
    b = Moments.of(x[25:], y[25:], w[25:], storage=storage, fourth=False)
    assert a.patterns is None
    both = np.vstack([full, x[25:]])
    whole = Moments.of(both, y, w, storage=storage, fourth=False)
    if storage == "pooled":  # which class holds the scatter is of no account
        np.testing.assert_allclose((b + a).means, whole.means)
        models = [estimate(each, Settings(tied=True)) for each in (a + b, whole)]
        first, second = (model.covariance_matrices for model in models)
        np.testing.assert_allclose(first, second, atol=1e-6)
    else:
        assert_same(a + b, whole)
        assert_same(b + a, whole)


def test_means_and_variances_are_those_of_observed_values():
    x, y, _ = table(3, n=200, offset=1e8)
    for storage in STORAGES:
        moments = Moments.of(x, y, storage=storage, fourth=False)
        for k in range(3):
            mean = np.nanmean(x[y == k] - 1e8, 0)
            np.testing.assert_allclose(moments.means[k] - 1e8, mean, atol=1e-7)
        if storage != "pooled":
            variances = moments.diagonals / moments.weights[:, None]
            expected = [np.nanvar(x[y == k] - 1e8, 0) for k in range(3)]
            np.testing.assert_allclose(variances, expected, rtol=1e-7)


@pytest.mark.parametrize("storage", STORAGES)
def test_some_columns_are_those_columns_alone(storage):
    x, y, w = table(4, d=4)
    options = {"storage": storage, "fourth": False}
    some = Moments.of(x, y, w, **options).select([2, 0])
    assert_same(some, Moments.of(x[:, [2, 0]], y, w, **options))


@pytest.mark.parametrize("storage", STORAGES)
def test_a_file_gives_back_every_pattern(tmp_path, storage):
    x, y, w = table(5, n=200)
    moments = Moments.of(x, y, w, storage=storage, fourth=False)
    moments.save(tmp_path / "a.moments")
    again = sf.load(tmp_path / "a.moments")
    assert_same(moments, again, atol=0)
    assert_same(moments + moments, again + again, atol=0)


def test_a_file_with_rows_of_no_class_is_refused():
    x, y, _ = table(5)
    moments = Moments.of(x, y)
    from suffice.persistence.moments_file import arrays_of, header_of

    arrays = arrays_of(moments) | {"rows_codes": moments.patterns.single_rows.codes + 3}
    with pytest.raises(FileFormatError, match="name an unknown class"):
        Moments.of_archive(header_of(moments), arrays)


@pytest.mark.parametrize("d", [3, 20, 40])
@pytest.mark.parametrize("storage", STORAGES)
def test_memory_order_is_of_no_account(storage, d):
    x, y, w = table(10, n=120, d=d, share=0.1)
    options = {"storage": storage, "fourth": False}
    by_column = Moments.of(np.asfortranarray(x), y, w, **options)
    assert_same(by_column, Moments.of(x, y, w, **options))


def test_compiled_sums_are_those_of_numpy():
    x, y, w = table(6, n=60_000, d=5, share=0.1)
    for storage in STORAGES:
        options = {"storage": storage, "fourth": False}
        large = Moments.of(x, y, w, **options)
        small = sum(
            Moments.of(x[i : i + 5000], y[i : i + 5000], w[i : i + 5000], **options)
            for i in range(0, 60_000, 5000)
        )
        np.testing.assert_allclose(large.means, small.means, atol=1e-12)
        np.testing.assert_allclose(
            large.scatter.values, small.scatter.values, rtol=1e-9, atol=1e-6
        )


def test_few_patterns_lose_numbers_and_count_them():
    x, y, _ = table(7, n=600, d=12, share=0.2)
    exact, few = Moments.of(x, y), Moments.of(x, y, max_patterns=16)
    assert exact.cells_lost == 0
    assert np.bincount(few.patterns.class_of).max() <= 16
    assert np.bincount(few.patterns.single_rows.codes).max() <= 16 * 12
    assert few.patterns.single_rows.n_rows < exact.patterns.single_rows.n_rows
    blocks = few.patterns.blocks
    kept = int((blocks.counts[:, None] * blocks.observed).sum())
    assert few.cells_lost == int((~np.isnan(x)).sum()) - kept
    assert 0 < few.cells_lost < 0.8 * (~np.isnan(x)).sum()
    np.testing.assert_array_equal(few.counts, exact.counts)
    # where patterns suffice, a bound changes nothing
    assert_same(Moments.of(x[:, :3], y, max_patterns=16), Moments.of(x[:, :3], y))


def test_categories_and_holes_go_together():
    x, y, w = table(8, n=300)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame["s"] = np.random.default_rng(0).choice(["u", "v", "w"], 300)
    for storage in ("per-class", "diagonal"):
        whole = Moments.of(frame, y, w, storage=storage, fourth=False)
        parts = [
            Moments.of(frame[at], y[at], w[at], storage=storage, fourth=False)
            for at in (slice(i, i + 50) for i in range(0, 300, 50))
        ]
        assert_same(sum(parts), whole)
        seen = frame.s != "w"
        unseen = Moments.of(frame[seen], y[seen], w[seen], storage=storage, fourth=False)
        other = Moments.of(frame[~seen], y[~seen], w[~seen], storage=storage, fourth=False)
        assert_same(unseen + other, whole)


def test_infinities_are_refused_and_weightless_rows_are_absent():
    x, y, w = table(9)
    bad = x.copy()
    bad[5, 1] = np.inf
    for storage in STORAGES:
        with pytest.raises(InvalidInputError, match="infinity: row 5, column 1"):
            Moments.of(bad, y, storage=storage, fourth=False)
    w[::2] = 0
    assert_same(Moments.of(x, y, w), Moments.of(x[1::2], y[1::2], w[1::2]))


def test_large_tables_with_holes_have_the_sums_of_each_column_alone():
    rng = np.random.default_rng(4)
    x, y, w = rng.normal(1e4, 1, (60_000, 4)), rng.integers(0, 3, 60_000), rng.random(60_000)
    x[rng.random(x.shape) < 0.2], w[::5], x[y == 2, 1] = np.nan, 0.0, np.nan
    cells = Moments.of(x, y, w, storage="diagonal").patterns.column_sums
    for k, j in np.ndindex(3, 4):
        seen = (y == k) & ~np.isnan(x[:, j]) & (w > 0)
        assert cells.counts[k, j] == seen.sum()
        if seen.any():
            mean = np.average(x[seen, j], weights=w[seen])
            np.testing.assert_allclose(cells.means[k, j], mean, rtol=1e-13)
            squares = (w[seen] * (x[seen, j] - mean) ** 2).sum()
            np.testing.assert_allclose(cells.scatter.values[k, j], squares, rtol=1e-9)


@pytest.mark.parametrize("storage", STORAGES)
def test_large_tables_with_holes_and_categories_have_the_sums_of_small_ones(
    storage, monkeypatch
):
    rng = np.random.default_rng(5)
    x, y, w = rng.normal(5, 1, (300, 2)), rng.integers(0, 3, 300), rng.random(300)
    x[rng.random(x.shape) < 0.2], x[0], w[::5] = np.nan, np.inf, 0.0  # a row without weight
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": rng.choice(list("uvw"), 300)})
    small = Moments.of(frame, y, w, storage=storage)
    monkeypatch.setattr(collect, "SMALL", 10)
    large = Moments.of(frame, y, w, storage=storage)
    assert_same(large, small)
    by_column = storage == "diagonal"
    ours, theirs = (
        m.patterns.column_sums if by_column else m.patterns.by_pattern for m in (large, small)
    )
    np.testing.assert_array_equal(ours.counts, theirs.counts)


def test_more_classes_than_cells_can_tell_apart_are_refused(monkeypatch):
    monkeypatch.setattr(pattern_keys, "_DIGITS", 1)
    x, _, _ = table(1)
    assert Moments.of(x, np.arange(60) % 10).n_classes == 10
    with pytest.raises(
        InvalidInputError, match=r"more than 10 classes: use missing='indicator'"
    ):
        Moments.of(x, np.arange(60) % 11)


@pytest.mark.parametrize("n_columns", [3, 8, 17])  # within a byte, a whole one, and over two
def test_many_rows_have_the_pattern_codes_of_few(n_columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90_000 // n_columns, n_columns))
    x[rng.random(x.shape) < 0.2] = np.nan
    rows = Table.of(x, rng.integers(0, 5, len(x)))
    codes, first_row = pattern_keys.pattern_codes(rows)
    tabulated_codes, tabulated_first_row = pattern_keys._tabulated_codes(rows)
    np.testing.assert_array_equal(tabulated_codes, codes)
    np.testing.assert_array_equal(tabulated_first_row, first_row)
