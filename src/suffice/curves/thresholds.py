"""What the threshold on a posterior trades: error for rejection, one error for the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.table.labels import code_of
from suffice.typing import Floats

if TYPE_CHECKING:
    from suffice.validation.predictions import Predictions


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
    """Return the error of decided rows for every threshold on the greatest posterior.

    References
    ----------
    Chow (1970), *IEEE Transactions on Information Theory* 16, 41–46.
    """
    greatest = np.exp(rows.log_posteriors.max(axis=1))
    order = np.argsort(greatest, kind="stable")
    w, wrong = rows.weights[order], ~rows.right[order]
    # decided at threshold t: every row from the first with posterior ≥ t on
    decided = np.cumsum(w[::-1])[::-1]
    errors = np.cumsum((w * wrong)[::-1])[::-1]
    sorted_posteriors = greatest[order]
    first = np.append(True, sorted_posteriors[1:] != sorted_posteriors[:-1]) & (decided > 0)
    return RejectCurve(
        sorted_posteriors[first],
        np.clip(1 - decided[first] / decided[0], 0, 1),
        errors[first] / decided[first],
    )


def cost_curve(
    rows: Predictions, positive: Any, *, false_alarm_cost: float = 1.0, miss_cost: float = 1.0
) -> CostCurve:
    """Return both errors for every threshold on the posterior of the class ``positive``."""
    costs = np.array([false_alarm_cost, miss_cost], dtype=np.float64)
    if not (np.all(np.isfinite(costs)) and np.all(costs >= 0) and costs.any()):
        msg = (
            f"false_alarm_cost={false_alarm_cost!r}, miss_cost={miss_cost!r}: "
            "expected two numbers not under zero, one of them over it"
        )
        raise InvalidParameterError(msg)
    k = code_of(positive, rows.classes)
    p, event = np.exp(rows.log_posteriors[:, k]), rows.truth == k
    order = np.argsort(p, kind="stable")
    w, event, p = rows.weights[order], event[order], p[order]
    total = w.sum()
    first = np.append(True, p[1:] != p[:-1])
    below = np.concatenate([np.flatnonzero(first), [len(p)]])  # rows under each threshold
    missed = np.append(0.0, np.cumsum(w * event))[below]
    passed = np.append(0.0, np.cumsum(w * ~event))
    thresholds = np.concatenate([[0.0], p[first][1:], [np.nextafter(p[-1], 2.0)]])
    false_alarms = (passed[-1] - passed[below]) / total
    return CostCurve(thresholds, false_alarms, missed / total, *costs.tolist())
