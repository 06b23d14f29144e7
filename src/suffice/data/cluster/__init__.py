"""Sums and predictions that a Dask or Spark cluster computes.

The package may import ``frames`` and ``sums``.
"""
