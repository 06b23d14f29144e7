"""Whether distances from the class mean are those of a Gaussian."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import InvalidInputError
from suffice.table.matrix import as_weights
from suffice.typing import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles:
    """Sorted Mahalanobis distances beside those expected of Gaussian rows."""

    expected: Floats  # (n,), ascending
    observed: Floats  # (n,), ascending
    low: Floats  # pointwise interval of the observed  (n,)
    high: Floats  # (n,)

    @property
    def outside(self) -> float:
        """Share of rows outside their interval: about 1 − confidence if Gaussian."""
        return float(np.mean((self.observed < self.low) | (self.observed > self.high)))


def distance_quantiles(
    squared: Any, n_features: int, sample_weight: Any = None, *, confidence: float = 0.95
) -> Quantiles:
    """Return observed against expected distances √D² of rows from their class mean.

    Gnanadesikan & Kettenring (1972), *Biometrics* 28, 81–124.
    """
    from scipy.special import chdtri
    from scipy.stats import beta

    d2 = np.asarray(squared, np.float64)
    if d2.ndim != 1 or not d2.size or not np.all(d2 >= 0):
        msg = f"squared distances must be (n,) and not negative, found shape {d2.shape}"
        raise InvalidInputError(msg)
    w = as_weights(sample_weight, len(d2))
    w = np.ones(len(d2)) if w is None else w
    order = np.argsort(d2, kind="stable")
    d2, w = d2[order], w[order]
    # p_i = (W_i − w_i/2) / W;  the i-th of n uniforms is Beta(n p + ½, n (1 − p) + ½)
    p = (np.cumsum(w) - w / 2) / w.sum()
    n = w.sum() ** 2 / np.square(w).sum()
    tail = 0.5 - confidence / 2
    ends = [beta.ppf(q, n * p + 0.5, n * (1 - p) + 0.5) for q in (tail, 1 - tail)]
    expected, low, high = (np.sqrt(chdtri(n_features, 1 - q)) for q in (p, *ends))
    return Quantiles(expected, np.sqrt(d2), low, high)
