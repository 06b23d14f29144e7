"""Competitors in their fair form: what others would tune is chosen from the training rows.

Of scikit-learn only what a model needs is imported, and only when it is fitted.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from suffice.typing import Floats, Labels

NUMBERS = np.array([1, 3, 5, 7, 9, 13, 19, 27, 39])  # of neighbours
PENALTIES = (1.0, 10.0)  # C of the support vector machine
N_FOLDS = 3


class ChosenNeighbours(ClassifierMixin, BaseEstimator):
    """Nearest neighbours, their number the one of least Brier score of leave-one-out votes."""

    def __init__(self, weights: str = "uniform") -> None:
        self.weights = weights

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the number of neighbours, and keep the rows."""
        from sklearn.neighbors import KNeighborsClassifier

        self.classes_, codes = np.unique(y, return_inverse=True)
        able = NUMBERS[len(codes) > NUMBERS]
        known = KNeighborsClassifier(int(able[-1]), weights=self.weights).fit(X, y)
        near = known.kneighbors(return_distance=False)  # of each row, itself left out
        votes = np.eye(len(self.classes_))[codes[near]].cumsum(1)
        truth = np.eye(len(self.classes_))[codes]
        briers = [np.square(votes[:, k - 1] / k - truth).sum() for k in able]
        self.neighbours_ = known.set_params(n_neighbors=int(able[np.argmin(briers)]))
        return self

    def predict(self, X: Any) -> Labels:
        """Return the class of most votes."""
        return np.asarray(self.neighbours_.predict(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return shares of votes."""
        return np.asarray(self.neighbours_.predict_proba(X))


class CalibratedSvm(ClassifierMixin, BaseEstimator):
    """RBF-SVM, its C and its probabilities by a logistic regression on held-out decisions."""

    def fit(self, X: Any, y: Any) -> Self:
        """Choose C by the log-loss of calibrated decisions of three folds."""
        from sklearn.svm import SVC

        self.classes_, codes = np.unique(y, return_inverse=True)
        tried = [self._calibrated(X, codes, c) for c in PENALTIES]
        _, c, self.link_ = min(tried, key=lambda each: each[0])
        self.machine_ = SVC(C=c).fit(X, codes)
        return self

    def predict(self, X: Any) -> Labels:
        """Return the most probable class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])

    def predict_proba(self, X: Any) -> Floats:
        """Return calibrated probabilities."""
        scores = self.machine_.decision_function(X)
        return np.asarray(self.link_.predict_proba(scores.reshape(len(scores), -1)))

    def _calibrated(self, X: Any, codes: Any, c: float) -> tuple[float, float, Any]:
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import StratifiedKFold, cross_val_predict
        from sklearn.svm import SVC

        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)  # rows may come in order
        how: Any = {"cv": folds, "method": "decision_function"}
        scores = cross_val_predict(SVC(C=c), X, codes, **how).reshape(len(codes), -1)
        link = LogisticRegression(max_iter=1000, tol=1e-3).fit(scores, codes)
        stated = link.predict_log_proba(scores)[np.arange(len(codes)), codes]
        return float(-stated.mean()), c, link
