"""Base classes of the drop-in classifiers: scikit-learn's checks, compiled sums and scores."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.core.model.posterior import Argmax, Joint, LogPosterior, Posterior, Readout
from suffice.core.model.scoring import Scorer
from suffice.core.model.sparse_scores import read_sparse
from suffice.core.table import Table
from suffice.core.table.count_rows import CountRows
from suffice.core.table.labels import encode
from suffice.core.table.matrix import as_matrix
from suffice.discriminative.design import is_quicker_dense
from suffice.typing import Array, Floats, Labels, LabelsLike, RowsLike

FLOATS = (np.float64, np.float32)


def labelled_table(
    estimator: Any,
    X: RowsLike,
    y: LabelsLike,
    *,
    reset: bool = True,
    dtype: Any = "numeric",
    ensure_min_samples: int = 1,
    accept_sparse: bool = False,
) -> Table:
    """Return rows and labels after scikit-learn's checks; sparse rows may become dense."""
    rows, labels = validate_data(
        estimator,
        X,
        y,
        reset=reset,
        dtype=dtype,
        ensure_min_samples=ensure_min_samples,
        accept_sparse="csr" if accept_sparse else False,
    )
    x = _dense_or_sparse(rows)
    if labels.dtype.kind in "iubU":
        classes, codes = encode(labels)
    else:
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
    return Table(x, classes, codes)


def _dense_or_sparse(rows: Any) -> Any:
    """Return rows as an array, or as a CSR array if the rows are sparse and quicker to sum so."""
    if not issparse(rows):
        x, _ = as_matrix(rows)
        return x
    if is_quicker_dense(rows):
        return rows.toarray()
    return CountRows.of_sparse(rows).matrix()


def pooled_rows(table: Table) -> Table:
    """Return the table with all rows in one class and without weights."""
    return Table(table.x, table.classes[:1], np.zeros(table.n_rows, np.intp))


def float_type(x: Array) -> type[np.float32] | type[np.float64]:
    """Return float32 for rows in single precision, else float64."""
    return np.float32 if x.dtype == np.float32 else np.float64


def log_of(probabilities: npt.ArrayLike) -> Floats:
    """Return log p in double precision, −∞ for p = 0."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(probabilities, np.float64))


class DropIn(ABC):
    """Base of classifiers whose predictions are computed from the current fitted attributes."""

    classes_: Labels
    _scores_sparse = False  # whether ``_read_sparse`` scores sparse rows

    @abstractmethod
    def _scorer(self) -> Scorer:
        """Return a scorer of rows, computed from the public attributes."""

    @abstractmethod
    def _parameter_type(self) -> np.dtype[Any]:
        """Return the floating-point type of the fitted attributes."""

    def predict(self, X: RowsLike) -> Labels:
        """Return the most probable class of each row, (n,)."""
        best = self._read(X, Argmax())  # raises an error before fit
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: RowsLike) -> Floats:
        """Return p(class | x), (n, K)."""
        return self._read(X, Posterior())

    def predict_log_proba(self, X: RowsLike) -> Floats:
        """Return log p(class | x), (n, K), without underflow far from the data."""
        return self._read(X, LogPosterior())

    def _read_sparse(self, x: Any, readout: Readout) -> Array:
        """Return what ``readout`` asks for, of sparse rows."""
        raise NotImplementedError

    def _read(self, X: RowsLike, readout: Readout) -> Array:
        check_is_fitted(self)
        accept_sparse = "csr" if self._scores_sparse else False
        x = validate_data(self, X, reset=False, accept_sparse=accept_sparse)
        if issparse(x):
            values = self._read_sparse(x, readout)
        else:
            x, _ = as_matrix(x)
            values = self._scorer().score(x, readout)
        # results are in single precision if the rows and the attributes are, as in scikit-learn
        is_single = x.dtype == np.float32 and self._parameter_type() == np.float32
        if is_single and values.dtype.kind == "f":
            return values.astype(np.float32)
        return values


class DropInWithScores(DropIn):
    """A drop-in classifier with ``decision_function``."""

    def decision_function(self, X: RowsLike) -> Floats:
        """Return log posteriors up to a common term, (n, K); for two classes, log odds (n,)."""
        scores = self._read(X, Joint())
        return scores if len(self.classes_) > 2 else scores[:, 1] - scores[:, 0]


class LinearDropIn(DropInWithScores):
    """A drop-in classifier with scores wᵀx + w_0."""

    coef_: Floats
    intercept_: Floats

    def _parameter_type(self) -> np.dtype[Any]:
        return self.coef_.dtype

    def _scorer(self) -> Scorer:
        weights, intercepts = self._all_weights()
        return Scorer.linear(np.zeros(weights.shape[1]), weights, intercepts)

    def _read_sparse(self, x: Any, readout: Readout) -> Array:
        weights, intercepts = self._all_weights()
        return read_sparse(CountRows.of_sparse(x), weights, intercepts, readout)

    def _all_weights(self) -> tuple[Floats, Floats]:
        """Return the coefficients (K, d) and intercepts (K,) of every class."""
        coef: Any = self.coef_
        if issparse(coef):  # the user has called sparsify()
            coef = coef.toarray()
        weights = np.atleast_2d(np.asarray(coef, np.float64))
        intercepts = np.asarray(self.intercept_, np.float64).ravel()
        intercepts = np.broadcast_to(intercepts, len(weights))
        if len(weights) == 1:  # the first of two classes scores zero
            weights = np.vstack([np.zeros_like(weights), weights])
            intercepts = np.concatenate([[0.0], intercepts])
        return weights, intercepts
