"""Rows that a Dask or Spark cluster sums and scores.

The package may import ``frames`` and ``sums``.
"""
