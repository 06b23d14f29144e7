"""The number of parameters of a fitted classifier, and whether a reader can follow it."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from suffice.evaluate.comparison.models import core


def is_readable(fitted: object) -> bool:
    """Whether a classifier can be written down, as one equation per class or as one tree."""
    model = core(fitted)
    if hasattr(model, "members_"):
        return False
    # Only scikit-learn's constant classifier has ``_strategy``.
    attributes = ("coef_", "model_", "tree_", "_strategy")
    return any(hasattr(model, name) for name in attributes)


def n_parameters(fitted: object) -> float:
    """Return the number of free parameters; NaN if it is unknown, or if the model keeps rows."""
    try:
        return _counted(core(fitted))
    except Exception:
        # in other libraries, attributes of the same names may mean something else
        return np.nan


def _counted(model: Any) -> float:
    """Return the number of parameters, counted in the attributes that the model has."""
    if hasattr(model, "members_"):
        return _of_average(model)
    if hasattr(model, "model_") and model.model_.has_density:
        return float(model.model_.n_parameters)
    if hasattr(model, "tree_"):
        return _of_tree(model)
    if hasattr(model, "coefs_"):  # a neural network
        return float(sum(np.size(weights) for weights in (*model.coefs_, *model.intercepts_)))
    if hasattr(model, "coef_"):
        return _of_linear_scores(model)
    if hasattr(model, "_strategy"):
        return float(len(model.classes_) - 1)
    if hasattr(model, "estimators_"):
        return _of_ensemble(model)
    return np.nan


def _of_average(model: Any) -> float:
    """Return the number of parameters of all averaged models and their weights."""
    total = float(len(model.members_) - 1)
    for member in model.members_:
        inner = getattr(member.model, "inner", member.model)
        if hasattr(inner, "fitted"):  # a scikit-learn model
            total += n_parameters(inner.fitted)
        else:
            total += inner.n_parameters
    return total


def _of_ensemble(model: Any) -> float:
    """Return the number of parameters of all members and of the model that combines them."""
    members = model.estimators_
    if isinstance(members, np.ndarray):  # boosted trees: one row for each step
        members = members.ravel()
    total = float(sum(n_parameters(member) for member in members))
    if hasattr(model, "final_estimator_"):
        total += n_parameters(model.final_estimator_)
    return total


def _of_tree(model: Any) -> float:
    # a feature and a threshold at each split; at each leaf K − 1 probabilities, or one number
    leaves = model.tree_.n_leaves
    splits = model.tree_.node_count - leaves
    per_leaf = len(model.classes_) - 1 if is_classifier(model) else 1
    return float(2 * splits + leaves * per_leaf)


def _of_linear_scores(model: Any) -> float:
    per_score = np.shape(model.coef_)[-1]
    # without a fitted intercept, the attribute is missing or zero
    if hasattr(model, "intercept_") and getattr(model, "fit_intercept", True):
        per_score += 1
    # a support vector machine, which has a score for each pair of classes
    if hasattr(model, "support_vectors_"):
        return float(np.shape(model.coef_)[0] * per_score)
    # only the K − 1 differences of K scores affect predictions
    return float((len(model.classes_) - 1) * per_score)
