"""Scores and losses of held-out rows under models estimated from the other folds' sums."""

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from suffice.core.decision.predictions import losses_of_rows, summed_losses
from suffice.core.estimation.covariance_estimates import (
    FullStructure,
    Regularisation,
    resolved_variances,
)
from suffice.core.estimation.degenerate import ReferenceCovariance
from suffice.core.estimation.divisors import divided
from suffice.core.estimation.estimate import estimate
from suffice.core.estimation.groups import full_groups, pooled_groups
from suffice.core.estimation.settings import Settings
from suffice.core.linalg import rank_tolerance, scaled_cholesky
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.posterior import LogPosterior
from suffice.core.moments import Moments
from suffice.core.table.foreign import is_foreign, to_numpy
from suffice.selection.validation.folds import Fold
from suffice.typing import Codes, Floats

_NUMBERS = 1 << 16  # posteriors found at a time: they stay in the cache


def held_out_losses(
    recipes: Sequence[Settings],
    fold: Fold,
    temperatures: Floats,
    fixed_weights: Floats | None = None,
) -> Floats:
    """Return mean error, log-loss and Brier score of every candidate and temperature, (C, T, 3)."""
    losses, held = np.empty((len(recipes), len(temperatures), 3)), fold.held_out
    weights = fold.train.weights if fixed_weights is None else fixed_weights
    if fixed_weights is not None or not weights.all():  # a class without rows has prior 0
        recipes = [recipe.with_priors_of(weights, fold.train) for recipe in recipes]
    together: dict[Any, list[int]] = {}  # those that differ in γ alone share their work
    for i, recipe in enumerate(recipes):
        how = recipe.regularisation
        alike = pickle.dumps((recipe.tied_classes, how.unbiased, recipe.priors, how.pooling))
        together.setdefault(alike if _has_path(recipe) else i, []).append(i)
    for members in together.values():
        found = _path_losses([recipes[i] for i in members], fold, temperatures)
        if found is not None:
            losses[members] = found
            continue
        for i in members:
            model = estimate(fold.train, recipes[i], quiet=True)
            rows = held.x if isinstance(model, GaussianModel) else to_numpy(held.x)
            scores = to_numpy(model.scores(rows))
            for j, t in enumerate(temperatures):
                of_rows = losses_of_rows(LogPosterior(t).read(scores), held.codes)
                losses[i, j] = np.average(of_rows, axis=1, weights=held.weight)
    return losses


def _has_path(recipe: Settings) -> bool:
    """Whether a recipe is a full covariance with numbers for pooling and shrinkage."""
    how, full = recipe.regularisation, isinstance(recipe.structure, FullStructure)
    numbers = how.shrinkage.fixed is not None and how.target.keeps_variances
    return recipe.is_plug_in and full and numbers


def log_priors_of(recipe: Settings, train: Moments) -> Floats:
    """Return log π (K,), −∞ for classes without rows."""
    with np.errstate(divide="ignore"):
        priors = recipe.class_priors(train.classes, train.weights)
        return np.log(np.where(train.weights > 0, priors, 0.0))


