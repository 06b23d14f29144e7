"""Trees grown on a table: extremely randomised ones, or a random forest."""

import numpy as np

from suffice.core.model.trees import Singles, Trees, single_precision
from suffice.core.table import Table
from suffice.selection.search.repeated_rows import distinct_table
from suffice.typing import Array

N_EDGES = 63  # between bins of equally many rows, where a random forest splits
_NO_EDGES: Singles = np.zeros((0, 0), np.float32)


def grow_extra_trees(
    table: Table,
    *,
    n_trees: int,
    min_leaf_rows: int,
    n_rows: int,
    seed: int,
) -> Trees:
    """Return trees of random splits, each grown on ``n_rows`` different rows."""
    rng = np.random.default_rng(seed)
    seeds = rng.integers(1 << 31, size=n_trees)
    if n_rows < table.n_rows:
        rows = np.stack([rng.permutation(table.n_rows)[:n_rows] for _ in seeds])
    else:
        rows = np.arange(table.n_rows)[None]  # the same for all trees
    return _grow(table, rows, seeds, _NO_EDGES, min_leaf_rows)


def grow_random_forest(
    table: Table,
    *,
    n_trees: int,
    min_leaf_rows: int,
    n_rows: int,
    seed: int,
) -> Trees:
    """Return trees of best splits, each grown on ``n_rows`` rows drawn with replacement."""
    rng = np.random.default_rng(seed)
    seeds = rng.integers(1 << 31, size=n_trees)
    rows = rng.integers(table.n_rows, size=(n_trees, n_rows))
    edges = bin_edges(single_precision(table.x.T))
    return _grow(table, rows, seeds, edges, min_leaf_rows)


def _grow(
    table: Table,
    rows: Array,
    seeds: Array,
    edges: Singles,
    min_leaf_rows: int,
) -> Trees:
    from suffice.selection.search.loops import grow  # Numba takes long to import

    distinct, place = distinct_table(table)
    roots, children, feature, threshold, class_weights = grow(
        single_precision(distinct.x.T),
        edges,
        distinct.codes,
        distinct.weights,
        place[rows],
        seeds,
        table.n_classes,
        min_leaf_rows,
    )
    return Trees(
        roots=roots,
        left=children[:, 0],
        right=children[:, 1],
        feature=feature,
        threshold=threshold,
        shares=class_weights / class_weights.sum(1, keepdims=True),
    )


def bin_edges(columns: Singles) -> Singles:
    """Return the edges between bins of about equally many rows of each of the columns (d, n).

    Infinities follow the last edge, shape (d, N_EDGES).
    """
    edges = np.full((len(columns), N_EDGES), np.inf, np.float32)
    for j, values in enumerate(np.sort(columns, axis=1)):
        is_last_of_its_value = np.append(values[:-1] < values[1:], True)
        distinct = values[is_last_of_its_value]
        lower = distinct[:-1]  # the largest value below each edge
        if len(lower) > N_EDGES:
            quantiles = np.arange(1, N_EDGES + 1) * len(values) // (N_EDGES + 1)
            lower = np.unique(values[quantiles])
            lower = lower[lower < distinct[-1]]
        upper = distinct[np.searchsorted(distinct, lower) + 1]
        edges[j, : len(lower)] = (lower + upper) / 2
    return edges
