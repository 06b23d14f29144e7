"""Held-out losses of scores at every temperature, and the temperature with the lowest log-loss.

    T = argmin Σ_n w_n (log Σ_k exp(a_nk / T) − a_n,y_n / T),  a_n the held-out scores of row n

``validation/held_out.py`` and ``decision/predictions.py`` compute the same losses without keeping
the scores.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.core.decision.predictions import ABSENT_LOSS
from suffice.selection.search.training import HeldOut
from suffice.typing import Codes, Floats

#: Each temperature, except the two largest, is half of another one. Most exponentials can therefore
# be computed as squares.
TEMPERATURES = np.sort(np.outer([1.0, np.sqrt(0.5)], 2.0 ** np.arange(4)).ravel())

#: Temperatures for few rows per feature: plug-in posteriors are then far too confident.
HIGH_TEMPERATURES = np.sort(np.outer([1.0, np.sqrt(0.5)], 2.0 ** np.arange(8)).ravel())

SPREAD = 0.5  # prior standard deviation of log T
WIDE_SPREAD = 2.0  # used with few rows per feature, where high temperatures are likely
FEW_ROWS_A_FEATURE = 5


@dataclass(frozen=True, slots=True, eq=False)
class ScoreLosses:
    """Held-out losses of S settings, each at its best temperature."""

    temperature: Floats  # (S,)
    error: Floats  # (S,)
    log_loss: Floats  # (S,)
    log_loss_se: Floats  # standard error over folds  (S,)
    true_log: Floats  # log p(true class) of each row, fold by fold  (S, n)
    log_posterior: Floats  # log p(k | x) of the same rows  (K, S, n)


def judge_scores(
    scores: Floats,
    held_out: HeldOut,
    temperatures: Floats,
    spread: float = SPREAD,
) -> ScoreLosses:
    """Return the losses of scores (K, S, F, m); the scores are overwritten."""
    n_folds = len(held_out.rows)
    is_wrong = scores.argmax(0) != held_out.truth
    share = held_out.weight / held_out.weight.sum(1, keepdims=True)
    error = np.einsum("sfm,fm->sf", is_wrong, share).mean(1)
    scores -= scores.max(0)
    true_score = np.take_along_axis(scores, held_out.truth[None, None], 0)[0]  # (S, F, m)
    log_losses = np.empty((scores.shape[1], n_folds, len(temperatures)))
    for t, powers in _exponentials(scores, temperatures):
        # −log p(true class) = log Σ_k exp(a_k / T) − a_true / T
        losses = np.log(powers.sum(0)) - true_score / temperatures[t]
        losses[~np.isfinite(losses)] = ABSENT_LOSS  # the class of the row has no training rows
        log_losses[:, :, t] = np.einsum("sfm,fm->sf", losses, share)
    n_rows = int(np.count_nonzero(held_out.weight))
    best, temperature = best_temperature(log_losses.mean(1), temperatures, n_rows, spread)
    at_best = log_losses[np.arange(len(log_losses)), :, best]  # (S, F)
    scores /= temperature[:, None, None]
    log_total = np.log(np.exp(scores).sum(0))
    true_log = true_score / temperature[:, None, None] - log_total
    is_row = held_out.weight > 0
    return ScoreLosses(
        temperature=temperature,
        error=error,
        log_loss=at_best.mean(1),
        log_loss_se=at_best.std(1) / np.sqrt(max(n_folds - 1, 1)),
        true_log=np.fmax(true_log[:, is_row], -ABSENT_LOSS),
        log_posterior=scores[:, :, is_row] - log_total[:, is_row],
    )


def _exponentials(scores: Floats, temperatures: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield exp(a / T) for each temperature; the values at T / 2 are the squares of those at T."""
    left: list[int] = np.argsort(-temperatures).tolist()
    while left:
        t = left.pop(0)
        powers = np.exp(scores / temperatures[t])
        yield t, powers
        half = _half_of(t, left, temperatures)
        while half is not None:
            left.remove(half)
            yield half, np.square(powers, out=powers)
            half = _half_of(half, left, temperatures)


def _half_of(t: int, candidates: Sequence[int], temperatures: Floats) -> int | None:
    """Return the candidate whose temperature is half the temperature of t."""
    for candidate in candidates:
        if temperatures[candidate] * 2 == temperatures[t]:
            return candidate
    return None


def best_temperature(
    losses: Floats,
    temperatures: Floats,
    n_rows: int,
    spread: float = SPREAD,
) -> tuple[Codes, Floats]:
    """Return the index of the lowest loss (S, T) of each setting, and a refined temperature."""
    # With few rows and no errors, T would be too small; the prior log T ~ N(0, spread²) prevents
    # that.
    penalised = losses + np.square(np.log(temperatures) / spread) / (2 * n_rows)
    best = penalised.argmin(1)
    if len(temperatures) < 3:
        return best, temperatures[best]
    inner = np.clip(best, 1, len(temperatures) - 2)
    neighbours = inner[:, None] + np.arange(-1, 2)
    below, y, above = np.take_along_axis(penalised, neighbours, 1).T
    # vertex of the parabola through three points with equal steps in log T
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = 0.5 * (below - above) / (below - 2 * y + above)
    is_inside = (inner == best) & (np.abs(vertex) < 1)
    step = np.where(is_inside, vertex, 0.0)
    return best, temperatures[best] * (temperatures[1] / temperatures[0]) ** step
