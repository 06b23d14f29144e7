"""Compiled descent of rows through fitted trees."""

import numpy as np
import numpy.typing as npt

from suffice.core.compiled import njit
from suffice.typing import Codes, Floats

NodeNumbers = npt.NDArray[np.int32]

_BLOCK = 1024  # rows per block, which stays in the cache


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
    """Add the shares of the leaf that each row reaches from each root."""
    for first in range(0, len(x), _BLOCK):
        for root in roots:
            for i in range(first, min(first + _BLOCK, len(x))):
                leaf = _leaf(x[i], left, right, feature, threshold, root)
                for k in range(shares.shape[1]):
                    out[i, k] += shares[leaf, k]


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
    """Add the value of the leaf that each row reaches to the score of the class of the tree."""
    for first in range(0, len(x), _BLOCK):
        for tree in range(len(roots)):
            k = class_of_tree[tree]
            for i in range(first, min(first + _BLOCK, len(x))):
                leaf = _leaf(x[i], left, right, feature, threshold, roots[tree])
                out[i, k] += value[leaf]


@njit(nogil=True, inline="always")
def _leaf(
    row: Floats,
    left: NodeNumbers,
    right: NodeNumbers,
    feature: NodeNumbers,
    threshold: Floats,
    root: int,
) -> int:
    node = root
    while left[node] != node:
        if row[feature[node]] <= threshold[node]:
            node = left[node]
        else:
            node = right[node]
    return node
