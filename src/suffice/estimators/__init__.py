"""Classifiers in scikit-learn's contract."""

from suffice.estimators.gaussian import GaussianClassifier
from suffice.estimators.presets import LDA, QDA, RDA, GaussianNB

__all__ = ["LDA", "QDA", "RDA", "GaussianClassifier", "GaussianNB"]
