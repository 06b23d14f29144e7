"""Moments of rows as they are read, by group and with checkpoints.

The package may import ``rows``.
"""
