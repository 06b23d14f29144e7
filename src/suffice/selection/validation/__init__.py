"""How good a classifier is: splits, exact cross-validation and leave-one-out.

Imports ``data`` and ``core``. Estimators are only asked for their settings, or fitted again.
"""
