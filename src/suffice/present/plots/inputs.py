"""The inputs of figures: a fitted classifier with rows, or predictions."""

import warnings
from dataclasses import dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from suffice.core.decision.classifier import Classifier
from suffice.core.decision.predictions import Predictions
from suffice.core.table.labels import as_labels, code_of, codes_of
from suffice.core.table.matrix import as_matrix, as_weights, refuse_nonfinite
from suffice.core.table.table import require_as_many
from suffice.core.text.lists import default_names, quoted
from suffice.errors import FeatureMismatchError, InvalidInputError, InvalidParameterError
from suffice.typing import (
    Array,
    Codes,
    Floats,
    Labels,
    LabelsLike,
    RowsLike,
    SklearnClassifier,
    WeightsLike,
)

# beginning of scikit-learn's warning
NO_NAMES_WARNING = "X does not have valid feature names"


@dataclass(frozen=True, slots=True, eq=False)
class ForeignClassifier:
    """A fitted classifier of another library, with the methods that figures need."""

    estimator: Any  # a scikit-learn estimator, or one with its methods
    classes: Labels  # (K,)
    names: tuple[str, ...]  # names of the features  (d,)
    example: Any  # the caller's rows, whose kind of frame the estimator gets
    model = None  # unknown

    @property
    def has_posterior(self) -> bool:
        return hasattr(self.estimator, "predict_proba")

    def decide(self, x: Floats) -> Codes:
        """Return the code of each row's predicted class, (n,); −1 for an unknown label."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=NO_NAMES_WARNING, category=UserWarning)
            labels = self.estimator.predict(self._framed(x))
        return codes_of(labels, self.classes, strict=False)

    def posterior(self, x: Floats) -> Floats:
        """Return p(k | x) for rows (n, d), shape (n, K)."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=NO_NAMES_WARNING, category=UserWarning)
            return np.asarray(self.estimator.predict_proba(self._framed(x)))

    def _framed(self, x: Floats) -> RowsLike:
        """Return rows as the caller's kind of frame if the estimator was fitted with names."""
        is_frame = nw.dependencies.is_into_dataframe(self.example)
        if not (is_frame and hasattr(self.estimator, "feature_names_in_")):
            return x
        backend = nw.from_native(self.example, eager_only=True).implementation
        frame: RowsLike = nw.from_numpy(
            x, schema=list(self.names), backend=backend
        ).to_native()
        return frame


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted classifier, and rows with the features of its fit."""

    estimator: Any  # a classifier of suffice or scikit-learn
    classifier: Classifier | ForeignClassifier
    names: tuple[str, ...]  # names of the features  (d,)
    rows: Floats  # (n, d); n = 0 if the caller passed no rows

    @classmethod
    def of(cls, estimator: Any, X: RowsLike | None = None) -> Self:
        """Return the classifier with rows; raise unless the rows have the features of the fit."""
        check_is_fitted(estimator)
        if not hasattr(estimator, "classes_"):
            msg = f"{type(estimator).__name__} has no classes_: pass a fitted classifier"
            raise InvalidInputError(msg)
        rows, columns = _rows_for(estimator, X)
        fitted_names = getattr(estimator, "feature_names_in_", None)
        if columns is not None:
            names = columns
        elif fitted_names is not None:
            names = tuple(str(name) for name in fitted_names)
        else:
            names = default_names(rows.shape[1])
        classifier: Classifier | ForeignClassifier
        if hasattr(type(estimator), "model_"):
            classifier = estimator.model_
        else:
            classifier = ForeignClassifier(estimator, np.asarray(estimator.classes_), names, X)
        return cls(estimator, classifier, names, rows)

    @property
    def classes(self) -> Labels:
        return self.classifier.classes

    @property
    def n_features(self) -> int:
        return int(self.rows.shape[1])

    def codes(self, y: LabelsLike) -> Codes:
        """Return the class of each row, (n,)."""
        labels = as_labels(y)
        require_as_many(len(self.rows), len(labels))
        return codes_of(labels, self.classes)

    def predict(self, x: Floats) -> Codes:
        """Return the predicted class of rows (n, d); −1 if the classifier rejects a row."""
        codes = self.classifier.decide(x)
        return np.where(codes < len(self.classes), codes, -1)

    def posteriors(self, x: Floats) -> Floats:
        """Return p(k | x) for rows (n, d), shape (n, K)."""
        if not self.classifier.has_posterior:
            msg = f"{type(self.estimator).__name__} gives no posteriors (predict_proba)"
            raise InvalidInputError(msg)
        return self.classifier.posterior(x)


def _rows_for(estimator: object, X: RowsLike | None) -> tuple[Floats, tuple[str, ...] | None]:
    """Return rows (n, d) with the features of the fit, and the names of the columns."""
    if X is None:
        return np.empty((0, getattr(estimator, "n_features_in_", 0))), None
    rows, columns = rows_to_draw(X)
    n_features = getattr(estimator, "n_features_in_", rows.shape[1])
    if rows.shape[1] != n_features:
        msg = f"X has {rows.shape[1]} features, but the classifier was fitted on {n_features}"
        raise FeatureMismatchError(msg)
    fitted_names = getattr(estimator, "feature_names_in_", None)
    if columns is not None and fitted_names is not None:
        expected = tuple(str(name) for name in fitted_names)
        if columns != expected:
            msg = (
                f"X has the columns {quoted(columns)}, but the classifier was fitted on "
                f"{quoted(expected)}: pass these columns in this order"
            )
            raise FeatureMismatchError(msg)
    return np.asarray(rows, np.float64), columns


def rows_to_draw(X: RowsLike) -> tuple[Array, tuple[str, ...] | None]:
    """Return the rows (n, d) and their column names; raise unless there are finite rows."""
    rows, names = as_matrix(X)
    if not len(rows):
        raise InvalidInputError("X has no rows: there is nothing to draw")
    refuse_nonfinite(rows, names)
    return rows, names


def require_whole(value: object, name: str, least: int) -> None:
    """Raise unless a parameter is an integer that is at least ``least``."""
    if not isinstance(value, (int, np.integer)) or value < least:
        msg = f"{name}={value!r}: expected an integer of at least {least}"
        raise InvalidParameterError(msg)


def predictions_of(
    source: Predictions | SklearnClassifier,
    X: RowsLike | None,
    y: LabelsLike | None,
    sample_weight: WeightsLike,
) -> Predictions:
    """Return ``source`` if it has predictions, or else its predictions for rows ``X``."""
    if isinstance(source, Predictions):
        if X is not None or y is not None or sample_weight is not None:
            msg = "predictions carry their own rows: pass them alone, without X and y"
            raise InvalidInputError(msg)
        return source
    if X is None or y is None:
        msg = "pass a fitted classifier with rows X and labels y, or Predictions alone"
        raise InvalidInputError(msg)
    return Predictions.by(source, X, y, sample_weight)


def decided_by(
    source: Predictions | SklearnClassifier,
    X: RowsLike | None = None,
    y: LabelsLike | None = None,
    sample_weight: WeightsLike = None,
) -> Predictions:
    """Return the predictions of a classifier that need not have posteriors."""
    if isinstance(source, Predictions) or X is None or y is None:
        return predictions_of(source, X, y, sample_weight)
    labels = as_labels(y)
    predicted = source.predict(X)
    require_as_many(len(predicted), len(labels))
    return Predictions(
        classes=source.classes_,
        truth=codes_of(labels, source.classes_),
        predicted=codes_of(predicted, source.classes_, strict=False),
        logs=None,
        rows=np.arange(len(labels)),
        weight=as_weights(sample_weight, len(labels)),
    )


def ranked_by(
    source: Predictions | SklearnClassifier,
    X: RowsLike | None,
    y: LabelsLike | None,
    sample_weight: WeightsLike,
) -> Predictions:
    """Return predictions by which rows can be ranked: posteriors, or a decision function."""
    if isinstance(source, Predictions) or X is None or y is None:
        return predictions_of(source, X, y, sample_weight)
    if hasattr(source, "decision_function") and not hasattr(source, "predict_proba"):
        scores = np.asarray(source.decision_function(X))
        if scores.ndim == 1:
            log_odds = np.stack([np.zeros(len(scores)), scores], axis=1)
            return Predictions.of_logs(y, log_odds, source.classes_, sample_weight)
    return predictions_of(source, X, y, sample_weight)


def log_odds(predictions: Predictions, k: int) -> Floats:
    """Return log p(k | x) − log(1 − p(k | x)), (n,), which ranks rows without ties at 0 and 1."""
    logs = predictions.log_posteriors
    with np.errstate(divide="ignore"):
        log_others = logsumexp(np.delete(logs, k, axis=1), axis=1)
    return np.asarray(logs[:, k] - log_others)


def event_of(source: Predictions | Fitted, label: object) -> int | None:
    """Return the class whose posterior is drawn: ``label``, or the second of two classes."""
    if label is not None:
        return code_of(label, source.classes)
    return 1 if len(source.classes) == 2 else None
