"""The search of the automatic classifiers, and of settings that are left "auto".

It fits views and trees, evaluates them by exact cross-validation, and averages them. Imports
``selection.validation``, ``discriminative`` and ``core``, but no estimator.
"""
