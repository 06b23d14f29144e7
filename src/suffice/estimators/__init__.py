"""Classifiers in scikit-learn's contract; this package imports none, nor scikit-learn, itself."""
