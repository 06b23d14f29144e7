"""The sums of partitions, kept apart: any set of them is a model in milliseconds.

May import ``summarize``.
"""

from suffice.data.store.store import MomentStore

__all__ = ["MomentStore"]
