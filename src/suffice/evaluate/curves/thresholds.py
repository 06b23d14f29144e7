"""Curves over thresholds on a score: ROC, precision and recall, rejection, and costs."""

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.core.decision.predictions import Predictions
from suffice.core.table.labels import code_of
from suffice.core.table.matrix import as_weights
from suffice.errors import InvalidInputError, InvalidParameterError
from suffice.typing import Codes, Floats, WeightsLike


@dataclass(frozen=True, slots=True, eq=False)
class RocCurve:
    """True positive rate against false positive rate, as the threshold falls from infinity."""

    false_positive: Floats  # (m,), ascending from 0 to 1
    true_positive: Floats  # (m,)

    @property
    def area(self) -> float:
        """Area under the curve: the probability that a positive row scores above a negative one."""
        return float(np.trapezoid(self.true_positive, self.false_positive))


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionRecallCurve:
    """Precision against recall as the threshold falls from the largest score."""

    precision: Floats  # (m,)
    recall: Floats  # (m,), ascending to 1
    prevalence: float  # share of positive rows, which is also the precision of random guesses

    @property
    def average(self) -> float:
        """Average precision, Σ (R_i − R_{i−1}) P_i."""
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)


def roc_curve(
    positive: npt.ArrayLike,
    score: npt.ArrayLike,
    sample_weight: WeightsLike = None,
) -> RocCurve:
    """Return the ROC curve of a score (n,), given which rows are positive (n,)."""
    # Fawcett (2006), *Pattern Recognition Letters* 27, 861–874
    sweep = _swept(positive, score, sample_weight)
    if sweep.hits[0] == 0 or sweep.alarms[0] == 0:
        raise InvalidInputError(
            "a ROC curve needs rows of the class and rows of other classes, but one side has no "
            "rows: pass rows of both"
        )
    return RocCurve(
        false_positive=np.append(0.0, sweep.alarms[::-1] / sweep.alarms[0]),
        true_positive=np.append(0.0, sweep.hits[::-1] / sweep.hits[0]),
    )


def mean_area(truth: Codes, scores: Floats, weight: Floats | None) -> float:
    """Return the area under the ROC curve of each class against the rest, mean over classes."""
    n_classes = scores.shape[1]
    # with two classes, the curves of both classes have the same area
    classes = [1] if n_classes == 2 else range(n_classes)
    areas = []
    for k in classes:
        positive = truth == k
        if positive.any() and not positive.all():
            areas.append(roc_curve(positive, scores[:, k], weight).area)
    return float(np.mean(areas)) if areas else np.nan


def precision_recall_curve(
    positive: npt.ArrayLike,
    score: npt.ArrayLike,
    sample_weight: WeightsLike = None,
) -> PrecisionRecallCurve:
    """Return precision and recall of a score (n,), given which rows are positive (n,)."""
    # Davis & Goadrich (2006), *ICML*, 233–240
    sweep = _swept(positive, score, sample_weight)
    if sweep.hits[0] == 0:
        raise InvalidInputError(
            "precision and recall need rows of the class, but there are none: pass rows of this "
            "class"
        )
    precision = (sweep.hits / (sweep.hits + sweep.alarms))[::-1]
    return PrecisionRecallCurve(
        precision=precision,
        recall=sweep.hits[::-1] / sweep.hits[0],
        prevalence=float(precision[-1]),
    )


class _Sweep(NamedTuple):
    """The rows at or above each threshold on a score."""

    thresholds: Floats  # distinct scores, ascending  (m,)
    hits: Floats  # weight of positive rows at or above each threshold  (m,)
    alarms: Floats  # weight of negative rows at or above each threshold (m,)


def _swept(positive: npt.ArrayLike, score: npt.ArrayLike, weight: WeightsLike) -> _Sweep:
    """Return hits and false alarms for every threshold; scores may be infinite, but not NaN."""
    is_positive = np.asarray(positive, dtype=bool)
    s = np.asarray(score, dtype=np.float64)
    if is_positive.shape != s.shape or s.ndim != 1 or not s.size or np.isnan(s).any():
        raise InvalidInputError(
            f"expected one score for each of {is_positive.shape} rows, found {s.shape} or NaN"
        )
    w = as_weights(weight, len(s))
    if w is None:
        w = np.ones(len(s))
    counted = w > 0
    thresholds, place = np.unique(s[counted], return_inverse=True)
    positive_weights = np.bincount(place, (w * is_positive)[counted])
    other_weights = np.bincount(place, (w * ~is_positive)[counted])
    return _Sweep(
        thresholds=thresholds,
        hits=np.cumsum(positive_weights[::-1], dtype=np.float64)[::-1],
        alarms=np.cumsum(other_weights[::-1], dtype=np.float64)[::-1],
    )


