"""Choice of settings by held-out rows: folds, cross-validation, leave-one-out, the search.

The package works on the sums and models of ``core``. It imports ``data``, ``discriminative`` and
``core``, but no estimators.
"""
