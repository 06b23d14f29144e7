"""The loss of softmax regression, its gradient g and its Hessian H.

K classes have C = K − 1 scores φᵀz, relative to the score of the first class. ``newton.py``
computes Newton's step −H⁻¹ g.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from suffice.core.table.foreign import DeviceArray, Namespace
from suffice.discriminative.penalty import gram, penalty_gradient, penalty_value
from suffice.typing import Codes, Floats

if TYPE_CHECKING:
    from suffice.discriminative.design import Design

A = TypeVar("A", Floats, DeviceArray)


def steepest(gradient: Floats, n_classes: int) -> Floats:
    """Return M⁻¹ g, (C, D), the gradient of K symmetric rows relative to that of the first row."""
    if n_classes == 2:
        return gradient
    # M⁻¹ = I + 1 1ᵀ
    return np.asarray(gradient + gradient.sum(0))


def all_scores(scores: Floats) -> Floats:
    """Return the scores of all K classes along the first axis, with zero for the first class."""
    return np.concatenate([np.zeros_like(scores[:1]), scores])


def sum_to_zero(phi: Floats) -> Floats:
    """Return equivalent parameters of all classes, which sum to zero, (K, D).

    Two classes keep their single row, (1, D).
    """
    if len(phi) == 1:
        return phi
    rows = all_scores(phi)
    return np.asarray(rows - rows.mean(0))


def against_first(rows: Floats) -> Floats:
    """Return the parameters relative to the first class, (C, D), the inverse of ``sum_to_zero``."""
    if len(rows) == 1:
        return rows
    return np.asarray(rows[1:] - rows[0])


# The functions from here to ``curvature_weights`` accept arrays of any library with the Array API,
# whose namespace is ``xp``.
def probabilities(xp: Namespace, phi: A, z: A) -> tuple[A, A, A]:
    """Return scores a_k of all classes, log Σ exp a_k, and p_k of rows z that begin with 1."""
    return probabilities_of(xp, phi @ xp.matrix_transpose(z))


def probabilities_of(xp: Namespace, scores: A) -> tuple[A, A, A]:
    """Return a_k of all classes, log Σ exp a_k, and p_k, for scores (C, n) against the first.

    p_k = exp a_k / Σ_j exp a_j, where a_1 = 0. Two classes have p_2 = σ(φᵀz) with
    σ(t) = 1 / (1 + exp(−t)).
    """
    a = xp.concat([xp.zeros_like(scores[:1, :]), scores], axis=0)
    # log Σ_j exp a_j = log Σ_j exp(a_j − top) + top
    top = xp.max(a, axis=0)
    e = xp.exp(a - top)
    total = xp.sum(e, axis=0)
    return a, xp.log(total) + top, e / total


def loss_sums(
    xp: Namespace,
    phi: A,
    z: A,
    codes: Codes | DeviceArray,
    w: A,
    *,
    curved: bool,
) -> tuple[A, A, list[A]]:
    """Return Σ −w log p(y | z), the gradient (C, 1 + d), and the blocks k ≥ j of the Hessian."""
    loss, residuals, p = residuals_of(xp, phi @ xp.matrix_transpose(z), codes, w)
    # g_k = ∂/∂φ_k = Σ_n w_n (p_nk − t_nk) z_n
    gradient = residuals @ z
    if not curved:
        return loss, gradient, []
    # H_kj = ∂²/∂φ_k∂φ_j = Σ_n w_n p_nk (δ_kj − p_nj) z_n z_nᵀ = Σ v_kj z zᵀ
    blocks = [xp.matrix_transpose(z * v[:, None]) @ z for v in curvature_weights(p, w)]
    return loss, gradient, blocks


def residuals_of(
    xp: Namespace,
    scores: A,
    codes: Codes | DeviceArray,
    w: A,
) -> tuple[A, A, A]:
    """Return Σ −w log p(y | z), and w (p_k − t_k) and p_k of all classes but the first, (C, n)."""
    a, log_total, p = probabilities_of(xp, scores)
    class_codes = xp.arange(a.shape[0], dtype=codes.dtype, device=a.device)
    t = xp.astype(codes == class_codes[:, None], a.dtype)
    # −Σ_k t_k log p_k = log Σ_k exp a_k − Σ_k t_k a_k
    # two classes have the loss −(t log y + (1 − t) log(1 − y)) with y = p_2
    loss = xp.sum(w * (log_total - xp.sum(a * t, axis=0)))
    return loss, ((p - t) * w)[1:, :], p[1:, :]


def curvature_weights(p: A, w: A) -> Iterator[A]:
    """Yield v_kj = w p_k (δ_kj − p_j) of each row, (n,), for all pairs k ≥ j."""
    for k, j in _lower_pairs(p.shape[0]):
        yield w * p[k, :] * (float(k == j) - p[j, :])


def _lower_pairs(c: int) -> list[tuple[int, int]]:
    return [(k, j) for k in range(c) for j in range(k + 1)]


def hessian_of_blocks(blocks: Iterable[Floats], c: int, d: int) -> Floats:
    """Return the Hessian (C, D, C, D) from its blocks k ≥ j."""
    hessian = np.empty((c, d, c, d))
    for block, (k, j) in zip(blocks, _lower_pairs(c), strict=True):
        hessian[k, :, j] = block
        hessian[j, :, k] = block
    return hessian


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The loss, its gradient and, if requested, its Hessian at some parameters."""

    phi: Floats  # parameters, the intercept first  (C, D)
    loss: float  # misfit + penalty
    misfit: float  # −log-likelihood
    gradient: Floats  # gradient of the loss  (C, D)
    hessian: Floats | None = None  # Hessian of the loss  (C·D, C·D)

    def required_hessian(self) -> Floats:
        """Return the Hessian, or raise if the point was evaluated without it."""
        if self.hessian is None:
            raise TypeError(
                "this point was evaluated without its Hessian: use Objective.curve"
            )
        return self.hessian


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    r"""Softmax regression on standardised rows, with scores relative to the first class.

    .. math::  \sum_i -w_i \log p(y_i | z_i) + \tfrac12 \sum_j \lambda_j \phi_j^\top M \phi_j

    With the matrix M, the penalty is that of K rows that sum to zero (``penalty.py``).
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
        pull = penalty_gradient(phi, self.penalty)
        loss = misfit + penalty_value(phi, self.penalty)
        if hessian is not None:
            # + M ⊗ diag(λ)
            diagonal = np.arange(len(self.penalty))
            m = gram(len(phi) + 1)
            hessian[:, diagonal, :, diagonal] += m * self.penalty[:, None, None]
            hessian = hessian.reshape(phi.size, phi.size)
        return Evaluation(phi, loss, misfit, gradient + pull, hessian)

    def curve(self, phi: Floats) -> Evaluation:
        """Return the loss, its gradient and its Hessian at φ."""
        return self.evaluate(phi, curved=True)

    def gradient_norm(self, point: Evaluation) -> float:
        """Return the greatest absolute mean gradient of the parameters of all K classes."""
        rows = np.vstack([point.gradient, point.gradient.sum(0)])
        return float(np.abs(rows).max()) / self.design.total_weight

    def sample(self, n: int) -> Objective:
        """Return the objective of about n rows, with the penalty reduced in proportion."""
        design = self.design.sample(n)
        share = design.total_weight / self.design.total_weight
        return replace(self, design=design, penalty=self.penalty * share)
