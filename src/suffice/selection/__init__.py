"""Evaluate models on held-out rows, and choose settings by their held-out losses.

The package imports ``core``, ``data`` and ``discriminative``, but no estimators.
"""
