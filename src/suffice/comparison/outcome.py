"""What held-out rows say of one model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.curves.reliability import BINS, reliability
from suffice.curves.thresholds import mean_area
from suffice.typing import Codes, Floats
from suffice.validation.losses import losses_of_rows
from suffice.validation.predictions import Predictions
from suffice.validation.significance import wilson


@dataclass(frozen=True, slots=True, eq=False)
class FoldResult:
    """What one fold says of a model."""

    learnt: Any  # the classifier of the rows outside the fold
    predictions: Predictions
    scores: Floats | None  # of each class, by which rows are ranked  (m, K)
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
    """What held-out rows say of one model: all losses are means over these rows."""

    name: str
    row_losses: Floats  # error, log-loss, Brier; NaN without posteriors  (3, m)
    auc: float  # one class against the rest, mean over classes
    calibration_error: float  # of the most probable class
    n_parameters: float  # mean over folds, NaN where it has none
    fit_seconds: float  # for one fold, median over folds
    predict_seconds: float  # for the held-out rows of one fold, median over folds
    is_generative: bool  # whether it models the features of each class
    is_readable: bool  # whether its rule can be written down: an equation, or one tree
    held_out: Predictions  # fold after fold, with posteriors only where they were kept
    folds: Codes  # of the held-out rows  (m,)
    overlap: float  # rows judged by for each row that a fold learns from; 0 of one fold
    learnt: tuple[Any, ...]  # the classifier of each fold, where they were kept
    notes: tuple[str, ...]

    @property
    def means(self) -> Floats:
        """Mean error, log-loss and Brier score over held-out rows, shape (3,)."""
        return np.asarray(np.average(self.row_losses, axis=1, weights=self.held_out.weights))

    @property
    def fold_losses(self) -> Floats:
        """Mean error, log-loss and Brier score of each fold, (F, 3)."""
        w = self.held_out.weights
        total = np.bincount(self.folds, w)
        sums = [np.bincount(self.folds, w * each) for each in self.row_losses]
        return np.stack(sums, axis=1) / total[:, None]

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the means, shape (3,)."""
        squares = np.square(self.row_losses - self.means[:, None])
        variances = np.average(squares, axis=1, weights=self.held_out.weights)
        return np.asarray(np.sqrt(variances / self.effective_rows))

    @property
    def error(self) -> float:
        """Share of the held-out rows that are misclassified."""
        return float(self.means[0])

    @property
    def log_loss(self) -> float:
        """Mean log-loss of held-out rows."""
        return float(self.means[1])

    @property
    def n_rows(self) -> int:
        """Different rows that it was judged by."""
        return len(np.unique(self.held_out.rows))

    @property
    def effective_rows(self) -> float:
        """Independent rows that would tell the error as exactly.

        Weights, and training sets that overlap, make them fewer (Nadeau & Bengio 2003).
        """
        _, first = np.unique(self.held_out.rows, return_index=True)
        w = self.held_out.weights[first]
        # Var = σ² (1/n + 1/n_train) = σ² (1 + n/n_train) / n,  n = (Σ w)² / Σ w²
        return float(w.sum() ** 2 / (w @ w) / (1 + self.overlap))

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the error, by the effective number of rows."""
        low, high = wilson(np.array([self.error]), np.array([self.effective_rows]))
        return float(low[0]), float(high[0])

    @property
    def rank(self) -> tuple[float, float, str]:
        """What models are sorted by: error, then log-loss, then name."""
        return self.error, np.nan_to_num(self.log_loss, nan=np.inf), self.name


def outcome_of(
    name: str,
    folds: Sequence[FoldResult],
    *,
    is_generative: bool = False,
    is_readable: bool = False,
    overlap: float = 0.0,
    notes: Sequence[str] = (),
    keep: bool = False,
) -> Outcome:
    """Return what all folds say of a model; posteriors are forgotten unless ``keep``."""
    held_out = Predictions.joined([fold.predictions for fold in folds])
    return Outcome(
        name,
        row_losses(held_out),
        _area(held_out, [fold.scores for fold in folds]),
        calibration_error(held_out),
        float(np.rint(np.mean([fold.n_parameters for fold in folds]))),
        float(np.median([fold.fit_seconds for fold in folds])),
        float(np.median([fold.predict_seconds for fold in folds])),
        is_generative,
        is_readable,
        held_out if keep else held_out.without_posteriors(),
        np.repeat(np.arange(len(folds)), [len(fold.predictions.rows) for fold in folds]),
        overlap,
        tuple(fold.learnt for fold in folds) if keep else (),
        tuple(notes),
    )


def _area(held_out: Predictions, scores: Sequence[Floats | None]) -> float:
    """Return the area under the ROC curve of all held-out rows, mean over classes."""
    known = [each for each in scores if each is not None]
    if len(known) < len(scores):
        return np.nan
    if all((each == each[0]).all() for each in known):
        return 0.5  # a constant ranks nothing, though its constants differ between folds
    return mean_area(held_out.truth, np.concatenate(known), held_out.weight)


def row_losses(held_out: Predictions) -> Floats:
    """Return error, log-loss and Brier score of each row, (3, m)."""
    losses = np.full((3, len(held_out.truth)), np.nan)
    if held_out.logs is not None:
        losses = losses_of_rows(held_out.logs, held_out.truth)
    losses[0] = held_out.wrong
    return losses


def calibration_error(held_out: Predictions) -> float:
    """Return Σ_b (w_b / w) |observed − stated|, bins of the most probable class's posterior."""
    if held_out.logs is None:
        return np.nan
    stated = np.exp(held_out.logs.max(1)).clip(max=1)
    return reliability(held_out.right, stated, held_out.weights, bins=BINS).calibration_error
