"""What figures are drawn from: a fitted classifier with rows, or predictions, whoever made them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from suffice.curves import Predictions
from suffice.errors import FeatureMismatchError, InvalidInputError
from suffice.table.labels import as_labels, code_of, codes_of
from suffice.table.matrix import as_matrix
from suffice.table.table import require_as_many
from suffice.text.lists import default_names

if TYPE_CHECKING:
    from suffice.model import GaussianModel
    from suffice.typing import Codes, Floats, Labels

NAMELESS = "X does not have valid feature names"  # scikit-learn's words


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Any fitted classifier, and rows of the kind it was fitted on."""

    estimator: Any
    classes: Labels  # (K,)
    names: tuple[str, ...]  # of the features  (d,)
    rows: Floats  # (n, d); none where no data was given
    given: Any  # the rows as the caller gave them

    @classmethod
    def of(cls, estimator: Any, X: Any = None) -> Fitted:
        """Return the classifier with its rows, checked against each other."""
        check_is_fitted(estimator)
        if not hasattr(estimator, "classes_"):
            msg = f"{type(estimator).__name__} has no classes_: a fitted classifier is expected"
            raise InvalidInputError(msg)
        rows, columns = (None, None) if X is None else as_matrix(X)
        known = getattr(estimator, "feature_names_in_", None)
        d = getattr(estimator, "n_features_in_", None if rows is None else rows.shape[1])
        if rows is None:
            rows = np.empty((0, d))
        if rows.shape[1] != d:
            msg = f"X has {rows.shape[1]} features, but the classifier was fitted on {d}"
            raise FeatureMismatchError(msg)
        names = columns or (default_names(rows.shape[1]) if known is None else known)
        floats = np.asarray(rows, np.float64)
        return cls(estimator, np.asarray(estimator.classes_), tuple(map(str, names)), floats, X)

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.rows.shape[1])

    @property
    def model(self) -> GaussianModel | None:
        """The Gaussian class densities behind the classifier, if that is what it is."""
        model = getattr(self.estimator, "model_", None)
        return model if hasattr(model, "covariance_of") else None

    @property
    def centre(self) -> Floats:
        """Mean of the rows, (d,)."""
        return np.asarray(self.rows.mean(axis=0))

    def codes(self, y: Any) -> Codes:
        """Return the class of each row, (n,)."""
        labels = as_labels(y)
        require_as_many(len(self.rows), len(labels))
        return codes_of(labels, self.classes)

    def predict(self, x: Floats) -> Codes:
        """Return the predicted class of rows (n, d), and −1 where the classifier refuses."""
        known = {label: k for k, label in enumerate(self.classes.tolist())}
        labels = np.asarray(self.ask("predict", x))
        return np.array([known.get(label, -1) for label in labels.tolist()], np.intp)

    def posteriors(self, x: Floats) -> Floats:
        """Return p(k | x) of rows (n, d), (n, K)."""
        if not hasattr(self.estimator, "predict_proba"):
            msg = f"{type(self.estimator).__name__} gives no posteriors (predict_proba)"
            raise InvalidInputError(msg)
        return np.asarray(self.ask("predict_proba", x))

    def ask(self, verb: str, x: Floats) -> Any:
        """Return what the classifier says of rows (n, d), given as frames if it knows names."""
        method = getattr(self.estimator, verb)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=NAMELESS, category=UserWarning)
            return method(self._as_given(x))

    def _as_given(self, x: Floats) -> Any:
        """Return rows (n, d) as a frame of the caller's kind where names were learnt."""
        framed = nw.dependencies.is_into_dataframe(self.given)
        if not framed or not hasattr(self.estimator, "feature_names_in_"):
            return x
        backend = nw.from_native(self.given, eager_only=True).implementation
        return nw.from_numpy(x, schema=list(self.names), backend=backend).to_native()


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
    with np.errstate(divide="ignore"):
        others = logsumexp(np.delete(rows.log_posteriors, k, axis=1), axis=1)
    return np.asarray(rows.log_posteriors[:, k] - others)


def event_of(rows: Predictions, label: Any) -> int | None:
    """Return the class whose posterior is drawn: the one asked for, or the second of two."""
    if label is not None:
        return code_of(label, rows.classes)
    return 1 if len(rows.classes) == 2 else None
