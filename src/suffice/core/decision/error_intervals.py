"""Intervals of error rates, and p-values adjusted for the number of tests.

The error rate itself, Σ_n w_n [ŷ_n ≠ y_n] / Σ_n w_n, is ``Predictions.error`` of
``predictions.py``.
"""

import numpy as np

from suffice.typing import Floats

LEVEL = 0.05  # significance level


def holm(p: Floats) -> Floats:
    """Return p-values adjusted for the number of tests (Holm 1979), not counting NaN as tests."""
    adjusted = np.full_like(p, np.nan)
    finite = np.flatnonzero(np.isfinite(p))
    order = finite[np.argsort(p[finite], kind="stable")]
    # p̃_(i) = max_{j ≤ i} (m − j + 1) p_(j), at most 1
    steps = np.arange(len(order), 0, -1) * p[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def wilson(share: Floats, n: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's interval for a share that was observed in n rows."""
    from scipy.special import ndtri  # slow to import, and seldom needed

    z2 = float(ndtri(0.5 + confidence / 2)) ** 2
    # (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n)
    middle = share + z2 / (2 * n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2)))
    low = (middle - half) / (1 + z2 / n)
    high = (middle + half) / (1 + z2 / n)
    return np.clip(low, 0, share), np.clip(high, share, 1)


def newcombe(
    share: float, n: float, other_share: float, n_others: float
) -> tuple[float, float]:
    """Return the ends of the 95 % interval of ``other_share`` − ``share`` for independent rows.

    Newcombe (1998), *Statistics in Medicine* 17, 873–890, method 10.
    """
    low, high = wilson(np.array([share, other_share]), np.array([n, n_others]))
    difference = other_share - share
    # each end combines one end of Wilson's interval for ``share`` with one for ``other_share``
    below = np.hypot(other_share - low[1], high[0] - share)
    above = np.hypot(high[1] - other_share, share - low[0])
    return float(difference - below), float(difference + above)


def effective_rows(
    losses: Floats,
    weights: Floats,
    overlap: float = 0.0,
    *,
    grouped: bool = False,
) -> float:
    """Return the number of independent rows whose mean loss would have the same standard error.

    ``overlap`` is ρ n / n_train for folds, since their training sets share rows (Nadeau & Bengio
    2003).
    If ``grouped``, each entry of ``losses`` is the mean loss of a group of dependent rows.
    """
    # n = (Σ w)² / Σ w²
    n = float(weights.sum() ** 2 / (weights @ weights))
    if grouped:
        n = _rows_of_groups(losses, weights, n)
    # the variance of the mean loss is σ²/n (1 + overlap)
    return float(n / (1 + overlap))


def _rows_of_groups(losses: Floats, weights: Floats, n_groups: float) -> float:
    """Return the number of independent rows whose error would vary as much as the groups'."""
    p = np.average(losses, weights=weights)
    variance = np.average(np.square(losses - p), weights=np.square(weights))
    if not variance > 0:
        return n_groups
    from scipy.special import ndtri, stdtrit

    # Var = p (1 − p) / n for n independent rows, and variance / n_groups for groups (Kish 1965),
    # so n = n_groups p (1 − p) / variance, but at most Σ w rows
    n = min(n_groups * p * (1 - p) / variance, float(weights.sum()))
    # use t instead of normal quantiles, since the variance is estimated from few groups
    widening = stdtrit(max(len(losses) - 1, 1), 1 - LEVEL / 2) / ndtri(1 - LEVEL / 2)
    return float(n / widening**2)
