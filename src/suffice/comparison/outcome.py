"""What held-out rows say of one model, and its paired test against the best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.curves.reliability import reliability
from suffice.typing import Codes, Floats
from suffice.validation.predictions import Predictions
from suffice.validation.significance import corrected_t_test, wilson

BINS = 15  # of the calibration error


@dataclass(frozen=True, slots=True, eq=False)
class FoldResult:
    """What one fold says of a model."""

    predictions: Predictions
    area: float  # under the ROC curve, mean over classes
    n_parameters: float
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """A model that could not be judged, and why."""

    name: str
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What held-out rows say of one model."""

    name: str
    fold_losses: Floats  # error, log-loss, Brier; NaN without posteriors  (F, 3)
    auc: float  # one class against the rest, mean over classes and folds
    calibration_error: float  # of the most probable class, over all held-out rows
    n_parameters: float  # mean over folds, NaN where it has none
    fit_seconds: float  # for one fold, median over folds
    predict_seconds: float  # for the held-out rows of one fold, median over folds
    from_moments: bool  # whether it was read from moments, and never fitted
    held_out: Predictions  # fold after fold, with posteriors only where they were kept
    folds: Codes  # of the held-out rows  (m,)
    notes: tuple[str, ...]

    @property
    def means(self) -> Floats:
        """Mean error, log-loss and Brier score over folds, shape (3,)."""
        return np.asarray(self.fold_losses.mean(0))

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the means, shape (3,); of one fold, that of a share of rows."""
        n = len(self.fold_losses)
        if n > 1:
            return np.asarray(self.fold_losses.std(0, ddof=1) / np.sqrt(n))
        p = self.error
        return np.array([np.sqrt(p * (1 - p) / self.effective_rows), np.nan, np.nan])

    @property
    def error(self) -> float:
        """Mean error over folds."""
        return float(self.means[0])

    @property
    def log_loss(self) -> float:
        """Mean log-loss over folds."""
        return float(self.means[1])

    @property
    def n_rows(self) -> int:
        """Different rows that it was judged by."""
        return len(np.unique(self.held_out.rows))

    @property
    def effective_rows(self) -> float:
        """Kish's number of rows, (Σ w)² / Σ w², each counted once."""
        _, first = np.unique(self.held_out.rows, return_index=True)
        w = self.held_out.weights[first]
        return float(w.sum() ** 2 / (w @ w))

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the error."""
        low, high = wilson(np.array([self.error]), np.array([self.effective_rows]))
        return float(low[0]), float(high[0])

    @property
    def rank(self) -> tuple[float, float, str]:
        """What models are sorted by: error, then log-loss, then name."""
        return self.error, np.nan_to_num(self.log_loss, nan=np.inf), self.name

    def fold_errors(self, within: Codes | None = None) -> Floats:
        """Return the error of each fold, (F,), counting some rows only if they are given."""
        w, n = self.held_out.weights, len(self.fold_losses)
        if within is not None:
            w = w * np.isin(self.held_out.rows, within)
        with np.errstate(invalid="ignore"):
            wrong = np.bincount(self.folds, w * self.held_out.wrong, n)
            return np.asarray(wrong / np.bincount(self.folds, w, n))


def outcome_of(
    name: str,
    folds: Sequence[FoldResult],
    *,
    from_moments: bool,
    notes: Sequence[str],
    keep: bool = False,
) -> Outcome:
    """Return what all folds say of a model; posteriors are forgotten unless ``keep``."""
    areas = np.array([fold.area for fold in folds])
    held_out = Predictions.joined([fold.predictions for fold in folds])
    return Outcome(
        name,
        np.stack([fold.predictions.losses for fold in folds]),
        float(areas[np.isfinite(areas)].mean()) if np.isfinite(areas).any() else np.nan,
        _calibration_error(held_out),
        float(np.rint(np.mean([fold.n_parameters for fold in folds]))),
        float(np.median([fold.fit_seconds for fold in folds])),
        float(np.median([fold.predict_seconds for fold in folds])),
        from_moments,
        held_out if keep else held_out.without_posteriors(),
        np.repeat(np.arange(len(folds)), [len(fold.predictions.rows) for fold in folds]),
        tuple(notes),
    )


def _calibration_error(held_out: Predictions) -> float:
    """Return Σ_b (w_b / w) |observed − stated|, bins of the most probable class's posterior."""
    if held_out.logs is None:
        return np.nan
    stated = np.exp(held_out.logs.max(1)).clip(max=1)
    return reliability(held_out.right, stated, held_out.weights, bins=BINS).calibration_error


def p_against(model: Outcome, best: Outcome, test_ratio: float) -> float:
    """Return the p-value of a model's error against the best, on the rows both were judged by."""
    if model is best:
        return np.nan
    shared = np.intersect1d(model.held_out.rows, best.held_out.rows)
    everywhere = len(shared) == model.n_rows == best.n_rows
    within = None if everywhere else shared
    return corrected_t_test(model.fold_errors(within) - best.fold_errors(within), test_ratio)
