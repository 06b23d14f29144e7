"""Fitted trees: forests, whose leaves hold class shares, and boosted trees, which add scores."""

import sys
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from suffice.core.model.posterior import Posterior
from suffice.typing import Array, Codes, Floats

# if rows × trees is at most this, NumPy is faster than loading the compiled loops
_FEW_PATHS = 100_000

NodeNumbers = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Trees:
    """p(k | x) = mean over trees of the share of class k in the leaf of x."""

    roots: Codes  # first node of each tree  (T,)
    left: Codes  # next node if x_j ≤ t; for a leaf, the leaf itself  (N,)
    right: Codes  # (N,)
    feature: Codes  # j  (N,)
    threshold: Floats  # t  (N,)
    shares: Floats  # share of each class in the node  (N, K)

    @property
    def n_classes(self) -> int:
        return int(self.shares.shape[1])

    @property
    def n_parameters(self) -> int:
        """Number of parameters: two for each split, and K − 1 probabilities for each leaf."""
        n_splits, n_leaves = _splits_and_leaves(self.left)
        return 2 * n_splits + n_leaves * (self.n_classes - 1)

    def posterior(self, x: Array) -> Floats:
        """Return p(k | x), shape (n, K)."""
        rows = np.ascontiguousarray(x, np.float64)
        if _is_small(rows, self.roots):
            return np.asarray(self.shares[reached_leaves(self, rows)].mean(1))
        from suffice.core.model.tree_loops import add_shares

        total = np.zeros((len(rows), self.n_classes))
        left, right, feature = self._compact_nodes
        threshold = self.threshold
        add_shares(rows, self.roots, left, right, feature, threshold, self.shares, total)
        return total / len(self.roots)

    @cached_property
    def _compact_nodes(self) -> tuple[NodeNumbers, NodeNumbers, NodeNumbers]:
        return _compact(self)


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """p(k | x) ∝ exp(b_k + Σ v(leaf of x)), where the sum is over the trees of class k."""

    roots: Codes  # first node of each tree  (T,)
    left: Codes  # next node if x_j ≤ t; for a leaf, the leaf itself  (N,)
    right: Codes  # (N,)
    feature: Codes  # j  (N,)
    threshold: Floats  # t  (N,)
    value: Floats  # v  (N,)
    class_of_tree: Codes  # k  (T,)
    baseline: Floats  # b  (K,)

    @property
    def n_classes(self) -> int:
        return len(self.baseline)

    @property
    def n_parameters(self) -> int:
        """Number of parameters: two for each split, one for each leaf, and K − 1 scores."""
        n_splits, n_leaves = _splits_and_leaves(self.left)
        return 2 * n_splits + n_leaves + self.n_classes - 1

    def scores(self, x: Array) -> Floats:
        """Return b_k + Σ v(leaf of x), shape (n, K)."""
        rows = np.ascontiguousarray(x, np.float64)
        scores = np.tile(self.baseline, (len(rows), 1))
        if _is_small(rows, self.roots):
            values = self.value[reached_leaves(self, rows)]  # (n, T)
            for k in range(self.n_classes):
                scores[:, k] += values[:, self.class_of_tree == k].sum(1)
            return scores
        from suffice.core.model.tree_loops import add_values

        left, right, feature = self._compact_nodes
        add_values(
            rows,
            self.roots,
            self.class_of_tree,
            left,
            right,
            feature,
            self.threshold,
            self.value,
            scores,
        )
        return scores

    def posterior(self, x: Array) -> Floats:
        """Return p(k | x), shape (n, K)."""
        return Posterior(1.0).read(self.scores(x))

    @cached_property
    def _compact_nodes(self) -> tuple[NodeNumbers, NodeNumbers, NodeNumbers]:
        return _compact(self)


def reached_leaves(trees: Trees | BoostedTrees, rows: Floats) -> Codes:
    """Return the leaf of each row in each tree, (n, T)."""
    node = np.tile(trees.roots, (len(rows), 1))
    row = np.arange(len(rows))[:, None]
    while True:
        goes_left = rows[row, trees.feature[node]] <= trees.threshold[node]
        child = np.where(goes_left, trees.left[node], trees.right[node])
        if np.array_equal(child, node):
            return node
        node = child


def _is_small(rows: Floats, roots: Codes) -> bool:
    return len(rows) * len(roots) < _FEW_PATHS and "numba" not in sys.modules


def _splits_and_leaves(left: Codes) -> tuple[int, int]:
    n_splits = int(np.count_nonzero(left != np.arange(len(left))))
    return n_splits, len(left) - n_splits


def _compact(trees: Trees | BoostedTrees) -> tuple[NodeNumbers, NodeNumbers, NodeNumbers]:
    """Return left, right and feature as 32-bit integers, so that more nodes fit in the cache."""
    return (
        trees.left.astype(np.int32),
        trees.right.astype(np.int32),
        trees.feature.astype(np.int32),
    )
