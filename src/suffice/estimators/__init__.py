"""Classifiers in scikit-learn's contract."""

from suffice.estimators.gaussian import GaussianClassifier
from suffice.estimators.presets import LDA, QDA, GaussianNB

__all__ = ["LDA", "QDA", "GaussianClassifier", "GaussianNB"]
