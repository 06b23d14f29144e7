"""The search of the automatic classifiers, and of settings that an estimator leaves open.

Views and trees are fitted here, evaluated by exact cross-validation, and averaged. Imports
``selection.validation``, ``discriminative`` and ``core``; knows no estimator.
"""
