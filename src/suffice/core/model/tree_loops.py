"""Compiled loops in which rows descend through fitted trees.

Eight rows descend at once: while one row waits for numbers from memory, the processor takes the
steps of the other rows.
"""

import numpy as np
import numpy.typing as npt

from suffice.core.compiled import njit
from suffice.typing import Codes, Floats

NodeNumbers = npt.NDArray[np.int32]

_BLOCK = 1024  # rows of a block, so few that the block stays in the cache
_GROUP = 8  # rows that descend at once


@njit(nogil=True)
def add_shares(
    x: Floats,
    roots: Codes,
    left: NodeNumbers,
    right: NodeNumbers,
    feature: NodeNumbers,
    threshold: Floats,
    shares: Floats,
    out: Floats,
) -> None:
    """Add the class shares of the leaf that each row reaches in each tree to ``out`` (n, K)."""
    leaves = np.empty(_GROUP, np.int32)
    for first in range(0, len(x), _BLOCK):
        stop = min(first + _BLOCK, len(x))
        for root in roots:
            for start in range(first, stop, _GROUP):
                rows = x[start : min(start + _GROUP, stop)]
                _descend(rows, left, right, feature, threshold, root, leaves)
                for i in range(len(rows)):
                    for k in range(shares.shape[1]):
                        out[start + i, k] += shares[leaves[i], k]


@njit(nogil=True)
def add_values(
    x: Floats,
    roots: Codes,
    class_of_tree: Codes,
    left: NodeNumbers,
    right: NodeNumbers,
    feature: NodeNumbers,
    threshold: Floats,
    value: Floats,
    out: Floats,
) -> None:
    """Add the value of each row's leaf in each tree to the score of the tree's class."""
    leaves = np.empty(_GROUP, np.int32)
    for first in range(0, len(x), _BLOCK):
        stop = min(first + _BLOCK, len(x))
        for tree in range(len(roots)):
            k = class_of_tree[tree]
            for start in range(first, stop, _GROUP):
                rows = x[start : min(start + _GROUP, stop)]
                _descend(rows, left, right, feature, threshold, roots[tree], leaves)
                for i in range(len(rows)):
                    out[start + i, k] += value[leaves[i]]


@njit(nogil=True, inline="always")
def _descend(
    rows: Floats,
    left: NodeNumbers,
    right: NodeNumbers,
    feature: NodeNumbers,
    threshold: Floats,
    root: int,
    leaves: NodeNumbers,
) -> None:
    """Write the leaf that each of at most ``_GROUP`` rows reaches from the root."""
    leaves[:] = root
    # the number of rows is constant here, so that the compiler unrolls the loop
    if len(rows) == _GROUP:
        moves = True
        while moves:
            moves = False
            for i in range(_GROUP):
                node = leaves[i]
                below = left[node]
                above = right[node]
                child = below if rows[i, feature[node]] <= threshold[node] else above
                moves |= child != node
                leaves[i] = child
    else:
        for i in range(len(rows)):
            node = leaves[i]
            while left[node] != node:
                is_below = rows[i, feature[node]] <= threshold[node]
                node = left[node] if is_below else right[node]
            leaves[i] = node
