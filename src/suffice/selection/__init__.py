"""Choosing settings by held-out rows: folds, cross-validation, leave-one-out, the search.

Works on sums and models of ``core``, and imports ``data``, ``discriminative`` and ``core``; it does
not import estimators.
"""
