"""The base class of classifiers with linear scores, and functions that read their rows."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, Literal, NoReturn, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from suffice.core.decision import Classifier
from suffice.core.model.geometry.hyperplane import Hyperplane
from suffice.core.model.linear import LinearModel
from suffice.core.moments.sparse_moments import sparse_table
from suffice.core.table.count_rows import is_sparse
from suffice.core.table.foreign import to_numpy
from suffice.core.table.indicator_encoding import Encoding
from suffice.core.table.labels import code_of, two_codes
from suffice.core.table.matrix import is_mixed
from suffice.core.table.table import Table
from suffice.discriminative.design import is_quicker_dense
from suffice.discriminative.logistic_loss import all_scores
from suffice.errors import InvalidInputError, InvalidParameterError, NotConvergedWarning
from suffice.estimators.predictor import ScoreMixin, checked_table, feature_names, set_features
from suffice.persistence.coefficients import coefficients_in, coefficients_of
from suffice.persistence.fields import State
from suffice.typing import Array, Floats, LabelsLike, RowsLike, WeightsLike

ClassWeight: TypeAlias = Literal["balanced"] | Mapping[Hashable, float] | None


class UnfinishedDescentWarning(NotConvergedWarning, ConvergenceWarning):
    """A solver stopped before it converged; also scikit-learn's ``ConvergenceWarning``."""


def labelled(
    estimator: "LinearDecisions",
    X: RowsLike,
    y: LabelsLike,
    sample_weight: WeightsLike = None,
    *,
    reset: bool = True,
) -> Table:
    """Return the rows as floats, with labels and weights, after scikit-learn's checks."""
    x, labels, weight = checked_table(
        estimator, to_numpy(X), to_numpy(y), to_numpy(sample_weight), reset=reset
    )
    if is_sparse(x):
        sparse_rows: Any = x
        if not is_quicker_dense(sparse_rows):
            estimator.encoding_ = None
            return sparse_table(sparse_rows, labels, weight)
        x = sparse_rows.toarray()
    fitted_encoding = None if reset else estimator.encoding_
    table = Table.of(
        x,
        labels,
        weight,
        names=feature_names(estimator),
        schema=None if fitted_encoding is None else fitted_encoding.schema,
        # in an array of numbers, a missing value is an error
        missing="indicator" if is_mixed(x) else "marginal",
    )
    table, encoding = table.encoded(fitted_encoding)
    if encoding is not fitted_encoding and not reset:
        refuse_mixed_batch()
    if encoding is not None and fitted_encoding is None:
        encoding = _filling_later_gaps(encoding, table)
    estimator.encoding_ = encoding
    if table.x.dtype.kind != "f":
        return table.with_rows(table.x.astype(np.float64))
    return table


def _filling_later_gaps(encoding: Encoding, table: Table) -> Encoding:
    """Return the encoding, so that it fills missing values of later rows with column means."""
    numbers = table.x[table.weights > 0, : encoding.schema.n_numbers]
    with np.errstate(
        invalid="ignore", over="ignore"
    ):  # non-finite numbers raise an error later
        means = numbers.mean(axis=0)
    return replace(encoding, late_fills=tuple(means.tolist()))


def refuse_mixed_batch() -> NoReturn:
    """Raise an error: each batch of a mixed table might be encoded differently."""
    raise InvalidInputError(
        "partial_fit takes complete numeric rows only: encode all batches with one TableEncoder"
    )


def class_weighted(table: Table, class_weight: ClassWeight) -> Table:
    """Return the same rows, with weights multiplied by the weights of the rows' classes."""
    if class_weight is None:
        return table
    factors = np.ones(table.n_classes)
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            factors[code_of(label, table.classes, where="class_weight")] = weight
        if not (np.isfinite(factors) & (factors > 0)).all():
            raise InvalidParameterError(
                f"class weights must be finite and positive, got {dict(class_weight)}"
            )
    elif class_weight == "balanced":
        # W / (K w_k) gives all classes the same weight and keeps the total W
        factors = table.class_weights.sum() / (table.n_classes * table.class_weights)
    else:
        raise InvalidParameterError(
            f"class_weight must be None, 'balanced' or {{label: weight}}, got {class_weight!r}"
        )
    return replace(table, weight=factors[table.codes] * table.weights)


