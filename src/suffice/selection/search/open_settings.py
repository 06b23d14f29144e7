"""Choose a value for every setting of a Gaussian estimator that is "auto"."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Literal

import numpy as np

from suffice.core.decision.predictions import summed_losses
from suffice.core.estimation.covariance_structures import FullStructure
from suffice.core.estimation.settings import Settings, is_open, required_sums
from suffice.core.estimation.shrinkage import Shrinkage, TargetWord
from suffice.core.model.views import Plain, PowerTransformed, View
from suffice.core.power_transform import PowerTransform
from suffice.core.table import Table
from suffice.core.table.sampling import stratified_sample
from suffice.core.threads import side_by_side
from suffice.selection.search.candidates import GaussianCandidate
from suffice.selection.search.effort import Effort
from suffice.selection.search.left_out_shrinkage import LeftOutRows
from suffice.selection.search.regularisation_grid import (
    FINE_SHRINKAGES,
    MOST_FEATURES,
    POOLINGS,
    SHRINKAGES,
    STRONG_SHRINKAGES,
)
from suffice.selection.search.temperatures import (
    FEW_ROWS_A_FEATURE,
    HIGH_TEMPERATURES,
    SPREAD,
    TEMPERATURES,
    WIDE_SPREAD,
    best_temperature,
)
from suffice.selection.validation.copies import Copies
from suffice.selection.validation.folds import Folds
from suffice.selection.validation.held_out import held_out_losses
from suffice.typing import Floats

MOST_ROWS = 6_000  # most rows on which settings are evaluated
_FEWEST_FEATURES = 100  # with fewer features, whole folds are left out instead of single rows
_MOST_COPIES = 0.1  # largest share of copies among the rows for which single rows are left out
_MOST_FRAGILE = 0.01  # largest such share of features with most of their variance from one row
_SHRINKAGES_OF_TARGETS = (0.3, 0.7, 0.95)  # values of γ for comparing two targets


def choose_settings(settings: Settings, table: Table, *, seed: int = 0) -> Settings:
    """Return the settings with every "auto" replaced, evaluated on at most 6,000 rows."""
    best = best_candidate(settings, table, seed=seed)
    transform = best.view.transform if isinstance(best.view, PowerTransformed) else None
    return replace(best.settings, temperature=best.temperature, power=transform)


def best_candidate(settings: Settings, table: Table, *, seed: int = 0) -> GaussianCandidate:
    """Return the candidate with the lowest held-out log-loss that the settings allow."""
    rows = table.take(stratified_sample(table.codes, MOST_ROWS, seed))
    is_wide = rows.n_rows < FEW_ROWS_A_FEATURE * rows.n_features
    if is_wide:
        rows = _with_few_copies_removed(rows)
    folds = Folds.stratified(rows, Effort.of(rows).n_folds, seed)
    temperatures = HIGH_TEMPERATURES if is_wide else TEMPERATURES
    if not isinstance(settings.temperature, str):
        temperatures = np.array([float(settings.temperature)])
    candidates: list[GaussianCandidate] = []
    for view in _views(settings.power, rows, seed):
        view_settings = settings
        if is_wide and rows.n_features > MOST_FEATURES and _takes_any_target(settings):
            view_settings = _with_target(settings, view, rows, seed)
        losses = None
        if is_wide and _is_left_out_one_by_one(view_settings, rows):
            settings_list = _closed_settings(view_settings, FINE_SHRINKAGES)
            losses = _left_out_losses(view, settings_list, folds, temperatures)
        if losses is not None:
            has_full_rank = np.isfinite(losses[0, :, 0, 0])
            losses = losses[:, has_full_rank]
            settings_list = list(compress(settings_list, has_full_rank))
        else:
            shrinkages = STRONG_SHRINKAGES if is_wide else SHRINKAGES
            settings_list = _closed_settings(view_settings, shrinkages)
            losses = _view_losses(view, settings_list, folds, temperatures)
        if losses is None:
            return GaussianCandidate.unjudged(view, settings_list[-1])
        candidates += at_best_temperature(
            view,
            settings_list,
            losses,
            temperatures,
            rows.n_rows,
            spread=WIDE_SPREAD if is_wide else SPREAD,
        )
    best = min(candidates, key=lambda candidate: candidate.log_loss)
    return replace(best, weight=1.0)


def _view_losses(
    view: View,
    settings_list: Sequence[Settings],
    folds: Folds,
    temperatures: Floats,
) -> Floats | None:
    """Return the losses of all settings in every fold, (F, C, T, 3).

    The result is None if the training rows of every fold have a single class.
    """
    seen = replace(folds, X=view.apply(folds.X))
    required = required_sums(settings_list)
    trainable = [
        fold
        for fold in seen.each(required.storage, fourth=required.fourth)
        if np.count_nonzero(fold.train.weights) > 1
    ]
    if not trainable:
        return None
    judge = partial(held_out_losses, settings_list, temperatures=temperatures)
    return np.stack(side_by_side(judge, trainable, n_numbers=folds.X.size))


def at_best_temperature(
    view: View,
    settings_list: Sequence[Settings],
    losses: Floats,
    temperatures: Floats,
    n_rows: int,
    spread: float = SPREAD,
) -> list[GaussianCandidate]:
    """Return a candidate for each setting, at its best temperature; losses are (F, C, T, 3)."""
    log_losses = losses.mean(0)[:, :, 1]
    best, refined = best_temperature(log_losses, temperatures, n_rows, spread)
    at_best = losses[:, np.arange(len(best)), best]  # (F, C, 3)
    means = at_best.mean(0)
    standard_errors = at_best[:, :, 1].std(0) / np.sqrt(max(len(losses) - 1, 1))
    return [
        GaussianCandidate(
            view=view,
            settings=settings,
            temperature=float(refined[i]),
            error=float(means[i, 0]),
            log_loss=float(means[i, 1]),
            log_loss_se=float(standard_errors[i]),
        )
        for i, settings in enumerate(settings_list)
    ]


def _closed_settings(settings: Settings, grid: Sequence[float]) -> list[Settings]:
    """Return the settings with each combination of values for pooling and shrinkage."""
    poolings = POOLINGS if is_open(settings.pooling) else (None,)
    shrinkages = grid if is_open(settings.intensity) else (None,)
    return [
        settings.with_regularisation(pooling=pooling, shrinkage=shrinkage)
        for pooling in poolings
        for shrinkage in shrinkages
    ]


def _with_few_copies_removed(rows: Table) -> Table:
    """Return the rows without copies of earlier rows, or all rows if many are copies."""
    copies = Copies.of(rows)
    if copies is None or copies.n_rows > _MOST_COPIES * rows.n_rows:
        return rows
    _, first = np.unique(copies.set_of, return_index=True)
    return rows.take(np.sort(first))


def _takes_any_target(settings: Settings) -> bool:
    """Whether γ is "auto" and shrinks a full covariance that all classes share."""
    return settings.shrinkage == "auto" and _shares_full_covariance(settings)


def _shares_full_covariance(settings: Settings) -> bool:
    is_full = isinstance(settings.structure, FullStructure)
    return is_full and settings.is_plug_in and settings.tied_classes is True


def _with_target(settings: Settings, view: View, rows: Table, seed: int) -> Settings:
    """Return the settings with the target of lower log-loss on two folds.

    The features of an embedding share one unit, and features of small variance are mostly noise. A
    diagonal target would give them the same weight as all other features.
    """
    targets: tuple[TargetWord, ...] = ("diagonal", "identity")
    shrunk = [
        replace(settings, shrinkage=Shrinkage(gamma, target))
        for target in targets
        for gamma in _SHRINKAGES_OF_TARGETS
    ]
    folds = Folds.stratified(rows, 2, seed)
    losses = _view_losses(view, shrunk, folds, HIGH_TEMPERATURES)
    if losses is None:
        return settings
    least = losses.mean(0)[:, :, 1].min(1).reshape(len(targets), -1).min(1)
    if least.argmin() == 0:
        return settings
    return replace(settings, shrinkage=Shrinkage("auto", "identity"))


def _is_left_out_one_by_one(settings: Settings, rows: Table) -> bool:
    """Whether single rows are left out, instead of folds."""
    target = settings.regularisation.target
    return (
        is_open(settings.intensity)
        and _shares_full_covariance(settings)
        and (target.keeps_variances or settings.shrinkage == Shrinkage("auto", "identity"))
        and settings.divisor == "mle"
        and rows.n_features >= _FEWEST_FEATURES
        and rows.weight is None
        and np.bincount(rows.codes, minlength=rows.n_classes).min() > 1
        and Copies.of(rows) is None
    )


def _left_out_losses(
    view: View,
    settings_list: Sequence[Settings],
    folds: Folds,
    temperatures: Floats,
) -> Floats | None:
    """Return the leave-one-out losses of all settings on the rows of every fold, (F, C, T, 3).

    The losses are infinite for a singular covariance. The result is None if the target depends too
    much on single rows.
    """
    table = folds.table.with_rows(view.apply(folds.table.x))
    keeps_variances = settings_list[0].regularisation.target.keeps_variances
    left_out = LeftOutRows.of(table, keeps_variances=keeps_variances)
    if keeps_variances and left_out.fragile_share > _MOST_FRAGILE:
        return None
    fixed = [settings.regularisation.shrinkage.fixed for settings in settings_list]
    losses = np.full((len(folds.splits), len(fixed), len(temperatures), 3), np.inf)
    settings = settings_list[0]
    for i, scores in enumerate(left_out.scores(np.array(fixed, np.float64))):
        if scores is None:
            continue
        scores += _left_out_log_priors(settings, table)
        for f, (_, test) in enumerate(folds.splits):
            weights = np.ones(len(test))
            fold_scores = scores[:, None, test]
            summed = summed_losses(fold_scores, table.codes[test], weights, temperatures)
            losses[f, i] = summed[0] / len(test)
    return losses


def _left_out_log_priors(settings: Settings, table: Table) -> Floats:
    """Return log π_k without each row, up to a term common to all classes, (K, n)."""
    counts = np.bincount(table.codes, minlength=table.n_classes).astype(np.float64)
    a = settings.prior_pseudo_count
    if a is None:
        priors = settings.class_priors(table.classes, counts)
        return np.repeat(np.log(priors)[:, None], table.n_rows, axis=1)
    weights = np.repeat(counts[:, None] + a, table.n_rows, axis=1)
    weights[table.codes, np.arange(table.n_rows)] -= 1
    return np.asarray(np.log(weights))


def _views(
    power: PowerTransform | Literal["auto", "yeo-johnson"] | None,
    rows: Table,
    seed: int,
) -> list[View]:
    """Return the views to try for a setting of ``power``."""
    if power is None:
        return [Plain()]
    if isinstance(power, PowerTransform):
        return [PowerTransformed(power)]
    transformed = PowerTransformed(PowerTransform.of(rows.x, rows.weight, seed=seed))
    return [Plain(), transformed] if is_open(power) else [transformed]
