"""Fitting with missing numbers: EM on sums equals EM on rows, and reaches the maximum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from suffice import Moments
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.settings import Settings
from suffice.core.missing import iteration
from suffice.core.missing.em import observed_log_likelihood
from suffice.core.missing.iteration import em
from suffice.errors import (
    DegenerateDataWarning,
    InvalidInputError,
    MissingStatisticsError,
    NotConvergedWarning,
)

# Days 2, 4 and 14 after a heart attack, serum cholesterol of 28 patients: Ryan & Joiner (1994);
# Schafer (1997), Analysis of Incomplete Multivariate Data, section 5.3.6.
DAY_2 = [270, 236, 210, 142, 280, 272, 160, 220, 226, 242, 186, 266, 206, 318]
DAY_2 += [294, 282, 234, 224, 276, 282, 360, 310, 280, 278, 288, 288, 244, 236]
DAY_4 = [218, 234, 214, 116, 200, 276, 146, 182, 238, 288, 190, 236, 244, 258]
DAY_4 += [240, 294, 220, 200, 220, 186, 352, 202, 218, 248, 278, 248, 270, 242]
NAN = np.nan
DAY_14 = [156, NAN, 242, NAN, NAN, 256, 142, 216, 248, NAN, 168, 236, NAN, 200]
DAY_14 += [264, NAN, 264, NAN, 188, 182, 294, 214, NAN, 198, NAN, 256, 280, 204]


def rows_with_holes(seed, n=80, d=4, classes=2, share=0.25, offset=0.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    mix = rng.normal(size=(d, d))
    x = rng.normal(size=(n, d)) @ mix + y[:, None] + offset
    x[rng.random(x.shape) < share] = np.nan
    return x, y


def m_step(**words):
    """Return the recipe's own estimate of sums, and the groups of its classes."""
    recipe = Settings(**words)

    def step(moments):
        return estimate(moments, recipe, quiet=True)

    return recipe, step


def textbook_step(x, y, means, sigmas):
    """Return means and covariances after one EM step, row by row (Little & Rubin, section 11.2)."""
    classes = np.unique(y)
    new_means, scatters, weights = [], [], []
    for k, label in enumerate(classes):
        mu, sigma = means[k], sigmas[k]
        filled, spread = [], np.zeros_like(sigma)
        for row in x[y == label]:
            o, m = ~np.isnan(row), np.isnan(row)
            full, c = mu.copy(), np.zeros_like(sigma)
            full[o] = row[o]
            if m.any() and o.any():
                b = np.linalg.solve(sigma[np.ix_(o, o)], sigma[np.ix_(o, m)]).T
                full[m] = mu[m] + b @ (row[o] - mu[o])
                c[np.ix_(m, m)] = sigma[np.ix_(m, m)] - b @ sigma[np.ix_(o, m)]
            elif m.any():
                c = sigma
            filled.append(full)
            spread = spread + c
        filled = np.array(filled)
        mean = filled.mean(0)
        new_means.append(mean)
        scatters.append((filled - mean).T @ (filled - mean) + spread)
        weights.append(len(filled))
    return np.array(new_means), np.array(scatters), np.array(weights)


def textbook(x, y, *, tied, start, steps):
    means, sigmas = start
    for _ in range(steps):
        means, scatters, weights = textbook_step(x, y, means, sigmas)
        pooled = np.repeat(scatters.sum(0, keepdims=True) / weights.sum(), len(means), axis=0)
        sigmas = pooled if tied else scatters / weights[:, None, None]
    return means, sigmas


