"""What a fitted classifier says of the held-out rows of one fold, and what that costs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax

from suffice.curves.ranking import roc_curve
from suffice.table.labels import codes_of
from suffice.validation.losses import RowLosses

if TYPE_CHECKING:
    from suffice.comparison.task import Task
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Classes and posteriors of some rows; posteriors are NaN where a classifier has none."""

    rows: Codes  # (m,)
    truth: Codes  # (m,)
    predicted: Codes  # −1 where no class was named  (m,)
    log_posteriors: Floats  # (m, K)
    scores: Floats  # what ranks the rows of each class: posteriors or the next best  (m, K)
    weight: Floats | None  # (m,)
    seconds: float  # of predicting the classes

    @classmethod
    def of(cls, fitted: Any, x: Any, task: Task, rows: Codes) -> Answers:
        """Return what a classifier says of some rows of a task, x in the form it learnt from."""
        started = time.perf_counter()
        said = fitted.predict(x)
        seconds = time.perf_counter() - started
        known = codes_of(fitted.classes_, task.classes, strict=False)
        shape = (len(rows), len(task.classes))
        log_posteriors = _placed(_log_posteriors(fitted, x), known, shape)
        scores = log_posteriors
        if np.isnan(scores).all():
            scores = _placed(_scores(fitted, x), known, shape)
        predicted = codes_of(said, task.classes, strict=False)
        truth, weight = task.codes[rows], task.weight_of(rows)
        return cls(rows, truth, predicted, log_posteriors, scores, weight, seconds)

    @property
    def wrong(self) -> Floats:
        """1 where the class named is not the true one, (m,)."""
        return np.asarray(self.predicted != self.truth, np.float64)

    def losses(self) -> Floats:
        """Return mean error, log-loss and Brier score, shape (3,)."""
        rows = RowLosses.of(self.log_posteriors, self.truth)
        means = rows.means(self.weight)
        means[0] = np.average(self.wrong, weights=self.weight)
        if np.isnan(self.log_posteriors).any():
            means[1:] = np.nan
        return means

    def area(self) -> float:
        """Return the area under the ROC curve, one class against the rest, mean over classes."""
        n_classes = self.scores.shape[1]
        told = range(1 if n_classes == 2 else 0, n_classes)
        areas = [self._area_of(k) for k in told]
        known = [area for area in areas if np.isfinite(area)]
        return float(np.mean(known)) if known else np.nan

    def _area_of(self, k: int) -> float:
        positive, score = self.truth == k, self.scores[:, k]
        if positive.all() or not positive.any() or np.isnan(score).any():
            return np.nan
        return roc_curve(positive, score, self.weight).area


def _log_posteriors(fitted: Any, x: Any) -> Floats | None:
    """Return log p(k | x) of the classes a classifier knows, None where it has no posteriors."""
    with np.errstate(divide="ignore"):
        if hasattr(fitted, "predict_log_proba"):
            return np.asarray(fitted.predict_log_proba(x), np.float64)
        if hasattr(fitted, "predict_proba"):
            return np.log(np.asarray(fitted.predict_proba(x), np.float64))
    return None


def _scores(fitted: Any, x: Any) -> Floats | None:
    """Return a score of each class a classifier knows, None where it has no such scores."""
    if not hasattr(fitted, "decision_function"):
        return None
    scores = np.asarray(fitted.decision_function(x), np.float64)
    if scores.ndim == 1:
        return np.stack([-scores, scores], axis=1)
    if scores.shape[1] != len(fitted.classes_):
        return None
    # only differences of a row's scores count: log softmax makes rows comparable
    ranked: Floats = log_softmax(scores, axis=1)
    return ranked


def _placed(values: Floats | None, known: Codes, shape: tuple[int, int]) -> Floats:
    """Return the columns of all classes: −∞ for one never learnt, NaN where there is nothing."""
    if values is None:
        return np.full(shape, np.nan)
    placed = np.full(shape, -np.inf)
    placed[:, known] = values
    return placed
