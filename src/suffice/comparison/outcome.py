"""Whether a difference of errors is more than the luck of the folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr

from suffice.curves.reliability import reliability, wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.comparison.answers import Answers
    from suffice.typing import Codes, Floats

BINS = 15  # of the calibration error


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """A member that could not be judged."""

    name: str
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What held-out rows say of one member."""

    name: str
    fold_losses: Floats  # error, log-loss, Brier; NaN without posteriors  (F, 3)
    auc: float  # one class against the rest, mean over classes and folds
    calibration_error: float  # of the most probable class, over all held-out rows
    n_parameters: float  # mean over folds, NaN where it has none
    fit_seconds: float  # for one fold, median over folds
    predict_seconds: float  # for the held-out rows of one fold, median over folds
    from_sums: bool  # whether it was read from sums, and never fitted
    rows: Codes  # numbers of the held-out rows, fold after fold  (m,)
    folds: Codes  # (m,)
    wrong: Floats  # 1 where another class was named  (m,)
    weights: Floats  # (m,)
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
        return len(np.unique(self.rows))

    @property
    def effective_rows(self) -> float:
        """Kish's number of rows, (Σ w)² / Σ w², each counted once."""
        _, first = np.unique(self.rows, return_index=True)
        w = self.weights[first]
        return float(w.sum() ** 2 / (w @ w))

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the error."""
        low, high = wilson(np.array([self.error]), np.array([self.effective_rows]))
        return float(low[0]), float(high[0])

    @property
    def rank(self) -> tuple[float, float, str]:
        """What members are sorted by: error, then log-loss, then name."""
        return self.error, np.nan_to_num(self.log_loss, nan=np.inf), self.name

    def fold_errors(self, within: Codes | None = None) -> Floats:
        """Return the error of each fold, (F,), counting some rows only if they are given."""
        counted = np.ones(len(self.rows)) if within is None else np.isin(self.rows, within)
        w, n = self.weights * counted, len(self.fold_losses)
        with np.errstate(invalid="ignore"):
            return np.bincount(self.folds, w * self.wrong, n) / np.bincount(self.folds, w, n)


def outcome_of(
    name: str,
    answers: Sequence[Answers],
    *,
    from_sums: bool,
    fit_seconds: Sequence[float],
    sizes: Sequence[float],
    notes: Sequence[str],
) -> Outcome:
    """Return what the answers of all folds say of a member."""
    areas = np.array([fold.area() for fold in answers])
    return Outcome(
        name,
        np.stack([fold.losses() for fold in answers]),
        float(areas[np.isfinite(areas)].mean()) if np.isfinite(areas).any() else np.nan,
        _calibration_error(answers),
        float(np.rint(np.mean(sizes))),
        float(np.median(fit_seconds)),
        float(np.median([fold.seconds for fold in answers])),
        from_sums,
        np.concatenate([fold.rows for fold in answers]),
        np.repeat(np.arange(len(answers)), [len(fold.rows) for fold in answers]),
        np.concatenate([fold.wrong for fold in answers]),
        np.concatenate([_weights(fold) for fold in answers]),
        tuple(notes),
    )


def _calibration_error(answers: Sequence[Answers]) -> float:
    """Return Σ_b (w_b / w) |observed − stated|, bins of the most probable class's posterior."""
    if any(np.isnan(fold.log_posteriors).any() for fold in answers):
        return np.nan
    right = np.concatenate([fold.log_posteriors.argmax(1) == fold.truth for fold in answers])
    stated = np.concatenate([np.exp(fold.log_posteriors.max(1)) for fold in answers])
    weight = np.concatenate([_weights(fold) for fold in answers])
    return reliability(right, stated.clip(max=1), weight, bins=BINS).calibration_error


def _weights(fold: Answers) -> Floats:
    return np.ones(len(fold.rows)) if fold.weight is None else fold.weight


def corrected_t_test(differences: Floats, test_ratio: float) -> float:
    """Return the two-sided p-value of a mean difference over folds.

    Training sets of folds overlap, so that differences vary less from fold to fold than from
    data set to data set; the corrected variance makes up for it.

    Parameters
    ----------
    differences : array (F,)
        Of the two errors, fold by fold.
    test_ratio : float
        Rows judged by for each row learnt from.

    References
    ----------
    Nadeau & Bengio (2003), *Machine Learning* 52, 239–281.

    Examples
    --------
    >>> import numpy as np
    >>> d = np.array([0.02, 0.05, 0.0, 0.04, 0.03, 0.01, 0.06, 0.02, 0.03, 0.04])
    >>> round(corrected_t_test(d, 1 / 9), 4)
    0.006
    """
    d = differences[np.isfinite(differences)]
    if len(d) < 2:
        return np.nan
    if not d.any():
        return 1.0
    # t = d̄ / √((1/F + n_test/n_train) s²),  F − 1 degrees of freedom
    scale = np.sqrt((1 / len(d) + test_ratio) * d.var(ddof=1))
    t = np.abs(d.mean()) / scale if scale > 0 else np.inf
    return float(2 * stdtr(len(d) - 1, -t))


def p_against(member: Outcome, best: Outcome, test_ratio: float) -> float:
    """Return the p-value of a member's error against the best, on the rows both were judged by."""
    if member is best:
        return np.nan
    shared = np.intersect1d(member.rows, best.rows)
    everywhere = len(shared) == member.n_rows == best.n_rows
    within = None if everywhere else shared
    return corrected_t_test(member.fold_errors(within) - best.fold_errors(within), test_ratio)
