"""Plug-in log densities with the bias of estimated parameters taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import digamma

from suffice.errors import InvalidInputError
from suffice.estimation.niw.densities import DebiasedGaussian, each_class
from suffice.linalg import scaled_cholesky

if TYPE_CHECKING:
    from suffice.typing import Floats

LOG_2PI = float(np.log(2 * np.pi))


def debiased_classes(
    weights: Floats, means: Floats, scatters: Floats
) -> tuple[DebiasedGaussian, ...]:
    """Return the unbiased log density of each class, each with its own covariance."""
    n = weights.tolist()
    return each_class(debiased, n, means, scatters, [n_k - 1 for n_k in n])


def tied_debiased_classes(
    weights: Floats, means: Floats, pooled: Floats
) -> tuple[DebiasedGaussian, ...]:
    """Return the unbiased log density of each class, all sharing one covariance (Σ_k S_k)."""
    k, n = len(weights), float(weights.sum())
    return each_class(debiased, weights.tolist(), means, [pooled] * k, [n - k] * k)


def debiased(weight: float, mean: Floats, scatter: Floats, degrees: float) -> DebiasedGaussian:
    """Return the unbiased log density of a class.

    Parameters
    ----------
    weight, mean : float, (d,) array
        Rows of the class, and their mean.
    scatter, degrees : (d, d) array, float
        Scatter S and its degrees of freedom ν: of the class and n_k − 1, or pooled and n − K.

    References
    ----------
    Moran & Murphy (1979), Applied Statistics 28; Ripley (1996), Pattern Recognition and Neural
    Networks, section 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> found = debiased(10.0, np.zeros(1), np.array([[18.0]]), 9.0)
    >>> found.shape.round(4).tolist(), round(found.log_constant, 4)
    ([[2.5714]], -1.2731)
    """
    d = len(mean)
    factor = scaled_cholesky(scatter)
    if not (weight > 0 and degrees > d + 1) or factor is None:
        msg = (
            f"no debiased density of {d} features from weight {weight:g} and {degrees:g} "
            f"degrees of freedom (more than {d + 1} are needed, and a scatter of full rank): "
            "collect more rows, drop constant or duplicated columns, or use the predictive one"
        )
        raise InvalidInputError(msg)
    # E log|S| = log|Σ| + d log 2 + Σ_{j=1…d} ψ((ν + 1 − j) / 2)
    psi = digamma((degrees - np.arange(d)) / 2).sum()
    log_det = 2 * np.log(np.diagonal(factor)).sum() - d * np.log(2) - psi
    # E[(ν − d − 1) (x − x̄)ᵀ S⁻¹ (x − x̄)] = (x − μ)ᵀ Σ⁻¹ (x − μ) + d / n_k
    log_constant = -0.5 * float(d * LOG_2PI + log_det - d / weight)
    return DebiasedGaussian(log_constant, mean, scatter / (degrees - d - 1))
