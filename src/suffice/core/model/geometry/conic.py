"""The conic uᵀAu + bᵀu + c = 0 inside a window, seen as the square [−1, 1]², whatever its kind.

In a well chosen frame (s, y) its arcs are the two roots y(s) of a quadratic. They begin and end
where the roots meet or leave the square; all these s are found first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from suffice.core.linalg import EPS
from suffice.typing import Floats

REACH = np.sqrt(2.0)  # no point of the square is farther from its middle
SAME = 1e-9  # ends of arcs nearer than this, in half sides of the window, are one point


def real_roots(a: float, b: float, c: float, noise: float = 0.0) -> Floats:
    """Return the real roots of a t² + b t + c, ascending; complex by ``noise`` alone are one."""
    size = max(abs(a), abs(b), abs(c))
    if size == 0:
        return np.empty(0)
    a, b, c = float(a / size), float(b / size), float(c / size)
    discriminant = b * b - 4 * a * c
    slack = 4 * EPS * b * b + (noise / size) * (2 * abs(b) + 4 * abs(a) + 4 * abs(c))
    if discriminant < -slack:
        return np.empty(0)
    discriminant = max(discriminant, 0.0)
    # r = −½ (b ± √(b² − 4ac)), the sign that adds;  t₁ = r / a,  t₂ = c / r
    r = -0.5 * (b + math.copysign(math.sqrt(discriminant), b))
    roots = [top / bottom for top, bottom in ((r, a), (c, r)) if bottom != 0]
    if discriminant == 0:
        roots = roots[:1]
    return np.sort(np.array([t for t in roots if math.isfinite(t)], dtype=np.float64))


def traced(A: Floats | None, b: Floats, c: float, n: int) -> list[Floats]:
    """Return the arcs in the square as joined polylines (m, 2), n points to a smooth arc."""
    A = np.zeros((2, 2)) if A is None else A
    size = max(np.abs(A).max(), np.abs(b).max(), abs(c))
    if size == 0 or abs(c) > np.abs(A).sum() + np.abs(b).sum():
        return []
    conic = Sheets.of(A / size, b / size, c / size)
    if conic.is_lines:
        return [line for w, w_0 in conic.lines() for line in traced(None, w, w_0, n)]
    return _joined(list(conic.arcs(n)))


@dataclass(frozen=True, slots=True, eq=False)
class Sheets:
    """The conic as α y² + B(s) y + C(s) = 0 with u = R (s, y), and D = B² − 4 α C."""

    A: Floats  # (2, 2)
    b: Floats  # (2,)
    c: float
    R: Floats  # (2, 2), columns: the directions of s and of y
    alpha: float
    B: Floats  # (2,), coefficients of s, 1
    C: Floats  # (3,), of s², s, 1
    D: Floats  # (3,), of s², s, 1; what is only rounding is zero
    noise: Floats  # (3,), rounding of D

    @classmethod
    def of(cls, A: Floats, b: Floats, c: float) -> Sheets:
        R = _frame(A, b)
        a, beta = R.T @ A @ R, R.T @ b
        cross = 0.0 if abs(a[0, 1]) <= 16 * EPS * np.abs(A).max() else 2 * a[0, 1]
        alpha, B, C = (
            float(a[1, 1]),
            np.array([cross, beta[1]]),
            np.array([a[0, 0], beta[0], c]),
        )
        BB = np.array([B[0] ** 2, 2 * B[0] * B[1], B[1] ** 2])
        D, noise = BB - 4 * alpha * C, 16 * EPS * (np.abs(BB) + np.abs(4 * alpha * C))
        return cls(A, b, c, R, alpha, B, C, np.where(np.abs(D) <= noise, 0, D), noise)

    @property
    def is_curved(self) -> bool:
        """Whether y is the direction of the strongest curvature, so that α is not small."""
        return bool(8 * abs(self.alpha) >= np.linalg.norm(self.b))

    @property
    def is_lines(self) -> bool:
        """Whether D(s) is the square of a line in s, so that the conic is one or two lines."""
        (D_2, D_1, D_0), (e_2, e_1, e_0) = self.D, self.noise
        slack = 2 * abs(D_1) * e_1 + 4 * (abs(D_2) * e_0 + abs(D_0) * e_2)
        return bool(
            self.is_curved and min(D_2, D_0) >= 0 and abs(D_1**2 - 4 * D_2 * D_0) <= slack
        )

    def lines(self) -> Iterator[tuple[Floats, float]]:
        """Yield (w, w_0) of 2 α y + B(s) ± √D(s) = 0."""
        # √D = p s + D₁/2p with p = √D₂, or D₁/2p s + p with p = √D₀: the greater of the two
        order = slice(None) if self.D[0] >= self.D[2] else slice(None, None, -1)
        p = np.sqrt(self.D[order][0])
        root = np.array([p, 0.5 * self.D[1] / p if p else 0.0])[order]
        for sign in (1.0, -1.0) if np.any(root) else (1.0,):
            slope, level = self.B + sign * root
            yield self.R @ [slope, 2 * self.alpha], float(level)

    def arcs(self, n: int) -> Iterator[Floats]:
        """Yield each smooth piece of the conic in the square, (n, 2)."""
        turns, vertex = real_roots(*self.D), real_roots(0.0, 2 * self.D[0], self.D[1])
        # every s at which an arc may begin or end
        s = np.concatenate([[-REACH, REACH], turns, vertex, self._exits()])
        s = np.unique(s[np.abs(s) <= REACH])
        # s = s₀ + (s₁ − s₀) ½ (1 − cos θ): dense at the ends, where a root may turn back
        share = 0.5 * (1 - np.cos(np.linspace(0, np.pi, n)))
        for low, high in pairwise(s[np.append(True, np.diff(s) > 8 * EPS)]):
            for far in (True, False):
                if self._is_inside(0.5 * (low + high), far=far):
                    s = np.append(low + (high - low) * share[:-1], high)
                    yield np.clip(self._points(s, turns, far=far), -1.0, 1.0)

    def _exits(self) -> Floats:
        """Return the s of the points on the four sides of the square."""
        found = [np.empty(0)]
        for axis, other in ((0, 1), (1, 0)):
            for side in (-1.0, 1.0):
                linear = self.b[other] + 2 * self.A[axis, other] * side
                constant = self.A[axis, axis] + self.b[axis] * side + self.c
                t = real_roots(self.A[other, other], linear, constant, noise=16 * EPS)
                found.append(side * self.R[axis, 0] + t * self.R[other, 0])
        return np.concatenate(found)

    def _is_inside(self, s: float, *, far: bool) -> bool:
        powers = np.array([s * s, s, 1.0])
        if self.D @ powers < -(self.noise @ np.abs(powers)):
            return False
        return bool(
            np.abs(self._points(np.array([s]), np.empty(0), far=far)).max() <= 1 + 64 * EPS
        )

    def _points(self, s: Floats, turns: Floats, *, far: bool) -> Floats:
        """Return the points u of one of the two roots at each s; they meet at ``turns``."""
        B = np.polyval(self.B, s)
        D = np.where(np.isin(s, turns), 0.0, np.maximum(np.polyval(self.D, s), 0.0))
        spread = np.where(B < 0, -1.0, 1.0) * np.sqrt(D)
        with np.errstate(all="ignore"):
            if far or self.is_curved:
                # y = (−B ∓ √D) / 2α
                y = (-B - spread if far else -B + spread) / (2 * self.alpha)
            else:
                # y = 2C / (−B − √D), where nothing cancels and α may be zero
                y = 2 * np.polyval(self.C, s) / (-B - spread)
            u: Floats = np.stack([s, y], axis=1) @ self.R.T
        return u


def _frame(A: Floats, b: Floats) -> Floats:
    """Return R: y along the strongest curvature, or along b where that is almost none."""
    values, vectors = np.linalg.eigh(A)
    if np.linalg.norm(b) > 8 * np.abs(values).max():
        y = b / np.linalg.norm(b)
        return np.array([[-y[1], y[0]], [y[0], y[1]]]).T
    return vectors[:, np.argsort(np.abs(values))]


def _joined(arcs: list[Floats]) -> list[Floats]:
    chains: list[Floats] = []
    for piece in arcs:
        chain = piece
        for k in reversed(range(len(chains))):
            longer = _chained(chains[k], chain)
            if longer is not None:
                chain = longer
                del chains[k]
        chains.append(chain)
    return chains


def _chained(first: Floats, second: Floats) -> Floats | None:
    for a in (first, first[::-1]):
        for b in (second, second[::-1]):
            if np.abs(a[-1] - b[0]).max() <= SAME:
                return np.concatenate([a, b[1:]])
    return None
