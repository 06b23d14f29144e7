"""Comparisons of classifiers, diagnostics of models, and curves of error and calibration.

The package may import ``core``, ``persistence``, ``data``, ``discriminative``, ``selection`` and
``estimators``.
"""
