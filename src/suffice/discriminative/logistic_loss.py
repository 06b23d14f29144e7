"""The penalised negative log-likelihood of softmax regression, its gradient and Hessian.

K classes have C = K − 1 scores φᵀz: the first class scores zero, the others relative to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.table import Table
from suffice.typing import Floats

if TYPE_CHECKING:
    from suffice.discriminative.design import Design


def gram(n_classes: int) -> Floats:
    """Return M with Σ_k |w_k|² = tr φᵀMφ, shape (C, C).

    φ_k = w_k − w_1 and the rows w_k sum to zero. Two classes have one vector, whose own length
    counts.
    """
    c = n_classes - 1
    # Σ |w_k|² = Σ |φ_k|² − K |φ̄|²,  φ̄ = Σ φ_k / K
    return np.ones((1, 1)) if c == 1 else np.eye(c) - 1.0 / n_classes


def steepest(gradient: Floats, n_classes: int) -> Floats:
    """Return M⁻¹ g, (C, D): the gradient of the K symmetric rows, relative to the first."""
    # M⁻¹ = I + 1 1ᵀ
    return gradient if n_classes == 2 else np.asarray(gradient + gradient.sum(0))


def all_scores(scores: Floats) -> Floats:
    """Return the scores of all K classes, first axis classes: zero for the first."""
    return np.concatenate([np.zeros_like(scores[:1]), scores])


def symmetric(phi: Floats) -> Floats:
    """Return rows that sum to zero, (K, D), or the one row of two classes, (1, D)."""
    return phi if len(phi) == 1 else np.asarray(all_scores(phi) - all_scores(phi).mean(0))


def against_first(rows: Floats) -> Floats:
    """Undo ``symmetric``: return the rows relative to the first class, (C, D)."""
    return rows if len(rows) == 1 else rows[1:] - rows[0]


def misfit_and_probabilities(phi: Floats, table: Table) -> tuple[float, Floats]:
    """Return Σ −w log p(y | z) of rows (1, z), and p_k of all classes but the first, (C, n)."""
    codes = table.codes
    a = all_scores(phi @ table.x.T)
    own = a[codes, np.arange(len(codes))]
    # p_k = exp(a_k − top) / Σ_j exp(a_j − top);  −log p_y = log Σ_j exp(a_j − top) + top − a_y
    top = a.max(0)
    e = np.exp(a - top)
    total = e.sum(0)
    return float(table.weights @ (np.log(total) + (top - own))), e[1:] / total


def gradient_sum(p: Floats, table: Table) -> Floats:
    """Return ∂/∂φ_k = Σ w (p_k − t_k) z for each class k after the first, (C, 1 + d)."""
    residual, own = p.copy(), np.flatnonzero(table.codes)
    residual[table.codes[own] - 1, own] -= 1.0
    return np.asarray((residual * table.weights) @ table.x)


def hessian_sum(p: Floats, table: Table) -> Floats:
    """Return ∂²/∂φ_k∂φ_j = Σ w p_k (δ_kj − p_j) z zᵀ, (C, 1 + d, C, 1 + d)."""
    z, w, c = table.x, table.weights, len(p)
    hessian = np.empty((c, z.shape[1], c, z.shape[1]))
    for k in range(c):
        for j in range(k + 1):
            v = w * p[k] * ((k == j) - p[j])
            hessian[k, :, j] = hessian[j, :, k] = (v[:, None] * z).T @ z
    return hessian


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The loss, its gradient and, where it was asked for, its Hessian at some parameters."""

    phi: Floats  # (C, D): intercept first
    loss: float  # misfit + penalty
    misfit: float  # −log-likelihood
    gradient: Floats  # of the loss  (C, D)
    hessian: Any = None  # of the loss  (C·D, C·D)


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    r"""Softmax regression on standardised rows, scores relative to the first class.

    .. math::  \sum_i -w_i \log p(y_i | z_i) + \tfrac12 \sum_j \lambda_j \phi_j^\top M \phi_j

    The penalty λ_j is zero for intercepts. M makes it the sum of squares of K rows that sum to
    zero (``gram``).
    """

    design: Design
    penalty: Floats  # λ  (D,)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (C, D) of the parameters."""
        return self.design.table.n_classes - 1, len(self.penalty)

    def evaluate(self, phi: Floats, *, curved: bool = False) -> Evaluation:
        """Return the loss and its gradient at φ, and its Hessian if ``curved``."""
        misfit, gradient, hessian = self.design.sums(phi, curved=curved)
        pull = self.pull(phi)
        # ½ Σ_j λ_j φ_jᵀ M φ_j, whose gradient is M φ diag(λ)
        loss = misfit + 0.5 * float(np.vdot(phi, pull))
        if hessian is not None:
            penalty = np.kron(gram(len(phi) + 1), np.diag(self.penalty))
            hessian = hessian.reshape(phi.size, phi.size) + penalty
        return Evaluation(phi, loss, misfit, gradient + pull, hessian)

    def curve(self, phi: Floats) -> Evaluation:
        """Return the loss, its gradient and its Hessian at φ."""
        return self.evaluate(phi, curved=True)

    def gradient_norm(self, point: Evaluation) -> float:
        """Return the greatest mean gradient of any parameter, the first class's included."""
        rows = np.vstack([point.gradient, point.gradient.sum(0)])
        return float(np.abs(rows).max()) / self.design.total_weight

    def sample(self, n: int) -> Objective:
        """Return the objective of about n rows, its penalty in proportion."""
        design = self.design.sample(n)
        share = design.total_weight / self.design.total_weight
        return replace(self, design=design, penalty=self.penalty * share)

    def pull(self, phi: Floats) -> Floats:
        """Return the gradient of the penalty, M φ diag(λ), shape (C, D)."""
        return np.asarray(gram(len(phi) + 1) @ phi * self.penalty)
