"""Sums on a Dask cluster: one task a partition, merged by a fixed pairwise tree."""

from suffice.sources.dask.collections import DaskSource, is_dask, opened_collection
from suffice.sources.dask.files import ClusterFiles

__all__ = ["ClusterFiles", "DaskSource", "is_dask", "opened_collection"]
