"""Labelled tables, sums, estimates, models and decisions.

Rows become a ``Table``. A table becomes ``Moments``, the sums of each class. Moments and settings
become a model. A model and costs become a classifier. ``core`` imports NumPy, SciPy and Numba only:
other packages handle scikit-learn, data frames, files and figures.
"""
