"""Compiled descent of rows through fitted trees."""

from suffice.core.compiled import njit
from suffice.typing import Codes, Floats

_BLOCK = 1024  # rows that stay in the cache


@njit(nogil=True)
def add_leaves(
    x: Floats,
    roots: Codes,
    left: Codes,
    right: Codes,
    feature: Codes,
    threshold: Floats,
    shares: Floats,
    out: Floats,
) -> None:
    """Add the shares of the leaf that each row reaches from each root."""
    for first in range(0, len(x), _BLOCK):
        for root in roots:
            for i in range(first, min(first + _BLOCK, len(x))):
                node = root
                while left[node] != node:
                    if x[i, feature[node]] <= threshold[node]:
                        node = left[node]
                    else:
                        node = right[node]
                for k in range(shares.shape[1]):
                    out[i, k] += shares[node, k]
