"""Scores and losses of held-out rows under models estimated from the other folds' sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.estimation.divisors import divided, resolved_variances
from suffice.estimation.groups import full_groups
from suffice.estimation.shrinkage import Regularisation, pooled_groups
from suffice.estimation.structures import FullStructure
from suffice.linalg import correlation, rank_tolerance, symmetric_eigen
from suffice.model.posterior import LogPosterior
from suffice.model.tiles import LANES, SIDE
from suffice.moments import Moments
from suffice.typing import Codes, Floats
from suffice.validation.predictions import losses_of_rows

if TYPE_CHECKING:
    from suffice.estimation.recipe import Recipe
    from suffice.validation.folds import Fold

_SMALL = 100_000  # posteriors of a path under which compiled loops do not pay for their start
_STACKED = 1 << 20  # numbers in a table of all candidates that is read at once


@dataclass(frozen=True, slots=True, eq=False)
class ShrinkagePath:
    """Candidates with one λ that differ in γ only, so that they share eigen-decompositions."""

    recipe: Recipe
    members: tuple[int, ...]  # which candidates they are
    gammas: Floats  # γ of each member


def held_out_scores(recipe: Recipe, fold: Fold, fixed_weights: Floats | None = None) -> Floats:
    """Return scores a_k (m, K) of a fold's rows.

    Priors are those of the training rows, or of ``fixed_weights`` where they are given.
    """
    model = recipe.estimate(fold.train, quiet=True)
    if fixed_weights is not None:
        model = model.with_priors(np.exp(_log_priors(recipe, fold, fixed_weights)))
    return model.scores(fold.held_out.x)


def held_out_losses(
    recipes: Sequence[Recipe], fold: Fold, temperatures: Floats, fixed_weights: Floats | None = None
) -> Floats:
    """Return mean error, log-loss and Brier score of every candidate and temperature, (C, T, 3)."""
    losses = np.empty((len(recipes), len(temperatures), 3))
    for path in shared_paths(recipes):
        found = _path_losses(path, fold, temperatures, fixed_weights)
        if found is not None:
            losses[list(path.members)] = found
            continue
        for i in path.members:
            scores = held_out_scores(recipes[i], fold, fixed_weights)
            losses[i] = _losses_of(scores, fold, temperatures)
    return losses


def shared_paths(recipes: Sequence[Recipe]) -> Iterator[ShrinkagePath]:
    """Yield the recipes in groups that share their work: those that differ in γ alone."""
    together: dict[tuple[str, bool, str, float], list[int]] = {}
    for i, recipe in enumerate(recipes):
        if not has_path(recipe):
            yield ShrinkagePath(recipe, (i,), np.zeros(0))
            continue
        how = recipe.regularisation
        key = (repr(recipe.tied), how.unbiased, repr(recipe.priors), how.pooling)
        together.setdefault(key, []).append(i)
    for members in together.values():
        gammas = [recipes[i].regularisation.shrinkage.fixed for i in members]
        yield ShrinkagePath(recipes[members[0]], tuple(members), np.array(gammas, np.float64))


def has_path(recipe: Recipe) -> bool:
    """Whether a recipe is a full covariance with numbers for pooling and shrinkage."""
    return (
        recipe.is_plug_in
        and isinstance(recipe.structure, FullStructure)
        and recipe.regularisation.shrinkage.fixed is not None
        and recipe.regularisation.target.keeps_variances
    )


def _path_losses(
    path: ShrinkagePath, fold: Fold, temperatures: Floats, fixed_weights: Floats | None
) -> Floats | None:
    if not len(path.gammas):
        return None
    recipe, train = path.recipe, fold.train
    group_of = recipe.group_of(train.classes)
    spectra = spectra_of(train, group_of, recipe.regularisation, float(path.gammas.min()))
    if spectra is None:
        return None
    log_priors = _log_priors(recipe, fold, fixed_weights)
    n_posteriors = fold.held_out.n_rows * train.n_classes * len(path.gammas) * len(temperatures)
    if n_posteriors > _SMALL and np.isfinite(log_priors).all():
        return _compiled_losses(spectra, group_of, fold, log_priors, path.gammas, temperatures)
    x = np.asarray(fold.held_out.x, np.float64)
    scores = path_scores(spectra, group_of, train, x, path.gammas) + log_priors
    if scores.size * len(temperatures) <= _STACKED:
        return _stacked_losses(scores, fold, temperatures)
    return np.stack([_losses_of(of_gamma, fold, temperatures) for of_gamma in scores])


def _losses_of(scores: Floats, fold: Fold, temperatures: Floats) -> Floats:
    held = fold.held_out
    rows = (losses_of_rows(LogPosterior(t).read(scores), held.codes) for t in temperatures)
    return np.stack([np.average(losses, axis=1, weights=held.weight) for losses in rows])


def _stacked_losses(scores: Floats, fold: Fold, temperatures: Floats) -> Floats:
    """Return the losses (G, T, 3) of scores (G, m, K), all candidates as rows of one table."""
    shape = (len(temperatures), *scores.shape)
    table = np.broadcast_to(scores, shape).reshape(-1, scores.shape[-1])
    t = np.repeat(temperatures, len(table) // len(temperatures))[:, None]
    truth = np.tile(fold.held_out.codes, len(table) // len(fold.held_out.codes))
    of_rows = losses_of_rows(LogPosterior(t).read(table), truth)  # type: ignore[arg-type]
    means = np.average(of_rows.reshape(3, *shape[:-1]), axis=-1, weights=fold.held_out.weight)
    return np.moveaxis(means, (0, 1), (2, 1))


def _log_priors(recipe: Recipe, fold: Fold, fixed_weights: Floats | None) -> Floats:
    weights = fold.train.weights if fixed_weights is None else fixed_weights
    priors = recipe.priors.of(fold.train.classes, weights)
    with np.errstate(divide="ignore"):
        return np.log(np.where(fold.train.weights > 0, priors, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Σ = diag(s) V diag(e) Vᵀ diag(s): a correlation matrix taken apart."""

    scale: Floats  # s  (d,)
    values: Floats  # e  (d,)
    vectors: Floats  # V  (d, d)

    @classmethod
    def of(cls, sigma: Floats) -> Spectrum:
        """Take a covariance apart."""
        corr, scale = correlation(sigma)
        return cls(scale, *symmetric_eigen(corr))

    def is_regular(self, gamma: float) -> bool:
        """Whether, shrunk by γ, no direction lacks variance."""
        least = (1 - gamma) * self.values[0] + gamma
        return bool(least > rank_tolerance(len(self.values)))

    def rotate(self, x: Floats) -> Floats:
        """Return Vᵀ diag(1/s) x for each row."""
        return (x / self.scale) @ self.vectors

    def shrunk(self, gammas: Floats) -> tuple[Floats, Floats]:
        """Return 1 / e(γ) of every γ (d, Γ), and log|Σ(γ)| (Γ,)."""
        e = (1 - gammas) * self.values[:, None] + gammas
        return 1 / e, np.log(e).sum(0) + 2 * np.log(self.scale).sum()


