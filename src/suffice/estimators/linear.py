"""What every classifier with linear scores offers, and the checks their fits share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from suffice.errors import InvalidParameterError, TooFewClassesError
from suffice.estimators.face import Exports, Tells, checked_rows, checked_table
from suffice.model.geometry import Hyperplane
from suffice.table.labels import code_of
from suffice.table.matrix import refuse_unusable
from suffice.table.table import Table

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.typing import Floats, Labels


def labelled(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True
) -> Table:
    """Return users' rows as floats with their labels and weights, checked by scikit-learn."""
    x, y = checked_table(estimator, X, y, reset=reset)
    table = Table.of(x, y, sample_weight)
    return table if table.x.dtype.kind == "f" else table.with_rows(table.x.astype(np.float64))


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
        balanced: Floats = totals.sum() / (len(totals) * totals)
        return balanced
    msg = f"class_weight must be None, 'balanced' or {{label: weight}}, got {class_weight!r}"
    raise InvalidParameterError(msg)


class LinearDecisions(Tells, Exports, ClassifierMixin):
    """Scores wᵀx + w_0: one for two classes, positive for the second; otherwise one a class."""

    classes_: Labels
    coef_: Floats
    intercept_: Floats

    def decision_function(self, X: Any) -> Floats:
        """Return the score of the second of two classes (n,), or of each class (n, K)."""
        x = checked_rows(self, X)
        with np.errstate(invalid="ignore", over="ignore"):
            scores = np.asarray(x @ self.coef_.T + self.intercept_, np.float64)
        if not np.isfinite(scores).all():
            refuse_unusable(x, feature_names(self))
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Labels:
        """Return the class of the highest score for each row."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(1)
        labels: Labels = self.classes_[codes]
        return labels

    def boundary(self, label_a: Any, label_b: Any) -> Hyperplane:
        """Return where two classes score the same; positive values favour ``label_a``."""
        check_is_fitted(self)
        (w_a, a), (w_b, b) = self._score_of(label_a), self._score_of(label_b)
        names, labels = feature_names(self), (label_a, label_b)
        return Hyperplane.between_scores(w_a, a, w_b, b, feature_names=names, labels=labels)

    def save(self, path: str | Path) -> None:
        """Write a ``.suffice`` file: settings and what was learnt in one zip, never pickle."""
        from suffice.estimators.files import save_estimator

        check_is_fitted(self)
        save_estimator(self, path)

    def _terms(self) -> tuple[str, ...]:
        """Return the names of an intercept and the coefficients of one score."""
        names = feature_names(self) or tuple(f"x{j}" for j in range(self.coef_.shape[1]))
        return ("intercept", *names)

    def _parameter_names(self) -> tuple[str, ...]:
        if len(self.coef_) == 1:
            return self._terms()
        return tuple(f"{label}: {term}" for label in self.classes_ for term in self._terms())

    def _score_of(self, label: Any) -> tuple[Floats, float]:
        k = code_of(label, self.classes_)
        if len(self.coef_) > 1:
            return self.coef_[k], float(self.intercept_[k])
        return k * self.coef_[0], k * float(self.intercept_[0])


def require_two(classes: Labels) -> None:
    """Raise unless there are two classes or more."""
    if len(classes) < 2:
        msg = (
            f"y has one class only, {classes.tolist()}: a classifier needs rows of two classes "
            "or more, of positive weight"
        )
        raise TooFewClassesError(msg)


def feature_names(estimator: Any) -> tuple[str, ...] | None:
    """Return the names seen in fit, if there were any."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(names)


def chosen(name: str, value: Any, choices: Mapping[str, Any]) -> Any:
    """Return what a setting's word stands for."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(map(repr, choices))
        msg = f"{name} must be one of {known}, got {value!r}"
        raise InvalidParameterError(msg)
    return choices[value]


def positive(name: str, value: Any, *, zero: bool = False) -> float:
    """Return a number that must be positive and finite, or may be zero."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number) or number < 0 or (number == 0 and not zero):
        kind = "not negative" if zero else "positive"
        msg = f"{name} must be a finite number, {kind}; got {value!r}"
        raise InvalidParameterError(msg)
    return number
