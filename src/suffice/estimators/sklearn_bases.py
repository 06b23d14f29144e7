"""Base classes from scikit-learn, which has no types; ``sklearn_bases.pyi`` declares them."""

from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "RegressorMixin",
    "TransformerMixin",
]