def spectra_of(
    train: Moments, group_of: Codes, how: Regularisation, least_gamma: float
) -> list[Spectrum] | None:
    """Return Σ_g(λ) of every group taken apart; None where some direction lacks variance."""
    groups = pooled_groups(full_groups(train, group_of), how.pooling)
    sigmas = divided(groups, unbiased=how.unbiased)
    variances = np.diagonal(sigmas, axis1=1, axis2=2)
    if not resolved_variances(variances, train, group_of).all():
        return None
    spectra = [Spectrum.of(sigma) for sigma in sigmas]
    return spectra if all(s.is_regular(least_gamma) for s in spectra) else None


def path_scores(
    spectra: list[Spectrum], group_of: Codes, train: Moments, x: Floats, gammas: Floats
) -> Floats:
    """Return log p(x | k) of every γ up to a term common to all classes, (Γ, m, K)."""
    rows, offsets = x - train.grand_mean, train.centred_means
    scores = np.empty((len(gammas), len(rows), len(offsets)))
    for g, spectrum in enumerate(spectra):
        members = np.flatnonzero(group_of == g)
        z, m = spectrum.rotate(rows), spectrum.rotate(offsets[members])
        inverse, log_det = spectrum.shrunk(gammas)
        if len(spectra) == 1:
            scores[:] = _linear(z, m, inverse)
            continue
        for k, mean in zip(members, m, strict=True):
            # −½ (log|Σ(γ)| + Σ_i (z_i − m_i)² / e_i(γ))
            scores[:, :, k] = -0.5 * (log_det + np.square(z - mean) @ inverse).T
    return scores


