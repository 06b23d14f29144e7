"""Drop-in classes: scikit-learn's names, parameters and definitions, computed by suffice.

Change one import and keep the rest of the program. ``patch()`` replaces scikit-learn's own
classes in code that cannot be edited.
"""

from suffice.estimators.dropin.gaussian import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from suffice.estimators.dropin.logistic import LogisticRegression
from suffice.estimators.dropin.patch import patch, unpatch

__all__ = [
    "GaussianNB",
    "LinearDiscriminantAnalysis",
    "LogisticRegression",
    "QuadraticDiscriminantAnalysis",
    "patch",
    "unpatch",
]
