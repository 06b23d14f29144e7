"""Least squares from moments: regression of class indicators, or of a column on the others."""

from typing import NamedTuple

import numpy as np

from suffice.core.linalg import solve_semidefinite
from suffice.core.model.linear import LinearModel
from suffice.core.moments import Moments
from suffice.core.threads import chunk_edges
from suffice.discriminative.problem import aliased_columns
from suffice.discriminative.scaling import Scaling
from suffice.errors import InvalidInputError
from suffice.typing import Array, Floats


def regress_indicators(moments: Moments) -> LinearModel:
    r"""Return the least-squares fit of the indicator of each class, as K linear scores.

    .. math::  w_k = T^{-1} n_k (\mu_k - \mu), \qquad w_{k0} = \pi_k - w_k^\top \mu

    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.2.
    """
    v = Scaling.of(moments).inverse
    # w_k = T⁻¹ n_k (μ_k − μ), in standard units about the grand mean
    total = (moments.pooled_scatter + moments.between_scatter) * v * v[:, None]
    shares = moments.weights / moments.total_weight
    means = moments.centred_means
    # far from the origin, the grand mean has a rounding error: subtract the mean that remains
    remainder = shares @ means
    sums = moments.weights[:, None] * (means - remainder) * v
    slopes = solve_semidefinite(total, sums.T).T
    # the solutions sum to zero, as the right-hand sides do, up to rounding errors removed here
    weights = (slopes - slopes.mean(0)) * v
    at_centre = shares - weights @ remainder
    return LinearModel.of(weights, at_centre, has_posterior=False, centre=moments.grand_mean)


def joint_moments(x: Array, y: Array, weight: Floats | None) -> Moments:
    """Return moments with one class, the features, and the target as the last column."""
    first, *rest = chunk_edges(len(x))
    moments = _chunk_moments(x, y, weight, *first)
    for lo, hi in rest:
        moments = moments + _chunk_moments(x, y, weight, lo, hi)
    return moments


def _chunk_moments(x: Array, y: Array, weight: Floats | None, lo: int, hi: int) -> Moments:
    return Moments.of(
        np.column_stack([x[lo:hi], y[lo:hi]]),
        np.zeros(hi - lo, np.intp),
        None if weight is None else weight[lo:hi],
        storage="pooled",
        fourth=False,
        missing="refuse",
    )


class LinearRegression(NamedTuple):
    """The regression y | x ~ N(wᵀx + w_0, σ²)."""

    intercept: float  # w_0
    slopes: Floats  # w  (d,)
    variance: float  # σ²


def regress_column(
    moments: Moments,
    target: int,
    *,
    unbiased: bool = False,
) -> LinearRegression:
    r"""Return the regression of one column, y, on all other columns, x.

    .. math::  w = S_{xx}^{-1} s_{xy}, \qquad \textrm{residual} = s_{yy} - w^\top s_{xy}, \qquad
        \sigma^2 = \textrm{residual} / n

    The unbiased variance divides by n minus the number of coefficients.
    """
    others = np.delete(np.arange(moments.n_features), target)
    features = moments.select(others)
    scaling = Scaling.of(features)
    v = scaling.inverse
    scatter = moments.pooled_scatter + moments.between_scatter
    products = scatter[np.ix_(others, others)] * v * v[:, None]
    cross = scatter[others, target] * v
    # in standard units: w = S_xx⁻¹ s_xy
    slopes = solve_semidefinite(products, cross)
    # s_yy − 2 wᵀs_xy + wᵀS_xx w depends on the rounding error of w only through its square
    residual = scatter[target, target] - 2 * slopes @ cross + slopes @ products @ slopes
    beta = scaling.to_original(np.concatenate([[moments.grand_mean[target]], slopes]))
    n_coefficients = 1 + len(others) - len(aliased_columns(features))
    weight = moments.total_weight
    divisor = weight - n_coefficients if unbiased else weight
    if divisor <= 0:
        raise InvalidInputError(
            f"an unbiased variance of {n_coefficients} coefficients needs more weight than "
            f"{weight:g}: use divisor='mle', or fewer features"
        )
    variance = max(float(residual), 0.0) / divisor
    return LinearRegression(float(beta[0]), beta[1:], variance)
