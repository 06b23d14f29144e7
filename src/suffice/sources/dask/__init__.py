"""Sums on a Dask cluster: one task a partition, merged by a fixed pairwise tree."""

from suffice.sources.dask.sources import ClusterFiles, DaskSource, is_dask, opened_collection

__all__ = ["ClusterFiles", "DaskSource", "is_dask", "opened_collection"]
