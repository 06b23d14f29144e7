"""Labelled tables, sums, estimates, models and decisions.

Rows become a ``Table``; a table becomes ``Moments``, the sums of each class; moments and settings
become a model; a model and costs become a classifier. ``core`` imports NumPy, SciPy and Numba
only: scikit-learn, data frames, files and figures are handled by other packages.
"""
