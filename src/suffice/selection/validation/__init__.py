"""Evaluation of a classifier: splits, exact cross-validation and leave-one-out.

The package imports ``data`` and ``core``. Of estimators, it only reads the settings or calls
``fit``.
"""
