"""scikit-learn's naive Bayes classifiers for counts and categories, computed from sums."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn import naive_bayes
from sklearn.utils.multiclass import (
    _check_partial_fit_first_call,
    check_classification_targets,
)
from sklearn.utils.validation import _check_sample_weight, check_non_negative

from suffice.core.estimation.count_left_out import log_products
from suffice.core.moments.count_sums import CountSums
from suffice.core.table.count_rows import CountRows, summed
from suffice.core.table.labels import codes_of, encode
from suffice.typing import Array, Codes, Floats, Labels, LabelsLike, RowsLike, WeightsLike


class CountDropIn:
    """Base of classifiers that sum counts in one pass over the non-zero cells."""

    classes_: Labels
    class_count_: Floats
    feature_count_: Floats
    class_log_prior_: Floats

    def fit(self: Any, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Any:
        """Fit the model to rows ``X`` with labels ``y``."""
        self._validate_params()
        rows, labels = self._check_X_y(X, y)
        self.classes_, codes = _encoded(labels)
        self._init_counters(len(self.classes_), rows.shape[1])
        return self._add(rows, codes, sample_weight)

    def partial_fit(
        self: Any,
        X: RowsLike,
        y: LabelsLike,
        classes: LabelsLike | None = None,
        sample_weight: WeightsLike = None,
    ) -> Any:
        """Add rows to those of earlier calls; the first call lists all ``classes``."""
        self._validate_params()
        is_first = not hasattr(self, "classes_")
        rows, labels = self._check_X_y(X, y, reset=is_first)
        if _check_partial_fit_first_call(self, classes):
            self._init_counters(len(self.classes_), rows.shape[1])
        seen, codes = _encoded(labels)
        known = codes_of(seen, self.classes_, strict=False)
        if (known < 0).any():
            raise ValueError(
                f"The target label(s) {seen[known < 0]} in y do not exist in the initial classes "
                f"{self.classes_}"
            )
        return self._add(rows, known[codes], sample_weight)

    def _add(self: Any, rows: Any, codes: Codes, sample_weight: WeightsLike) -> Any:
        """Add checked rows to the counts, and estimate by scikit-learn's formulas."""
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        self._check_counts(rows)
        self.feature_count_ += class_sums(rows, codes, weight, len(self.classes_))
        w = np.ones(len(codes)) if weight is None else weight
        self.class_count_ += summed(codes, w, len(self.classes_))
        self._update_feature_log_prob(self._check_alpha())
        self._update_class_log_prior(class_prior=self.class_prior)
        return self

    def _check_counts(self, rows: Any) -> None:
        """Raise if this model cannot count the rows."""


