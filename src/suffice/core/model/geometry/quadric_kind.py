"""Names of quadrics in any dimension: ellipse, hyperbola, parabola, line, and others."""

import numpy as np

from suffice.core.linalg import EPS, balanced
from suffice.typing import Floats

# Key: (d, p, q), where A has p eigenvalues of one sign and q ≤ p of the other sign. In other
# coordinates, the quadric is zᵀΛz + c̃ = 0, or zᵀΛz + t = 0 if b is not in the range of A.
# Value: its names for c̃ < 0, c̃ = 0, c̃ > 0, and for zᵀΛz + t = 0.
_NAMES: dict[tuple[int, int, int], tuple[str, str, str, str]] = {
    (1, 1, 0): ("two points", "point", "empty", ""),
    (1, 0, 0): ("empty", "everything", "empty", "point"),
    (2, 2, 0): ("ellipse", "point", "empty", ""),
    (2, 1, 1): ("hyperbola", "intersecting lines", "hyperbola", ""),
    (2, 1, 0): ("parallel lines", "double line", "empty", "parabola"),
    (2, 0, 0): ("empty", "everything", "empty", "line"),
}


def quadric_kind(A: Floats, b: Floats, c: float) -> str:
    """Return the name of {u : uᵀAu + bᵀu + c = 0}."""
    d = len(b)
    n_positive, n_negative = _inertia(A)
    p = max(n_positive, n_negative)
    q = min(n_positive, n_negative)
    case = _case(A, b, c)
    if d < 3:
        return _NAMES[d, p, q][case]
    name = _names_from_three_dimensions(d, p, q)[case]
    if d > 3:
        return name
    if name == "hyperboloid":
        return "hyperboloid of one sheet" if case == 0 else "hyperboloid of two sheets"
    return name.replace("hyperplane", "plane").replace("affine subspace", "line")


def _case(A: Floats, b: Floats, c: float) -> int:
    """Return the position of the name in an entry of ``_NAMES``, 0 to 3."""
    n_positive, n_negative = _inertia(A)
    half = 0.5 * b[:, None]
    all_positive, all_negative = _inertia(np.block([[A, half], [half.T, np.array([[c]])]]))
    # the signs of the eigenvalues of [A ½b; ½bᵀ c] are those of A and one more, the sign of c̃; if
    # b is
    # not in the range of A, there are two more signs, + and −
    n_added = all_positive + all_negative - n_positive - n_negative
    if n_added > 1 and n_positive + n_negative < len(b):
        return 3
    sign = np.sign(n_added)
    if all_positive <= n_positive:
        sign = -sign
    # the names are those of −y, which has more positive eigenvalues
    if n_positive < n_negative:
        sign = -sign
    return 1 + int(sign)


def _names_from_three_dimensions(d: int, p: int, q: int) -> tuple[str, str, str, str]:
    """Return the four names of an entry of ``_NAMES`` for d ≥ 3."""
    if p == 0:
        return "empty", "everything", "empty", "hyperplane"
    if p + q == 1:
        return "parallel hyperplanes", "double hyperplane", "empty", "parabolic cylinder"
    shape = "elliptic" if q == 0 else "hyperbolic"
    bowl = f"{shape} paraboloid" if p + q == d - 1 else "parabolic cylinder"
    if p == d:
        return "ellipsoid", "point", "empty", ""
    if q == 0:
        return f"{shape} cylinder", "affine subspace", "empty", bowl
    body = "hyperboloid" if p + q == d else "hyperbolic cylinder"
    centred = "intersecting hyperplanes" if p == 1 else "cone"
    return body, centred, body, bowl


def _inertia(M: Floats) -> tuple[int, int]:
    """Return the number of positive and of negative eigenvalues, with tolerances without units."""
    unit_free, _ = balanced(M)
    values = np.linalg.eigvalsh(unit_free)
    floor = 8 * len(M) * EPS * np.abs(values).max(initial=0.0)
    return int((values > floor).sum()), int((values < -floor).sum())
