"""Evaluate a classifier by splits, exact cross-validation or leave-one-out.

The package imports ``data`` and ``core``. It uses only the settings and ``fit`` of estimators.
"""