def _encoded(labels: Labels) -> tuple[Labels, Codes]:
    check_classification_targets(labels)
    if labels.dtype.kind in "iubU":
        return encode(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes


def class_sums(rows: Any, codes: Codes, weight: Floats | None, n_classes: int) -> Floats:
    """Return Σ w x of each class, (K, d)."""
    if issparse(rows) and rows.nnz and rows.data.min() >= 0:
        cells = CountRows.of_sparse(rows)
        labels = np.arange(n_classes)
        return CountSums.of_rows(cells, labels, codes, weight).sums
    w = np.ones(len(codes)) if weight is None else weight
    indicators = csr_array((w, (codes, np.arange(len(codes)))), shape=(n_classes, len(codes)))
    sums = indicators @ rows
    return np.asarray(sums.toarray() if issparse(sums) else sums, np.float64)


def products(rows: Any, weights: Floats) -> Floats:
    """Return Σ_j x_j w_kj, (n, K)."""
    if issparse(rows):
        return log_products(CountRows.of_sparse(rows), np.asarray(weights, np.float64))
    return np.asarray(rows @ weights.T)


class MultinomialNB(CountDropIn, naive_bayes.MultinomialNB):
    """Multinomial naive Bayes with the parameters, attributes and definitions of scikit-learn.

    Examples
    --------
    >>> from suffice.sklearn import MultinomialNB
    >>> MultinomialNB().fit([[2, 0], [3, 1], [0, 2]], ["a", "a", "b"]).predict([[0, 1]]).tolist()
    ['b']
    """

    def _check_counts(self, rows: Any) -> None:
        check_non_negative(rows, "MultinomialNB (input X)")

    def _joint_log_likelihood(self, X: Any) -> Floats:
        return products(X, self.feature_log_prob_) + self.class_log_prior_


class ComplementNB(CountDropIn, naive_bayes.ComplementNB):
    """Complement naive Bayes with the parameters, attributes and definitions of scikit-learn.

    Rennie, Shih, Teevan & Karger (2003), *Tackling the Poor Assumptions of Naive Bayes Text
    Classifiers*, ICML.

    Examples
    --------
    >>> from suffice.sklearn import ComplementNB
    >>> ComplementNB().fit([[2, 0], [3, 1], [0, 2]], ["a", "a", "b"]).predict([[0, 1]]).tolist()
    ['b']
    """

    def _check_counts(self, rows: Any) -> None:
        check_non_negative(rows, "ComplementNB (input X)")

    def _update_feature_log_prob(self, alpha: float | Array) -> None:
        self.feature_all_ = self.feature_count_.sum(axis=0)
        super()._update_feature_log_prob(alpha)

    def _joint_log_likelihood(self, X: Any) -> Floats:
        scores = products(X, self.feature_log_prob_)
        # with a single class, the complement is empty, and the prior is the only score
        return scores + self.class_log_prior_ if len(self.classes_) == 1 else scores


class BernoulliNB(CountDropIn, naive_bayes.BernoulliNB):
    """Bernoulli naive Bayes with the parameters, attributes and definitions of scikit-learn.

    Examples
    --------
    >>> from suffice.sklearn import BernoulliNB
    >>> BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["a", "a", "b"]).predict([[0, 1]]).tolist()
    ['b']
    """

    def _joint_log_likelihood(self, X: Any) -> Floats:
        n_features = self.feature_log_prob_.shape[1]
        if X.shape[1] != n_features:
            raise ValueError(
                f"Expected input with {n_features} features, got {X.shape[1]} instead"
            )
        # Σ_j b_j (log p_kj − log (1 − p_kj)) + Σ_j log (1 − p_kj)
        log_absent = np.log(1 - np.exp(self.feature_log_prob_))
        scores = products(X, self.feature_log_prob_ - log_absent)
        constants = self.class_log_prior_ + log_absent.sum(axis=1)
        return np.asarray(scores + constants)


class CategoricalNB(naive_bayes.CategoricalNB):
    """Categorical naive Bayes with the parameters, attributes and definitions of scikit-learn.

    Examples
    --------
    >>> from suffice.sklearn import CategoricalNB
    >>> CategoricalNB().fit([[0, 2], [0, 1], [1, 0]], ["a", "a", "b"]).predict([[1, 1]]).tolist()
    ['a']
    """

    def fit(self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the model to rows ``X`` of category codes with labels ``y``."""
        super().fit(X, y, sample_weight)
        return self

    def _count(self, X: Codes, Y: Floats) -> None:
        # each row of Y holds the row's weight in the column of its class
        n_classes = Y.shape[1]
        codes = np.abs(Y).argmax(axis=1)
        w = Y.sum(axis=1)
        self.class_count_ += Y.sum(axis=0)
        self.n_categories_ = self._validate_n_categories(X, self.min_categories)
        for j in range(self.n_features_in_):
            known = self.category_count_[j]
            size = max(int(self.n_categories_[j]), known.shape[1])
            counts = summed(codes * size + X[:, j], w, n_classes * size)
            counts = counts.reshape(n_classes, size)
            counts[:, : known.shape[1]] += known
            self.category_count_[j] = counts
