"""Linear scores: what all such classifiers offer, the checks of their fits, and least squares."""

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.core.decision import Classifier
from suffice.core.estimation.plug_in import require_two_classes
from suffice.core.estimation.settings import parse_word
from suffice.core.model.geometry.hyperplane import Hyperplane
from suffice.core.model.linear import LinearModel
from suffice.core.moments import Moments
from suffice.core.table.foreign import to_numpy
from suffice.core.table.labels import code_of, two_codes
from suffice.core.table.matrix import as_weights, column_position, is_mixed
from suffice.core.table.schema import Encoding
from suffice.core.table.table import Table
from suffice.core.threads import one_at_a_time
from suffice.discriminative.least_squares import (
    joint_moments,
    regress_column,
    regress_indicators,
)
from suffice.discriminative.logistic_loss import all_scores
from suffice.errors import InvalidInputError, InvalidParameterError, NotConvergedWarning
from suffice.estimators.predictor import ScoreMixin, checked_table, feature_names, set_features
from suffice.persistence.coefficients import coefficients_in, coefficients_of
from suffice.persistence.moments_file import arrays_of, header_of
from suffice.typing import Floats


class UnfinishedDescentWarning(NotConvergedWarning, ConvergenceWarning):
    """An iteration ended before it arrived: scikit-learn's ``ConvergenceWarning`` too."""


def labelled(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    reset: bool = True,
) -> Table:
    """Return users' rows as floats with their labels and weights, checked by scikit-learn."""
    x, y, weight = checked_table(estimator, *map(to_numpy, (X, y, sample_weight)), reset=reset)
    known = None if reset else estimator.encoding_
    reading: Any = {"names": feature_names(estimator), "schema": known and known.schema}
    if is_mixed(x):  # of numbers alone, an empty cell is an error
        reading["missing"] = "indicator"
    table, encoding = Table.of(x, y, weight, **reading).encoded(known)
    if encoding is not known and not reset:
        refuse_batch()
    estimator.encoding_ = encoding
    return table if table.x.dtype.kind == "f" else table.with_rows(table.x.astype(np.float64))


def refuse_batch() -> NoReturn:
    """Raise because a batch is a mixed table, which other batches may code otherwise."""
    msg = "partial_fit takes complete rows of numbers only: encode all by one TableEncoder"
    raise InvalidInputError(msg)


def class_weighted(table: Table, class_weight: Any) -> Table:
    """Return the same rows, their weights multiplied by those of their classes."""
    if class_weight is None:
        return table
    factors = np.ones(table.n_classes)
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            factors[code_of(label, table.classes, where="class_weight")] = weight
        if not (np.isfinite(factors) & (factors > 0)).all():
            msg = f"class weights must be finite and positive, got {dict(class_weight)}"
            raise InvalidParameterError(msg)
    elif class_weight == "balanced":
        # every class counts the same, the total weight stays: W / (K w_k)
        factors = table.class_weights.sum() / (table.n_classes * table.class_weights)
    else:
        msg = (
            f"class_weight must be None, 'balanced' or {{label: weight}}, got {class_weight!r}"
        )
        raise InvalidParameterError(msg)
    return replace(table, weight=factors[table.codes] * table.weights)


class LinearDecisions(ScoreMixin):
    """Scores wᵀx + w_0: one for two classes, positive for the second; otherwise one a class."""

    encoding_: Encoding | None = None  # of a mixed table

    def _set_scores(self, coef: Floats, at_centre: Floats, centre: Floats) -> None:
        """Keep scores wᵀ(x − m) + b, b their values at the centre m."""
        self._centre, self._at_centre = centre, at_centre
        self.coef_, self.intercept_ = coef, at_centre - coef @ centre

    @property
    def model_(self) -> Classifier:
        check_is_fitted(self)
        about: Any = {"has_posterior": hasattr(type(self), "predict_proba")}
        model = LinearModel.of(self.coef_, self._at_centre, centre=self._centre, **about)
        if not np.array_equal(model.at_origin, self.intercept_):  # changed by hand
            model = LinearModel.of(self.coef_, self.intercept_, **about)
        return Classifier.of(self.classes_, self._names(), model, encoding=self.encoding_)

    def _names(self) -> tuple[str, ...] | None:
        return self.encoding_.feature_names if self.encoding_ else feature_names(self)

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return coefficients_of(self)

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        self.__dict__.update(coefficients_in(header, arrays), path_=None)
        set_features(self, header["n_features"], header["feature_names"])
        return self

    def boundary(self, label_a: Any, label_b: Any) -> Hyperplane:
        """Return where two classes score the same; positive values favour ``label_a``."""
        check_is_fitted(self)
        a, b = two_codes(label_a, label_b, self.classes_)
        rows = np.column_stack([self.coef_, self.intercept_])
        every = all_scores(rows) if len(rows) == 1 else rows  # of two, the first scores zero
        # (w_a − w_b)ᵀ x + (a − b) = 0
        *w, w_0 = every[a] - every[b]
        return Hyperplane(np.array(w), float(w_0), self._names(), (label_a, label_b))

    def _terms(self) -> tuple[str, ...]:
        """Return the names of an intercept and the coefficients of one score."""
        return (
            "intercept",
            *(self._names() or tuple(f"x{j}" for j in range(self.coef_.shape[1]))),
        )

    def _parameter_names(self) -> tuple[str, ...]:
        if len(self.coef_) == 1:
            return self._terms()
        return tuple(f"{label}: {term}" for label in self.classes_ for term in self._terms())


