"""Losses of many settings at once are those of the models estimated one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.core.decision.predictions import losses_of_rows
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.settings import Settings
from suffice.core.table import Table
from suffice.selection.validation.folds import Folds
from suffice.selection.validation.held_out import held_out_losses


def singular(seed):
    """Return few rows of classes that lack variance, one alone, one in every column but two."""
    rng = np.random.default_rng(seed)
    y = np.resize([0, 1, 1, 2, 2, 2], 42)
    X = rng.normal(size=(42, 7)) + rng.normal(size=(3, 7))[y]
    X[y == 0, 2:] = 1.0
    X[y == 1, 3] = X[y == 1, 4] + X[y == 1, 5]
    X[:, 6] = y == 2  # varies in no class
    return Table.of(X, y)


@pytest.mark.parametrize("tied", [False, True])
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_losses_of_singular_classes_are_those_of_each_model(tied, seed):
    recipes = [
        Settings(pooling=p, shrinkage=g, tied=tied)
        for p in ([0.0] if tied else [0.0, 0.4, 1.0])
        for g in (0.0, 0.3, 1.0)
    ]
    for fold in Folds.stratified(singular(seed), 3, 0).each("per-class", fourth=False):
        found = held_out_losses(recipes, fold, np.array([1.0, 2.0]))
        held = fold.held_out
        for recipe, losses in zip(recipes, found, strict=True):
            model = estimate(fold.train, recipe, quiet=True)
            logs = model.log_posterior(held.x)
            again = losses_of_rows(logs, held.codes).mean(1)
            np.testing.assert_allclose(losses[0], again, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("tied", [False, True])
def test_losses_of_fewer_rows_than_features_are_those_of_each_model(tied):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    table = Table.of(rng.normal(size=(30, 40)) + 0.1 * y[:, None], y)
    recipes = [Settings(shrinkage=g, tied=tied) for g in (0.0, 0.3, 1.0)]
    fold = next(iter(Folds.stratified(table, 3, 0).each("rows", fourth=False)))
    assert fold.train.scatter.has_few_rows
    found = held_out_losses(recipes, fold, np.array([1.0]))
    assert found[-1, 0, 1] > 0.1  # so that densities count
    for recipe, losses in zip(recipes, found, strict=True):
        logs = estimate(fold.train, recipe, quiet=True).log_posterior(fold.held_out.x)
        again = losses_of_rows(logs, fold.held_out.codes).mean(1)
        np.testing.assert_allclose(losses[0], again, rtol=1e-6, atol=1e-9)
