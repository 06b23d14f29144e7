"""Members of averages that have no density: trees, and models of rows whose gaps are filled."""

import sys

import numpy as np
import pytest

from suffice.core.model.linear import LinearModel
from suffice.core.model.predicted import FilledModel
from suffice.core.model.tree_loops import add_shares, add_values
from suffice.core.model.trees import BoostedTrees, Trees, reached_leaves
from suffice.core.model.views import city_blocks

# two trees: x₀ ≤ 1 ? leaf 1 : (x₁ ≤ −2 ? leaf 3 : leaf 4), and x₁ ≤ 0 ? leaf 6 : leaf 7
NODES = {
    "roots": np.array([0, 5]),
    "left": np.array([1, 1, 3, 3, 4, 6, 6, 7]),
    "right": np.array([2, 1, 4, 3, 4, 7, 6, 7]),
    "feature": np.array([0, 0, 1, 0, 0, 1, 0, 0]),
    "threshold": np.array([1.0, 0, -2.0, 0, 0, 0.0, 0, 0]),
}
SHARES = np.zeros((8, 3))
SHARES[[1, 3, 4, 6, 7]] = [
    [1, 0, 0],
    [0.2, 0.8, 0],
    [0, 0.5, 0.5],
    [0.5, 0.25, 0.25],
    [0, 0, 1],
]
FOREST = Trees(**NODES, shares=SHARES)
VALUE = np.array([0, 3.0, 0, -1.0, 0.5, 0, 2.0, -4.0])
BOOSTED = BoostedTrees(
    **NODES, value=VALUE, class_of_tree=np.array([2, 0]), baseline=np.array([0.1, 0.2, 0.3])
)
# on a threshold a row goes left
ROWS = np.array([[1.0, 0.0], [1.5, -2.0], [1.5, 1.0]])
LEAVES = [(1, 6), (3, 6), (4, 7)]


@pytest.fixture(params=["NumPy", "Numba"])
def way(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.delitem(sys.modules, "numba", raising=False)
    else:
        import numba  # noqa: F401


@pytest.mark.usefixtures("way")
def test_the_posterior_of_a_forest_is_the_mean_of_the_shares_of_its_leaves():
    expected = [(SHARES[a] + SHARES[b]) / 2 for a, b in LEAVES]
    np.testing.assert_allclose(FOREST.posterior(ROWS), expected, rtol=1e-15)


@pytest.mark.usefixtures("way")
def test_scores_of_boosted_trees_add_the_leaves_of_each_class():
    expected = [[0.1 + VALUE[b], 0.2, 0.3 + VALUE[a]] for a, b in LEAVES]
    np.testing.assert_allclose(BOOSTED.scores(ROWS), expected, rtol=1e-15)
    shares = np.exp(expected)
    shares /= shares.sum(1, keepdims=True)
    np.testing.assert_allclose(BOOSTED.posterior(ROWS), shares, rtol=1e-12)


@pytest.mark.parametrize("n_rows", [7, 8, 1037])
def test_compiled_descent_reaches_the_leaves_of_the_definition(n_rows):
    # 1,037 rows are a full block, and one of a full group and 5 rows
    rows = np.resize([[1.0, 0.0], [1.5, -2.0], [1.5, 1.0], [0.0, 3.0]], (n_rows, 2))
    leaves = reached_leaves(FOREST, rows)
    assert len(np.unique(leaves)) == 5
    shares = np.zeros((n_rows, 3))
    scores = np.tile(BOOSTED.baseline, (n_rows, 1))
    left, right, feature = FOREST._compact_nodes
    nodes = left, right, feature, FOREST.threshold
    add_shares(rows, FOREST.roots, *nodes, SHARES, shares)
    add_values(rows, BOOSTED.roots, BOOSTED.class_of_tree, *nodes, VALUE, scores)
    np.testing.assert_allclose(shares, SHARES[leaves].sum(1), rtol=1e-15)
    np.testing.assert_allclose(scores[:, 2], 0.3 + VALUE[leaves[:, 0]], rtol=1e-15)
    np.testing.assert_allclose(scores[:, 0], 0.1 + VALUE[leaves[:, 1]], rtol=1e-15)


def test_trees_count_splits_and_leaves():
    # 3 splits of a feature and a threshold, 5 leaves
    assert FOREST.n_classes == BOOSTED.n_classes == 3
    assert FOREST.n_parameters == 3 * 2 + 5 * 2
    assert BOOSTED.n_parameters == 3 * 2 + 5 + 2


@pytest.mark.parametrize("n_rows", [3, 3000])
def test_city_blocks_are_sums_of_absolute_differences(n_rows):
    rng = np.random.default_rng(0)
    rows, landmarks = rng.normal(size=(n_rows, 4)), rng.normal(size=(5, 4))
    expected = np.abs(rows[:, None] - landmarks).sum(2)
    np.testing.assert_allclose(city_blocks(rows, landmarks), expected, rtol=1e-13)


def test_gaps_are_filled_before_a_model_reads_the_rows():
    weights = np.array([[1.0, -2.0, 0.5], [0.3, 0.0, 2.0], [0.0, 1.0, -1.0]])
    inner = LinearModel.of(weights, [0.1, -0.2, 0.0])
    model = FilledModel(inner, np.array([7.0, -3.0]))  # the last column is an indicator
    rows = np.array([[np.nan, 1.0, np.nan], [2.0, np.nan, 1.0], [0.5, 1.5, 0.0]])
    filled = np.array([[7.0, 1.0, 0.0], [2.0, -3.0, 1.0], [0.5, 1.5, 0.0]])
    given = rows.copy()
    for verb in ("posterior", "log_posterior", "scores", "most_probable"):
        found = getattr(model, verb)(rows)
        np.testing.assert_array_equal(found, getattr(inner, verb)(filled))
    np.testing.assert_array_equal(rows, given)
    assert (model.n_classes, model.n_features) == (3, 3)
    assert model.has_posterior
    assert model.temperature == 1.0
    assert not model.has_density
    assert model.allowing_missing() is model
