"""Choice of settings by held-out rows: folds, cross-validation, leave-one-out, the search.

Works on the sums and models of ``core``. Imports ``data``, ``discriminative`` and ``core``, but no
estimators.
"""
