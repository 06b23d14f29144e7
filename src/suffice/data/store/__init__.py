"""A store of sums by partition; any selection of partitions gives a model in milliseconds.

The package may import ``summarize``.
"""

from suffice.data.store.store import MomentStore

__all__ = ["MomentStore"]
