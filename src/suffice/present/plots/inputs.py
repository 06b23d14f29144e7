"""What figures are drawn from: a fitted classifier with rows, or predictions, whoever made them."""

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
from suffice.errors import FeatureMismatchError, InvalidInputError
from suffice.typing import Codes, Floats, Labels

NAMELESS = "X does not have valid feature names"  # scikit-learn's words


@dataclass(frozen=True, slots=True, eq=False)
class ForeignClassifier:
    """A fitted classifier that is not ours, with the verbs of ours that figures need."""

    estimator: Any
    classes: Labels  # (K,)
    names: tuple[str, ...]  # of the features  (d,)
    given: Any  # rows as the caller gave them
    model = None  # nothing is known of how it decides

    @property
    def has_posterior(self) -> bool:
        return hasattr(self.estimator, "predict_proba")

    def decide(self, x: Floats) -> Codes:
        """Return the code of the predicted class of each row (n, d); −1 where it refuses."""
        return codes_of(self._ask("predict", x), self.classes, strict=False)

    def posterior(self, x: Floats) -> Floats:
        """Return p(k | x) of rows (n, d), (n, K)."""
        return np.asarray(self._ask("predict_proba", x))

    def _ask(self, verb: str, rows: Any) -> Any:
        """Return what it says of rows, given in the caller's kind of frame if it knows names."""
        framed = nw.dependencies.is_into_dataframe(self.given)
        if framed and hasattr(self.estimator, "feature_names_in_"):
            backend = nw.from_native(self.given, eager_only=True).implementation
            rows = nw.from_numpy(rows, schema=list(self.names), backend=backend).to_native()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=NAMELESS, category=UserWarning)
            return getattr(self.estimator, verb)(rows)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Any fitted classifier, and rows of the kind it was fitted on."""

    estimator: Any
    classifier: Classifier | ForeignClassifier
    names: tuple[str, ...]  # of the features  (d,)
    rows: Floats  # (n, d); none where no data was given

    @classmethod
    def of(cls, estimator: Any, X: Any = None) -> Self:
        """Return the classifier with its rows, checked against each other."""
        check_is_fitted(estimator)
        if not hasattr(estimator, "classes_"):
            msg = (
                f"{type(estimator).__name__} has no classes_: a fitted classifier is expected"
            )
            raise InvalidInputError(msg)
        rows, columns = (None, None) if X is None else rows_to_draw(X)
        known = getattr(estimator, "feature_names_in_", None)
        d: Any = getattr(estimator, "n_features_in_", 0 if rows is None else rows.shape[1])
        if rows is None:
            rows = np.empty((0, d))
        if rows.shape[1] != d:
            msg = f"X has {rows.shape[1]} features, but the classifier was fitted on {d}"
            raise FeatureMismatchError(msg)
        if columns and known is not None and list(columns) != list(map(str, known)):
            said = f"X has the columns {quoted(columns)}, but the classifier was fitted on"
            raise FeatureMismatchError(f"{said} {quoted(known)}: give those, in that order")
        names = tuple(map(str, columns or (default_names(d) if known is None else known)))
        foreign = ForeignClassifier(estimator, np.asarray(estimator.classes_), names, X)
        classifier = estimator.model_ if hasattr(type(estimator), "model_") else foreign
        return cls(estimator, classifier, names, np.asarray(rows, np.float64))

    @property
    def classes(self) -> Labels:
        return self.classifier.classes

    @property
    def n_features(self) -> int:
        return int(self.rows.shape[1])

    def codes(self, y: Any) -> Codes:
        """Return the class of each row, (n,)."""
        labels = as_labels(y)
        require_as_many(len(self.rows), len(labels))
        return codes_of(labels, self.classes)

    def predict(self, x: Floats) -> Codes:
        """Return the predicted class of rows (n, d), and −1 where the classifier refuses."""
        codes = self.classifier.decide(x)
        return np.where(codes < len(self.classes), codes, -1)

    def posteriors(self, x: Floats) -> Floats:
        """Return p(k | x) of rows (n, d), (n, K)."""
        if not self.classifier.has_posterior:
            msg = f"{type(self.estimator).__name__} gives no posteriors (predict_proba)"
            raise InvalidInputError(msg)
        return self.classifier.posterior(x)


def rows_to_draw(X: Any) -> tuple[Floats, tuple[str, ...] | None]:
    """Return finite rows (n, d), one at least, and the names of their columns if they have any."""
    rows, names = as_matrix(X)
    if not len(rows):
        raise InvalidInputError("X has no rows: there is nothing to draw")
    refuse_nonfinite(rows, names)
    return rows, names


def classifier_with(estimator: Any, X: Any) -> Fitted:
    """Return a fitted classifier and its rows."""
    return Fitted.of(estimator, X)


def predictions_of(
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
) -> Predictions:
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


def decided_by(
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
) -> Predictions:
    """Return what was predicted, also by a classifier that states no posteriors."""
    if isinstance(source, Predictions) or X is None or y is None:
        return predictions_of(source, X, y, sample_weight=sample_weight)
    labels, classes, predicted = as_labels(y), source.classes_, source.predict(X)
    require_as_many(len(predicted), len(labels))
    truth, guess = codes_of(labels, classes), codes_of(predicted, classes, strict=False)
    weight = as_weights(sample_weight, len(labels))
    return Predictions(classes, truth, guess, None, np.arange(len(labels)), weight)


def ranked_by(
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
) -> Predictions:
    """Return predictions whose log odds rank rows: a decision function of two will do."""
    stated = hasattr(source, "predict_proba")
    margin = None if stated else getattr(source, "decision_function", None)
    scores = np.empty((0, 0)) if margin is None or X is None else np.asarray(margin(X))
    if scores.ndim != 1:
        return predictions_of(source, X, y, sample_weight=sample_weight)
    logs = np.stack([np.zeros(len(scores)), scores], axis=1)
    return Predictions.of_logs(y, logs, source.classes_, sample_weight)


def log_odds(rows: Predictions, k: int) -> Floats:
    """Return log p(k | x) − log(1 − p(k | x)), (n,): it ranks rows without ties at 0 and 1."""
    with np.errstate(divide="ignore"):
        others = logsumexp(np.delete(rows.log_posteriors, k, axis=1), axis=1)
    return np.asarray(rows.log_posteriors[:, k] - others)


def event_of(rows: Predictions | Fitted, label: Any) -> int | None:
    """Return the class whose posterior is drawn: the one asked for, or the second of two."""
    if label is not None:
        return code_of(label, rows.classes)
    return 1 if len(rows.classes) == 2 else None
