"""How simple a fitted classifier is: its number of parameters, and whether it can be read."""

from typing import Any

import numpy as np

from suffice.evaluate.comparison.models import core


def is_readable(fitted: object) -> bool:
    """Whether the rule can be written down: one equation per class, or one tree."""
    model = core(fitted)
    if hasattr(model, "members_"):
        return False
    # ``_strategy`` marks scikit-learn's constant classifier
    attributes = ("coef_", "model_", "tree_", "_strategy")
    return any(hasattr(model, name) for name in attributes)


def n_parameters(fitted: object) -> float:
    """Return the number of free parameters; NaN if unknown, or if the model keeps rows instead."""
    model: Any = core(fitted)
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
        return float(sum(n_parameters(member) for member in np.ravel(model.estimators_)))
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


def _of_tree(model: Any) -> float:
    # a feature and a threshold at each split, K − 1 probabilities at each leaf
    leaves = model.tree_.n_leaves
    splits = model.tree_.node_count - leaves
    return float(2 * splits + leaves * (len(model.classes_) - 1))


def _of_linear_scores(model: Any) -> float:
    # K scores have K − 1 free differences, and only these matter
    per_score = np.shape(model.coef_)[-1]
    if np.any(getattr(model, "intercept_", 0)):
        per_score += 1
    return float((len(model.classes_) - 1) * per_score)
