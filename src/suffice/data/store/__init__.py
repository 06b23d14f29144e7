"""Sums of partitions, stored separately; any selection of them gives a model in milliseconds.

The package may import ``summarize``.
"""

from suffice.data.store.store import MomentStore

__all__ = ["MomentStore"]
