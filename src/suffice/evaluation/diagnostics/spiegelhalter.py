"""Is the Brier score what the stated probabilities lead one to expect? Spiegelhalter's z."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

if TYPE_CHECKING:
    from suffice.typing import Codes, Floats

ENOUGH = 5.0  # expected errors below which the normal approximation is not used


@dataclass(frozen=True, slots=True)
class SpiegelhalterTest:
    """The Brier score of n rows against its mean and variance, were the posteriors true."""

    brier: float  # mean over rows of Σ_k (1[y = k] − p_k)²
    expected: float
    z: float  # positive: bolder than right
    expected_errors: float  # Σ (1 − max p)

    @classmethod
    def of(cls, posteriors: Floats, codes: Codes) -> SpiegelhalterTest:
        """Return the test for posteriors (n, K) and true classes (n,).

        References
        ----------
        Spiegelhalter (1986), *Statistics in Medicine* 5, 421–433, here for any K.

        Examples
        --------
        >>> import numpy as np
        >>> p = np.array([[0.9, 0.1], [0.2, 0.8]])
        >>> round(SpiegelhalterTest.of(p, np.array([0, 0])).z, 4)
        1.1785
        """
        p = posteriors
        # L_c = 1 − 2 p_c + Σ_k p_k², the loss of a row if its class is c; it happens with p_c
        losses = 1 - 2 * p + np.square(p).sum(1, keepdims=True)
        expected = (p * losses).sum(1)
        variance = (p * np.square(losses - expected[:, None])).sum(1)
        observed = losses[np.arange(len(p)), codes]
        total, excess = float(variance.sum()), float((observed - expected).sum())
        z = excess / np.sqrt(total) if total > 0 else float("nan")
        doubt = float((1 - p.max(1)).sum())
        return cls(float(observed.mean()), float(expected.mean()), float(z), doubt)

    @property
    def p_value(self) -> float:
        """Return P(|z| this large), two-sided; NaN where fewer than 5 errors are expected."""
        if self.expected_errors < ENOUGH:
            return float("nan")
        return float(2 * ndtr(-abs(self.z)))
