"""Trees: grown by the rules of their papers, as good as those of scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from tests.selection.search.test_learners import boxes

from suffice.core.table import Table
from suffice.selection.search.loops import grow
from suffice.selection.search.repeated_rows import distinct_table
from suffice.selection.search.tree_growing import (
    N_EDGES,
    bin_edges,
    grow_extra_trees,
    grow_random_forest,
)


def test_a_tree_grown_to_the_end_knows_every_row_and_leaves_have_their_size():
    x, y = boxes(300, 0)
    w = np.random.default_rng(0).uniform(0.5, 2, 300)
    table = Table.of(x, y, w)
    for least in (1, 3, 10):
        trees = grow_extra_trees(table, n_trees=5, min_leaf_rows=least, n_rows=300, seed=0)
        leaf = trees.left == np.arange(len(trees.left))
        np.testing.assert_allclose(trees.shares.sum(1), 1)
        for root in trees.roots:  # the root has the weight of each class
            np.testing.assert_allclose(trees.shares[root], table.class_weights / w.sum())
        for i in range(5):
            alone = replace(trees, roots=trees.roots[i : i + 1])
            node = np.full(300, trees.roots[i])
            while not leaf[node].all():
                lower = x[np.arange(300), trees.feature[node]]
                lower = lower <= trees.threshold[node]
                node = np.where(lower, trees.left[node], trees.right[node])
            assert np.unique(node, return_counts=True)[1].min() >= least
            np.testing.assert_allclose(alone.posterior(x), trees.shares[node])
            if least == 1:
                assert (alone.posterior(x).argmax(1) == y).all()
    trees = grow_extra_trees(table, n_trees=2, min_leaf_rows=1, n_rows=300, seed=0)
    assert trees.posterior(x[:0]).shape == (0, 2)


@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.parametrize("seed", range(5))
def test_a_random_forest_splits_where_the_impurity_of_the_parts_is_least(seed, least):
    rng = np.random.default_rng(seed)
    x = rng.choice(np.arange(30.0) ** 1.5, 60)[:, None]
    y, w = rng.integers(0, 3, 60), rng.uniform(0.5, 2, 60)
    columns = np.ascontiguousarray(x.T)
    rows, seeds = np.arange(60)[None], np.zeros(1, np.intp)
    _, _, feature, threshold, _ = grow(
        columns, bin_edges(columns, N_EDGES), y, w, rows, seeds, 3, least
    )

    def impurity(t):
        parts = [np.bincount(y[side], w[side], 3) for side in (x[:, 0] <= t, x[:, 0] > t)]
        return sum(part.sum() - (part**2).sum() / part.sum() for part in parts)

    values = np.unique(x)
    cuts = [t for t in values if least <= (x <= t).sum() <= 60 - least]
    best = min(cuts, key=impurity)
    assert feature[0] == 0
    assert best < threshold[0] < values[values > best].min()


def test_rows_that_are_alike_are_one_row_drawn_more_often(monkeypatch):
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 3, (200, 2)).astype(float), rng.integers(1, 3, 200).astype(float)
    table = Table.of(x, rng.integers(0, 2, 200), w)
    few, place = distinct_table(table)
    rows = np.column_stack([table.x, table.codes, w])
    np.testing.assert_array_equal(
        np.column_stack([few.x, few.codes, few.weights])[place], rows
    )
    assert few.n_rows == len(np.unique(rows, axis=0)) < 100
    apart = table.with_rows(rng.normal(size=x.shape))
    assert distinct_table(apart)[0] is apart
    options = {"n_trees": 9, "n_rows": 150, "seed": 0}
    kinds = [(grow_extra_trees, 1), (grow_random_forest, 2)]
    together = [grow_trees(table, min_leaf_rows=n, **options) for grow_trees, n in kinds]
    monkeypatch.setattr(
        "suffice.selection.search.tree_growing.distinct_table",
        lambda t: (t, np.arange(t.n_rows)),
    )
    for (grow_trees, n), trees in zip(kinds, together, strict=True):
        one_by_one = grow_trees(table, min_leaf_rows=n, **options)
        for name in ("roots", "left", "right", "feature", "threshold", "shares"):
            np.testing.assert_array_equal(getattr(trees, name), getattr(one_by_one, name))


@pytest.mark.parametrize(
    ("grow_trees", "theirs"),
    [
        (grow_extra_trees, ExtraTreesClassifier(100, random_state=0)),
        (grow_random_forest, RandomForestClassifier(100, max_features=0.5, random_state=0)),
    ],
)
def test_trees_are_as_good_as_those_of_scikit_learn(grow_trees, theirs):
    x, y = boxes(400, 0)
    new, truth = boxes(2000, 1)
    ours = grow_trees(
        Table.of(x, y), n_trees=100, min_leaf_rows=1, n_rows=400, seed=0
    ).posterior(new)
    theirs = theirs.fit(x, y).predict_proba(new)
    errors = [(p.argmax(1) != truth).mean() for p in (ours, theirs)]
    assert abs(errors[0] - errors[1]) < 0.02
    assert np.abs(ours - theirs).mean() < 0.05