def _linear(z: Floats, m: Floats, inverse: Floats) -> Floats:
    """Return mᵀ E(γ)⁻¹ z − ½ mᵀ E(γ)⁻¹ m of every γ: what differs between tied classes."""
    n_gammas, n_classes = inverse.shape[1], len(m)
    # weights (d, Γ K): one product for all γ and classes
    weights = (inverse[:, :, None] * m.T[:, None, :]).reshape(len(inverse), -1)
    bias = -0.5 * np.square(m) @ inverse  # (K, Γ)
    linear = (z @ weights).reshape(len(z), n_gammas, n_classes)
    return np.asarray(linear.transpose(1, 0, 2) + bias.T[:, None, :])


_CHUNKS = 16  # of LANES rows in a tile


def _compiled_losses(
    spectra: list[Spectrum],
    group_of: Codes,
    fold: Fold,
    log_priors: Floats,
    gammas: Floats,
    temperatures: Floats,
) -> Floats:
    """Return mean error, log-loss and Brier score of each γ and temperature, (Γ, T, 3)."""
    from suffice.validation import kernels

    losses = np.zeros((len(gammas), len(temperatures), 3))
    build = _linear_path if len(spectra) == 1 else _quadratic
    add, parameters = build(spectra, group_of, fold.train.centred_means, log_priors, gammas)
    held, origin = fold.held_out, fold.train.grand_mean
    x, weight = held.x, held.weights
    tile = np.zeros((_CHUNKS, -(-x.shape[1] // SIDE) * SIDE, LANES))
    for lo in range(0, len(x), _CHUNKS * LANES):
        rows = slice(lo, lo + _CHUNKS * LANES)
        block = np.ascontiguousarray(x[rows], np.float64)
        used = tile[: -(-len(block) // LANES)]
        kernels.load_rows(block, 0, origin, used)
        add(used, held.codes[rows], weight[rows], *parameters, 1 / temperatures, losses)
    return np.asarray(losses / weight.sum())


def _quadratic(
    spectra: list[Spectrum], group_of: Codes, offsets: Floats, log_priors: Floats, gammas: Floats
) -> tuple[Any, tuple[Floats, ...]]:
    from suffice.model.kernels import packed
    from suffice.validation.kernels import quadratic_losses

    shrunk = [spectrum.shrunk(gammas) for spectrum in spectra]
    # z = Vᵀ diag(1/s) (x − μ)
    rotations = [packed(np.ascontiguousarray((s.vectors / s.scale[:, None]).T)) for s in spectra]
    inverses = [packed(np.ascontiguousarray(inverse.T)) for inverse, _ in shrunk]
    constants = np.array([log_priors[k] - 0.5 * shrunk[g][1] for k, g in enumerate(group_of)])
    of_classes = (np.stack([packs[g] for g in group_of]) for packs in (rotations, inverses))
    means = np.pad(offsets, ((0, 0), (0, -offsets.shape[1] % SIDE)))
    return quadratic_losses, (means, *of_classes, constants)


def _linear_path(
    spectra: list[Spectrum], _group_of: Codes, offsets: Floats, log_priors: Floats, gammas: Floats
) -> tuple[Any, tuple[Floats, ...]]:
    from suffice.model.kernels import packed
    from suffice.validation.kernels import linear_losses

    spectrum = spectra[0]
    m = spectrum.rotate(offsets)
    inverse, _ = spectrum.shrunk(gammas)
    back = spectrum.vectors.T / spectrum.scale
    # w_k(γ) = diag(1/s) V E(γ)⁻¹ m_k,   b_k(γ) = log π_k − ½ m_kᵀ E(γ)⁻¹ m_k
    weights = [packed(np.ascontiguousarray((m * e) @ back)) for e in inverse.T]
    intercepts = log_priors - 0.5 * (np.square(m) @ inverse).T
    return linear_losses, (np.stack(weights), np.ascontiguousarray(intercepts))
