"""Compared models that tune themselves: nearest neighbours, an SVM, boosting libraries."""

from importlib.util import find_spec
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from suffice.core.text.lists import counted, quote
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Floats, Labels, LabelsLike, RowsLike, WeightsLike

NUMBERS_OF_NEIGHBOURS = np.array([1, 3, 5, 7, 9, 13, 19, 27, 39])
PENALTIES = (1.0, 10.0)  # candidates for C of the support vector machine
N_CALIBRATION_FOLDS = 3
BoostingLibrary: TypeAlias = Literal["LightGBM", "XGBoost", "CatBoost"]
# CatBoost's default of 1,000 trees would take longer than all other models together
N_CATBOOST_TREES = 300


# The classes import slow parts of scikit-learn only when they are fitted.
class ChosenNeighbours(ClassifierMixin, BaseEstimator):
    """Nearest neighbours, with the number k of the lowest leave-one-out Brier score."""

    def __init__(self, weights: str = "uniform") -> None:
        self.weights = weights

    def fit(self, X: RowsLike, y: LabelsLike) -> Self:
        from sklearn.neighbors import KNeighborsClassifier

        self.classes_, codes = np.unique(y, return_inverse=True)
        numbers = NUMBERS_OF_NEIGHBOURS[len(codes) > NUMBERS_OF_NEIGHBOURS]
        neighbours = KNeighborsClassifier(int(numbers[-1]), weights=self.weights).fit(X, y)
        nearest = neighbours.kneighbors(return_distance=False)  # without the row itself
        truth = np.eye(len(self.classes_))[codes]
        votes = truth[nearest].cumsum(1)
        briers = [np.square(votes[:, k - 1] / k - truth).sum() for k in numbers]
        best = int(numbers[np.argmin(briers)])
        self.neighbours_ = neighbours.set_params(n_neighbors=best)
        return self

    def predict(self, X: RowsLike) -> Labels:
        return np.asarray(self.neighbours_.predict(X))

    def predict_proba(self, X: RowsLike) -> Floats:
        return np.asarray(self.neighbours_.predict_proba(X))


class CalibratedSvm(ClassifierMixin, BaseEstimator):
    """RBF-SVM with calibrated posteriors, and with the C of the lowest log-loss.

    A logistic regression, fitted to held-out decision values of three folds, turns decision values
    into posteriors.
    """

    def fit(self, X: RowsLike, y: LabelsLike) -> Self:
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import SVC

        self.classes_, codes = np.unique(y, return_inverse=True)
        _require_rows_to_calibrate(self.classes_, np.bincount(codes))
        # shuffled, because rows may be sorted by class
        folds = StratifiedKFold(N_CALIBRATION_FOLDS, shuffle=True, random_state=0)
        least = np.inf
        for c in PENALTIES:
            machine = SVC(C=c)
            decisions = cross_val_predict(
                machine, X, codes, cv=folds, method="decision_function"
            )
            decisions = decisions.reshape(len(codes), -1)
            link = LogisticRegression(max_iter=1000, tol=1e-3).fit(decisions, codes)
            log_posteriors = link.predict_log_proba(decisions)
            log_loss = -log_posteriors[np.arange(len(codes)), codes].mean()
            if log_loss < least:
                least = log_loss
                self.link_ = link
                self.machine_ = machine
        self.machine_.fit(X, codes)
        return self

    def predict(self, X: RowsLike) -> Labels:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])

    def predict_proba(self, X: RowsLike) -> Floats:
        decisions = self.machine_.decision_function(X)
        return np.asarray(self.link_.predict_proba(decisions.reshape(len(decisions), -1)))


def _require_rows_to_calibrate(classes: Labels, counts: Codes) -> None:
    rarest = int(counts.argmin())
    if counts[rarest] >= 2 and counts.max() >= N_CALIBRATION_FOLDS:
        return
    raise InvalidInputError(
        f"the calibration of the RBF-SVM divides the training rows into {N_CALIBRATION_FOLDS} "
        f"folds. It needs at least 2 rows of every class and {N_CALIBRATION_FOLDS} rows of one "
        f"class, but class {quote(classes[rarest])} has {counted(int(counts[rarest]), 'row')}"
    )


class LibraryBoosting(ClassifierMixin, BaseEstimator):
    """Gradient boosting of another library, with its defaults, one thread and a fixed seed."""

    def __init__(
        self, library: BoostingLibrary = "LightGBM", random_state: int | None = 0
    ) -> None:
        self.library = library
        self.random_state = random_state

    def fit(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.booster_ = self._booster()
        self.booster_.fit(np.asarray(X, np.float64), codes, sample_weight=sample_weight)
        return self

    def _booster(self) -> Any:
        if not is_installed(self.library):
            raise InvalidParameterError(
                f"{self.library} is not installed: pip install {self.library.lower()}"
            )
        if self.library == "LightGBM":
            from lightgbm import LGBMClassifier

            return LGBMClassifier(
                n_jobs=1, random_state=self.random_state, deterministic=True, verbose=-1
            )
        if self.library == "XGBoost":
            from xgboost import XGBClassifier

            return XGBClassifier(n_jobs=1, random_state=self.random_state)
        from catboost import CatBoostClassifier

        return CatBoostClassifier(
            iterations=N_CATBOOST_TREES,
            thread_count=1,
            random_seed=self.random_state,
            verbose=0,
            allow_writing_files=False,
        )

    def predict(self, X: RowsLike) -> Labels:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])

    def predict_proba(self, X: RowsLike) -> Floats:
        posteriors = self.booster_.predict_proba(np.asarray(X, np.float64))
        return np.asarray(posteriors, np.float64)


def is_installed(library: BoostingLibrary) -> bool:
    """Whether a boosting library can be imported."""
    return find_spec(library.lower()) is not None
