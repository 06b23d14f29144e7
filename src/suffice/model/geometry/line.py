"""A straight line inside the square [−1, 1]²."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from suffice.typing import Floats


def trace_line(w: Floats, w_0: float, n: int) -> list[Floats]:
    """Return the n points (n, 2) of wᵀu + w_0 = 0 in the square, as a list of none or one."""
    size = np.abs(w).max()
    if size == 0 or abs(w_0) > np.abs(w).sum():
        return []
    w, w_0 = w / size, w_0 / size
    # u(t) = u₀ + t p,  u₀ = −w_0 w / |w|² the point nearest to the middle,  p ⟂ w
    u_0 = -w_0 * w / (w @ w)
    p = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    first, last = _slab(u_0, p)
    if first >= last:
        return []
    t = np.linspace(first, last, n)
    return [np.clip(u_0 + t[:, None] * p, -1.0, 1.0)]


def _slab(u_0: Floats, p: Floats) -> tuple[float, float]:
    """Return the range of t in which |u₀ + t p| ≤ 1 in both coordinates."""
    ends = [
        ((-1 - u) / step, (1 - u) / step) if step else (-np.inf, np.inf)
        for u, step in zip(u_0, p, strict=True)
    ]
    return max(min(pair) for pair in ends), min(max(pair) for pair in ends)
