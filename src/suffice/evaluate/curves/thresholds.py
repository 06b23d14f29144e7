"""What a threshold trades: how a score ranks rows, error for rejection, one error for another."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.decision.predictions import Predictions
from suffice.core.table.labels import code_of
from suffice.core.table.matrix import as_weights
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class RocCurve:
    """True against false positive rate as the threshold falls from infinity."""

    false_positive: Floats  # (m,), ascending from 0 to 1
    true_positive: Floats  # (m,)

    @property
    def area(self) -> float:
        """Area under the curve: the chance that a positive row outranks a negative one."""
        return float(np.trapezoid(self.true_positive, self.false_positive))


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionRecallCurve:
    """Precision against recall as the threshold falls from the largest score."""

    precision: Floats  # (m,)
    recall: Floats  # (m,), ascending to 1
    prevalence: float  # share of positive rows: the precision of guessing

    @property
    def average(self) -> float:
        """Average precision, Σ (R_i − R_{i−1}) P_i."""
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)


def roc_curve(positive: Any, score: Any, sample_weight: Any = None) -> RocCurve:
    """Return the ROC curve of a score (n,) for rows that are positive or not (n,)."""
    # Fawcett (2006), *Pattern Recognition Letters* 27, 861–874
    _, hits, alarms = _swept(positive, score, sample_weight)
    if not (hits[0] and alarms[0]):
        msg = "a ROC curve needs rows of the class and rows of another: one side has none"
        raise InvalidInputError(msg)
    return RocCurve(*(np.append(0.0, side[::-1] / side[0]) for side in (alarms, hits)))


def mean_area(truth: Codes, scores: Floats, weight: Floats | None) -> float:
    """Return the area under the ROC curve, a class against the rest, mean over classes, or NaN."""
    # of two classes one is enough; a class that all rows or none have does not count
    n_classes = scores.shape[1]
    areas = [
        roc_curve(truth == k, scores[:, k], weight).area
        for k in range(1 if n_classes == 2 else 0, n_classes)
        if 0 < np.count_nonzero(truth == k) < len(truth)
    ]
    return float(np.mean(areas)) if areas else np.nan


def precision_recall_curve(
    positive: Any,
    score: Any,
    sample_weight: Any = None,
) -> PrecisionRecallCurve:
    """Return precision and recall of a score (n,) for rows that are positive or not (n,)."""
    # Davis & Goadrich (2006), *ICML*, 233–240
    _, hits, alarms = _swept(positive, score, sample_weight)
    if not hits[0]:
        raise InvalidInputError("precision and recall need rows of the class: there are none")
    precision = (hits / (hits + alarms))[::-1]
    return PrecisionRecallCurve(precision, hits[::-1] / hits[0], float(precision[-1]))


def _swept(event: Any, score: Any, weight: Any) -> tuple[Floats, Floats, Floats]:
    """Return distinct scores, ascending, and the weight of events and of others from each on."""
    # scores may be infinite; rows without weight count for nothing
    happened, s = np.asarray(event, dtype=bool), np.asarray(score, dtype=np.float64)
    if happened.shape != s.shape or s.ndim != 1 or not s.size or np.isnan(s).any():
        msg = f"expected one score for each of {happened.shape} rows, found {s.shape} or NaN"
        raise InvalidInputError(msg)
    w = np.ones(len(s)) if (given := as_weights(weight, len(s))) is None else given
    thresholds, place = np.unique(s[w > 0], return_inverse=True)
    parts = (np.bincount(place, (w * side)[w > 0]) for side in (happened, ~happened))
    hits, alarms = (np.cumsum(part[::-1], dtype=np.float64)[::-1] for part in parts)
    return thresholds, hits, alarms


@dataclass(frozen=True, slots=True, eq=False)
class RejectCurve:
    """Error of the rows that are decided, and the share that is not, by threshold."""

    thresholds: Floats  # on the greatest posterior, ascending  (m,)
    rejected: Floats  # share of rows under the threshold  (m,)
    error: Floats  # error among the others  (m,)


@dataclass(frozen=True, slots=True, eq=False)
class CostCurve:
    """Both errors and their mean cost by the threshold on the posterior of one class."""

    thresholds: Floats  # rows at or above are called positive; ascending from 0  (m,)
    false_alarms: Floats  # share of all rows called positive wrongly  (m,)
    misses: Floats  # share of all rows called negative wrongly  (m,)
    false_alarm_cost: float
    miss_cost: float

    @property
    def cost(self) -> Floats:
        """Mean cost of a row, (m,)."""
        # C_fp P(called, not positive) + C_fn P(not called, positive)
        return self.false_alarm_cost * self.false_alarms + self.miss_cost * self.misses

    @property
    def best_threshold(self) -> float:
        """Threshold of least mean cost on these rows; of equal ones, the middle one."""
        best = np.flatnonzero(self.cost == self.cost.min())
        return float(self.thresholds[best[len(best) // 2]])

    @property
    def bayes_threshold(self) -> float:
        """Threshold of least cost where posteriors are right, C_fp / (C_fp + C_fn)."""
        return self.false_alarm_cost / (self.false_alarm_cost + self.miss_cost)


def reject_curve(rows: Predictions) -> RejectCurve:
    """Return the error of decided rows for every threshold on the greatest posterior."""
    # Chow (1970), *IEEE Transactions on Information Theory* 16, 41–46
    greatest = np.exp(rows.log_posteriors.max(axis=1))
    thresholds, right, wrong = _swept(rows.right, greatest, rows.weight)
    decided = right + wrong
    return RejectCurve(thresholds, np.clip(1 - decided / decided[0], 0, 1), wrong / decided)


def cost_curve(
    rows: Predictions,
    positive: Any,
    *,
    false_alarm_cost: float = 1.0,
    miss_cost: float = 1.0,
) -> CostCurve:
    """Return both errors for every threshold on the posterior of the class ``positive``."""
    costs = np.array([false_alarm_cost, miss_cost], dtype=np.float64)
    if not (np.all(np.isfinite(costs)) and np.all(costs >= 0) and costs.any()):
        found = f"false_alarm_cost={false_alarm_cost!r}, miss_cost={miss_cost!r}"
        cure = "expected two numbers not under zero, one of them over it"
        raise InvalidParameterError(f"{found}: {cure}")
    k = code_of(positive, rows.classes)
    at, hits, alarms = _swept(rows.truth == k, np.exp(rows.log_posteriors[:, k]), rows.weight)
    # the first threshold calls every row, the last one none
    thresholds = np.concatenate([[0.0], at[1:], [np.nextafter(at[-1], 2.0)]])
    missed, total = hits[0] - np.append(hits, 0.0), hits[0] + alarms[0]
    return CostCurve(
        thresholds, np.append(alarms, 0.0) / total, missed / total, *costs.tolist()
    )
