"""Classifiers with scikit-learn's parameters and attributes, computed by suffice.

Each class extends the class of scikit-learn with the same name. The package may also import
``core`` and ``discriminative``. Users import the classes from ``suffice.sklearn``.
"""