@dataclass(frozen=True, slots=True, eq=False)
class RejectCurve:
    """The error of the decided rows and the share of rejected rows, by threshold."""

    thresholds: Floats  # thresholds on the greatest posterior, ascending (m,)
    rejected: Floats  # share of rows below the threshold  (m,)
    error: Floats  # error of the rows at or above the threshold (m,)


@dataclass(frozen=True, slots=True, eq=False)
class CostCurve:
    """False alarms, misses and their mean cost, by the threshold on a class's posterior."""

    # ascending from 0; a row at or above the threshold is predicted positive (m,)
    thresholds: Floats
    false_alarms: Floats  # share of all rows that are wrongly predicted positive  (m,)
    misses: Floats  # share of all rows that are wrongly predicted negative  (m,)
    false_alarm_cost: float
    miss_cost: float

    @property
    def cost(self) -> Floats:
        """Mean cost per row, (m,)."""
        # C_fp P(predicted positive, is negative) + C_fn P(predicted negative, is positive)
        return self.false_alarm_cost * self.false_alarms + self.miss_cost * self.misses

    @property
    def best(self) -> int:
        """Index of the threshold with the lowest mean cost on these rows; the middle of equals."""
        places = np.flatnonzero(self.cost == self.cost.min())
        return int(places[len(places) // 2])

    @property
    def best_threshold(self) -> float:
        """Threshold with the lowest mean cost on these rows; the middle one of equals."""
        return float(self.thresholds[self.best])

    def short_threshold(self, i: int) -> float:
        """Return the shortest decimal with the same positive predictions as threshold i."""
        if i == 0:
            return 0.0
        low = float(self.thresholds[i - 1])
        high = float(self.thresholds[i])
        if i == len(self.thresholds) - 1 and low < 1:
            high = 1.0  # any number above the largest posterior predicts no row positive
        for n_decimals in range(1, 300):
            scaled = Decimal(high).scaleb(n_decimals).to_integral_value(ROUND_FLOOR)
            decimal = float(scaled.scaleb(-n_decimals))
            if low < decimal <= high:
                return decimal
        return high

    @property
    def bayes_threshold(self) -> float:
        """Threshold with the lowest cost if posteriors are calibrated, C_fp / (C_fp + C_fn)."""
        return self.false_alarm_cost / (self.false_alarm_cost + self.miss_cost)


def reject_curve(rows: Predictions) -> RejectCurve:
    """Return the error of the decided rows for each threshold on the largest posterior."""
    # Chow (1970), *IEEE Transactions on Information Theory* 16, 41–46
    greatest = np.exp(rows.log_posteriors.max(axis=1))
    thresholds, right, wrong = _swept(rows.right, greatest, rows.weight)
    decided = right + wrong
    return RejectCurve(
        thresholds=thresholds,
        rejected=np.clip(1 - decided / decided[0], 0, 1),
        error=wrong / decided,
    )


def cost_curve(
    rows: Predictions,
    positive: object,
    *,
    false_alarm_cost: float = 1.0,
    miss_cost: float = 1.0,
) -> CostCurve:
    """Return false alarms and misses for each threshold on the posterior of ``positive``."""
    costs = np.array([false_alarm_cost, miss_cost], dtype=np.float64)
    if not (np.all(np.isfinite(costs)) and np.all(costs >= 0) and costs.any()):
        raise InvalidParameterError(
            f"false_alarm_cost={false_alarm_cost!r}, miss_cost={miss_cost!r}: expected two "
            "non-negative numbers, of which at least one is positive"
        )
    k = code_of(positive, rows.classes)
    posterior = np.exp(rows.log_posteriors[:, k])
    scores, hits, alarms = _swept(rows.truth == k, posterior, rows.weight)
    # At the first threshold, every row is predicted positive; at the last, no row.
    above_all = np.nextafter(scores[-1], 2.0)
    thresholds = np.concatenate([[0.0], scores[1:], [above_all]])
    missed = hits[0] - np.append(hits, 0.0)
    total = hits[0] + alarms[0]
    return CostCurve(
        thresholds=thresholds,
        false_alarms=np.append(alarms, 0.0) / total,
        misses=missed / total,
        false_alarm_cost=float(false_alarm_cost),
        miss_cost=float(miss_cost),
    )
