"""Losses of many settings at once are those of the models estimated one by one."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suffice.core.decision.predictions import losses_of_rows
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.settings import Settings
from suffice.core.table import Table
from suffice.selection.validation import held_out
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


def with_constant_features(seed, *, is_duplicated):
    """Return rows with two features that vary in no class, one of which differs between classes."""
    rng = np.random.default_rng(seed)
    y = np.resize([0, 1, 2], 60)
    X = rng.normal(size=(60, 6)) + rng.normal(size=(3, 6))[y]
    X[:, 1] = 5.0
    X[:, 4] = [2.0, -1.0, 0.5] @ (y == np.arange(3)[:, None])
    if is_duplicated:
        X[:, 5] = X[:, 0]
    return Table.of(X, y)


@pytest.mark.parametrize("is_duplicated", [False, True])
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 10_000))
def test_losses_of_a_large_singular_shared_covariance_are_those_of_each_model(
    monkeypatch, seed, is_duplicated
):
    # every covariance counts as too large to fill together with others
    monkeypatch.setattr(held_out, "_MOST_FILLED", 0)
    recipes = [Settings(shrinkage=g, tied=True) for g in (0.0, 1e-3, 0.3, 1.0)]
    table = with_constant_features(seed, is_duplicated=is_duplicated)
    for fold in Folds.stratified(table, 3, 0).each("pooled", fourth=False):
        group_of = np.zeros(3, np.intp)
        gammas = np.array([0.0, 1e-3, 0.3, 1.0])
        path = held_out._path_of(fold.train, group_of, recipes[0].regularisation, gammas)
        in_parts = np.concatenate([places for places, _ in path.parts()])
        assert in_parts.tolist() == ([1, 2, 3] if is_duplicated else [0, 1, 2, 3])
        found = held_out_losses(recipes, fold, np.array([1.0, 2.0]))
        for recipe, losses in zip(recipes, found, strict=True):
            logs = estimate(fold.train, recipe, quiet=True).log_posterior(fold.held_out.x)
            again = losses_of_rows(logs, fold.held_out.codes).mean(1)
            np.testing.assert_allclose(losses[0], again, rtol=1e-5, atol=1e-7)


def test_losses_of_many_classes_and_shrinkages_are_those_of_each_model():
    # so many that rows and shrinkages are taken in several blocks
    rng = np.random.default_rng(0)
    y = np.arange(1_200) % 150
    means = rng.normal(size=(150, 4))
    table = Table.of(rng.normal(size=(1_200, 4)) + means[y], y)
    recipes = [Settings(shrinkage=g, tied=True) for g in np.linspace(0, 1, 5)]
    fold = Folds.stratified(table, 3, 0).each("pooled", fourth=False)[0]
    found = held_out_losses(recipes, fold, np.array([1.0, 2.0]))
    for recipe, losses in zip(recipes, found, strict=True):
        logs = estimate(fold.train, recipe, quiet=True).log_posterior(fold.held_out.x)
        again = losses_of_rows(logs, fold.held_out.codes).mean(1)
        np.testing.assert_allclose(losses[0], again, rtol=1e-9)


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
