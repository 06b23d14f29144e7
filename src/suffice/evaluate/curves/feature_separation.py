"""How well each feature separates the classes, independent of its units."""

import numpy as np
import numpy.typing as npt

from suffice.core.moments import Moments
from suffice.errors import FeatureMismatchError
from suffice.typing import Floats


def standardised_coefficients(
    coefficients: npt.ArrayLike, deviations: npt.ArrayLike
) -> Floats:
    """Return the change of each log odds per standard deviation of each feature."""
    # Menard (2004), *The American Statistician* 58, 218–223
    w = np.atleast_2d(np.asarray(coefficients, np.float64))
    s = np.asarray(deviations, np.float64)
    if s.shape != (w.shape[1],):
        raise FeatureMismatchError(
            f"{s.shape} standard deviations for coefficients of shape {w.shape}: expected one for "
            "each feature"
        )
    # s_j (w_kj − w̄_j)
    if len(w) > 1:
        w = w - w.mean(axis=0)
    return s * w


def separation(moments: Moments) -> Floats:
    """Return the ratio of between-class to within-class variance of each feature, (d,)."""
    # Fisher (1936), *Annals of Eugenics* 7, 179–188
    # Σ_k w_k (μ_k − μ)²_j  /  Σ_k M_k,jj
    between = moments.weights @ np.square(moments.centred_means)
    within = moments.scatter.pooled_diagonal()
    # without variance within classes, the feature separates them perfectly or is constant
    ratios = np.where(between > 0, np.inf, 0.0)
    return np.divide(between, within, out=ratios, where=within > 0)
