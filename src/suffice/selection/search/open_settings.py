"""The best value for every setting of a Gaussian estimator that is "auto"."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from suffice.core.estimation.settings import Settings, is_open, required_sums
from suffice.core.model.views import Plain, PowerTransformed, View
from suffice.core.power_transform import PowerTransform
from suffice.core.table import Table
from suffice.core.table.sampling import stratified_sample
from suffice.core.threads import side_by_side
from suffice.selection.search.candidates import GaussianCandidate
from suffice.selection.search.effort import Effort
from suffice.selection.search.regularisation_grid import (
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
from suffice.selection.validation.folds import Folds
from suffice.selection.validation.held_out import held_out_losses
from suffice.typing import Floats

MOST_ROWS = 6_000  # number of rows on which settings are evaluated, at most


def choose_settings(settings: Settings, table: Table, *, seed: int = 0) -> Settings:
    """Return the settings with every "auto" replaced, evaluated on at most 6,000 rows."""
    best = best_candidate(settings, table, seed=seed)
    transform = best.view.transform if isinstance(best.view, PowerTransformed) else None
    return replace(best.settings, temperature=best.temperature, power=transform)


def best_candidate(settings: Settings, table: Table, *, seed: int = 0) -> GaussianCandidate:
    """Return the allowed candidate with the lowest held-out log-loss."""
    rows = table.take(stratified_sample(table.codes, MOST_ROWS, seed))
    folds = Folds.stratified(rows, Effort.of(rows).n_folds, seed)
    is_wide = rows.n_rows < FEW_ROWS_A_FEATURE * rows.n_features
    has_few_rows = rows.n_rows < rows.n_features
    settings_list = _closed_settings(
        settings, STRONG_SHRINKAGES if has_few_rows else SHRINKAGES
    )
    temperatures = HIGH_TEMPERATURES if is_wide else TEMPERATURES
    if not isinstance(settings.temperature, str):
        temperatures = np.array([float(settings.temperature)])
    candidates: list[GaussianCandidate] = []
    for view in _views(settings.power, rows, seed):
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

    None if every fold's training rows have only one class.
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
    """Return the settings, each with its best temperature; ``losses`` is (F, C, T, 3)."""
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
    """Return the settings for every combination of the open pooling and shrinkage values."""
    poolings = POOLINGS if is_open(settings.pooling) else (None,)
    shrinkages = grid if is_open(settings.intensity) else (None,)
    return [
        settings.with_regularisation(pooling=pooling, shrinkage=shrinkage)
        for pooling in poolings
        for shrinkage in shrinkages
    ]


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
