"""Labelled tables, sums, estimates, models and decisions.

Rows become a ``Table``; a table becomes ``Moments``, the sums of each class; moments and settings
become a model; a model and costs become a classifier. Nothing here knows scikit-learn, frames,
files or figures: ``core`` imports NumPy, SciPy and Numba only.
"""
