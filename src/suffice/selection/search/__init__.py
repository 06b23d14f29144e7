"""The search of the automatic classifiers, and of settings that are "auto".

The search fits views of the rows, trees and other models, evaluates them by exact cross-validation,
and averages the best. The package imports ``selection.validation``, ``discriminative`` and
``core``, but no estimators.
"""
