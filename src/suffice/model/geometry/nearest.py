"""The shortest step from a point to a quadric, by the secular equation of its multiplier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.linalg import EPS
from suffice.typing import Floats

ASIDE = 1e-100  # a push off an axis of symmetry, too small to measure: one side is chosen
LOG_RANGE = (-690.0, 300.0)  # of log v, so that v and v² stay finite
ROUNDS = 200


def shortest_steps(eigenvalues: Floats, gradients: Floats, values: Floats) -> Floats:
    """Return the shortest e with q + gᵀe + eᵀΛe = 0 for each row, (n, d), where there is one.

    Stationary steps are e = −½ t (I + tΛ)⁻¹ g, and the one with I + tΛ ⪰ 0 is the global
    minimum. On that interval the constraint is monotone in t: one bracketed root does.
    Moré (1993), "Generalizations of the trust region problem", *Optim. Methods Softw.* 2.
    """
    with np.errstate(all="ignore"):
        equation, length = _without_units(eigenvalues, gradients, values)
        v = equation.root()
        tau, h = equation.shares(v)
        # e = −½ t (I + tΛ)⁻¹ g = −√(qT) τ h γ
        e: Floats = -length[:, None] * tau[:, None] * h * equation.gamma
    return np.nan_to_num(e)  # no gradient and no curvature down: already there


def _without_units(
    eigenvalues: Floats, gradients: Floats, values: Floats
) -> tuple[_Secular, Floats]:
    """Return the equation in γ = g √(T/4q), and the unit of length √(qT)."""
    lowest = eigenvalues[0]
    if lowest < 0:  # 1 + tλ ≥ 0 up to t = T = −1/λ_min
        T = np.full(len(values), -1 / lowest)
        gap = np.broadcast_to(1 - eigenvalues / lowest, gradients.shape)
    else:  # up to infinity; T is the first-order root
        T = 2 * values / np.square(gradients).sum(1)
        gap = eigenvalues * T[:, None]
    gamma = gradients * np.sqrt(0.25 * T / values)[:, None]
    if lowest < 0:
        gamma[:, 0] = np.where(np.abs(gamma[:, 0]) < ASIDE, ASIDE, gamma[:, 0])
    return _Secular(gamma, gap, float(lowest < 0)), np.sqrt(values * T)


@dataclass(frozen=True, slots=True, eq=False)
class _Secular:
    """τ Σᵢ γᵢ² hᵢ (1 + hᵢ) = 1 in v > 0, with τ = v/(1+κv) and hᵢ = (1+κv)/(1+v gapᵢ).

    Here t = T τ and hᵢ = 1/(1 + tλᵢ): no difference of near numbers is ever formed.
    """

    gamma: Floats  # γ  (n, d)
    gap: Floats  # κ + λT  (n, d), not negative
    kappa: float  # κ: 1 where the interval of t is bounded, else 0

    def shares(self, v: Floats) -> tuple[Floats, Floats]:
        """Return τ (n,) and h (n, d)."""
        whole = 1 + self.kappa * v
        return v / whole, whole[:, None] / (1 + v[:, None] * self.gap)

    def level(self, v: Floats) -> tuple[Floats, Floats]:
        """Return log S of the left side S, (n,), and d log S / d log v."""
        tau, h = self.shares(v)
        square = np.square(self.gamma)
        # S = τ Σ γ² h (1 + h),  dS/dτ = 2 Σ γ² h³,  dτ/d log v = τ / (1 + κv)
        total = (square * h * (1 + h)).sum(1)
        slope = 2 * (square * h**2 / (1 + v[:, None] * self.gap)).sum(1) / total
        return np.log(tau * total), slope

    def root(self) -> Floats:
        """Return v by Newton's method on log S over log v, kept inside a bracket."""
        low, high = (np.full(len(self.gamma), end) for end in LOG_RANGE)
        w = np.clip(-np.log(2 * np.square(self.gamma).sum(1)), low, high)
        for _ in range(ROUNDS):
            excess, slope = self.level(np.exp(w))
            low, high = np.where(excess <= 0, w, low), np.where(excess >= 0, w, high)
            step = w - excess / slope
            trusted = (step >= low) & (step <= high)
            last, w = w, np.where(trusted, step, 0.5 * (low + high))
            settled = np.abs(w - last) <= 4 * EPS * np.maximum(1, np.abs(w))
            if np.all(settled | (np.abs(excess) <= 16 * EPS)):
                break
        v: Floats = np.exp(w)
        return v
