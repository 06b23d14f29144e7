"""Rows with their true class and the posterior a classifier gave them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidInputError
from suffice.table.labels import as_labels, codes_of
from suffice.table.matrix import as_weights

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats, Labels


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """True classes and posteriors of n rows: what every curve of error is computed from.

    Build it with ``Predictions.by`` from a fitted classifier, or with ``Predictions.of`` from
    posteriors that were made elsewhere, such as those of cross-validation.

    Examples
    --------
    >>> rows = Predictions.of(["no", "yes", "yes"], [[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]])
    >>> rows.classes.tolist(), rows.chosen.tolist(), round(rows.error, 3)
    (['no', 'yes'], [0, 0, 1], 0.333)
    """

    classes: Labels  # (K,)
    codes: Codes  # true class of each row  (n,)
    log_posteriors: Floats  # log p(k | x)  (n, K)
    weights: Floats  # (n,)

    @classmethod
    def of(
        cls, y: Any, posteriors: Any, classes: Any = None, sample_weight: Any = None
    ) -> Predictions:
        """Return rows of true labels ``y`` (n,) and posteriors (n, K) in the order of classes.

        ``classes`` is by default the sorted labels of ``y``.
        """
        with np.errstate(divide="ignore"):
            logs = np.log(np.asarray(posteriors, dtype=np.float64))
        return cls.of_logs(y, logs, classes, sample_weight)

    @classmethod
    def of_logs(
        cls, y: Any, log_posteriors: Any, classes: Any = None, sample_weight: Any = None
    ) -> Predictions:
        """Return rows of true labels ``y`` (n,) and log posteriors (n, K)."""
        labels = as_labels(y)
        known = np.unique(labels) if classes is None else np.asarray(classes)
        logs = np.asarray(log_posteriors, dtype=np.float64)
        _check(logs, len(labels), known)
        weights = as_weights(sample_weight, len(labels))
        weights = np.ones(len(labels)) if weights is None else weights
        return cls(known, codes_of(labels, known), logs, weights)

    @classmethod
    def by(cls, classifier: Any, X: Any, y: Any, sample_weight: Any = None) -> Predictions:
        """Return what a fitted classifier, ours or scikit-learn's, says of rows ``X``."""
        if not hasattr(classifier, "predict_proba"):
            msg = (
                f"{type(classifier).__name__} gives no posteriors (predict_proba): calibrate "
                "it first, for example with CalibratedClassifierCV"
            )
            raise InvalidInputError(msg)
        if hasattr(classifier, "predict_log_proba"):
            with np.errstate(divide="ignore"):
                logs = classifier.predict_log_proba(X)
            return cls.of_logs(y, logs, classifier.classes_, sample_weight)
        return cls.of(y, classifier.predict_proba(X), classifier.classes_, sample_weight)

    @property
    def posteriors(self) -> Floats:
        """p(k | x), shape (n, K)."""
        return np.exp(self.log_posteriors)

    @property
    def chosen(self) -> Codes:
        """Most probable class of each row, shape (n,)."""
        best: Codes = self.log_posteriors.argmax(axis=1)
        return best

    @property
    def right(self) -> Any:
        """Whether the most probable class is the true one, shape (n,)."""
        return self.chosen == self.codes

    @property
    def error(self) -> float:
        """Weighted share of rows whose most probable class is wrong."""
        return float(self.weights[~self.right].sum() / self.weights.sum())


def _check(log_posteriors: Floats, n: int, classes: Labels) -> None:
    if n == 0:
        msg = "there are no rows: a curve needs at least one"
        raise InvalidInputError(msg)
    if log_posteriors.shape != (n, len(classes)):
        msg = (
            f"posteriors have shape {log_posteriors.shape}, expected ({n}, {len(classes)}): "
            f"a row per label of y, a column per class {classes.tolist()}; "
            "pass classes= where y lacks some"
        )
        raise InvalidInputError(msg)
    bad = np.flatnonzero(np.isnan(log_posteriors).any(axis=1))
    if len(bad):
        msg = f"the posteriors of row {bad[0]} are not probabilities"
        raise InvalidInputError(msg)
