"""Choose the pseudo-count and temperature of a count classifier by exact leave-one-out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suffice.core.decision.predictions import ABSENT_LOSS
from suffice.core.estimation.count_kinds import (
    left_out_joint,
    left_out_logarithms,
    with_products,
)
from suffice.core.estimation.count_settings import CountSettings
from suffice.core.moments.count_sums import CountSums
from suffice.core.table.count_rows import CountRows
from suffice.selection.search.temperatures import best_temperature
from suffice.typing import Codes, Floats

ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
#: Each temperature is half of the next, so that exp(a / T) is squared, not computed again.
COARSE_TEMPERATURES = np.exp2(np.arange(-1.0, 9.0))
_AT_ONCE = 2  # number of pseudo-counts evaluated in one pass over the cells
_ROWS = 4096  # rows per block, so that their scores stay in the cache
# prior standard deviation of log T; large, because naive Bayes is often far too confident
SPREAD = 2.0
_FINE_STEPS = np.exp2(np.linspace(-1.0, 1.0, 9))  # multiples of the best coarse temperature


def choose_count_settings(
    settings: CountSettings,
    sums: CountSums,
    rows: CountRows,
    codes: Codes,
    w: Floats,
) -> CountSettings:
    """Return the settings with each "auto" replaced, chosen by exact leave-one-out log-loss.

    The rows must be those of the sums, in the form that the model reads. If the pseudo-count α and
    the temperature are both "auto", each α is evaluated at its own best temperature.
    """
    alphas = ALPHAS if isinstance(settings.alpha, str) else (settings.alpha,)
    if len(alphas) == 1 and not isinstance(settings.temperature, str):
        return settings
    temperatures: Floats = COARSE_TEMPERATURES
    if not isinstance(settings.temperature, str):
        temperatures = np.array([float(settings.temperature)])
    losses = np.empty((len(alphas), len(temperatures)))
    logarithms = left_out_logarithms(sums, settings, rows, codes, w, alphas)
    for first in range(0, len(alphas), _AT_ONCE):
        some = alphas[first : first + _AT_ONCE]
        left = with_products(logarithms, sums, settings, some)
        for a, alpha in enumerate(some, first):
            scores = left_out_joint(sums, replace(settings, alpha=alpha), left)
            losses[a] = log_losses(scores, codes, w, temperatures)
    penalty = np.square(np.log(temperatures) / SPREAD) / (2 * len(codes))
    best_alpha, best_t = np.unravel_index(np.argmin(losses + penalty), losses.shape)
    chosen = replace(settings, alpha=alphas[int(best_alpha)])
    if not isinstance(settings.temperature, str):
        return chosen
    left = with_products(logarithms, sums, settings, (chosen.pseudo_count(),))
    scores = left_out_joint(sums, chosen, left)
    fine = temperatures[best_t] * _FINE_STEPS
    fine_losses = [log_losses(scores, codes, w, np.array([t]))[0] for t in fine]
    _, temperature = best_temperature(np.array([fine_losses]), fine, len(codes), SPREAD)
    return replace(chosen, temperature=float(temperature[0]))


def log_losses(scores: Floats, truth: Codes, w: Floats, temperatures: Floats) -> Floats:
    """Return the mean log-loss of scores (n, K) at each temperature, (T,).

    Each temperature, except the last, is half of the next.
    """
    summed = np.zeros(len(temperatures))
    for start in range(0, len(truth), _ROWS):
        block = slice(start, start + _ROWS)
        a = scores[block]
        codes = truth[block]
        d = a - a.max(1, keepdims=True)
        true_d = d[np.arange(len(codes)), codes]
        powers = np.exp(d / temperatures[-1])
        for t in range(len(temperatures) - 1, -1, -1):
            # −log p(true class) = log Σ_k exp(d_k / T) − d_true / T
            losses = np.log(powers.sum(1)) - true_d / temperatures[t]
            losses[~np.isfinite(losses)] = (
                ABSENT_LOSS  # the class of the row has no other rows
            )
            summed[t] += losses @ w[block]
            np.square(powers, out=powers)
    return np.asarray(summed / w.sum())
