"""Newton steps for many parameters, by conjugate gradients, which need only products H v.

Dembo, Eisenstat & Steihaug (1982), *SIAM Journal on Numerical Analysis* 19, 400–408.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np

from suffice.discriminative.design import CompiledDesign, Design
from suffice.discriminative.logistic_loss import Evaluation, Objective, residuals_of
from suffice.discriminative.penalty import penalty_gradient
from suffice.typing import Codes, Floats

Product: TypeAlias = Callable[[Floats], Floats]  # v ↦ H v, shapes (C, D)

_MOST_NUMBERS = 1 << 25  # most numbers in the standardised rows, 256 MB
_MOST_PRODUCTS = 200  # most products H v in a step
_LARGEST_RESIDUAL = 0.1  # largest residual of a step as a share of the gradient


def is_product_affordable(objective: Objective) -> bool:
    """Return whether all rows in standard units fit into memory."""
    design = objective.design
    if type(design) not in (Design, CompiledDesign):  # rows on a device, or sparse
        return False
    return design.table.n_rows * objective.shape[1] <= _MOST_NUMBERS


@dataclass(frozen=True, slots=True, eq=False)
class TruncatedNewton:
    """Approximate Newton steps −H⁻¹ g, which are more exact if the gradient is smaller."""

    objective: Objective
    rows: Floats  # (1, z)  (n, D)
    squares: Floats  # squares of (1, z)  (n, D)
    codes: Codes  # (n,)
    weights: Floats  # (n,)

    @classmethod
    def of(cls, objective: Objective) -> Self:
        blocks = list(objective.design.blocks())
        rows = np.concatenate([block.x for block in blocks])
        return cls(
            objective=objective,
            rows=rows,
            squares=np.square(rows),
            codes=np.concatenate([block.codes for block in blocks]),
            weights=np.concatenate([block.weights for block in blocks]),
        )

    def step(self, point: Evaluation) -> Floats:
        """Return a step Δ, (C, D), for which |H Δ + g| is at most a share of |g|."""
        penalty = self.objective.penalty
        z = self.rows
        _, _, p = residuals_of(np, point.phi @ z.T, self.codes, self.weights)

        def product(v: Floats) -> Floats:
            # H v = Σ w (diag p − p pᵀ)(v z) zᵀ + M v diag(λ)
            a = v @ z.T
            a -= (p * a).sum(0)
            a *= p
            a *= self.weights
            return np.asarray(a @ z + penalty_gradient(v, penalty))

        # diag H = Σ w p (1 − p) z² + (1 − 1/K) λ
        curvatures = (self.weights * p * (1 - p)) @ self.squares
        curvatures += (1 - 1 / (len(p) + 1)) * penalty
        inverse = np.divide(
            1.0, curvatures, out=np.ones_like(curvatures), where=curvatures > 0
        )
        return _conjugate_gradients(product, inverse, -point.gradient)


def _conjugate_gradients(product: Product, inverse: Floats, b: Floats) -> Floats:
    """Return Δ with H Δ ≈ b, given the function H v and the reciprocal diagonal of H."""
    size = float(np.linalg.norm(b))
    # convergence is faster than linear if this share decreases with the gradient
    target = min(_LARGEST_RESIDUAL, np.sqrt(size)) * size
    delta = np.zeros_like(b)
    r = b.copy()
    y = inverse * r
    direction = y.copy()
    ry = float(np.vdot(r, y))
    for _ in range(_MOST_PRODUCTS):
        if np.linalg.norm(r) <= target or ry <= 0:
            break
        h = product(direction)
        curvature = float(np.vdot(direction, h))
        if curvature <= 0:
            break  # a rounding error, since H is positive semidefinite
        # step length α = rᵀy / dᵀHd along the direction d
        alpha = ry / curvature
        delta += alpha * direction
        r -= alpha * h
        y = inverse * r
        previous = ry
        ry = float(np.vdot(r, y))
        direction = y + (ry / previous) * direction
    return delta if delta.any() else inverse * b
