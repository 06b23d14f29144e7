"""What a search takes is the best of all it tried: brute force, every candidate fitted again."""

from itertools import product

import numpy as np
import pytest
from scipy.special import log_softmax

import suffice as sf
from suffice.core.estimation.edda import FAMILIES
from suffice.core.model.views import Plain
from suffice.core.power_transform import PowerTransform
from suffice.core.table.sampling import stratified_folds
from suffice.selection.search import plan
from suffice.selection.search.open_settings import at_best_temperature
from suffice.selection.search.regularisation_grid import (
    POOLINGS,
    SHRINKAGES,
    STRONG_SHRINKAGES,
)
from suffice.selection.search.temperatures import TEMPERATURES

SPREAD = 0.5  # of log T, before rows are seen


@pytest.fixture(scope="module")
def rows():
    """Three skewed classes, few rows: neither end of any grid is best."""
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1, 2], [20, 24, 26])
    mixed = rng.normal(size=(70, 4)) @ (np.eye(4) + 0.5 * rng.normal(size=(4, 4)))
    return np.exp(0.4 * mixed) + 0.5 * y[:, None], y


def held_out_losses(estimator, X, y, temperatures=(1.0,)):
    """Return the mean log-loss over folds of a refitted estimator at each temperature."""
    losses = []
    for train, test in stratified_folds(y, 10, 0):
        scores = estimator.fit(X[train], y[train]).decision_function(X[test])
        own = np.arange(len(test)), y[test]
        losses.append([-log_softmax(scores / t, axis=1)[own].mean() for t in temperatures])
    return np.mean(losses, axis=0)


def with_prior(losses, n):
    """Return log-losses by temperature with the penalty of log T ~ N(0, ½²), per row."""
    return losses + np.square(np.log(TEMPERATURES) / SPREAD) / (2 * n)


def test_rda_takes_the_grid_point_of_least_held_out_log_loss(rows):
    X, y = rows
    losses = {
        point: held_out_losses(
            sf.GaussianClassifier(pooling=point[0], shrinkage=point[1]), X, y
        )[0]
        for point in product(POOLINGS, SHRINKAGES)
    }
    rda = sf.RDA().fit(X, y)
    assert (rda.settings_.pooling, rda.settings_.shrinkage) == min(losses, key=losses.get)


def test_with_fewer_rows_than_features_strong_shrinkages_are_compared():
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    X = rng.normal(size=(3, 80))[y] * 0.35 + rng.normal(size=(60, 80))
    losses = {}
    for gamma in STRONG_SHRINKAGES[1:]:  # one of zero has no covariance of full rank
        losses[gamma] = held_out_losses(sf.LDA(shrinkage=gamma), X, y)[0]
    best = min(losses, key=losses.get)
    assert best not in SHRINKAGES
    assert sf.LDA(shrinkage="auto").fit(X, y).settings_.shrinkage == best


@pytest.mark.parametrize(("name", "grid"), [("pooling", POOLINGS), ("shrinkage", SHRINKAGES)])
def test_one_setting_left_open_is_the_best_of_its_grid(name, grid, rows):
    X, y = rows
    losses = [held_out_losses(sf.QDA(**{name: value}), X, y)[0] for value in grid]
    fitted = sf.QDA(**{name: "auto"}).fit(X, y)
    assert getattr(fitted.settings_, name) == grid[int(np.argmin(losses))]


def test_a_temperature_left_open_lies_beside_the_best_of_its_grid(rows):
    X, y = rows
    losses = with_prior(held_out_losses(sf.QDA(), X, y, TEMPERATURES), len(y))
    best = int(np.argmin(losses))
    assert 0 < best < len(TEMPERATURES) - 1
    found = sf.QDA(temperature="auto").fit(X, y).settings_.temperature
    ends = sorted(TEMPERATURES[[best - 1, best + 1]])
    assert ends[0] < found < ends[1]


@pytest.mark.parametrize("skewed", [False, True])
def test_a_transform_left_open_is_taken_where_it_lowers_the_loss(skewed, rows):
    X, y = rows
    x = np.exp(3 * X) if skewed else np.random.default_rng(1).normal(size=X.shape) + y[:, None]
    plain = held_out_losses(sf.LDA(), x, y)[0]
    transformed = held_out_losses(sf.LDA(power=PowerTransform.of(x)), x, y)[0]
    fitted = sf.LDA(power="auto").fit(x, y)
    assert (fitted.moments_.power is not None) == (transformed < plain) == skewed


def test_the_members_of_an_average_are_the_best_of_each_view(rows, monkeypatch):
    X, y = rows
    gammas = SHRINKAGES[::3]
    monkeypatch.setattr(plan, "SHRINKAGES", gammas)
    power = PowerTransform.of(X)
    auto = sf.AutoGaussian(kernel_features=False, n_kept=2).fit(X, y)
    for name, x in (("features as they are", X), ("Yeo–Johnson features", power.apply(X))):
        losses = {}
        for p, g in product(POOLINGS, gammas):
            found = held_out_losses(
                sf.GaussianClassifier(pooling=p, shrinkage=g), x, y, TEMPERATURES
            )
            losses[p, g] = found[np.argmin(with_prior(found, len(y)))]
        best_two = sorted(losses, key=losses.get)[:2]
        kept = [c for c in auto.choices_ if c.view.name == name]
        assert [(c.pooling, c.shrinkage) for c in kept] == best_two
        assert [c.log_loss for c in kept] == pytest.approx([losses[at] for at in best_two])
    assert [c.log_loss for c in auto.choices_] == sorted(c.log_loss for c in auto.choices_)


def one_choice(log_losses, n):
    losses = np.zeros((2, 1, len(TEMPERATURES), 3))
    losses[..., 1] = log_losses
    (choice,) = at_best_temperature(Plain(), [sf.QDA().settings()], losses, TEMPERATURES, n)
    return choice.temperature


@pytest.mark.parametrize("n", [5, 50, 5000])
def test_where_rows_say_nothing_the_prior_keeps_the_temperature_at_one(n):
    assert one_choice(np.zeros(len(TEMPERATURES)), n) == pytest.approx(1.0)


@pytest.mark.parametrize("n", [10, 40])
def test_the_prior_pulls_a_temperature_towards_one_by_its_weight(n):
    curvature, centre = 0.8, np.log(3.0)
    log_t = np.log(TEMPERATURES)
    found = one_choice(0.5 * curvature * np.square(log_t - centre), n)
    # argmin ½ c (t − m)² + t² / (2 n s²) = c m / (c + 1 / (n s²))
    expected = curvature * centre / (curvature + 1 / (n * SPREAD**2))
    assert np.log(found) == pytest.approx(expected, rel=1e-9)


def test_a_family_left_open_is_that_of_least_bic(iris):
    X, y = iris
    fits = {code: sf.GaussianClassifier(code).fit(X, y) for code in FAMILIES}
    criteria = {code: fit.model_.bic(fit.moments_) for code, fit in fits.items()}
    fitted = sf.GaussianClassifier("auto").fit(X, y)
    assert fitted.family_ == min(criteria, key=criteria.get)
    assert fitted.model_.bic(fitted.moments_) == pytest.approx(min(criteria.values()))
