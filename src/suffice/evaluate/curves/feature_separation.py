"""Which features separate the classes, free of units."""

from typing import Any

import numpy as np

from suffice.core.moments import Moments
from suffice.errors import FeatureMismatchError
from suffice.typing import Floats


def standardised_coefficients(coefficients: Any, deviations: Any) -> Floats:
    """Return the change of each log odds for one standard deviation of each feature."""
    # Menard (2004), *The American Statistician* 58, 218–223
    w = np.atleast_2d(np.asarray(coefficients, np.float64))
    s = np.asarray(deviations, np.float64)
    if s.shape != (w.shape[1],):
        msg = f"{s.shape} standard deviations for coefficients of shape {w.shape}"
        raise FeatureMismatchError(msg)
    # s_j (w_kj − w̄_j)
    return s * (w - w.mean(axis=0) if len(w) > 1 else w)


def separation(moments: Moments) -> Floats:
    """Return the ratio of variance between to variance within classes by feature, (d,)."""
    # Fisher (1936), *Annals of Eugenics* 7, 179–188
    # Σ_k w_k (μ_k − μ)²_j  /  Σ_k S_k,jj
    between = moments.weights @ np.square(moments.centred_means)
    within = moments.scatter.pooled_diagonal()
    free = np.where(between > 0, np.inf, 0.0)  # no variance within: separated, or constant
    return np.divide(between, within, out=free, where=within > 0)
