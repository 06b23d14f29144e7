"""What every classifier with linear scores offers, and the checks their fits share."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from suffice.decision import Classifier
from suffice.discriminative.logistic_loss import all_scores
from suffice.errors import (
    InvalidInputError,
    InvalidParameterError,
    NotConvergedWarning,
    TooFewClassesError,
)
from suffice.estimators.predictor import ScoreMixin, checked_table, feature_names, set_features
from suffice.model.geometry import Hyperplane
from suffice.model.linear import LinearModel
from suffice.saved.coefficients import coefficients_in, coefficients_of
from suffice.table.foreign import to_numpy
from suffice.table.labels import code_of
from suffice.table.mixed import is_mixed
from suffice.table.schema import Encoding
from suffice.table.table import Table
from suffice.typing import Floats, Labels


class UnfinishedDescentWarning(NotConvergedWarning, ConvergenceWarning):
    """An iteration ended before it arrived: scikit-learn's ``ConvergenceWarning`` too."""


def labelled(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True
) -> Table:
    """Return users' rows as floats with their labels and weights, checked by scikit-learn."""
    given = map(to_numpy, (X, y, sample_weight))
    x, y, sample_weight = checked_table(estimator, *given, reset=reset)
    known = None if reset else getattr(estimator, "encoding_", None)
    reading: Any = {"names": feature_names(estimator), "schema": known and known.schema}
    if is_mixed(x):  # of numbers alone, an empty cell is an error
        reading["missing"] = "indicator"
    table, encoding = Table.of(x, y, sample_weight, **reading).encoded(known)
    if encoding is not known and not reset:
        refuse_batch()
    estimator.encoding_ = encoding
    return table if table.x.dtype.kind == "f" else table.with_rows(table.x.astype(np.float64))


def refuse_batch() -> NoReturn:
    """Raise because a batch is a mixed table, which other batches may code otherwise."""
    raise InvalidInputError(
        "partial_fit takes complete rows of numbers only: encode the others alike in all batches, "
        "by TableEncoder().fit(all_rows)"
    )


def class_weighted(table: Table, class_weight: Any) -> Table:
    """Return the same rows, their weights multiplied by those of their classes."""
    if class_weight is None:
        return table
    factors = _class_factors(class_weight, table)[table.codes]
    return replace(table, weight=factors if table.weight is None else factors * table.weight)


def _class_factors(class_weight: Any, table: Table) -> Floats:
    factors = np.ones(table.n_classes)
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            factors[code_of(label, table.classes, where="class_weight")] = weight
        if not (np.isfinite(factors) & (factors > 0)).all():
            msg = f"class weights must be finite and positive, got {dict(class_weight)}"
            raise InvalidParameterError(msg)
        return factors
    if class_weight == "balanced":
        # every class counts the same, the total weight stays: W / (K w_k)
        totals = table.class_weights
        return np.asarray(totals.sum() / (len(totals) * totals))
    msg = f"class_weight must be None, 'balanced' or {{label: weight}}, got {class_weight!r}"
    raise InvalidParameterError(msg)


class LinearDecisions(ScoreMixin):
    """Scores wᵀx + w_0: one for two classes, positive for the second; otherwise one a class."""

    coef_: Floats
    intercept_: Floats
    _centre: Floats
    _at_centre: Floats

    def _set_scores(self, coef: Floats, at_centre: Floats, centre: Floats) -> None:
        """Keep scores wᵀ(x − m) + b, b their values at the centre m."""
        self._centre, self._at_centre = centre, at_centre
        self.coef_, self.intercept_ = coef, at_centre - coef @ centre

    @property
    def classifier_(self) -> Classifier:
        """The fitted classifier, free of scikit-learn."""
        check_is_fitted(self)
        about: Any = {"has_posterior": hasattr(type(self), "predict_proba")}
        model = LinearModel.of(self.coef_, self._at_centre, centre=self._centre, **about)
        if not np.array_equal(model.at_origin, self.intercept_):  # changed by hand
            model = LinearModel.of(self.coef_, self.intercept_, **about)
        return Classifier.of(self.classes_, self._names(), model, encoding=self._encoding())

    def _encoding(self) -> Encoding | None:
        return getattr(self, "encoding_", None)

    def _names(self) -> tuple[str, ...] | None:
        """Return the names of the features that coefficients are of."""
        encoding = self._encoding()
        return encoding.feature_names if encoding else feature_names(self)

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return coefficients_of(self)

    def _restored(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Self:
        self.__dict__.update(coefficients_in(header, arrays), path_=None)
        set_features(self, header["n_features"], header["feature_names"])
        return self

    def boundary(self, label_a: Any, label_b: Any) -> Hyperplane:
        """Return where two classes score the same; positive values favour ``label_a``."""
        check_is_fitted(self)
        a, b = (code_of(label, self.classes_) for label in (label_a, label_b))
        rows = np.column_stack([self.coef_, self.intercept_])
        every = all_scores(rows) if len(rows) == 1 else rows  # of two, the first scores zero
        # (w_a − w_b)ᵀ x + (a − b) = 0
        *w, w_0 = every[a] - every[b]
        return Hyperplane(np.array(w), float(w_0), self._names(), (label_a, label_b))

    def _terms(self) -> tuple[str, ...]:
        """Return the names of an intercept and the coefficients of one score."""
        names = self._names() or tuple(f"x{j}" for j in range(self.coef_.shape[1]))
        return ("intercept", *names)

    def _parameter_names(self) -> tuple[str, ...]:
        if len(self.coef_) == 1:
            return self._terms()
        return tuple(f"{label}: {term}" for label in self.classes_ for term in self._terms())


def require_two(classes: Labels) -> None:
    """Raise unless there are two classes or more."""
    if len(classes) < 2:
        raise TooFewClassesError(
            f"y has one class only, {classes.tolist()}: a classifier needs rows of two classes "
            "or more, of positive weight"
        )


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
