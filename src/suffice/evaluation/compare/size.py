"""How many numbers a fitted classifier goes by."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.evaluation.compare.line_up import core


def n_parameters(fitted: Any) -> float:
    """Return the number of free parameters, NaN where rows are kept instead or it is not known.

    Linear scores of K classes count for K − 1, since only their differences matter; a tree keeps
    a feature and a threshold at each split, and K − 1 probabilities at each leaf.
    """
    model = core(fitted)
    for attribute, count in _COUNTS.items():
        if hasattr(model, attribute):
            return float(count(model))
    return np.nan


def _of_model(model: Any) -> float:
    return float(getattr(model.model_, "n_parameters", np.nan))


def _of_average(model: Any) -> float:
    """Return those of every model averaged, and their shares."""
    sizes = [getattr(member.model, "n_parameters", np.nan) for member in model.members_]
    return float(np.sum(sizes)) + len(sizes) - 1


def _of_tree(model: Any) -> float:
    tree = model.tree_
    splits, leaves = int(tree.node_count - tree.n_leaves), int(tree.n_leaves)
    return float(2 * splits + leaves * (len(model.classes_) - 1))


def _of_ensemble(model: Any) -> float:
    return float(np.sum([n_parameters(tree) for tree in np.ravel(model.estimators_)]))


def _of_network(model: Any) -> float:
    return float(sum(np.size(layer) for layer in (*model.coefs_, *model.intercepts_)))


def _of_scores(model: Any) -> float:
    per_score = np.shape(model.coef_)[-1] + bool(np.any(getattr(model, "intercept_", 0)))
    return float((len(model.classes_) - 1) * per_score)


# fitted attribute → what it says of the number of parameters, the first that is there
_COUNTS = {
    "model_": _of_model,
    "members_": _of_average,
    "tree_": _of_tree,
    "coefs_": _of_network,
    "coef_": _of_scores,
    "estimators_": _of_ensemble,
}
