"""Whether a difference is more than luck: Holm's rule, Wilson's interval."""

import numpy as np
from scipy.special import ndtri

from suffice.typing import Floats

LEVEL = 0.05  # p-values up to it are called evidence


def holm(p: Floats) -> Floats:
    """Return p-values adjusted for their number (Holm 1979); NaN stays NaN and does not count."""
    adjusted = np.full_like(p, np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    # p̃_(i) = max_{j ≤ i} (m − j + 1) p_(j), at most 1
    steps = np.arange(len(order), 0, -1) * p[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def wilson(share: Floats, n: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's interval for a share seen among n rows."""
    z2 = float(ndtri(0.5 + confidence / 2)) ** 2
    # (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n)
    middle = share + z2 / (2 * n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2)))
    low, high = (middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)
    return np.clip(low, 0, share), np.clip(high, share, 1)
