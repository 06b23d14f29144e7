"""What a quadric is called, from the signs of its eigenvalues (Sylvester's law of inertia)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.model.geometry.conic import EPS

if TYPE_CHECKING:
    from suffice.typing import Floats

# (is A definite?, is A semidefinite?, rank of the whole − rank of A) → name, for d = 1, 2, 3+
_NAMES: dict[tuple[bool, bool, int], tuple[str, str, str]] = {
    (True, True, 1): ("two points", "ellipse", "ellipsoid"),
    (True, True, 0): ("point", "point", "point"),
    (False, False, 1): ("", "hyperbola", "hyperboloid"),
    (False, False, 0): ("", "crossing lines", "cone"),
    (False, True, 2): ("", "parabola", "paraboloid"),
    (False, False, 2): ("", "", "hyperbolic paraboloid"),
    (False, True, 1): ("", "parallel lines", "elliptic cylinder"),
    (False, True, 0): ("", "double line", "flat"),
}
_FLAT_NAMES = {0: ("everything",) * 3, 1: ("empty",) * 3, 2: ("point", "line", "hyperplane")}


def kind_of(A: Floats, b: Floats, c: float) -> str:
    """Return the name of {u : uᵀAu + bᵀu + c = 0}."""
    d = len(b)
    up, down = _inertia(A)
    # the whole form [A ½b; ½bᵀ c] adds to the signs of A: ± once (c̃ ≠ 0) or both (b ∉ range A)
    half = 0.5 * b[:, None]
    whole_up, whole_down = _inertia(np.block([[A, half], [half.T, np.array([[c]])]]))
    extra = int(np.clip(whole_up + whole_down - up - down, 0, 1 if up + down == d else 2))
    column = min(d, 3) - 1
    if up + down == 0:
        return _FLAT_NAMES[extra][column]
    semidefinite = min(up, down) == 0
    if semidefinite and extra == 1 and min(whole_up, whole_down) == 0:
        return "empty"
    return _NAMES[max(up, down) == d, semidefinite, extra][column]


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
