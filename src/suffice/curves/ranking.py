"""How well a score ranks the rows of one class before the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidInputError
from suffice.table.matrix import as_weights

if TYPE_CHECKING:
    from suffice.typing import Floats


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

    Examples
    --------
    >>> roc_curve([False, False, True, True], [0.1, 0.4, 0.35, 0.8]).area
    0.75
    """
    thresholds, true, false = _passed(positive, score, sample_weight)
    if true[-1] == 0 or false[-1] == 0:
        msg = "a ROC curve needs rows of the class and rows of another: one side has none"
        raise InvalidInputError(msg)
    zero = np.zeros(1)
    return RocCurve(
        np.concatenate([zero, false / false[-1]]),
        np.concatenate([zero, true / true[-1]]),
        np.concatenate([[np.inf], thresholds]),
    )


def precision_recall_curve(
    positive: Any, score: Any, sample_weight: Any = None
) -> PrecisionRecallCurve:
    """Return precision and recall of a score (n,) for rows that are positive or not (n,).

    References
    ----------
    Davis & Goadrich (2006), *ICML*, 233–240.

    Examples
    --------
    >>> round(precision_recall_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).average, 4)
    0.8333
    """
    thresholds, true, false = _passed(positive, score, sample_weight)
    if true[-1] == 0:
        msg = "precision and recall need rows of the class: there are none"
        raise InvalidInputError(msg)
    called = true + false
    precision = np.divide(true, called, out=np.ones(len(true)), where=called > 0)
    prevalence = float(true[-1] / called[-1])
    return PrecisionRecallCurve(precision, true / true[-1], thresholds, prevalence)


def _passed(positive: Any, score: Any, weight: Any) -> tuple[Floats, Floats, Floats]:
    """Return distinct scores, descending, and the positive and negative weight at or above."""
    is_positive = np.asarray(positive, dtype=bool)
    s = np.asarray(score, dtype=np.float64)
    if is_positive.shape != s.shape or s.ndim != 1 or not s.size or np.isnan(s).any():
        msg = f"expected one score for each of {is_positive.shape} rows, found {s.shape} or NaN"
        raise InvalidInputError(msg)
    w = as_weights(weight, len(s))
    w = np.ones(len(s)) if w is None else w
    order = np.argsort(-s, kind="stable")
    order = order[w[order] > 0]
    s, w, is_positive = s[order], w[order], is_positive[order]
    last = np.flatnonzero(np.append(s[1:] != s[:-1], True))  # of each run of equal scores
    return s[last], np.cumsum(w * is_positive)[last], np.cumsum(w * ~is_positive)[last]
