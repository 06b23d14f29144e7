"""Which classifier to trust: comparisons, diagnostics, curves.

May import ``core``, ``persistence``, ``data``, ``discriminative``, ``selection`` and
``estimators``.
"""
