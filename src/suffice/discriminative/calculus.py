"""Numerical checks of gradients, by finite differences, and of convexity, by midpoints."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from suffice.errors import InvalidParameterError
from suffice.typing import Floats

# at ε^(1/3), the truncation and rounding errors of a central difference are about equal
_STEP = 6e-6


def numerical_gradient(
    function: Callable[[Floats], float],
    at: npt.ArrayLike,
) -> Floats:
    """Return ∂f/∂X by central differences, in the shape of X: a number, a vector or a matrix.

    Entry (i, j) is the derivative with respect to X_ij, with all entries as separate variables.

    Parameters
    ----------
    function : callable
        f, which maps an array in the shape of ``at`` to a number.
    at : array
        X.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.lectures import numerical_gradient
    >>> A = np.array([[2.0, 1.0], [0.0, 3.0]])
    >>> x = np.array([1.0, -1.0])
    >>> numerical_gradient(lambda x: x @ A @ x, x).round(6).tolist()
    [3.0, -5.0]
    >>> ((A + A.T) @ x).tolist()
    [3.0, -5.0]
    """
    x = np.array(at, np.float64)
    gradient = np.empty_like(x)
    for index in np.ndindex(x.shape):
        h = _STEP * max(abs(float(x[index])), 1.0)
        ahead = x.copy()
        ahead[index] += h
        behind = x.copy()
        behind[index] -= h
        # ∂f/∂x = (f(x + h) − f(x − h)) / 2h
        rise = float(function(ahead)) - float(function(behind))
        gradient[index] = rise / (ahead[index] - behind[index])
    return gradient


def convexity_gap(
    function: Callable[[Floats], float],
    first: npt.ArrayLike,
    second: npt.ArrayLike,
) -> Floats:
    """Return ½ (f(a) + f(b)) − f(½ (a + b)) for pairs of points, (n,).

    A continuous function is convex if and only if no pair has a negative gap. One negative gap
    shows that the function is not convex; many positive gaps only suggest that it is.

    Parameters
    ----------
    function : callable
        f, which maps a vector (p,) to a number.
    first, second : arrays (n, p)
        a and b.

    Examples
    --------
    >>> from suffice.lectures import convexity_gap
    >>> convexity_gap(lambda w: w[0] ** 2, [[0.0], [1.0]], [[2.0], [5.0]]).tolist()
    [1.0, 4.0]
    >>> convexity_gap(lambda w: w[0] ** 3, [[-2.0]], [[0.0]]).tolist()
    [-3.0]
    """
    a = np.atleast_2d(np.asarray(first, np.float64))
    b = np.atleast_2d(np.asarray(second, np.float64))
    if a.shape != b.shape:
        raise InvalidParameterError(
            f"first has shape {a.shape} and second {b.shape}: give pairs of points, (n, p) each"
        )
    gaps = []
    for p, q in zip(a, b, strict=True):
        mean = 0.5 * (float(function(p)) + float(function(q)))
        gaps.append(mean - float(function(0.5 * (p + q))))
    return np.array(gaps)
