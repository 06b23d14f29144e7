"""Grow extremely randomised trees, or a random forest, on a table."""

import numpy as np

from suffice.core.model.trees import Trees
from suffice.core.table import Table
from suffice.selection.search.repeated_rows import distinct_table
from suffice.typing import Array, Floats

N_EDGES = 63  # number of split points per feature in a random forest, which are quantiles
_LARGEST = 8e307  # differences of numbers up to this size do not overflow
_NO_EDGES: Floats = np.zeros((0, 0))


def grow_extra_trees(
    table: Table,
    *,
    n_trees: int,
    min_leaf_rows: int,
    n_rows: int,
    seed: int,
) -> Trees:
    """Return trees with random splits, each grown on ``n_rows`` distinct rows."""
    rng = np.random.default_rng(seed)
    seeds = rng.integers(1 << 31, size=n_trees)
    if n_rows < table.n_rows:
        rows = np.stack([rng.permutation(table.n_rows)[:n_rows] for _ in seeds])
    else:
        rows = np.arange(table.n_rows)[None]  # all trees use the same rows
    return _grow(table, rows, seeds, _NO_EDGES, min_leaf_rows)


def grow_random_forest(
    table: Table,
    *,
    n_trees: int,
    min_leaf_rows: int,
    n_rows: int,
    seed: int,
) -> Trees:
    """Return trees with best splits, each grown on ``n_rows`` rows drawn with replacement."""
    rng = np.random.default_rng(seed)
    seeds = rng.integers(1 << 31, size=n_trees)
    rows = rng.integers(table.n_rows, size=(n_trees, n_rows))
    edges = bin_edges(bounded_columns(table.x), N_EDGES)
    return _grow(table, rows, seeds, edges, min_leaf_rows)


def _grow(
    table: Table,
    rows: Array,
    seeds: Array,
    edges: Floats,
    min_leaf_rows: int,
) -> Trees:
    from suffice.selection.search.loops import grow  # Numba is slow to import

    distinct, place = distinct_table(table)
    roots, children, feature, threshold, class_weights = grow(
        bounded_columns(distinct.x),
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


def bounded_columns(x: Array) -> Floats:
    """Return the transposed rows (d, n), with huge numbers clipped to avoid overflow."""
    return np.ascontiguousarray(np.clip(x, -_LARGEST, _LARGEST).T, np.float64)


def bin_edges(columns: Floats, n_edges: int) -> Floats:
    """Return edges (d, n_edges) that divide columns (d, n) into bins with about equal counts.

    Columns with fewer edges are filled up with infinities.
    """
    edges = np.full((len(columns), n_edges), np.inf)
    for j, values in enumerate(np.sort(columns, axis=1)):
        is_last_of_its_value = np.append(values[:-1] < values[1:], True)
        distinct = values[is_last_of_its_value]
        lower = distinct[:-1]  # largest value below each edge
        if len(lower) > n_edges:
            quantiles = np.arange(1, n_edges + 1) * len(values) // (n_edges + 1)
            lower = np.unique(values[quantiles])
            lower = lower[lower < distinct[-1]]
        upper = distinct[np.searchsorted(distinct, lower) + 1]
        middle = (lower + upper) / 2
        # rounding may move the middle of two adjacent numbers to the larger number
        edges[j, : len(lower)] = np.where(middle < upper, middle, lower)
    return edges
