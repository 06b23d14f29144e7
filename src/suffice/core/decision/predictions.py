"""Predictions of held-out or training rows, and their losses.

    error = Σ_n w_n [ŷ_n ≠ y_n] / Σ_n w_n,     log-loss = −Σ_n w_n log p(y_n | x_n) / Σ_n w_n

The error of training rows is the training error; that of held-out rows estimates the true error.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from suffice.core.linalg import EPS
from suffice.core.table.labels import as_labels, codes_of
from suffice.core.table.matrix import as_weights
from suffice.core.text.lists import counted
from suffice.core.text.tables import first_rows, html_table, titled_html
from suffice.errors import InvalidInputError
from suffice.typing import Codes, Flags, Floats, Labels, LabelsLike, RowsLike, WeightsLike

CRITERIA = ("error", "log_loss", "brier")
#: Log-loss of a row whose class had no training row, −log of the machine epsilon.
ABSENT_LOSS = float(-np.log(EPS))


class HasClasses(Protocol):
    """A fitted classifier of any library."""

    @property
    def classes_(self) -> Labels: ...


def losses_of_rows(log_posterior: Floats, truth: Codes) -> Floats:
    """Return each row's error, log-loss and Brier score, (3, n), given log posteriors (n, K).

    ``truth`` holds the code of each row's class, or −1 if it is none of the K classes.
    """
    log_of_label = log_posterior[np.arange(len(truth)), truth]
    log_true = np.where(truth >= 0, log_of_label, -np.inf)
    p = np.exp(log_posterior)
    # Σ_k (p_k − t_k)² = Σ_k p_k² − 2 p_true + 1
    briers = np.einsum("nk,nk->n", p, p) - 2 * np.exp(log_true) + 1
    log_losses = np.where(np.isfinite(log_true), -log_true, ABSENT_LOSS)
    return np.stack([log_posterior.argmax(1) != truth, log_losses, briers])


def summed_losses(
    scores: Floats,
    truth: Codes,
    weight: Floats,
    temperatures: Floats,
) -> Floats:
    """Return the weighted sums of error, log-loss and Brier score over m rows, (Γ, T, 3).

    ``scores`` (K, Γ, m) holds the scores of Γ models, each of which is evaluated at T temperatures.
    """
    scores -= scores.max(0)
    of_true_class = (truth, slice(None), np.arange(len(truth)))
    true_scores = scores[of_true_class].T
    losses = np.empty((scores.shape[1], len(temperatures), 3))
    # ties go to the first class
    is_before_truth = (np.arange(len(scores))[:, None] < truth)[:, None]
    is_wrong = (true_scores < 0) | ((scores == 0) & is_before_truth).any(0)
    errors = is_wrong @ weight
    for i, t in enumerate(temperatures):
        p = np.exp(scores if t == 1 else scores / t)
        total = p.sum(0)
        log_losses = np.log(total) - true_scores / t
        log_losses = np.where(np.isfinite(log_losses), log_losses, ABSENT_LOSS)
        # Σ_k (p_k − t_k)² = Σ_k p_k² − 2 p_true + 1
        squares = np.einsum("kgm,kgm->gm", p, p)
        briers = (squares / total - 2 * p[of_true_class].T) / total + 1
        losses[:, i] = np.stack([errors, log_losses @ weight, briers @ weight], 1)
    return losses


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Predictions:
    """True classes, predicted classes and posteriors of n rows, for losses, curves and tests.

    ``Predictions.by`` makes predictions with a fitted classifier, ``Predictions.of`` takes
    posteriors.

    Examples
    --------
    >>> rows = Predictions.of(["no", "yes", "yes"], [[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]])
    >>> rows.classes.tolist(), rows.predicted.tolist(), round(rows.error, 3)
    (['no', 'yes'], [0, 0, 1], 0.333)
    """

    classes: Labels  # (K,)
    truth: Codes  # code of the true class; −1 if it is none of the classes  (n,)
    predicted: Codes  # code of the predicted class; −1 if it is none of the classes  (n,)
    logs: Floats | None  # log p(k | x)  (n, K); None without posteriors
    rows: Codes  # positions of the rows in the data  (n,)
    weight: Floats | None = None  # weight of each row  (n,), or None if every row counts once

    @classmethod
    def of(
        cls,
        y: LabelsLike,
        posteriors: npt.ArrayLike,
        classes: LabelsLike | None = None,
        sample_weight: WeightsLike = None,
    ) -> Self:
        """Return predictions from true labels (n,) and posteriors (n, K) of the sorted classes."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.asarray(posteriors, dtype=np.float64))
        return cls.of_logs(y, logs, classes, sample_weight)

    @classmethod
    def of_logs(
        cls,
        y: LabelsLike,
        log_posteriors: npt.ArrayLike,
        classes: LabelsLike | None = None,
        sample_weight: WeightsLike = None,
        *,
        strict: bool = True,
    ) -> Self:
        """Return predictions from true labels (n,) and log posteriors (n, K).

        If ``strict``, a label that is not among the classes raises an error.
        """
        labels = as_labels(y)
        columns = np.unique(labels) if classes is None else np.asarray(classes)
        logs = np.asarray(log_posteriors, dtype=np.float64)
        if not len(labels):
            raise InvalidInputError("there are no rows: a curve needs at least one")
        expected = (len(labels), len(columns))
        if logs.shape != expected:
            raise InvalidInputError(
                f"posteriors have shape {logs.shape}, expected {expected}: one row for each label "
                f"of y, and one column for each class {columns.tolist()}. If some classes do not "
                "occur in y, pass classes="
            )
        bad = np.flatnonzero(np.isnan(logs).any(axis=1))
        if len(bad):
            raise InvalidInputError(
                f"the posteriors of row {bad[0]} are not probabilities: each must lie between 0 "
                "and 1, and their sum must be 1"
            )
        return cls(
            classes=columns,
            truth=codes_of(labels, columns, strict=strict),
            # k̂ = argmax_k p(k | x) = argmax_k log p(k | x); ties go to the first class
            predicted=logs.argmax(axis=1),
            logs=logs,
            rows=np.arange(len(labels)),
            weight=as_weights(sample_weight, len(labels)),
        )

    @classmethod
    def by(
        cls,
        classifier: HasClasses,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike = None,
        *,
        strict: bool = True,
    ) -> Self:
        """Return the predictions of any fitted classifier for the rows ``X``."""
        logs = log_posteriors_of(classifier, X)
        if logs is None:
            raise InvalidInputError(
                f"{type(classifier).__name__} gives no posteriors (predict_proba): calibrate "
                "it first, for example with CalibratedClassifierCV"
            )
        return cls.of_logs(y, logs, classifier.classes_, sample_weight, strict=strict)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the predictions of all parts, one after another, or raise if classes differ."""
        logs = [part.logs for part in parts if part.logs is not None]
        has_weights = any(part.weight is not None for part in parts)
        return cls(
            classes=parts[0].classes,
            truth=np.concatenate([part.truth for part in parts]),
            predicted=np.concatenate([part.predicted for part in parts]),
            logs=np.concatenate(logs) if len(logs) == len(parts) else None,
            rows=np.concatenate([part.rows for part in parts]),
            weight=np.concatenate([part.weights for part in parts]) if has_weights else None,
        )

    @property
    def log_posteriors(self) -> Floats:
        """Log posteriors, shape (n, K). Raises an error if the classifier has none."""
        if self.logs is None:
            raise InvalidInputError(
                "these predictions have no posteriors, since the model has none: use a model with "
                "predict_proba"
            )
        return self.logs

    @property
    def posteriors(self) -> Floats:
        """p(k | x), shape (n, K)."""
        return np.exp(self.log_posteriors)

    @property
    def weights(self) -> Floats:
        """Weight of each row, 1 if no weights were given, shape (n,)."""
        return np.ones(len(self.truth)) if self.weight is None else self.weight

    @property
    def right(self) -> Flags:
        """Whether the most probable class is the true one, shape (n,)."""
        return np.asarray(self.log_posteriors.argmax(axis=1) == self.truth)

    @property
    def wrong(self) -> Flags:
        """Whether the predicted class is not the true one, shape (n,)."""
        return np.asarray(self.predicted != self.truth)

    @property
    def losses(self) -> Floats:
        """Mean error, log-loss and Brier score, (3,); without posteriors, the last two are NaN."""
        return np.asarray(np.average(self.row_losses, axis=1, weights=self.weight))

    @property
    def row_losses(self) -> Floats:
        """Error, log-loss and Brier score of each row, (3, n), with NaN as in ``losses``."""
        losses = np.full((3, len(self.truth)), np.nan)
        if self.logs is not None:
            losses = losses_of_rows(self.logs, self.truth)
        losses[0] = self.wrong
        return losses

    @property
    def error(self) -> float:
        """Share of rows with a wrong prediction."""
        return float(np.average(self.wrong, weights=self.weight))

    @property
    def log_loss(self) -> float:
        """Mean −log p(true class)."""
        return float(self.losses[1])

    @property
    def brier(self) -> float:
        """Mean Brier score, the mean of Σ_k (p_k − [k is true])²."""
        return float(self.losses[2])

    @property
    def labels(self) -> Labels:
        """True label of each row, shape (n,)."""
        return np.asarray(self.classes[self.truth])

    @property
    def predicted_labels(self) -> Labels:
        """Predicted label of each row, shape (n,), or None if it is none of the classes."""
        if (self.predicted >= 0).all():
            return np.asarray(self.classes[self.predicted])
        # the code −1 (none of the classes) selects the last entry
        labels = np.array([*self.classes.tolist(), None], dtype=object)
        return np.asarray(labels[self.predicted])

    def in_order(self) -> Self:
        """Return the predictions sorted by the position of their rows in the data."""
        return self.take(np.argsort(self.rows, kind="stable"))

    def take(self, indices: Codes | Flags | slice) -> Self:
        """Return the predictions of some of the rows."""
        return replace(
            self,
            truth=self.truth[indices],
            predicted=self.predicted[indices],
            logs=None if self.logs is None else self.logs[indices],
            rows=self.rows[indices],
            weight=None if self.weight is None else self.weight[indices],
        )

    def __repr__(self) -> str:
        error, log_loss, brier = self.losses
        return (
            f"Predictions({len(self.truth)} rows: error {error:.4f}, log-loss {log_loss:.4f}, "
            f"Brier {brier:.4f})"
        )

    def _repr_html_(self) -> str:
        """Return HTML with the losses, and the number of correctly predicted rows of each class."""
        error, log_loss, brier = self.losses
        rows = []
        for k, label in enumerate(first_rows(self.classes.tolist())):
            is_class = self.truth == k
            found = int((self.predicted[is_class] == k).sum())
            rows.append([label, int(is_class.sum()), found])
        losses = [["error", error], ["log-loss", log_loss], ["Brier score", brier]]
        return titled_html(
            f"Predictions of {counted(len(self.truth), 'row')}",
            html_table(["loss", "mean"], losses),
            html_table(["class", "rows", "predicted as this class"], rows),
        )


def log_posteriors_of(
    fitted: HasClasses,
    X: RowsLike,
    classes: Labels | None = None,
) -> Floats | None:
    """Return log p(k | x), (n, K), or None if the classifier has no posteriors.

    A class that the classifier has not learnt has the log posterior −∞.
    """
    with np.errstate(divide="ignore"):
        if hasattr(fitted, "predict_log_proba"):
            logs = np.asarray(fitted.predict_log_proba(X), np.float64)
        elif hasattr(fitted, "predict_proba"):
            logs = np.log(np.asarray(fitted.predict_proba(X), np.float64))
        else:
            return None
    return logs if classes is None else among_classes(logs, fitted, classes)


def among_classes(columns: Floats, fitted: HasClasses, classes: Labels) -> Floats:
    """Return a column for each class, (n, K), −∞ for classes that ``fitted`` has not learnt."""
    if len(fitted.classes_) == len(classes):
        return columns
    wide = np.full((len(columns), len(classes)), -np.inf)
    wide[:, codes_of(fitted.classes_, classes)] = columns
    return wide
