"""Sums of levels by their codes equal sums of indicator columns, and merge like all sums."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice as sf
from suffice.core.moments import Moments
from suffice.core.moments.indicators import all_numbers
from suffice.core.moments.schema_change import under_schema
from suffice.core.table import Table
from suffice.errors import FeatureMismatchError, SufficeWarning
from suffice.persistence.load import load


def frame(n, seed, levels=("a", "b", "c")):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": rng.normal(size=n) + 1e3,
            "c": rng.choice(levels, n),
            "z": rng.normal(size=n),
            "d": rng.choice(["u", "v", None], n),
        }
    ), rng.integers(0, 3, n)


def same(a, b, atol=1e-9):
    assert a.feature_names == b.feature_names
    np.testing.assert_allclose(a.weights, b.weights)
    np.testing.assert_allclose(a.means + a.means_low, b.means + b.means_low, atol=1e-12)
    np.testing.assert_allclose(a.scatter.values, b.scatter.values, atol=atol)


@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
@pytest.mark.parametrize("n", [60, 120_000])  # by dense products, and compiled
@pytest.mark.parametrize("weighted", [False, True])
def test_levels_are_summed_as_indicator_columns_are(storage, n, weighted):
    X, y = frame(n, 0)
    w = np.random.default_rng(1).integers(0, 3, n).astype(float) if weighted else None
    table = Table.of(X, y, w)
    found = Moments.of_table(table, storage=storage, fourth=False)
    dense = Moments.of_table(all_numbers(table), storage=storage, fourth=False)
    np.testing.assert_allclose(found.means + found.means_low, dense.means + dense.means_low)
    np.testing.assert_allclose(
        found.scatter.values, dense.scatter.values, rtol=1e-9, atol=1e-6
    )
    assert found.counts.tolist() == dense.counts.tolist()


@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
def test_categories_that_are_joined_have_the_sums_of_each_pair(storage):
    # joined two by two, or alone where they have too many levels; the last may be empty
    rng = np.random.default_rng(0)
    n = 60_000
    sizes = [8, 7, 30, 2, 2, 9, 40, 3]
    columns = {f"c{j}": rng.integers(0, size, n).astype("U") for j, size in enumerate(sizes)}
    X = pd.DataFrame({"x": rng.normal(size=n)} | columns)
    first_fifty = sf.Moments.of(X[:50], np.arange(50) % 3).schema
    table = Table.of(X, rng.integers(0, 3, n), schema=first_fifty)  # some levels are unknown
    assert (table.indicators < 0).any()
    found = Moments.of_table(table, storage=storage, fourth=False)
    dense = Moments.of_table(all_numbers(table), storage=storage, fourth=False)
    np.testing.assert_allclose(found.means + found.means_low, dense.means + dense.means_low)
    np.testing.assert_allclose(
        found.scatter.values, dense.scatter.values, rtol=1e-9, atol=1e-6
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 60), st.integers(1, 59), st.integers(0, 99))
def test_merging_and_forgetting_equal_one_pass(n, cut, seed):
    X, y = frame(n, seed)
    cut = min(cut, n - 1)
    every = {"classes": [0, 1, 2]}
    a, b = Moments.of(X[:cut], y[:cut], **every), Moments.of(X[cut:], y[cut:], **every)
    whole = Moments.of(X, y, **every)
    same(under_schema(a + b, whole.schema), whole)
    same(under_schema(b + a, whole.schema), whole)
    rest = (a + b) - a
    # levels of ``a`` alone stay, with no weight left
    levels = rest.means[:, rest.schema.n_numbers :]
    assert levels.min() >= -1e-9
    same(under_schema(b, rest.schema), rest, atol=1e-7)


def test_a_level_that_one_side_has_not_seen_is_zero_there():
    X, y = frame(50, 3, ("a", "b"))
    Z, z = frame(50, 4, ("b", "q"))
    both = Moments.of(X, y) + Moments.of(Z, z)
    same(both, Moments.of(pd.concat([X, Z]), np.r_[y, z]))


def test_more_than_forty_levels_are_capped_by_their_weight():
    y = np.arange(60) % 2
    parts = [
        Moments.of(pd.DataFrame({"c": [f"l{i + k:03}" for i in range(30)] * 2}), y)
        for k in (0, 20, 40)
    ]
    total = parts[0] + parts[1] + parts[2]
    category = total.schema.categories[0]
    assert category.other
    assert len(category.levels) == 39
    assert total.means.sum(1) == pytest.approx([1, 1])  # no row is lost
    assert total.counts.sum() == 180


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.integers(1, 1999), min_size=1, max_size=4, unique=True),
    st.randoms(),
    st.booleans(),
)
def test_a_level_that_is_kept_has_all_of_its_rows(edges, random, capped):
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, 61)
    levels = np.array([f"l{j:02}" for j in rng.choice(60, 2000, p=shares / shares.sum())])
    X, y = pd.DataFrame({"c": levels}), np.arange(2000) % 2
    cuts = [0, *sorted(edges), 2000] if capped else [*range(0, 2001, 100)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of levels that count together
        parts = [Moments.of(X[a:b], y[a:b]) for a, b in pairwise(cuts)]
    random.shuffle(parts)
    total = sum(parts)
    category = total.schema.categories[0]
    counts = dict(zip(category.level_names, total.weights @ total.means, strict=True))
    assert category.other
    assert len(category.levels) > 10
    assert [counts[c] for c in category.levels] == pytest.approx(
        [np.sum(levels == c) for c in category.levels]
    )
    assert sum(counts.values()) == pytest.approx(2000)


def test_fills_of_both_sides_become_one():
    X, y = frame(80, 5)
    X.loc[::7, "x"] = np.nan
    parts = [Moments.of(X[a:b], y[a:b], missing="indicator") for a, b in ((0, 30), (30, 80))]
    whole = Moments.of(X, y, missing="indicator")
    assert parts[0].schema.numbers[0].fill != parts[1].schema.numbers[0].fill
    same(under_schema(parts[0] + parts[1], whole.schema), whole)


@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("exponents", [None, (0.5, 1.5)])
def test_empty_cells_are_filled_by_the_mean_of_all_rows_however_they_were_divided(
    storage, weighted, exponents
):
    X, y = frame(80, 5)
    X["x"] -= 999
    X.loc[::7, "x"] = np.nan
    X.loc[:29, "z"] = np.nan  # a part that has no number of its own
    X.loc[50:, "z"] = np.where(y[50:] == 1, np.nan, X.z[50:])
    w = np.random.default_rng(1).integers(1, 4, 80) * 1.0 if weighted else np.ones(80)
    power = None if exponents is None else sf.PowerTransform(exponents)

    def sums(a, b):
        options = {"missing": "indicator", "storage": storage, "power": power, "fourth": False}
        return Moments.of(X[a:b], y[a:b], w[a:b] if weighted else None, **options)

    whole, first, last = sums(0, 80), sums(0, 30), sums(30, 80)
    for found in (first + last, last + first, sum([sums(0, 9), sums(9, 60), sums(60, 80)])):
        same(found, whole)
        assert found.schema.fills == pytest.approx(whole.schema.fills)
    values = X.x if power is None else power.apply(X[["x", "z"]].to_numpy())[:, 0]
    mean = np.average(values[X.x.notna()], weights=w[X.x.notna()])
    moved = power.inverse([[mean, 0.0]])[0, 0] if power else mean
    assert whole.schema.fills[0] == pytest.approx(moved)
    rest = whole - first
    assert rest.schema.fills == pytest.approx(last.schema.fills)
    np.testing.assert_allclose(rest.means, last.means, atol=1e-9)
    np.testing.assert_allclose(rest.scatter.values, last.scatter.values, atol=1e-7)


def test_numbers_and_categories_do_not_merge():
    X, y = frame(20, 6)
    with pytest.raises(FeatureMismatchError, match="one side has categories"):
        Moments.of(X, y) + Moments.of(X[["x", "z"]], y)


def test_a_file_keeps_the_schema(tmp_path):
    X, y = frame(20, 7)
    kept = Moments.of(X, y)
    kept.save(tmp_path / "m.moments")
    found = load(tmp_path / "m.moments")
    assert found.schema == kept.schema
    same(found, kept, atol=0)


def test_fourth_moments_are_those_of_indicator_columns():
    X, y = frame(60, 8)
    table = Table.of(X, y)
    found, dense = (
        Moments.of_table(table, fourth=True),
        Moments.of_table(all_numbers(table), fourth=True),
    )
    np.testing.assert_allclose(found.fourth.fourths, dense.fourth.fourths)
    same(found, dense)


@pytest.mark.parametrize("storage", ["per-class", "pooled", "diagonal"])
@pytest.mark.parametrize("holes", [False, True])
def test_levels_that_are_counted_together_have_the_sums_of_one_level(storage, holes):
    levels = np.array([f"{at:02d}" for at in range(58)])
    frames = [
        frame(200, seed, levels[some]) for seed, some in enumerate([slice(30), slice(25, 58)])
    ]
    for x, _ in frames:
        x.loc[::7, "z"] = np.nan if holes else 0.0
    fourth = storage == "per-class" and not holes
    parts = [Moments.of(x, y, storage=storage, fourth=fourth) for x, y in frames]
    total, whole = parts[0] + parts[1], pd.concat([x for x, _ in frames])
    kept = total.schema.categories[0].levels
    whole["c"] = whole["c"].where(whole["c"].isin(kept), "(other)")
    again = Moments.of(whole, np.concatenate([y for _, y in frames]), storage=storage)
    order = [again.feature_names.index(name) for name in total.feature_names]
    same(total.select(np.arange(total.n_features)), again.select(order))
    assert total.fourth is None  # fourth powers of a sum are not known


def test_features_are_told_apart_by_more_than_their_names():
    a = pd.DataFrame(
        {"a": ["b=c", "x", None, "(missing)"] * 5, "a=b": ["c", "y", "y", "y"] * 5}
    )
    b = pd.DataFrame(
        {"a": ["b=c", "q", None, "(missing)"] * 5, "a=b": ["c", "y", "z", "z"] * 5}
    )
    y = np.repeat([0, 1], 10)
    whole = Moments.of(pd.concat([a, b]), np.concatenate([y, y]))
    same(Moments.of(a, y) + Moments.of(b, y), whole)


def test_numbers_on_one_side_and_free_text_on_the_other_are_refused():
    y = np.arange(60) % 2
    numbers = pd.DataFrame({"n": np.where(y, np.nan, 1.0), "c": ["p", "q", "q"] * 20})
    texts = numbers.assign(n=[f"text {at}" for at in range(60)])
    a = Moments.of(numbers, y, missing="indicator")
    with pytest.warns(SufficeWarning, match="left out"):
        b = Moments.of(texts, y)
    for pair in ((a, b), (b, a)):
        with pytest.raises(FeatureMismatchError, match=r"column 'n' is a .*text.* convert it"):
            pair[0] + pair[1]
