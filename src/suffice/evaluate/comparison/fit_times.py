"""Estimated fitting times, which decide what default models are compared."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from suffice.core.moments.collect import smallest_storage
from suffice.discriminative.problem import WIDEST_HESSIAN
from suffice.evaluate.comparison.models import ComparedModel

MOST_SECONDS = 12.0  # time limit for all fits of one default model
# higher limits for models that every comparison should include
LONGER_SECONDS = {"logistic regression": 60.0}


class FitSize(NamedTuple):
    """The size of a table that a model is fitted to."""

    rows: int
    columns: int  # columns after encoding
    classes: int
    # Number of numeric columns if any value is missing, else 0. EM then estimates all of them.
    n_incomplete: int = 0

    @property
    def keeps_rows(self) -> bool:
        """Whether Gaussian models use inner products of rows instead of covariance matrices."""
        storage = smallest_storage("auto", self.rows, self.classes, self.columns)
        return storage == "rows" and not self.n_incomplete


class SlowModel(NamedTuple):
    """A model that was not fitted because its fits would take too long."""

    name: str
    seconds: float  # estimated time of all fits

    @property
    def time(self) -> tuple[float, str]:
        """The estimated time and its unit: hours if it is over an hour, else seconds."""
        return (self.seconds / 3600, "h") if self.seconds > 3600 else (self.seconds, "s")

    @property
    def sentence(self) -> str:
        """The reason for leaving the model out, without a full stop."""
        value, unit = self.time
        return f"{self.name} would take about {value:,.0f} {unit}"


def seconds_to_fit(name: str, size: FitSize) -> float:
    """Return the estimated time of one fit; 0 if there is no estimate."""
    estimate = _SECONDS.get(name)
    return 0.0 if estimate is None else estimate(size)


def affordable(
    models: tuple[ComparedModel, ...],
    n_fits: int,
    size: FitSize,
) -> tuple[tuple[ComparedModel, ...], tuple[SlowModel, ...]]:
    """Return the models whose ``n_fits`` fits stay within the time limit, and all others."""
    kept = []
    slow = []
    for model in models:
        seconds = n_fits * seconds_to_fit(model.name, size)
        if seconds <= LONGER_SECONDS.get(model.name, MOST_SECONDS):
            kept.append(model)
        else:
            slow.append(SlowModel(model.name, seconds))
    return tuple(kept), tuple(slow)


# Times in seconds, measured on 2 cores. Fits take longer if some directions have no variance,
# because these are filled in, and with few rows, because EM takes hundreds of steps.


def _of_rows(size: FitSize) -> float:
    """Return the fitting time of one Gaussian model that uses inner products of few rows."""
    return 5e-3 + 2e-8 * size.rows * size.columns + 2e-10 * size.rows**2 * size.columns


def _lda(size: FitSize) -> float:
    if size.keeps_rows:
        return _of_rows(size)
    cubic = 1e-9 if size.rows < size.columns + size.classes else 1e-10
    return cubic * size.columns**3 + 1e-5 * size.n_incomplete**3


def _qda(size: FitSize) -> float:
    if size.keeps_rows:
        return 2 * _of_rows(size)
    cubic = 1e-9 if size.rows < size.classes * (size.columns + 2) else 1e-10
    em_cubic = 7.5e-6 if size.rows < size.classes * (size.n_incomplete + 2) else 1.5e-6
    return size.classes * (cubic * size.columns**3 + em_cubic * size.n_incomplete**3)


def _lda_oas(size: FitSize) -> float:
    return _of_rows(size) if size.keeps_rows else 4e-10 * size.columns**3


def _qda_oas(size: FitSize) -> float:
    if size.keeps_rows:
        return 2 * _of_rows(size)
    return 4e-10 * size.classes * size.columns**3


def _least_squares(size: FitSize) -> float:
    return 2e-10 * size.columns**3


def _rda(size: FitSize) -> float:
    if size.keeps_rows:  # the search then evaluates a single pooling
        return 3.4e-6 * size.rows * size.columns * size.classes
    few_rows = size.rows < size.classes * (size.columns + 2)
    one_class = 5e-3 + 1.5e-6 * size.columns**3
    seconds = (5 if few_rows else 1) * size.classes * one_class
    # With more features, ``Effort`` uses fewer folds and poolings. In the end only the pooled
    # covariance of each fold is left, whose eigenvectors cost d³.
    return max(min(seconds, 6.0), 1.2e-8 * size.columns**3)


def _auto_gaussian(size: FitSize) -> float:
    d = size.columns
    return 0.05 + 4e-3 * size.classes + 2e-7 * d**3 + 5e-6 * min(size.rows, 20_000) * d


def _auto_classifier(size: FitSize) -> float:
    return 3 * _auto_gaussian(size)


def _logistic_regression(size: FitSize) -> float:
    n, d, k, _ = size
    d = min(n, d)  # the dimension of the span of few rows
    if (k - 1) * (d + 1) > WIDEST_HESSIAN:  # then each penalty is fitted in five folds
        return 3e-6 * n * d * k
    # Each penalty is fitted once. The Newton steps use the Hessian of all coefficients, and so do
    # the leave-one-out losses that choose the penalty.
    return 1.1e-8 * n * ((k - 1) * d) ** 2 + 1.2e-8 * n * k**3


def _rbf_svm(size: FitSize) -> float:
    return 0.02 * size.classes + 1.5e-7 * size.rows**2 * (1 + size.columns / 50)


def _random_forest(size: FitSize) -> float:
    return float(0.1 + 6e-6 * size.rows * np.sqrt(size.columns * np.log2(size.rows)))


def _gradient_boosting(size: FitSize) -> float:
    # 100 trees for two classes; with more classes, 100 trees per class
    trees = 1 if size.classes == 2 else size.classes
    leaves = min(31, 1 + size.rows // 40)
    return trees * leaves * (4e-3 + 1.2e-4 * size.columns)


def _catboost(size: FitSize) -> float:
    # 300 symmetric trees of 64 leaves, each with a value for every class
    trees = 300 * (1 if size.classes == 2 else size.classes)
    return trees * (3e-4 + 1e-4 * size.columns + 1e-7 * size.rows * size.columns)


_SECONDS: Mapping[str, Callable[[FitSize], float]] = {
    "LDA": _lda,
    "QDA": _qda,
    "LDA (OAS)": _lda_oas,
    "QDA (OAS)": _qda_oas,
    "least squares": _least_squares,
    "RDA": _rda,
    "AutoGaussian": _auto_gaussian,
    "AutoClassifier": _auto_classifier,
    "logistic regression": _logistic_regression,
    "RBF-SVM": _rbf_svm,
    "random forest": _random_forest,
    "gradient boosting": _gradient_boosting,
    "LightGBM": _gradient_boosting,
    "XGBoost": _gradient_boosting,
    "CatBoost": _catboost,
}
