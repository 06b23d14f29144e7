"""Sums on a Dask cluster: one task a partition, merged by a fixed pairwise tree."""

from suffice.sources.dask.partitions import ClusterFiles, DaskSource, is_dask, opened_collection

__all__ = ["ClusterFiles", "DaskSource", "is_dask", "opened_collection"]
