"""Compiled descent of rows through fitted trees."""

from suffice.core.compiled import njit
from suffice.typing import Array, Codes, Floats

_BLOCK = 1024  # rows that stay in the cache


@njit(nogil=True)
def add_shares(
    x: Floats,
    roots: Codes,
    nodes: Array,
    shares: Floats,
    out: Floats,
) -> None:
    """Add the shares of the leaf that each row reaches from each root."""
    for first in range(0, len(x), _BLOCK):
        for root in roots:
            for i in range(first, min(first + _BLOCK, len(x))):
                leaf = _leaf(x[i], nodes, root)
                for k in range(shares.shape[1]):
                    out[i, k] += shares[leaf, k]


@njit(nogil=True)
def add_values(
    x: Floats,
    roots: Codes,
    class_of_tree: Codes,
    nodes: Array,
    value: Floats,
    out: Floats,
) -> None:
    """Add the value of the leaf that each row reaches to the score of the class of the tree."""
    for first in range(0, len(x), _BLOCK):
        for tree in range(len(roots)):
            k = class_of_tree[tree]
            for i in range(first, min(first + _BLOCK, len(x))):
                out[i, k] += value[_leaf(x[i], nodes, roots[tree])]


@njit(nogil=True, inline="always")
def _leaf(row: Floats, nodes: Array, root: int) -> int:
    node = root
    while True:
        record = nodes[node]
        if row[record.feature] <= record.threshold:
            child = record.left
        else:
            child = record.right
        if child == node:
            return node
        node = child
