"""Roots of one quadratic equation, free of cancellation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from suffice.typing import Floats

EPS = float(np.finfo(np.float64).eps)


def real_roots(a: float, b: float, c: float, noise: float = 0.0) -> Floats:
    """Return the real roots of a t² + b t + c, ascending; none if it is a constant.

    Two roots that only rounding made complex are one: ``noise`` is that of the coefficients.

    Examples
    --------
    >>> real_roots(1.0, -3.0, 2.0)
    array([1., 2.])
    >>> real_roots(0.0, 2.0, 1.0)
    array([-0.5])
    """
    size = max(abs(a), abs(b), abs(c))
    if size == 0:
        return np.empty(0)
    a, b, c = float(a / size), float(b / size), float(c / size)
    discriminant = b * b - 4 * a * c
    slack = 4 * EPS * b * b + (noise / size) * (2 * abs(b) + 4 * abs(a) + 4 * abs(c))
    if -slack <= discriminant < 0:
        discriminant = 0.0
    if discriminant < 0:
        return np.empty(0)
    # r = −½ (b ± √(b² − 4ac)), the sign that adds;  t₁ = r / a,  t₂ = c / r
    r = -0.5 * (b + math.copysign(math.sqrt(discriminant), b))
    roots = [top / bottom for top, bottom in ((r, a), (c, r)) if bottom != 0]
    if discriminant == 0:
        roots = roots[:1]
    return np.sort(np.array([t for t in roots if math.isfinite(t)], dtype=np.float64))
