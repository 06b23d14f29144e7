"""A fitted forest: the class shares of the leaf that a row reaches, averaged over trees."""

import sys
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from suffice.typing import Array, Codes, Floats

_FEW_PATHS = 100_000  # rows × trees up to which NumPy is faster than loading the compiler
_LARGEST = 1.5e38  # differences of such numbers do not overflow in single precision

Singles = npt.NDArray[np.float32]
NodeNumbers = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Trees:
    """p(k | x) = mean over trees of the share of class k in the leaf of x."""

    roots: Codes  # first node of each tree  (T,)
    left: Codes  # where x_j ≤ t leads; the node itself where it is a leaf  (N,)
    right: Codes  # (N,)
    feature: Codes  # j  (N,)
    threshold: Floats  # t  (N,)
    shares: Floats  # of the classes  (N, K)

    @property
    def n_classes(self) -> int:
        return int(self.shares.shape[1])

    @property
    def n_parameters(self) -> int:
        """A feature and a threshold at each split, K − 1 probabilities at each leaf."""
        n_nodes = len(self.left)
        n_splits = np.count_nonzero(self.left != np.arange(n_nodes))
        n_leaves = n_nodes - n_splits
        return int(2 * n_splits + n_leaves * (self.n_classes - 1))

    def posterior(self, x: Array) -> Floats:
        """Return p(k | x), shape (n, K)."""
        rows = single_precision(x)
        if len(rows) * len(self.roots) < _FEW_PATHS and "numba" not in sys.modules:
            return np.asarray(self.shares[self._leaves(rows)].mean(1))
        from suffice.core.model.tree_loops import add_leaves

        left, right, feature, threshold = self._compact_nodes
        total = np.zeros((len(rows), self.n_classes))
        add_leaves(rows, self.roots, left, right, feature, threshold, self.shares, total)
        return total / len(self.roots)

    @cached_property
    def _compact_nodes(self) -> tuple[NodeNumbers, NodeNumbers, NodeNumbers, Singles]:
        """Left, right, feature and threshold in 32 bits: more nodes fit in the cache."""
        return (
            self.left.astype(np.int32),
            self.right.astype(np.int32),
            self.feature.astype(np.int32),
            self.threshold.astype(np.float32),
        )

    def _leaves(self, rows: Singles) -> Codes:
        """Return the leaf of each row in each tree, (n, T)."""
        node = np.tile(self.roots, (len(rows), 1))
        row = np.arange(len(rows))[:, None]
        while True:
            goes_left = rows[row, self.feature[node]] <= self.threshold[node]
            child = np.where(goes_left, self.left[node], self.right[node])
            if np.array_equal(child, node):
                return node
            node = child


def single_precision(x: Array) -> Singles:
    """Return rows as float32, in row order; numbers too large for it are clipped."""
    return np.clip(x, -_LARGEST, _LARGEST).astype(np.float32, order="C")
