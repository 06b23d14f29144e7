"""Compute moments of rows while they are read, also by group and with checkpoints.

The package may import ``rows``.
"""
