"""Copies of an estimator of scikit-learn's kind, fitted with weights where it takes them."""

from typing import Any, TypeVar

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from suffice.typing import Floats, Labels

Estimator = TypeVar("Estimator")


def fitted(estimator: Estimator, X: Any, labels: Labels, weight: Floats | None) -> Estimator:
    """Return a fitted copy of an estimator; weights are left out if it takes none."""
    copy: Any = clone(estimator)
    name = None if weight is None else weight_name(estimator)
    if name is None:
        copy.fit(X, labels)
    else:
        copy.fit(X, labels, **{name: weight})
    fitted_copy: Estimator = copy
    return fitted_copy


def weight_name(estimator: Any) -> str | None:
    """Return the name of the weights among the parameters of ``fit``, None if it takes none."""
    if isinstance(estimator, Pipeline):
        step_name, last_step = estimator.steps[-1]
        if has_fit_parameter(last_step, "sample_weight"):
            return f"{step_name}__sample_weight"
        return None
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
