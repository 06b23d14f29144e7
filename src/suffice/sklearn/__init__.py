"""scikit-learn's classifiers over this library's engine: change one import, keep the rest.

``from suffice.sklearn import LinearDiscriminantAnalysis`` in the place of ``from
sklearn.discriminant_analysis import …``: parameters, attributes and definitions are
scikit-learn's, sums and scores are ours. ``patch()`` does the same to code that cannot be edited.
"""

from suffice.sklearn.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.sklearn.logistic import LogisticRegression
from suffice.sklearn.naive_bayes import GaussianNB
from suffice.sklearn.patching import patch, unpatch

__all__ = [
    "GaussianNB",
    "LinearDiscriminantAnalysis",
    "LogisticRegression",
    "QuadraticDiscriminantAnalysis",
    "patch",
    "unpatch",
]
