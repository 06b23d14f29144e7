"""Importance by shuffling, when another process shuffles some folds."""

import pickle

import numpy as np
import pytest

from suffice.evaluate.comparison.comparison import compared, folds_for
from suffice.evaluate.comparison.importance import Shuffling, permutation_importance
from suffice.evaluate.comparison.models import parse_models


@pytest.mark.parametrize("name", ["LDA", "nearest neighbours"])
def test_folds_that_another_process_shuffles_give_the_same_importance(name):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 4)) + y[:, None] * [2, 1, 0, 0]
    folds = folds_for(X, y, 4, None, None, 0)
    (model,) = parse_models([name], 0)
    outcome = compared((model,), folds, 0, keep=True)[name]
    names = ("a", "b", "c", "d")
    expected = permutation_importance(model, outcome, folds, names, seed=3)
    shuffling = pickle.loads(pickle.dumps(Shuffling.of(model, outcome, folds, 4, 3)))
    asked = []

    def computed(fold):
        asked.append(fold)
        return shuffling.rises(fold) if fold > 1 else None

    found = permutation_importance(model, outcome, folds, names, seed=3, computed=computed)
    assert found == expected
    assert asked == [0, 1, 2, 3]
    assert found[0].feature == "a"