class LinearDecisions(ScoreMixin, BaseEstimator):
    """Base of classifiers with scores wᵀx + w_0: one score for two classes, else one per class."""

    coef_: Floats
    intercept_: Floats
    n_features_in_: int
    encoding_: Encoding | None = None  # encoding of a mixed table
    _has_posterior = False
    _centre: Floats
    _at_centre: Floats
    _scale: Floats | None = None  # standard deviation of each feature  (d,)

    def _set_scores(
        self,
        coef: Floats,
        at_centre: Floats,
        centre: Floats,
        scale: Floats | None = None,
    ) -> None:
        """Set the scores wᵀ(x − m) + b, where b is the score at the centre m; ``scale`` is s."""
        self._scale = scale
        self._centre = centre
        self._at_centre = at_centre
        self.coef_ = coef
        self.intercept_ = at_centre - coef @ centre

    @property
    def feature_importances_(self) -> Floats:
        """Effect of each column on the scores: Σ_k |w_kj| s_j, scaled to sum to 1, (d,).

        ``s_j`` is the standard deviation of feature j, which ``partial_fit`` does not keep.
        """
        check_is_fitted(self)
        if self._scale is None:
            raise AttributeError(
                "feature_importances_ needs the standard deviations of the features, which "
                "partial_fit does not keep: fit all rows"
            )
        movement = np.abs(self.coef_).sum(0) * self._scale
        groups = self.model_._column_groups()
        of_columns = np.array([movement[group].sum() for group in groups])
        return np.asarray(of_columns / (of_columns.sum() or 1.0))

    @property
    def model_(self) -> Classifier:
        check_is_fitted(self)
        model = LinearModel.of(
            self.coef_,
            self._at_centre,
            centre=self._centre,
            has_posterior=self._has_posterior,
        )
        # The intercepts differ if the user has changed the coefficients.
        if not np.array_equal(model.at_origin, self.intercept_):
            model = LinearModel.of(
                self.coef_, self.intercept_, has_posterior=self._has_posterior
            )
        return Classifier.of(self.classes_, self._names(), model, encoding=self.encoding_)

    def _names(self) -> tuple[str, ...] | None:
        return self.encoding_.feature_names if self.encoding_ else feature_names(self)

    def _state(self) -> State:
        return coefficients_of(self)

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        for name, value in coefficients_in(header, arrays).items():
            setattr(self, name, value)
        set_features(self, header["n_features"], header["feature_names"])
        return self

    def boundary(self, label_a: Hashable, label_b: Hashable) -> Hyperplane:
        """Return where two classes have equal scores; positive values favour ``label_a``."""
        check_is_fitted(self)
        a, b = two_codes(label_a, label_b, self.classes_)
        rows = np.column_stack([self.coef_, self.intercept_])
        if len(rows) == 1:  # the first of two classes scores zero
            rows = all_scores(rows)
        # (w_a − w_b)ᵀ x + (a − b) = 0
        difference = rows[a] - rows[b]
        return Hyperplane(
            difference[:-1], float(difference[-1]), self._names(), (label_a, label_b)
        )

    def _terms(self) -> tuple[str, ...]:
        """Return the names of the parameters of one score: the intercept, then the coefficients."""
        names = self._names()
        if names is None:
            names = tuple(f"x{j}" for j in range(self.coef_.shape[1]))
        return ("intercept", *names)

    def _parameter_names(self) -> tuple[str, ...]:
        if len(self.coef_) == 1:
            return self._terms()
        return tuple(f"{label}: {term}" for label in self.classes_ for term in self._terms())
