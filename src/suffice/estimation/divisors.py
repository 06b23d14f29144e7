"""What a scatter is divided by: n, or n − 1, or n − K, so that covariances have no bias."""

import numpy as np

from suffice.linalg import EPS
from suffice.typing import Floats


def divisors(weights: Floats, n_means: Floats, *, unbiased: bool) -> Floats:
    """Return the divisor of the scatter of each group, (G,); zero where nothing is left of it.

    Maximum likelihood divides by the weight w; without bias it is w − 1 for one class, and
    w − K for K classes that share a covariance (Bessel's correction: one for each mean).
    """
    w = weights - (n_means if unbiased else 0.0)
    return np.where(w > EPS * np.maximum(weights, 1.0), w, 0.0)
