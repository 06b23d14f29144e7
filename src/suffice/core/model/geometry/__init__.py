"""Boundaries between classes: their equations, curves, and distances to points.

The modules import NumPy, ``core.linalg``, ``core.table``, ``core.text`` and the models of
``core.model``.
"""
