"""Polylines of a conic uᵀAu + bᵀu + c = 0 inside a window, scaled to the square [−1, 1]².

In rotated coordinates (s, y), the arcs of the conic are the two roots y(s) of a quadratic equation.
An arc begins and ends where the two roots meet, or where its root leaves the square. The values of
s at all these points are computed first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from suffice.core.linalg import EPS
from suffice.typing import Floats

REACH = np.sqrt(2.0)  # largest distance of a point of the square from its centre
# ends of arcs that are closer than this count as one point; half a side of the window is 1
SAME = 1e-9


def real_roots(a: float, b: float, c: float, noise: float = 0.0) -> Floats:
    """Return the real roots of a t² + b t + c, in ascending order.

    Two roots that are complex only because of rounding errors up to ``noise`` in the coefficients
    become one real root.
    """
    size = max(abs(a), abs(b), abs(c))
    if size == 0:
        return np.empty(0)
    a = float(a / size)
    b = float(b / size)
    c = float(c / size)
    discriminant = b * b - 4 * a * c
    slack = 4 * EPS * b * b + (noise / size) * (2 * abs(b) + 4 * abs(a) + 4 * abs(c))
    if discriminant < -slack:
        return np.empty(0)
    discriminant = max(discriminant, 0.0)
    # r = −½ (b ± √(b² − 4ac)) with the sign of b, so that nothing cancels;  t₁ = r / a,  t₂ = c / r
    r = -0.5 * (b + math.copysign(math.sqrt(discriminant), b))
    roots = []
    if a != 0:
        roots.append(r / a)
    if r != 0:
        roots.append(c / r)
    if discriminant == 0:
        roots = roots[:1]
    return np.sort(np.array([t for t in roots if math.isfinite(t)], dtype=np.float64))


def conic_polylines(A: Floats | None, b: Floats, c: float, n: int) -> list[Floats]:
    """Return the conic in the square as joined polylines (m, 2), with n points per smooth arc."""
    if A is None:
        A = np.zeros((2, 2))
    size = max(np.abs(A).max(), np.abs(b).max(), abs(c))
    if size == 0 or abs(c) > np.abs(A).sum() + np.abs(b).sum():
        return []
    conic = RotatedConic.of(A / size, b / size, c / size)
    if not conic.is_lines:
        return _joined(list(conic.arcs(n)))
    polylines = []
    for w, w_0 in conic.lines():
        polylines += conic_polylines(None, w, w_0, n)
    return polylines


@dataclass(frozen=True, slots=True, eq=False)
class RotatedConic:
    """The conic as α y² + B(s) y + C(s) = 0 with u = R (s, y), and D = B² − 4 α C."""

    A: Floats  # (2, 2)
    b: Floats  # (2,)
    c: float
    R: Floats  # (2, 2); its columns are the directions of s and of y
    alpha: float
    B: Floats  # coefficients of s and 1  (2,)
    C: Floats  # coefficients of s², s and 1  (3,)
    D: Floats  # coefficients of s², s and 1, set to zero if they may be rounding errors  (3,)
    noise: Floats  # rounding errors of D  (3,)

    @classmethod
    def of(cls, A: Floats, b: Floats, c: float) -> RotatedConic:
        R = _frame(A, b)
        # u = R (s, y):  uᵀAu + bᵀu + c = (s, y) a (s, y)ᵀ + βᵀ(s, y) + c
        a = R.T @ A @ R
        beta = R.T @ b
        is_rounding = abs(a[0, 1]) <= 16 * EPS * np.abs(A).max()
        cross = 0.0 if is_rounding else 2 * a[0, 1]
        alpha = float(a[1, 1])
        B = np.array([cross, beta[1]])
        C = np.array([a[0, 0], beta[0], c])
        B_squared = np.array([B[0] ** 2, 2 * B[0] * B[1], B[1] ** 2])
        D = B_squared - 4 * alpha * C
        noise = 16 * EPS * (np.abs(B_squared) + np.abs(4 * alpha * C))
        return cls(
            A=A,
            b=b,
            c=c,
            R=R,
            alpha=alpha,
            B=B,
            C=C,
            D=np.where(np.abs(D) <= noise, 0, D),
            noise=noise,
        )

    @property
    def is_curved(self) -> bool:
        """Whether α is not small, so that y is the direction of the strongest curvature."""
        return bool(8 * abs(self.alpha) >= np.linalg.norm(self.b))

    @property
    def is_lines(self) -> bool:
        """Whether the conic is one or two lines: then D(s) is the square of a linear function."""
        D_2, D_1, D_0 = self.D
        noise_2, noise_1, noise_0 = self.noise
        slack = 2 * abs(D_1) * noise_1 + 4 * (abs(D_2) * noise_0 + abs(D_0) * noise_2)
        is_square = min(D_2, D_0) >= 0 and abs(D_1**2 - 4 * D_2 * D_0) <= slack
        return bool(self.is_curved and is_square)

    def lines(self) -> Iterator[tuple[Floats, float]]:
        """Yield (w, w_0) of 2 α y + B(s) ± √D(s) = 0."""
        D_2, D_1, D_0 = self.D
        # √D = p s + D₁/2p with p = √D₂, or D₁/2p s + p with p = √D₀; use the greater p
        if D_2 >= D_0:
            p = np.sqrt(D_2)
            root = np.array([p, 0.5 * D_1 / p if p else 0.0])
        else:
            p = np.sqrt(D_0)
            root = np.array([0.5 * D_1 / p, p])
        signs = (1.0, -1.0) if np.any(root) else (1.0,)
        for sign in signs:
            slope, level = self.B + sign * root
            yield self.R @ [slope, 2 * self.alpha], float(level)

    def arcs(self, n: int) -> Iterator[Floats]:
        """Yield each smooth piece of the conic in the square, (n, 2)."""
        D_2, D_1, D_0 = self.D
        turns = real_roots(D_2, D_1, D_0)  # values of s at which the two roots y(s) meet
        # s = s₀ + (s₁ − s₀) ½ (1 − cos θ) is dense near the ends, where a root may be vertical
        share = 0.5 * (1 - np.cos(np.linspace(0, np.pi, n)))
        for low, high in pairwise(self._arc_ends(turns)):
            middle = 0.5 * (low + high)
            for far in (True, False):
                if self._is_inside(middle, far=far):
                    s = np.append(low + (high - low) * share[:-1], high)
                    yield np.clip(self._points(s, turns, far=far), -1.0, 1.0)

    def _arc_ends(self, turns: Floats) -> Floats:
        """Return every s at which an arc may begin or end, in ascending order."""
        D_2, D_1, _ = self.D
        vertex = real_roots(0.0, 2 * D_2, D_1)
        candidates = np.concatenate([[-REACH, REACH], turns, vertex, self._exits()])
        s: Floats = np.unique(candidates[np.abs(candidates) <= REACH])
        is_new = np.append(True, np.diff(s) > 8 * EPS)
        ends: Floats = s[is_new]
        return ends

    def _exits(self) -> Floats:
        """Return s of each point at which the conic crosses a side of the square."""
        exits = [np.empty(0)]
        for axis, other in ((0, 1), (1, 0)):
            for side in (-1.0, 1.0):
                linear = self.b[other] + 2 * self.A[axis, other] * side
                constant = self.A[axis, axis] + self.b[axis] * side + self.c
                t = real_roots(self.A[other, other], linear, constant, noise=16 * EPS)
                exits.append(side * self.R[axis, 0] + t * self.R[other, 0])
        return np.concatenate(exits)

    def _is_inside(self, s: float, *, far: bool) -> bool:
        powers = np.array([s * s, s, 1.0])
        if self.D @ powers < -(self.noise @ np.abs(powers)):
            return False
        point = self._points(np.array([s]), np.empty(0), far=far)
        return bool(np.abs(point).max() <= 1 + 64 * EPS)

    def _points(self, s: Floats, turns: Floats, *, far: bool) -> Floats:
        """Return the points u of one root at each s, given the values ``turns`` where both meet."""
        B = np.polyval(self.B, s)
        D = np.where(np.isin(s, turns), 0.0, np.maximum(np.polyval(self.D, s), 0.0))
        spread = np.where(B < 0, -1.0, 1.0) * np.sqrt(D)
        with np.errstate(all="ignore"):
            if far:
                # y = (−B − √D) / 2α
                y = (-B - spread) / (2 * self.alpha)
            elif self.is_curved:
                # y = (−B + √D) / 2α
                y = (-B + spread) / (2 * self.alpha)
            else:
                # y = 2C / (−B − √D): both terms have one sign, so nothing cancels; α may be zero
                y = 2 * np.polyval(self.C, s) / (-B - spread)
            u: Floats = np.stack([s, y], axis=1) @ self.R.T
        return u


def _frame(A: Floats, b: Floats) -> Floats:
    """Return R with y along the strongest curvature, or along b if there is almost no curvature."""
    values, vectors = np.linalg.eigh(A)
    if np.linalg.norm(b) > 8 * np.abs(values).max():
        y = b / np.linalg.norm(b)
        return np.array([[-y[1], y[0]], [y[0], y[1]]]).T
    return vectors[:, np.argsort(np.abs(values))]


def _joined(arcs: list[Floats]) -> list[Floats]:
    """Join arcs that have a common end."""
    chains: list[Floats] = []
    for arc in arcs:
        chain = arc
        for k in reversed(range(len(chains))):
            longer = _chained(chains[k], chain)
            if longer is not None:
                chain = longer
                del chains[k]
        chains.append(chain)
    return chains


def _chained(first: Floats, second: Floats) -> Floats | None:
    """Return two polylines as one, or None if they have no common end."""
    for a in (first, first[::-1]):
        for b in (second, second[::-1]):
            if np.abs(a[-1] - b[0]).max() <= SAME:
                return np.concatenate([a, b[1:]])
    return None
