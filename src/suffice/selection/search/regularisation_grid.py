"""Evaluate a grid of pooling λ and shrinkage γ for one view, on all folds at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np

from suffice.core.estimation.settings import Settings
from suffice.core.model.views import Softened, View
from suffice.selection.search.few_rows import FewRowsTraining, few_rows_path
from suffice.selection.search.shrinkage_paths import class_path, tied_path
from suffice.selection.search.temperatures import (
    FEW_ROWS_A_FEATURE,
    HIGH_TEMPERATURES,
    SPREAD,
    TEMPERATURES,
    WIDE_SPREAD,
    judge_scores,
)
from suffice.selection.search.training import Cells, Training
from suffice.typing import Codes, Flags, Floats

POOLINGS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
SHRINKAGES = (0.0, 0.01, 0.05, 0.15, 0.4, 0.7, 1.0)
# With fewer rows than features, the best shrinkage is strong, and losses change quickly near 1.
STRONG_SHRINKAGES = (0.0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
# If one decomposition serves every shrinkage, more values are tried.
FINE_SHRINKAGES = tuple(sorted({*SHRINKAGES, *STRONG_SHRINKAGES, 0.02, 0.1, 0.2, 0.6, 0.98}))
MOST_FEATURES = 400  # with more features, no setting with a matrix per class and fold is tried
FEW_ROWS = 500  # with fewer rows, every setting is evaluated on every fold

# a pooling λ, and the shrinkages γ to try with it
ShrinkagePath: TypeAlias = tuple[float, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class GridLosses:
    """Held-out losses of S settings, each at its best temperature."""

    pooling: Floats  # λ  (S,)
    shrinkage: Floats  # γ  (S,)
    temperature: Floats  # (S,)
    error: Floats  # (S,)
    log_loss: Floats  # (S,)
    log_loss_se: Floats  # (S,)
    true_log: Floats  # log p(true class) of each row  (S, n)
    log_posterior: Floats  # log p(k | x) of each row  (K, S, n)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the settings of all parts, concatenated."""
        return cls(
            pooling=np.concatenate([part.pooling for part in parts]),
            shrinkage=np.concatenate([part.shrinkage for part in parts]),
            temperature=np.concatenate([part.temperature for part in parts]),
            error=np.concatenate([part.error for part in parts]),
            log_loss=np.concatenate([part.log_loss for part in parts]),
            log_loss_se=np.concatenate([part.log_loss_se for part in parts]),
            true_log=np.concatenate([part.true_log for part in parts]),
            log_posterior=np.concatenate([part.log_posterior for part in parts], axis=1),
        )

    def __len__(self) -> int:
        return len(self.log_loss)

    def take(self, settings: Codes | Flags) -> Self:
        return type(self)(
            pooling=self.pooling[settings],
            shrinkage=self.shrinkage[settings],
            temperature=self.temperature[settings],
            error=self.error[settings],
            log_loss=self.log_loss[settings],
            log_loss_se=self.log_loss_se[settings],
            true_log=self.true_log[settings],
            log_posterior=self.log_posterior[:, settings],
        )

    def best(self, n: int) -> Self:
        """Return the n settings with the lowest log-loss, best first."""
        return self.take(np.argsort(self.log_loss, kind="stable")[:n])


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A view of the rows, and the settings (λ, γ) to try with it."""

    view: View
    settings: Settings  # all settings except pooling and shrinkage
    paths: tuple[ShrinkagePath, ...]

    @property
    def per_class(self) -> bool:
        """Whether some setting needs the scatter of each class."""
        return any(pooling < 1 for pooling, _ in self.paths)

    def thinned(self) -> Self:
        """Return the grid with every second value of pooling."""
        return replace(self, paths=self.paths[::2])

    def training(self, cells: Cells) -> Training | FewRowsTraining:
        """Return the training sums of each fold under the view."""
        noise = self.view.noise if isinstance(self.view, Softened) else None
        rows = self.view.apply(cells.table.x)
        if noise is None and not self.per_class and is_wide(*rows.shape):
            return FewRowsTraining.of(rows, cells)
        return Training.of(rows, cells, per_class=self.per_class, noise=noise)

    def best(self, training: Training | FewRowsTraining, n: int) -> GridLosses | None:
        """Return the best n settings; None if no covariance has full rank in every fold.

        With many rows, all settings are evaluated on one fold, and only the best are then evaluated
        on all folds.
        """
        if not training.n_folds:
            return None
        log_priors = self._log_priors(training)
        paths: Sequence[ShrinkagePath] = self.paths
        if len(training.x) >= FEW_ROWS:
            first_fold = training.take(slice(0, 1))
            first_losses = judge_grid(first_fold, log_priors[:1], paths)
            if first_losses is None:
                return None
            n_most = 4 * n if self.per_class else n + 1
            paths = survivors(first_losses, n_least=2 * n, n_most=n_most)
        losses = judge_grid(training, log_priors, paths)
        return None if losses is None else losses.best(n)

    def _log_priors(self, training: Training | FewRowsTraining) -> Floats:
        """Return log π_k in each fold, −∞ for classes without rows, (F, K)."""
        # only priors given by label need the labels, and the search has no such priors
        no_classes = np.zeros(0)
        priors = [self.settings.class_priors(no_classes, w) for w in training.weights]
        with np.errstate(divide="ignore"):
            return np.log(np.where(training.weights > 0, np.stack(priors), 0.0))


def is_wide(n_rows: int, n_features: int) -> bool:
    """Return whether inner products of rows are cheaper than matrices of features."""
    return n_rows < n_features and n_features > MOST_FEATURES


def judge_grid(
    training: Training | FewRowsTraining,
    log_priors: Floats,
    paths: Sequence[ShrinkagePath],
) -> GridLosses | None:
    """Return the losses of the settings with full rank in all folds; None without any."""
    parts = []
    n_rows, n_features = training.x.shape
    has_few_rows = n_rows < FEW_ROWS_A_FEATURE * n_features and n_features > MOST_FEATURES
    temperatures = HIGH_TEMPERATURES if has_few_rows else TEMPERATURES
    spread = WIDE_SPREAD if has_few_rows else SPREAD
    for pooling, gammas in paths:
        if isinstance(training, FewRowsTraining):
            usable, scores = few_rows_path(training, log_priors, gammas)
        elif pooling == 1:
            usable, scores = tied_path(training, log_priors, gammas)
        else:
            usable, scores = class_path(training, log_priors, pooling, gammas)
        if len(usable):
            losses = judge_scores(scores, training.held_out, temperatures, spread)
            part = GridLosses(
                pooling=np.full(len(usable), pooling),
                shrinkage=usable,
                temperature=losses.temperature,
                error=losses.error,
                log_loss=losses.log_loss,
                log_loss_se=losses.log_loss_se,
                true_log=losses.true_log,
                log_posterior=losses.log_posterior,
            )
            parts.append(part)
    return GridLosses.joined(parts) if parts else None


def survivors(losses: GridLosses, n_least: int, n_most: int) -> list[ShrinkagePath]:
    """Return the paths of settings within one standard error of the best.

    At least ``n_least`` and at most ``n_most`` settings are kept.
    """
    ranked = losses.best(len(losses))
    behind = ranked.true_log[0] - ranked.true_log  # (S, n)
    standard_error = behind.std(1) / np.sqrt(behind.shape[1])
    is_close = behind.mean(1) <= standard_error
    is_kept = is_close | (np.arange(len(ranked)) < n_least)
    kept = ranked.take(is_kept).best(n_most)
    paths = []
    for pooling in np.unique(kept.pooling):
        gammas = np.sort(kept.shrinkage[kept.pooling == pooling])
        paths.append((pooling, gammas))
    return paths
