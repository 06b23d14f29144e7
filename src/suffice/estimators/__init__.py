"""Classifiers that follow scikit-learn's contract; import each from its own module."""
