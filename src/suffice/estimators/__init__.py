"""Classifiers in scikit-learn's contract.

Import each from its own module, or from ``suffice``: this package imports none, so that a saved
model can be read without scikit-learn.
"""