def observed_likelihood(x, y, means, sigmas):
    total = 0.0
    for k, label in enumerate(np.unique(y)):
        for row in x[y == label]:
            o = ~np.isnan(row)
            if o.any():
                part = sigmas[k][np.ix_(o, o)]
                total += multivariate_normal(means[k][o], part).logpdf(row[o])
    return total


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_converged_fit_is_a_fixed_point_of_em_on_rows(tied, seed):
    x, y = rows_with_holes(seed)
    moments = Moments.of(x, y)
    recipe, step = m_step(tied=tied)
    found = em(moments, step, recipe.group_of(moments.classes), prior_rows=0, tolerance=1e-13)
    assert found.changes.max() <= 1e-13
    model = estimate(found.moments, recipe)
    sigmas = np.broadcast_to(model.covariance_matrices, (2, 4, 4))
    means, again = textbook(x, y, tied=tied, start=(model.means, sigmas), steps=200)
    np.testing.assert_allclose(model.means, means, atol=1e-10)
    np.testing.assert_allclose(sigmas, again, atol=1e-10)


@pytest.mark.parametrize("tied", [True, False])
def test_single_steps_are_those_of_em_on_rows(tied):
    x, y = rows_with_holes(7, n=200, share=0.15)
    moments = Moments.of(x, y)
    recipe, step = m_step(tied=tied)
    groups = recipe.group_of(moments.classes)
    options = {"prior_rows": 0, "accelerated": False, "tolerance": 0}
    two, four = (em(moments, step, groups, most_steps=n, **options) for n in (2, 4))
    model = estimate(two.moments, recipe)
    start = model.means, np.broadcast_to(model.covariance_matrices, (2, 4, 4))
    means, sigmas = textbook(x, y, tied=tied, start=start, steps=2)
    after = estimate(four.moments, recipe)
    np.testing.assert_allclose(after.means, means, atol=1e-12)
    np.testing.assert_allclose(
        after.covariance_matrices, sigmas[0] if tied else sigmas, atol=1e-12
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.3, 0.5]), st.booleans())
def test_the_observed_likelihood_never_falls(seed, share, tied):
    x, y = rows_with_holes(seed, n=150, d=3, share=share)
    moments = Moments.of(x, y)
    recipe, step = m_step(tied=tied)
    found = em(moments, step, recipe.group_of(moments.classes), prior_rows=0)
    steps = np.diff(found.objectives)
    assert steps.min(initial=0.0) >= -1e-9 * abs(found.objectives[-1])


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["regular", "duplicated", "constant", "few rows"]),
    st.sampled_from(["pooled", "tied", "untied"]),
)
def test_with_the_prior_the_objective_never_falls(seed, kind, storage):
    n, d = (18, 6) if kind == "few rows" else (60, 4)
    x, y = rows_with_holes(seed, n=n, d=d, share=0.3)
    if kind == "duplicated":
        x[:, 2] = np.where(np.isnan(x[:, 2]), np.nan, x[:, 0])
    if kind == "constant":
        x[:, 1] = np.where(np.isnan(x[:, 1]), np.nan, 3.0)
    # a class that alone does not vary borrows variance from the others, which changes
    tied = storage != "untied" or kind == "few rows"
    kept = "pooled" if tied and storage == "pooled" else "per-class"
    moments = Moments.of(x, y, storage=kept, fourth=False)
    recipe, step = m_step(tied=tied)
    groups = recipe.group_of(moments.classes)
    found = em(moments, step, groups, most_steps=60)
    steps = np.diff(found.objectives)
    assert steps.min(initial=0.0) >= -1e-9 * abs(found.objectives[-1])


def test_tied_classes_share_one_prior_in_any_storage():
    x, y = rows_with_holes(1, n=60)
    _, step = m_step(tied=True)
    sums = [Moments.of(x, y, storage=kept, fourth=False) for kept in ("pooled", "per-class")]
    options = {"prior_rows": 5.0, "tolerance": 1e-12}
    pooled, each = (em(m, step, np.zeros(2, int), **options) for m in sums)
    assert pooled.objectives[-1] == pytest.approx(each.objectives[-1], rel=1e-12)
    ours, theirs = (found.moments.pooled_scatter for found in (pooled, each))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_the_likelihood_is_that_of_the_observed_numbers():
    x, y = rows_with_holes(3)
    model = estimate(Moments.of(x, y), Settings())
    sigmas = model.covariance_matrices
    expected = observed_likelihood(x, y, model.means, sigmas)
    for parts in (slice(None), slice(0, 40)):
        rest = Moments.of(x, y) if parts == slice(None) else Moments.of(x[parts], y[parts])
        rest = rest if parts == slice(None) else rest + Moments.of(x[40:], y[40:])
        assert observed_log_likelihood(rest, model) == pytest.approx(expected, rel=1e-12)