def positive(name: str, value: Any, *, zero: bool = False) -> float:
    """Return a number that must be positive and finite, or may be zero."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number) or number < 0 or (number == 0 and not zero):
        kind = "not negative" if zero else "positive"
        raise InvalidParameterError(f"{name} must be a finite number, {kind}; got {value!r}")
    return number


def whole_number(name: str, value: Any) -> int:
    """Return a setting that must be a whole number of at least one."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or value < 1 or value != np.rint(value) or np.isinf(value):
        raise InvalidParameterError(
            f"{name} must be a whole number of at least 1, got {value!r}"
        )
    return int(value)


class LeastSquaresClassifier(LinearDecisions, BaseEstimator):
    """Regress the indicator of each class on x, and pick the class of the largest fit.

    Everything is read from moments: it can be fitted from sums collected elsewhere, and batch
    by batch. Constant and duplicated columns do not matter.

    Attributes
    ----------
    classes_ : array (K,)
    moments_ : Moments
        What was learnt from the data.
    coef_ : array (1, d) or (K, d)
        Of the fitted indicators; of two classes, of the second less the first.
    intercept_ : array (1,) or (K,)

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.2.

    Examples
    --------
    >>> from suffice import LeastSquaresClassifier
    >>> fit = LeastSquaresClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> fit.coef_.round(6).tolist(), fit.predict([[1.5], [2.5]]).tolist()
    ([[0.6]], [0, 1])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with labels ``y``."""
        x, y, sample_weight = checked_table(self, X, y, sample_weight, reset=True)
        return self._set_moments(
            Moments.of(x, y, sample_weight, missing="refuse", fourth=False)
        )

    def fit_moments(self, moments: Moments) -> Self:
        """Learn from sums collected elsewhere, without a pass over the data."""
        set_features(self, moments.n_features, moments.feature_names)
        return self._set_moments(moments)

    @one_at_a_time
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Add rows to what was learnt, new classes at any time, in any order and grouping."""
        first = "moments_" not in vars(self)
        x, y, sample_weight = checked_table(self, X, y, sample_weight, reset=first)
        more = Moments.of(x, y, sample_weight, missing="refuse", fourth=False, classes=classes)
        return self._set_moments(more if first else self.moments_ + more)

    def _set_moments(self, moments: Moments) -> Self:
        require_two_classes(moments.classes, moments.weights)
        self.moments_, self.classes_ = moments, moments.classes
        fit = regress_indicators(moments)
        coef, at_centre = fit.weights, fit.intercepts
        if len(coef) == 2:
            coef, at_centre = np.diff(coef, axis=0), np.diff(at_centre)
        self._set_scores(coef, at_centre, fit.centre)
        return self

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return header_of(self.moments_), arrays_of(self.moments_)

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        return self.fit_moments(Moments.of_archive(header, arrays))


class LinearGaussianRegressor(RegressorMixin, BaseEstimator):
    """Linear regression as a generative model: y | x ~ N(wᵀx + w_0, σ²).

    Parameters
    ----------
    divisor : {"mle", "unbiased"}, default="mle"
        σ² is the residual sum of squares divided by the weight of the rows (maximum
        likelihood), or by that less the number of coefficients.

    Attributes
    ----------
    coef_ : array (d,)
    intercept_ : float
    variance_ : float
        σ².
    moments_ : Moments
        Of the features and, as last column, the target.

    References
    ----------
    Bishop (2006), *Pattern Recognition and Machine Learning*, section 3.1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import LinearGaussianRegressor
    >>> x = np.arange(6.0)[:, None]
    >>> fit = LinearGaussianRegressor().fit(x, [1.0, 3.0, 5.0, 7.0, 9.0, 11.5])
    >>> fit.coef_.round(4).tolist(), round(fit.intercept_, 4), round(fit.variance_, 4)
    ([2.0714], 0.9048, 0.0198)
    >>> fit.sample([[10.0]], random_state=0).shape
    (1,)
    """

    def __init__(self, divisor: str = "mle") -> None:
        self.divisor = divisor

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with targets ``y``."""
        x, y = validate_data(self, X, y, dtype=(np.float64, np.float32), y_numeric=True)
        return self._set_moments(
            joint_moments(x, y, as_weights(sample_weight, len(x))), x.shape[1]
        )

    def fit_moments(self, moments: Moments, target: int | str) -> Self:
        """Learn the regression of one column on all others, from sums collected elsewhere."""
        names, d = moments.feature_names, moments.n_features
        column = column_position(target, names, d)
        others = None if names is None else [*names[:column], *names[column + 1 :]]
        set_features(self, d - 1, others)
        return self._set_moments(moments, column)

    def predict(self, X: Any) -> Floats:
        """Return the mean of y given x, (n,); its standard deviation is √``variance_``."""
        check_is_fitted(self)
        x = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        return np.asarray(x @ self.coef_ + self.intercept_, np.float64)

    def sample(self, X: Any, random_state: Any = None) -> Floats:
        """Draw one y for each row, (n,)."""
        mean = self.predict(X)
        noise = check_random_state(random_state).standard_normal(len(mean))
        return np.asarray(mean + np.sqrt(self.variance_) * noise)

    def _set_moments(self, moments: Moments, column: int) -> Self:
        unbiased = parse_word(self.divisor, {"mle": False, "unbiased": True}, "divisor")
        found = regress_column(moments, column, unbiased=unbiased)
        self.moments_, (self.intercept_, self.coef_, self.variance_) = moments, found
        return self
