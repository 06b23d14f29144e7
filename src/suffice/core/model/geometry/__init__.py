"""Boundaries between classes: their equations, curves, and distances to points.

The modules import NumPy, the models of ``core.model``, and ``core.linalg``, ``core.table`` and
``core.text``.
"""
