"""Which classifier to trust: comparisons, diagnostics, curves.

The package may import ``core``, ``persistence``, ``data``, ``discriminative``, ``selection`` and
``estimators``.
"""
