"""How rows differ from what a Gaussian model says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtri, gammainc, gammaincc, log_ndtr

if TYPE_CHECKING:
    from suffice.model import GaussianModel
    from suffice.typing import Codes, Floats

LEVELS = np.arange(1, 100) / 100  # at which quantiles of distances are compared
_TINY = np.finfo(float).tiny


@dataclass(frozen=True, slots=True, eq=False)
class Discrepancy:
    """Anderson–Darling distances of each class from the model, and what to draw of them."""

    distances: Floats  # A² of squared Mahalanobis distances against χ²  (K,)
    marginals: Floats  # A² of each feature against its normal marginal  (K, d)
    quantiles: Floats  # of squared distances at LEVELS  (K, 99)
    beyond: Floats  # share of rows outside the ellipsoid that should hold 95 %  (K,)

    @classmethod
    def of(cls, model: GaussianModel, x: Floats, codes: Codes, classes: Codes) -> Discrepancy:
        """Return the discrepancy of rows (n, d) of the given classes from the model."""
        parts = [_of_class(model, x[codes == k], int(k)) for k in classes]
        distances, marginals, quantiles, beyond = (
            np.array(part) for part in zip(*parts, strict=True)
        )
        return cls(distances, marginals, quantiles, beyond)


def _of_class(model: GaussianModel, x: Floats, k: int) -> tuple[float, Floats, Floats, float]:
    sigma, d = model.covariance_of(k), model.n_features
    u = (x - model.centre) - model.offsets[k]
    # D² = (x − μ)ᵀ Σ⁻¹ (x − μ) ~ χ²_d
    squares = np.sort(np.square(sigma.whiten(u)).sum(1))
    below, above = gammainc(d / 2, squares / 2), gammaincc(d / 2, squares / 2)
    distance = anderson_darling(
        np.log(np.maximum(below, _TINY))[:, None], np.log(np.maximum(above, _TINY))[:, None]
    )
    # (x_j − μ_j) / √Σ_jj ~ N(0, 1)
    z = np.sort(u / np.sqrt(np.diagonal(sigma.dense())), axis=0)
    marginal = anderson_darling(log_ndtr(z), log_ndtr(-z))
    beyond = float((squares > chdtri(d, 0.05)).mean())
    return float(distance[0]), marginal, np.quantile(squares, LEVELS), beyond


def anderson_darling(log_below: Floats, log_above: Floats) -> Floats:
    """Return A² of each column from log F and log (1 − F) of its sorted values, shape (d,).

    References
    ----------
    Anderson & Darling (1954), *Journal of the American Statistical Association* 49, 765–769.

    Examples
    --------
    >>> import numpy as np
    >>> u = (np.arange(1, 5) / 5)[:, None]
    >>> anderson_darling(np.log(u), np.log1p(-u)).round(4)
    array([0.2372])
    """
    n = len(log_below)
    # A² = −n − Σᵢ (2i − 1)/n · (log F(x_(i)) + log(1 − F(x_(n+1−i))))
    weights = (2 * np.arange(1, n + 1) - 1) / n
    statistic: Floats = -n - weights @ (log_below + log_above[::-1])
    return statistic
