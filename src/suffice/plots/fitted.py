"""A fitted classifier and the rows it is drawn with, asked in one way whoever made it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import FeatureMismatchError, InvalidInputError
from suffice.table.labels import as_labels, codes_of
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
        from sklearn.utils.validation import check_is_fitted

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
        import narwhals.stable.v2 as nw

        framed = nw.dependencies.is_into_dataframe(self.given)
        if not framed or not hasattr(self.estimator, "feature_names_in_"):
            return x
        backend = nw.from_native(self.given, eager_only=True).implementation
        return nw.from_numpy(x, schema=list(self.names), backend=backend).to_native()
