"""What a quadric is called, from the signs of its eigenvalues (Sylvester's law of inertia)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.model.geometry.conic import EPS

if TYPE_CHECKING:
    from suffice.typing import Floats

# Signs (p, q) of the eigenvalues of A, p ≥ q → names of zᵀΛz + c̃ = 0 for c̃ < 0, c̃ = 0, c̃ > 0,
# and of zᵀΛz + t = 0, where b has a part t outside the range of A
_Names = dict[tuple[int, int], tuple[str, str, str, str]]
_POINTS: _Names = {
    (1, 0): ("two points", "point", "empty", ""),
    (0, 0): ("empty", "everything", "empty", "point"),
}
_CONICS: _Names = {
    (2, 0): ("ellipse", "point", "empty", ""),
    (1, 1): ("hyperbola", "intersecting lines", "hyperbola", ""),
    (1, 0): ("parallel lines", "double line", "empty", "parabola"),
    (0, 0): ("empty", "everything", "empty", "line"),
}
_SURFACES: _Names = {
    (3, 0): ("ellipsoid", "point", "empty", ""),
    (2, 1): ("hyperboloid of one sheet", "cone", "hyperboloid of two sheets", ""),
    (2, 0): ("elliptic cylinder", "line", "empty", "elliptic paraboloid"),
    (1, 1): (
        "hyperbolic cylinder",
        "intersecting planes",
        "hyperbolic cylinder",
        "hyperbolic paraboloid",
    ),
    (1, 0): ("parallel planes", "double plane", "empty", "parabolic cylinder"),
    (0, 0): ("empty", "everything", "empty", "plane"),
}


def kind_of(A: Floats, b: Floats, c: float) -> str:
    """Return the name of {u : uᵀAu + bᵀu + c = 0}."""
    d = len(b)
    up, down = _inertia(A)
    half = 0.5 * b[:, None]
    whole_up, whole_down = _inertia(np.block([[A, half], [half.T, np.array([[c]])]]))
    # the whole form [A ½b; ½bᵀ c] adds to the signs of A: that of c̃, or + and − if b ∉ range A
    extra = whole_up + whole_down - up - down
    if extra > 1 and up + down < d:
        case = 3
    else:
        sign = np.sign(extra) * (1 if whole_up > up else -1)
        case = 1 + int(sign if up >= down else -sign)
    signs = (max(up, down), min(up, down))
    named = {1: _POINTS, 2: _CONICS, 3: _SURFACES}.get(d)
    return (named[signs] if named else _beyond_space(d, *signs))[case]


def _beyond_space(d: int, p: int, q: int) -> tuple[str, str, str, str]:
    """Return the four names in more than three dimensions, where p + q eigenvalues are not zero."""
    few = {
        (0, 0): ("empty", "everything", "empty", "hyperplane"),
        (1, 0): ("parallel hyperplanes", "double hyperplane", "empty", "parabolic cylinder"),
    }
    if (p, q) in few:
        return few[p, q]
    shape = "elliptic" if q == 0 else "hyperbolic"
    bowl = f"{shape} paraboloid" if p + q == d - 1 else "parabolic cylinder"
    if q == 0:
        return (
            ("ellipsoid", "point", "empty", "")
            if p == d
            else (f"{shape} cylinder", "affine subspace", "empty", bowl)
        )
    body = "hyperboloid" if p + q == d else "hyperbolic cylinder"
    return body, "intersecting hyperplanes" if p == 1 else "cone", body, bowl


def rank_of(A: Floats) -> int:
    """Return the number of eigenvalues that are not zero but for rounding."""
    return sum(_inertia(A))


def _inertia(M: Floats) -> tuple[int, int]:
    """Return how many eigenvalues are positive and negative, whatever the units of axes."""
    values = np.linalg.eigvalsh(balanced(M)[0])
    floor = 8 * len(M) * EPS * np.abs(values).max(initial=0.0)
    return int((values > floor).sum()), int((values < -floor).sum())


def balanced(M: Floats) -> tuple[Floats, Floats]:
    """Return (sᵢ Mᵢⱼ sⱼ, s) with s powers of two that bring every row near to one."""
    s = np.ones(len(M))
    for _ in range(8):
        largest = np.abs(s[:, None] * M * s).max(axis=1, initial=0.0)
        with np.errstate(divide="ignore"):
            s = s * np.exp2(-np.round(0.5 * np.log2(np.where(largest > 0, largest, 1.0))))
    return s[:, None] * M * s, s
