"""Minimise a smooth function of an orthogonal matrix: limited-memory quasi-Newton steps.

A step is a skew matrix Ω in the moving frame, D → D Cayley(Ω), so that earlier steps and
gradients need no transport from one D to the next.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.typing import Floats

MEMORY = 10
FLATTEST = 1e-2  # curvatures are dimensionless; flatter or negative ones count as this
SLACK = 16 * float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A function and its derivatives at D exp(Ω), Ω = 0."""

    axes: Floats  # D  (d, d)
    value: float
    gradient: Floats  # (d, d), skew
    curvature: Floats  # (d, d), symmetric: of each plane rotation alone


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """Where a descent ended."""

    point: Point
    iterations: int
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Memory:
    """Pairs of a step s and the change t of the gradient along it."""

    pairs: deque[tuple[Floats, Floats]] = field(default_factory=lambda: deque(maxlen=MEMORY))

    def learn(self, s: Floats, t: Floats) -> None:
        """Keep a pair, if the function curves upwards along it."""
        if np.vdot(s, t) > SLACK * np.linalg.norm(s) * np.linalg.norm(t):
            self.pairs.append((s, t))

    def direction(self, here: Point) -> Floats:
        """Return −H⁻¹ G by the two-loop recursion."""
        q, shares = -here.gradient, []
        for s, t in reversed(self.pairs):
            shares.append(np.vdot(s, q) / np.vdot(s, t))
            q = q - shares[-1] * t
        q = q / np.maximum(here.curvature, FLATTEST)
        for (s, t), share in zip(self.pairs, reversed(shares), strict=True):
            q = q + s * (share - np.vdot(t, q) / np.vdot(s, t))
        return q


def descend(
    start: Point,
    at: Callable[[Floats], Point],
    tol: float,
    max_iter: int,
    taken: int = 0,
) -> Descent:
    """Go downhill from a point until a step would gain less than ``tol``."""
    here, memory = start, _Memory()
    for iteration in range(max_iter):
        omega = memory.direction(here)
        # each plane is counted twice in a skew matrix
        slope = float(np.vdot(here.gradient, omega)) / 2
        if -slope / 2 <= tol:
            return Descent(here, taken + iteration, converged=True)
        t, there = _search(here, at, omega, slope)
        memory.learn(t * omega, there.gradient - here.gradient)
        here = there
    return Descent(here, taken + max_iter, converged=False)


def _search(
    here: Point, at: Callable[[Floats], Point], omega: Floats, slope: float
) -> tuple[float, Point]:
    """Return the first of the steps 1, ½, … that gains its fair share, and where it leads."""
    t, slack = 1.0, SLACK * (1 + abs(here.value))
    there = at(here.axes @ cayley(omega))
    while there.value > here.value + 1e-4 * t * slope + slack and t > SLACK:
        t /= 2
        there = at(here.axes @ cayley(t * omega))
    return t, there


def cayley(omega: Floats) -> Floats:
    """Return the rotation (I − Ω/2)⁻¹ (I + Ω/2) of a skew Ω."""
    eye = np.eye(len(omega))
    return np.asarray(np.linalg.solve(eye - omega / 2, eye + omega / 2), dtype=np.float64)
