"""Rows that a Dask or Spark cluster sums and scores. May import ``frames`` and ``sums``."""
