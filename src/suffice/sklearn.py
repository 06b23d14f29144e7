"""Drop-in classes: scikit-learn's names, parameters and definitions, computed by suffice.

Change one import and keep the rest of the program. ``patch()`` replaces scikit-learn's own classes
in code that cannot be edited. ``TableEncoder`` turns a table with categories and missing values
into numbers, for scikit-learn classifiers that accept only numbers.

>>> from suffice.sklearn import GaussianNB
>>> GaussianNB().fit([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"]).predict([[2.0]]).tolist()
['a']
"""

from suffice.estimators.dropin.counts import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    MultinomialNB,
)
from suffice.estimators.dropin.gaussian import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from suffice.estimators.dropin.logistic import LogisticRegression
from suffice.estimators.dropin.patch import patch, unpatch
from suffice.estimators.encoder import TableEncoder

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "LinearDiscriminantAnalysis",
    "LogisticRegression",
    "MultinomialNB",
    "QuadraticDiscriminantAnalysis",
    "TableEncoder",
    "patch",
    "unpatch",
]
