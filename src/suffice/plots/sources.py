"""Rows with posteriors, from a fitted classifier or made elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.curves import Predictions
from suffice.errors import InvalidInputError
from suffice.table.labels import code_of

if TYPE_CHECKING:
    from suffice.typing import Floats


def predictions_of(source: Any, X: Any, y: Any, sample_weight: Any = None) -> Predictions:
    """Return the predictions themselves, or those of a fitted classifier for rows ``X``."""
    if isinstance(source, Predictions):
        if X is not None or y is not None or sample_weight is not None:
            msg = "predictions carry their own rows: pass them alone, without X and y"
            raise InvalidInputError(msg)
        return source
    if X is None or y is None:
        msg = "pass a fitted classifier with rows X and labels y, or Predictions alone"
        raise InvalidInputError(msg)
    return Predictions.by(source, X, y, sample_weight)


def ranked_by(source: Any, X: Any, y: Any, sample_weight: Any) -> Predictions:
    """Return predictions whose log odds rank rows: a decision function of two will do."""
    margin = getattr(source, "decision_function", None)
    if hasattr(source, "predict_proba") or margin is None or X is None:
        return predictions_of(source, X, y, sample_weight)
    scores = np.asarray(margin(X))
    if scores.ndim != 1:
        return predictions_of(source, X, y, sample_weight)
    logs = np.stack([np.zeros(len(scores)), scores], axis=1)
    return Predictions.of_logs(y, logs, source.classes_, sample_weight)


def log_odds(rows: Predictions, k: int) -> Floats:
    """Return log p(k | x) − log(1 − p(k | x)), (n,): it ranks rows without ties at 0 and 1."""
    from scipy.special import logsumexp

    with np.errstate(divide="ignore"):
        others = logsumexp(np.delete(rows.log_posteriors, k, axis=1), axis=1)
    return np.asarray(rows.log_posteriors[:, k] - others)


def event_of(rows: Predictions, label: Any) -> int | None:
    """Return the class whose posterior is drawn: the one named, or the second of two."""
    if label is not None:
        return code_of(label, rows.classes)
    return 1 if len(rows.classes) == 2 else None
