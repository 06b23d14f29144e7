"""Least squares from moments: of class indicators, or of one column on the others."""

import functools
import operator
from typing import Any

import numpy as np

from suffice.core.linalg import solve_semidefinite
from suffice.core.model.linear import LinearModel
from suffice.core.moments import Moments
from suffice.core.threads import chunk_edges
from suffice.discriminative.design import Scaling, aliased_columns
from suffice.errors import InvalidInputError
from suffice.typing import Floats


def regress_indicators(moments: Moments) -> LinearModel:
    r"""Return the least-squares fit of each class's indicator, a score for each of K classes.

    .. math::  w_k = T^{-1} n_k (\mu_k - \mu), \qquad w_{k0} = \pi_k - w_k^\top \mu

    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.2.
    """
    v = Scaling.of(moments).inverse
    # in standard units about the grand mean: T⁻¹ n_k (μ_k − μ)
    total = (moments.pooled_scatter + moments.between_scatter) * v * v[:, None]
    shares, means = moments.weights / moments.total_weight, moments.centred_means
    # far from the origin the grand mean is rounded: what is left of it goes out again
    left = shares @ means
    slopes = solve_semidefinite(total, (moments.weights[:, None] * (means - left) * v).T).T
    # they sum to zero, as the right-hand sides do, up to rounding
    weights = (slopes - slopes.mean(0)) * v
    at_centre = shares - weights @ left
    return LinearModel.of(weights, at_centre, has_posterior=False, centre=moments.grand_mean)


def joint_moments(x: Any, y: Any, weight: Floats | None) -> Moments:
    """Return the moments of the features with the target as last column, in one class."""

    def part(lo: int, hi: int) -> Moments:
        joint, one = np.column_stack([x[lo:hi], y[lo:hi]]), np.zeros(hi - lo, np.intp)
        w = None if weight is None else weight[lo:hi]
        return Moments.of(joint, one, w, storage="pooled", fourth=False, missing="refuse")

    return functools.reduce(operator.add, (part(lo, hi) for lo, hi in chunk_edges(len(x))))


def regress_column(
    moments: Moments,
    target: int,
    *,
    unbiased: bool = False,
) -> tuple[float, Floats, float]:
    r"""Return w_0, w (d,) and σ² of one column y | x ~ N(wᵀx + w_0, σ²), x all the others.

    .. math::  w = S_{xx}^{-1} s_{xy}, \qquad \textrm{residual} = s_{yy} - w^\top s_{xy}
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
    # s_yy − 2 wᵀs_xy + wᵀS_xx w: an error of w enters squared only
    residual = scatter[target, target] - 2 * slopes @ cross + slopes @ products @ slopes
    beta = scaling.to_original(np.concatenate([[moments.grand_mean[target]], slopes]))
    rank, weight = 1 + len(others) - len(aliased_columns(features)), moments.total_weight
    divisor = weight - rank if unbiased else weight
    if divisor <= 0:
        msg = f"an unbiased variance of {rank} coefficients needs more weight than {weight:g}"
        raise InvalidInputError(f"{msg}: use divisor='mle', or fewer features")
    return float(beta[0]), beta[1:], max(float(residual), 0.0) / divisor
