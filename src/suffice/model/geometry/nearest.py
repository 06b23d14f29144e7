"""The shortest step from a point to a quadric, by the secular equation of its multiplier."""

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
    lowest = eigenvalues[0]
    kappa = float(lowest < 0)  # 1 where the interval of t is bounded, else 0
    with np.errstate(all="ignore"):
        # 1 + tλ ≥ 0 up to t = T = −1/λ_min, or up to infinity; T is then the first-order root
        T = 2 * values / np.square(gradients).sum(1)
        T = np.full(len(values), -1 / lowest) if kappa else T
        # 1 + tλᵢ = 1/hᵢ with t = Tτ, τ = v/(1+κv), hᵢ = (1+κv)/(1+v gapᵢ): no difference of near
        # numbers is ever formed
        gap = 1 - eigenvalues / lowest if kappa else eigenvalues * T[:, None]
        gap = np.broadcast_to(gap, gradients.shape)
        gamma = gradients * np.sqrt(0.25 * T / values)[:, None]
        if kappa:
            gamma[:, 0] = np.where(np.abs(gamma[:, 0]) < ASIDE, ASIDE, gamma[:, 0])
        v = _root(np.square(gamma), gap, kappa)
        # e = −½ t (I + tΛ)⁻¹ g = −√(qT) τ h γ
        e: Floats = -np.sqrt(values * T)[:, None] * v[:, None] / (1 + v[:, None] * gap) * gamma
    return np.nan_to_num(e)  # no gradient and no curvature down: already there


def _root(squares: Floats, gap: Floats, kappa: float) -> Floats:
    """Return v > 0 with S = τ Σᵢ γᵢ² hᵢ (1 + hᵢ) = 1, (n,), by bracketed Newton steps in logs."""
    low, high = (np.full(len(squares), end) for end in LOG_RANGE)
    w = np.clip(-np.log(2 * squares.sum(1)), low, high)
    for _ in range(ROUNDS):
        v = np.exp(w)
        whole, lengths = 1 + kappa * v, 1 + v[:, None] * gap
        h = whole[:, None] / lengths
        total = (squares * h * (1 + h)).sum(1)
        excess = np.log(v / whole * total)
        # dS/dτ = 2 Σ γ² h³,  dτ/d log v = τ / (1 + κv)
        slope = 2 * (squares * h**2 / lengths).sum(1) / total
        low, high = np.where(excess <= 0, w, low), np.where(excess >= 0, w, high)
        step = w - excess / slope
        trusted = (step >= low) & (step <= high)
        last, w = w, np.where(trusted, step, 0.5 * (low + high))
        settled = np.abs(w - last) <= 4 * EPS * np.maximum(1, np.abs(w))
        if np.all(settled | (np.abs(excess) <= 16 * EPS)):
            break
    return np.asarray(np.exp(w))