def test_a_general_optimiser_finds_no_larger_likelihood():
    x, y = rows_with_holes(5, n=60, d=3, share=0.3)
    model = estimate(Moments.of(x, y), Settings(tied=True))
    ours = observed_likelihood(x, y, model.means, [model.covariance_matrices] * 2)
    low = np.tril_indices(3)

    def loss(theta):
        factor = np.zeros((3, 3))
        factor[low] = theta[6:]
        sigma = factor @ factor.T + 1e-9 * np.eye(3)
        return -observed_likelihood(x, y, theta[:6].reshape(2, 3), [sigma] * 2)

    start = np.concatenate([np.zeros(6), np.eye(3)[low]])
    best = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 500})
    assert ours == pytest.approx(-best.fun, abs=1e-4)
    assert ours >= -best.fun - 1e-6


def test_monotone_holes_have_the_closed_form_of_the_factored_likelihood():
    # Anderson (1957): regress day 14 on days 2 and 4 among the complete, then undo the factoring
    full = np.column_stack([DAY_2, DAY_4, DAY_14]).astype(float)
    first, seen = full[:, :2], full[~np.isnan(full[:, 2])]
    mean, sigma = first.mean(0), np.cov(first.T, bias=True)
    design = np.column_stack([np.ones(len(seen)), seen[:, :2]])
    beta, *_ = np.linalg.lstsq(design, seen[:, 2], rcond=None)
    noise = np.mean((seen[:, 2] - design @ beta) ** 2)
    cross = sigma @ beta[1:]
    last = beta[0] + beta[1:] @ mean
    expected = np.block([[sigma, cross[:, None]], [cross, noise + beta[1:] @ cross]])
    # a second class, complete and far away, so that there is something to tell apart
    other = np.random.default_rng(0).normal(900, 10, (20, 3))
    x, y = np.vstack([full, other]), np.repeat([0, 1], [28, 20])
    moments, (recipe, step) = Moments.of(x, y), m_step()
    model = estimate(moments, recipe)
    np.testing.assert_allclose(model.means[0].round(2), [253.93, 230.64, 222.24])
    np.testing.assert_allclose(model.covariance_matrices[0], expected, rtol=1e-5)
    exact = em(moments, step, np.arange(2), prior_rows=0, tolerance=1e-13)
    model = estimate(exact.moments, recipe)
    np.testing.assert_allclose(model.means[0], [*mean, last], rtol=1e-11)
    np.testing.assert_allclose(model.covariance_matrices[0], expected, rtol=1e-10)


def test_features_that_are_independent_need_only_their_own_values():
    x, y = rows_with_holes(11, n=120, share=0.3)
    for divisor, ddof in (("mle", 0), ("unbiased", 1)):
        recipe = Settings(covariance="diagonal", divisor=divisor)
        for storage in ("diagonal", "per-class"):
            model = estimate(Moments.of(x, y, storage=storage, fourth=False), recipe)
            for k in range(2):
                np.testing.assert_allclose(model.means[k], np.nanmean(x[y == k], 0))
                variances = np.nanvar(x[y == k], 0, ddof=ddof)
                np.testing.assert_allclose(
                    np.diagonal(model.covariance_matrices[k]), variances, rtol=1e-6
                )