def _path_losses(alike: Sequence[Settings], fold: Fold, temperatures: Floats) -> Floats | None:
    """Return the losses (Γ, T, 3) of recipes that differ in γ alone; None where they cannot be."""
    if not _has_path(alike[0]) or is_foreign(fold.held_out.x):
        return None
    gammas = np.array([recipe.regularisation.shrinkage.fixed for recipe in alike], np.float64)
    group_of = alike[0].group_of(fold.train.classes)
    scores_of = _path_scores(fold.train, group_of, alike[0].regularisation, gammas)
    if scores_of is None:
        return None
    held, log_priors = fold.held_out, log_priors_of(alike[0], fold.train)
    total = np.zeros((len(gammas), len(temperatures), 3))
    step = max(1, _NUMBERS // (len(group_of) * len(gammas)))
    for lo in range(0, held.n_rows, step):
        some = slice(lo, lo + step)
        scores = scores_of(np.asarray(held.x[some], np.float64)) + log_priors[:, None, None]
        total += summed_losses(scores, held.codes[some], held.weights[some], temperatures)
    return np.asarray(total / held.weights.sum())


def _path_scores(
    train: Moments,
    group_of: Codes,
    how: Regularisation,
    gammas: Floats,
) -> Callable[[Floats], Floats] | None:
    """Return what finds log p(x | k) of every γ, up to a common term, (K, Γ, m), if it can be."""
    groups = pooled_groups(full_groups(train, group_of), how.pooling)
    sigmas = divided(groups, unbiased=how.unbiased)
    variances = np.diagonal(sigmas, axis1=1, axis2=2)
    known = resolved_variances(variances, train, group_of)
    if not known.all():
        return _filled_scores(train, group_of, sigmas, known, gammas)
    # Σ = diag(s) V diag(e) Vᵀ diag(s),   e(γ) = (1 − γ) e + γ
    scale = np.sqrt(variances)
    values, vectors = np.linalg.eigh(sigmas / scale[:, None] / scale[..., None])
    e = (1 - gammas) * values[..., None] + gammas  # (G, d, Γ)
    if e.min() <= rank_tolerance(e.shape[1]):
        return _filled_scores(train, group_of, sigmas, known, gammas)
    log_dets = np.log(e).sum(1) + 2 * np.log(scale).sum(1)[:, None]
    turns = vectors / scale[..., None]
    origin, offsets = train.grand_mean, train.centred_means

    def linear(x: Floats) -> Floats:
        m = offsets @ turns[0]
        # mᵀ E(γ)⁻¹ z − ½ mᵀ E(γ)⁻¹ m: what differs between tied classes
        weights = (m[:, None] / e[0].T).reshape(-1, m.shape[1])
        bias = -0.5 * np.square(m) @ (1 / e[0])
        found = weights @ ((x - origin) @ turns[0]).T
        return np.asarray(found.reshape(*bias.shape, -1) + bias[..., None])

    def quadratic(x: Floats) -> Floats:
        scores, rows = np.empty((len(group_of), len(gammas), len(x))), x - origin
        for k, g in enumerate(group_of):
            z = rows @ turns[g]
            z -= offsets[k] @ turns[g]
            # −½ (log|Σ(γ)| + Σ_i (z_i − m_i)² / e_i(γ))
            scores[k] = -0.5 * ((1 / e[g]).T @ np.square(z, out=z).T + log_dets[g][:, None])
        return scores

    return linear if len(sigmas) == 1 else quadratic


def _filled_scores(
    train: Moments,
    group_of: Codes,
    sigmas: Floats,
    variances: Floats,
    gammas: Floats,
) -> Callable[[Floats], Floats] | None:
    """Return the same where singular Σ(γ) are filled, all in one stack; None of many features."""
    if len(gammas) * sigmas.size > _NUMBERS << 4:
        return None
    # Σ(γ) = (1 − γ) Σ + γ diag Σ
    paths = (1 - gammas[:, None, None] * (1 - np.eye(sigmas.shape[-1])))[:, None] * sigmas
    factored = np.array([[scaled_cholesky(s) is not None for s in path] for path in paths])
    reference = ReferenceCovariance.of(train)
    a, v, filled = reference.spectrum(paths)
    whole = (factored & variances.all(1))[..., None]
    # a factor may be found where rounding leaves an eigenvalue of no sign
    e = np.where(whole & (a > 0), a, filled)[:, group_of]  # (Γ, K, d)
    turns = (reference.inverse.T @ v)[:, group_of] / np.sqrt(e)[..., None, :]
    log_dets, offsets = np.log(e).sum(-1)[..., None], train.centred_means

    def scores(x: Floats) -> Floats:
        rows = (x - train.grand_mean) - offsets[:, None]
        found = [np.square(rows @ turn).sum(-1) for turn in turns]
        # −½ (log|Σ(γ)| + |z|²)
        return np.asarray(-0.5 * (np.stack(found) + log_dets)).swapaxes(0, 1)

    return scores
