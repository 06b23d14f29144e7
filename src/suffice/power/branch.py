"""One side of a Yeo–Johnson curve: P(u) = ((1 + u)^e − 1) / e for u ≥ 0, and what undoes it.

With e < 0 the curve would never rise above −1/e. From a knee b on it is a straight line
instead, so that it maps [0, ∞) onto itself whatever e is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """Curves, one per feature or one per number: every array broadcasts against rows (n, d)."""

    exponent: Floats  # e
    knee: Floats  # b; ∞ where e ≥ 0
    log_knee: Floats  # log(1 + b)
    top: Floats  # P(b), where the straight line begins
    slope: Floats  # P′(b); 1 where there is no line

    @classmethod
    def of(cls, exponent: Floats, knee: Floats) -> Branch:
        """Return the curves with these exponents, straight from the knee on where e < 0."""
        bent = exponent < 0
        logs = np.log1p(np.where(bent, knee, 0.0))
        return cls(
            exponent,
            np.where(bent, knee, np.inf),
            np.where(bent, logs, np.inf),
            np.where(bent, _curve(exponent, logs), np.inf),
            # P′(b) = (1 + b)^(e − 1)
            np.exp((exponent - 1) * logs),
        )

    def either(
        self, other: Branch, here: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    ) -> Branch:
        """Return these curves where ``here`` is true, the others elsewhere."""
        exponent = np.where(here, self.exponent, other.exponent)
        if np.isinf(self.knee).all() and np.isinf(other.knee).all():
            return Branch(exponent, self.knee, self.log_knee, self.top, self.slope)
        return Branch(
            exponent,
            np.where(here, self.knee, other.knee),
            np.where(here, self.log_knee, other.log_knee),
            np.where(here, self.top, other.top),
            np.where(here, self.slope, other.slope),
        )

    def apply(self, u: Floats) -> Floats:
        """Return P(u)."""
        # P(u) = P(min(u, b)) + P′(b) max(u − b, 0)
        curve = _curve(self.exponent, np.minimum(np.log1p(u), self.log_knee))
        return curve + self.slope * np.maximum(u - self.knee, 0.0)

    def inverse(self, v: Floats) -> Floats:
        """Return u with P(u) = v."""
        e, low = self.exponent, np.minimum(v, self.top)
        # 1 + u = (1 + e v)^(1/e),  exp v where e = 0
        logs = np.where(e == 0, low, np.log1p(e * low) / np.where(e == 0, 1.0, e))
        u: Floats = np.expm1(logs) + np.maximum(v - self.top, 0.0) / self.slope
        return u

    def log_slope(self, u: Floats) -> Floats:
        """Return log P′(u)."""
        # P′(u) = (1 + u)^(e − 1)
        slope: Floats = (self.exponent - 1) * np.minimum(np.log1p(u), self.log_knee)
        return slope


def _curve(e: Floats, logs: Floats) -> Floats:
    """Return ((1 + u)^e − 1) / e from log(1 + u): the logarithm itself where e = 0."""
    if not np.any(e == 0):
        curve: Floats = np.expm1(e * logs) / e
        return curve
    return np.where(e == 0, logs, np.expm1(e * logs) / np.where(e == 0, 1.0, e))
