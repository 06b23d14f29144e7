"""Rows in and answers out: scikit-learn's checks at the edge, compiled sums and scores inside."""

from abc import ABC, abstractmethod
from typing import Any, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.core.model.posterior import Argmax, Joint, LogPosterior, Posterior, Readout
from suffice.core.model.scoring import Scorer
from suffice.core.table import Table
from suffice.core.table.labels import encode
from suffice.core.table.matrix import as_matrix
from suffice.typing import Floats, Labels

FLOATS = (np.float64, np.float32)


def labelled_table(estimator: Any, X: Any, y: Any, **checks: Any) -> Table:
    """Return users' rows and labels, checked by scikit-learn."""
    x, y = validate_data(estimator, X, y, **checks)
    x, _ = as_matrix(x)
    if y.dtype.kind in "iubU":
        classes, codes = encode(y)
    else:
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
    return Table(x, classes, codes)


def pooled_rows(table: Table) -> Table:
    """Return the table with all rows in one class, every row counted once."""
    return Table(table.x, table.classes[:1], np.zeros(table.n_rows, np.intp))


def log_of(probabilities: Any) -> Floats:
    """Return log p in double precision, −∞ of zero."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(probabilities, np.float64))


class Scored(ABC):
    """Answers read from scores of the fitted attributes, as these are now."""

    classes_: Labels
    _told_by = "priors_"  # the attribute whose precision answers have

    @abstractmethod
    def _scorer(self) -> Scorer:
        """Return what scores rows, from the public attributes."""

    def predict(self, X: Any) -> Labels:
        """Return the most probable class of each row, (n,)."""
        best = self._read(X, Argmax())
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Floats:
        """Return p(class | x), (n, K)."""
        return cast("Floats", self._read(X, Posterior()))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log p(class | x), (n, K), exact far from the data."""
        return cast("Floats", self._read(X, LogPosterior()))

    def _read(self, X: Any, readout: Readout) -> Any:
        check_is_fitted(self)
        x, _ = as_matrix(validate_data(self, X, reset=False))
        values = self._scorer().score(x, readout)
        # answers are float32 where rows and attributes both are
        told = getattr(self, self._told_by).dtype
        single = values.dtype.kind == "f" and x.dtype == told == np.float32
        return values.astype(np.float32) if single else values


class Decided(Scored):
    """The same with the scores themselves."""

    def decision_function(self, X: Any) -> Floats:
        """Return log-posterior scores up to a common term: (n, K), or (n,) of two classes."""
        scores = cast("Floats", self._read(X, Joint()))
        return scores if len(self.classes_) > 2 else scores[:, 1] - scores[:, 0]


class Linear(Decided):
    """Scores wᵀx + w_0."""

    coef_: Any
    intercept_: Any
    _told_by = "coef_"

    def _scorer(self) -> Scorer:
        dense = (
            self.coef_.toarray() if issparse(self.coef_) else self.coef_
        )  # after sparsify()
        w = np.atleast_2d(np.asarray(dense, np.float64))
        b = np.broadcast_to(np.asarray(self.intercept_, np.float64).ravel(), len(w))
        if len(w) == 1:  # the first of two classes scores zero
            w, b = np.vstack([np.zeros_like(w), w]), np.concatenate([[0.0], b])
        return Scorer.linear(np.zeros(w.shape[1]), w, b)
