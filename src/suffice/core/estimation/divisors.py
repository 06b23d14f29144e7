"""Covariances from scatter: by maximum likelihood, with Bessel's correction, or averaged.

Class k has the weight w_k and the scatter M_k; w is the weight of all classes. The estimates by
maximum likelihood and with Bessel's correction are

    Σ_k = M_k / w_k  or  M_k / (w_k − 1)      tied  Σ = Σ_k M_k / w  or  Σ_k M_k / (w − K)

The averaged estimate for tied classes is Σ = Σ_k w_k / w · M_k / (w_k − 1). With S_k = M_k / w_k,
the tied maximum-likelihood estimate is Σ_k (w_k / w) S_k. ``groups.py`` adds up the scatters of a
group.
"""

from dataclasses import replace

import numpy as np

from suffice.core.estimation.groups import GroupScatter
from suffice.core.linalg import EPS
from suffice.core.moments import Moments
from suffice.errors import MissingStatisticsError
from suffice.typing import Floats


def divisors(weights: Floats, n_means: Floats, *, unbiased: bool) -> Floats:
    """Return the divisor of each group's scatter, (G,), or zero if no degrees of freedom remain."""
    # the divisor is w, or, with Bessel's correction, w minus the number of means
    w = weights - n_means if unbiased else weights
    return np.where(w > EPS * weights, w, 0.0)


def divided(groups: GroupScatter, *, unbiased: bool) -> Floats:
    """Return Σ_g = M_g / w_g, or M_g / (w_g − K_g) if ``unbiased``, or zero for a zero divisor."""
    w = divisors(groups.weights, groups.n_means, unbiased=unbiased)
    w = w.reshape(-1, *[1] * (groups.scatters.ndim - 1))
    return np.where(w > 0, groups.scatters / np.where(w > 0, w, 1.0), 0.0)


def unbiased_by_class(moments: Moments) -> Moments:
    """Return moments with M_k w_k / (w_k − 1) in place of M_k, or zero for a class with one row."""
    if moments.storage == "pooled":
        raise MissingStatisticsError(
            "divisor='averaged' needs the scatter of each class, but these moments hold only "
            "their sum: collect them with storage='per-class'"
        )
    w = moments.weights
    bessel = divisors(w, np.ones(len(w)), unbiased=True)
    has_spread = bessel > 0
    # f_k = w_k / (w_k − 1)
    factors = np.divide(w, bessel, out=np.zeros(len(w)), where=has_spread)
    # the maximum-likelihood estimate from f_k M_k is Σ_k (w_k / w) M_k / (w_k − 1)
    return replace(moments, scatter=moments.scatter.scaled_by_class(factors))
