"""Fits of a mixture of Gaussians in every class, and choice of the numbers of components.

``mixture_em.py`` holds the E-step and the M-step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from suffice.core.estimation.estimate import warn_of_relative_weights
from suffice.core.estimation.mixture_em import MixtureProblem, MixtureRun
from suffice.core.estimation.mixture_rows import MixtureRows, rows_by_class, sampled_rows
from suffice.core.estimation.mixture_settings import MixtureSettings
from suffice.core.model.covariance import Covariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.mixture import MixtureModel
from suffice.core.progress import Progress
from suffice.core.table import Table
from suffice.core.table.foreign import to_numpy
from suffice.core.table.sampling import ranks_within
from suffice.errors import NotConvergedWarning, warn
from suffice.typing import Codes, Floats

MOST = 12  # largest number of components per class that "auto" tries
FOLDS = 5


def fit_mixtures(
    table: Table,
    counts: Sequence[int],
    settings: MixtureSettings,
    seed: int,
    *,
    quiet: bool = False,
) -> tuple[MixtureModel, list[MixtureRun]]:
    """Return mixtures with ``counts`` components per class, and the runs of EM."""
    rng = np.random.default_rng(seed)
    classes = list(range(table.n_classes))
    data = MixtureRows.of(table, settings, quiet=quiet)
    counts = [data.at_most(int(counts[k]), k, quiet=quiet) for k in classes]
    if not quiet and settings.prior_rows and max(counts) > 1:
        n_rows = sum(len(rows) for rows in data.rows)
        warn_of_relative_weights(n_rows, float(table.weights.sum()))
    if settings.tied is True:
        problems = [MixtureProblem(settings, data, classes, counts)]
    else:
        problems = [MixtureProblem(settings, data, [k], [counts[k]]) for k in classes]
    runs = [problem.best(rng) for problem in problems]
    if not quiet and not all(run.converged for run in runs):
        warn(
            f"EM stopped after max_iter={settings.max_iter} steps, before it converged: raise "
            "max_iter or tol",
            NotConvergedWarning,
        )
    components = _joined([run.model for run in runs])
    class_of = np.repeat(classes, counts)
    return MixtureModel(data.single.log_priors, components, class_of), runs


def _joined(models: list[GaussianModel]) -> GaussianModel:
    """Return one model with the components of all models."""
    covariances: list[Covariance] = []
    group_of = []
    for model in models:
        group_of.append(model.group_of + len(covariances))
        covariances.extend(model.covariances)
    return replace(
        models[0],
        log_priors=np.concatenate([model.log_priors for model in models]),
        offsets=np.concatenate([model.offsets for model in models]),
        covariances=tuple(covariances),
        group_of=np.concatenate(group_of),
        n_covariance_parameters=sum(model.n_covariance_parameters for model in models),
    )


def choose_counts(table: Table, settings: MixtureSettings, seed: int) -> list[int]:
    """Return the number of components of each class, chosen by the largest held-out likelihood.

    The numbers 1, 2, … are tried until two numbers in a row do not improve on the best. A class
    with fewer than two rows for each fold has one component.
    """
    rng = np.random.default_rng(seed)
    n_classes = table.n_classes
    rows = np.concatenate([sampled_rows(rows, rng) for rows in rows_by_class(table)])
    table = table.take(rows)
    table = table.with_rows(to_numpy(table.x), table.names)
    active = np.bincount(table.codes, minlength=n_classes) >= 2 * FOLDS
    fold = np.where(active[table.codes], ranks_within(table.codes, rng) % FOLDS, -1)
    best = np.full(n_classes, -np.inf)
    chosen = np.ones(n_classes, int)
    with Progress(total=MOST, what="choosing n_components") as progress:
        for n in range(1, MOST + 1):
            if not active.any():
                break
            counts = np.where(active, n, 1)
            log_likelihood = _held_out_log_likelihood(table, fold, counts, settings, seed)
            is_better = active & (log_likelihood > best)
            best = np.where(is_better, log_likelihood, best)
            chosen = np.where(is_better, n, chosen)
            active = active & (chosen > n - 2)
            progress.step()
    return [int(n) for n in chosen]


def _held_out_log_likelihood(
    table: Table,
    fold: Codes,
    counts: Codes,
    settings: MixtureSettings,
    seed: int,
) -> Floats:
    """Return Σ w log p(x | class) over the held-out rows of each class, or of all if tied, (K,)."""
    total = np.zeros(table.n_classes)
    quick = replace(settings, n_init=1, tol=max(settings.tol, 1e-4))
    for f in range(FOLDS):
        model, _ = fit_mixtures(
            table.take(fold != f), counts.tolist(), quick, seed, quiet=True
        )
        held_out = table.take(fold == f)
        log_p = model.allowing_missing().class_log_density(held_out.x)
        log_p_of_label = log_p[np.arange(held_out.n_rows), held_out.codes]
        total += np.bincount(held_out.codes, held_out.weights * log_p_of_label, len(total))
    if settings.tied is True:
        return np.full(len(total), total.sum())
    return total