@pytest.mark.parametrize(
    "words",
    [
        {"covariance": "spherical"},
        {"covariance": "VEV"},
        {"tied": [[0, 1], [2]]},
        {"pooling": 0.3, "shrinkage": 0.2},
        {"shrinkage": "oas"},
        {"estimate": "map"},
        {"estimate": "predictive"},
        {"covariance": "auto"},
    ],
)
def test_every_recipe_learns_from_holes(words):
    x, y = rows_with_holes(2, n=400, classes=3, share=0.1)
    full = np.random.default_rng(0).permutation(len(x))
    recipe = Settings(**words)
    model = estimate(Moments.of(x, y, storage="per-class", fourth=False), recipe)
    parts = [Moments.of(x[i], y[i], fourth=False) for i in np.array_split(full, 5)]
    again = estimate(sum(parts), recipe)
    np.testing.assert_allclose(model.means, again.means, atol=1e-9)
    np.testing.assert_allclose(model.covariance_matrices, again.covariance_matrices, atol=1e-8)


def test_far_from_the_origin_nothing_is_lost():
    x, y = rows_with_holes(4, share=0.2)
    near, far = (estimate(Moments.of(x + offset, y), Settings()) for offset in (0.0, 2.0**27))
    np.testing.assert_allclose(far.covariance_matrices, near.covariance_matrices, atol=1e-5)
    np.testing.assert_allclose(far.means - 2.0**27, near.means, atol=1e-6)


def test_many_patterns_are_exact_as_rows_and_as_sums():
    # 20 columns: nearly every row has a pattern of its own
    x, y = rows_with_holes(9, n=400, d=20, share=0.2)
    moments = Moments.of(x, y)
    assert moments.patterns.single_rows.n_rows > 300
    recipe, step = m_step(tied=True)
    options = {"prior_rows": 0, "accelerated": False, "tolerance": 0}
    two, four = (em(moments, step, np.zeros(2, int), most_steps=n, **options) for n in (2, 4))
    start = estimate(two.moments, recipe)
    sigmas = np.broadcast_to(start.covariance_matrices, (2, 20, 20))
    means, sigmas = textbook(x, y, tied=True, start=(start.means, sigmas), steps=2)
    after = estimate(four.moments, recipe)
    np.testing.assert_allclose(after.means, means, atol=1e-9)
    np.testing.assert_allclose(after.covariance_matrices, sigmas[0], atol=1e-9)


def test_what_cannot_be_learnt_is_refused_or_told(monkeypatch):
    x, y = rows_with_holes(6, n=200)
    nowhere, one_class, apart = x.copy(), x.copy(), x.copy()
    nowhere[:, 1] = np.nan
    with pytest.raises(
        InvalidInputError, match="column 1 has no value in any row: leave it out"
    ):
        estimate(Moments.of(nowhere, y), Settings())
    one_class[y == 1, 1] = np.nan
    with pytest.warns(DegenerateDataWarning, match="class 1 has no value of column 1"):
        model = estimate(Moments.of(one_class, y), Settings(tied=True))
    assert model.means[1, 1] == pytest.approx(np.nanmean(x[y == 0, 1]))
    apart[::2, 0], apart[1::2, 1] = np.nan, np.nan
    with pytest.warns(DegenerateDataWarning, match="never observed together .*0 and 1"):
        model = estimate(Moments.of(apart, y), Settings(tied=True))
    assert np.linalg.eigvalsh(model.covariance_matrices).min() > 0
    with pytest.raises(MissingStatisticsError, match="ledoit-wolf"):
        estimate(Moments.of(x, y), Settings(shrinkage="ledoit-wolf"))
    monkeypatch.setattr(iteration, "UNFINISHED", 0.0)
    with pytest.warns(NotConvergedWarning, match="EM .* column .* missing='indicator'"):
        estimate(Moments.of(x, y), Settings())


def test_a_column_that_is_constant_stays_so():
    x, y = rows_with_holes(8, n=100)
    x[:, 2] = np.where(np.isnan(x[:, 2]), np.nan, 7.0)
    with pytest.warns(DegenerateDataWarning, match="column 2 is constant"):
        model = estimate(Moments.of(x, y), Settings(tied=True))
    np.testing.assert_allclose(model.means[:, 2], 7.0)
