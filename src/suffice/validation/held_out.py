"""Scores and losses of held-out rows under models estimated from the other folds' sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.estimation.structures import FullStructure
from suffice.model.posterior import LogPosterior
from suffice.validation.losses import RowLosses
from suffice.validation.sweep import path_losses, path_scores, spectra_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from suffice.estimation.recipe import Recipe
    from suffice.typing import Floats
    from suffice.validation.folds import Fold

_SMALL = 100_000  # posteriors of a path under which compiled loops do not pay for their start
_STACKED = 1 << 20  # numbers in a table of all candidates that is read at once


@dataclass(frozen=True, slots=True, eq=False)
class Path:
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
    return model.scores(fold.x)


def held_out_losses(
    recipes: Sequence[Recipe],
    fold: Fold,
    temperatures: Floats,
    fixed_weights: Floats | None = None,
) -> Floats:
    """Return mean error, log-loss and Brier score of every candidate and temperature, (C, T, 3)."""
    losses = np.empty((len(recipes), len(temperatures), 3))
    for path in shared_paths(recipes):
        found = _path_losses(path, fold, temperatures, fixed_weights)
        for at, i in enumerate(path.members):
            losses[i] = (
                _losses_of(held_out_scores(recipes[i], fold, fixed_weights), fold, temperatures)
                if found is None
                else found[at]
            )
    return losses


def shared_paths(recipes: Sequence[Recipe]) -> Iterator[Path]:
    """Yield the recipes in groups that share their work: those that differ in γ alone."""
    together: dict[tuple[str, bool, str, float], list[int]] = {}
    for i, recipe in enumerate(recipes):
        if not has_path(recipe):
            yield Path(recipe, (i,), np.zeros(0))
            continue
        how = recipe.regularisation
        key = (repr(recipe.tied), how.unbiased, repr(recipe.priors), how.pooling)
        together.setdefault(key, []).append(i)
    for members in together.values():
        gammas = [recipes[i].regularisation.shrinkage.fixed for i in members]
        yield Path(recipes[members[0]], tuple(members), np.array(gammas, np.float64))


def has_path(recipe: Recipe) -> bool:
    """Whether a recipe is a full covariance with numbers for pooling and shrinkage."""
    return (
        recipe.is_plug_in
        and isinstance(recipe.structure, FullStructure)
        and recipe.regularisation.shrinkage.fixed is not None
        and recipe.regularisation.target.keeps_variances
    )


def _path_losses(
    path: Path, fold: Fold, temperatures: Floats, fixed_weights: Floats | None
) -> Floats | None:
    if not len(path.gammas):
        return None
    recipe, train = path.recipe, fold.train
    group_of = recipe.group_of(train.classes)
    spectra = spectra_of(train, group_of, recipe.regularisation, float(path.gammas.min()))
    if spectra is None:
        return None
    log_priors = _log_priors(recipe, fold, fixed_weights)
    n_posteriors = len(fold.x) * train.n_classes * len(path.gammas) * len(temperatures)
    if n_posteriors > _SMALL and np.isfinite(log_priors).all():
        return path_losses(spectra, group_of, fold, log_priors, path.gammas, temperatures)
    x = np.asarray(fold.x, np.float64)
    scores = path_scores(spectra, group_of, train, x, path.gammas) + log_priors
    if scores.size * len(temperatures) <= _STACKED:
        return _stacked_losses(scores, fold, temperatures)
    return np.stack([_losses_of(of_gamma, fold, temperatures) for of_gamma in scores])


def _losses_of(scores: Floats, fold: Fold, temperatures: Floats) -> Floats:
    rows = (RowLosses.of_scores(scores, fold.truth, t) for t in temperatures)
    return np.stack([losses.means(fold.weight) for losses in rows])


def _stacked_losses(scores: Floats, fold: Fold, temperatures: Floats) -> Floats:
    """Return the losses (G, T, 3) of scores (G, m, K), all candidates as rows of one table."""
    shape = (len(temperatures), *scores.shape)
    table = np.broadcast_to(scores, shape).reshape(-1, scores.shape[-1])
    t = np.repeat(temperatures, len(table) // len(temperatures))[:, None]
    truth = np.tile(fold.truth, len(table) // len(fold.truth))
    losses = RowLosses.of(LogPosterior(t).read(table), truth)  # type: ignore[arg-type]
    of_rows = np.stack([losses.errors, losses.log_losses, losses.briers])
    means = np.average(of_rows.reshape(3, *shape[:-1]), axis=-1, weights=fold.weight)
    return np.moveaxis(means, (0, 1), (2, 1))


def _log_priors(recipe: Recipe, fold: Fold, fixed_weights: Floats | None) -> Floats:
    weights = fold.train.weights if fixed_weights is None else fixed_weights
    priors = recipe.priors.of(fold.train.classes, weights)
    with np.errstate(divide="ignore"):
        return np.log(np.where(fold.train.weights > 0, priors, 0.0))
