"""Which classifier to trust: comparisons, diagnostics, curves.

May import everything below: ``core``, ``persistence``, ``data``, ``discriminative``, ``selection``
and ``estimators``.
"""
