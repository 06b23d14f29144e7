"""Axes of probabilities that give room to those near 0 and 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

if TYPE_CHECKING:
    from suffice.typing import Floats

NEAREST = 1e-9  # to 0 and 1 that an axis shows
CONFIDENCES = (0.5, 0.9, 0.99, 0.999, 0.9999)
PROBABILITIES = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)


def confidence_scale(ax: Any, low: float, high: float) -> None:
    """Make x an axis of probabilities with equal room for 0.9, 0.99, 0.999, …."""
    ax.set_xscale("function", functions=(_nines, _of_nines))
    _limit(ax, low, high, CONFIDENCES)


def odds_scale(ax: Any, low: float, high: float) -> None:
    """Make x an axis of probabilities, even in log odds."""
    ax.set_xscale("function", functions=(_log_odds, expit))
    _limit(ax, low, high, PROBABILITIES)


def _limit(ax: Any, low: float, high: float, ticks: tuple[float, ...]) -> None:
    shown = [t for t in ticks if low <= t <= high]
    ax.set_xlim(low, high)
    ax.set_xticks(shown, labels=[f"{t:g}" for t in shown])


def _nines(p: Floats) -> Floats:
    # −log₁₀(1 − p)
    nines: Floats = -np.log10(np.clip(1 - np.asarray(p), NEAREST, None))
    return nines


def _of_nines(u: Floats) -> Floats:
    return np.asarray(1 - 10.0 ** -np.asarray(u))


def _log_odds(p: Floats) -> Floats:
    return np.asarray(logit(np.clip(p, NEAREST, 1 - NEAREST)))
