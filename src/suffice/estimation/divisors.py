"""What a scatter is divided by: n, or n − 1, or n − K, so that covariances have no bias."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from suffice.errors import MissingStatisticsError
from suffice.linalg import EPS
from suffice.moments import Moments
from suffice.typing import Floats


class DivisorWord(NamedTuple):
    """What a word for ``divisor`` stands for."""

    unbiased: bool = False  # one less for each mean, rather than the weight
    averaged: bool = False  # unbiased class by class; tied classes share the mean by weight


def divisors(weights: Floats, n_means: Floats, *, unbiased: bool) -> Floats:
    """Return the divisor of the scatter of each group, (G,); zero where nothing is left of it.

    Maximum likelihood divides by the weight w; without bias it is w − 1 for one class, and
    w − K for K classes that share a covariance (Bessel's correction: one for each mean).
    """
    w = weights - (n_means if unbiased else 0.0)
    return np.where(w > EPS * np.maximum(weights, 1.0), w, 0.0)


def unbiased_by_class(moments: Moments) -> Moments:
    """Return the sums with S_k w_k / (w_k − 1); zero for a class of one row.

    Divided by the weight of their classes they are Σ_k w_k / w · S_k / (w_k − 1).
    """
    if moments.storage == "pooled":
        raise MissingStatisticsError(
            "divisor='averaged' needs the scatter of each class, and these moments hold their sum: "
            "collect them with storage='per-class'"
        )
    w = moments.weights
    less, values = divisors(w, np.ones(len(w)), unbiased=True), moments.scatter.values
    factors = np.divide(w, less, out=np.zeros(len(w)), where=less > 0)
    scaled = values * factors.reshape(-1, *[1] * (values.ndim - 1))
    return replace(moments, scatter=replace(moments.scatter, values=scaled))
