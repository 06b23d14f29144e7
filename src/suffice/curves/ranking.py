"""How well a score ranks the rows of one class before the others."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import InvalidInputError
from suffice.table.matrix import as_weights
from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class RocCurve:
    """True against false positive rate as the threshold falls from infinity."""

    false_positive: Floats  # (m,), ascending from 0 to 1
    true_positive: Floats  # (m,)
    thresholds: Floats  # (m,), descending from infinity

    @property
    def area(self) -> float:
        """Area under the curve: the chance that a positive row outranks a negative one."""
        return float(np.trapezoid(self.true_positive, self.false_positive))


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionRecallCurve:
    """Precision against recall as the threshold falls from the largest score."""

    precision: Floats  # (m,)
    recall: Floats  # (m,), ascending to 1
    thresholds: Floats  # (m,), descending
    prevalence: float  # share of positive rows: the precision of guessing

    @property
    def average(self) -> float:
        """Average precision, Σ (R_i − R_{i−1}) P_i."""
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)


def roc_curve(positive: Any, score: Any, sample_weight: Any = None) -> RocCurve:
    """Return the ROC curve of a score (n,) for rows that are positive or not (n,).

    References
    ----------
    Fawcett (2006), *Pattern Recognition Letters* 27, 861–874.
    """
    from sklearn import metrics

    event, scores, rank, weight = _ranked(positive, score, sample_weight)
    share = float(np.average(event, weights=weight))
    if share in (0.0, 1.0):
        msg = "a ROC curve needs rows of the class and rows of another: one side has none"
        raise InvalidInputError(msg)
    false, true, at = metrics.roc_curve(event, rank, sample_weight=weight, drop_intermediate=False)
    thresholds = np.concatenate([[np.inf], scores[at[1:].astype(np.intp)]])
    return RocCurve(false, true, thresholds)


def mean_area(truth: Codes, scores: Floats, weight: Floats | None) -> float:
    """Return the area under the ROC curve, one class against the rest, mean over classes.

    Of two classes one is enough; a class that all rows or none have does not count, and NaN is
    returned where none counts.
    """
    n_classes = scores.shape[1]
    areas = [
        roc_curve(truth == k, scores[:, k], weight).area
        for k in range(1 if n_classes == 2 else 0, n_classes)
        if 0 < np.count_nonzero(truth == k) < len(truth)
    ]
    return float(np.mean(areas)) if areas else np.nan


def precision_recall_curve(
    positive: Any, score: Any, sample_weight: Any = None
) -> PrecisionRecallCurve:
    """Return precision and recall of a score (n,) for rows that are positive or not (n,).

    References
    ----------
    Davis & Goadrich (2006), *ICML*, 233–240.
    """
    from sklearn import metrics

    event, scores, rank, weight = _ranked(positive, score, sample_weight)
    prevalence = float(np.average(event, weights=weight))
    if prevalence == 0:
        msg = "precision and recall need rows of the class: there are none"
        raise InvalidInputError(msg)
    precision, recall, at = metrics.precision_recall_curve(event, rank, sample_weight=weight)
    thresholds = scores[at[::-1].astype(np.intp)]
    # the last point of scikit-learn's curve, where nothing is called, is no threshold
    return PrecisionRecallCurve(precision[-2::-1], recall[-2::-1], thresholds, prevalence)


def _ranked(positive: Any, score: Any, weight: Any) -> tuple[Any, Floats, Codes, Floats | None]:
    """Return events, distinct scores, the rank of each row's own among them, and weights.

    Ranks stand for scores, which may be infinite.
    """
    event = np.asarray(positive, dtype=bool)
    s = np.asarray(score, dtype=np.float64)
    if event.shape != s.shape or s.ndim != 1 or not s.size or np.isnan(s).any():
        msg = f"expected one score for each of {event.shape} rows, found {s.shape} or NaN"
        raise InvalidInputError(msg)
    distinct, rank = np.unique(s, return_inverse=True)
    return event, distinct, rank, as_weights(weight, len(s))
