"""K classes by K − 1 scores: the first class scores zero, the others relative to it."""

import numpy as np

from suffice.typing import Floats


def gram(n_classes: int) -> Floats:
    """Return M with Σ_k |w_k|² = tr φᵀMφ, shape (C, C), C = K − 1.

    φ_k = w_k − w_1 and the rows w_k sum to zero. Two classes have one vector, whose own length
    counts.
    """
    c = n_classes - 1
    if c == 1:
        return np.ones((1, 1))
    # Σ |w_k|² = Σ |φ_k|² − K |φ̄|²,  φ̄ = Σ φ_k / K
    return np.eye(c) - 1.0 / n_classes


def steepest(gradient: Floats, n_classes: int) -> Floats:
    """Return M⁻¹ g, (C, D): the gradient of the K symmetric rows, relative to the first."""
    if n_classes == 2:
        return gradient
    # M⁻¹ = I + 1 1ᵀ
    return np.asarray(gradient + gradient.sum(0))


def all_scores(scores: Floats) -> Floats:
    """Return the scores of all K classes, first axis classes: zero for the first."""
    return np.concatenate([np.zeros_like(scores[:1]), scores])


def symmetric(phi: Floats) -> Floats:
    """Return rows that sum to zero, (K, D), or the one row of two classes, (1, D)."""
    if len(phi) == 1:
        return phi
    rows = all_scores(phi)
    return np.asarray(rows - rows.mean(0))


def against_first(rows: Floats) -> Floats:
    """Undo ``symmetric``: return the rows relative to the first class, (C, D)."""
    return rows if len(rows) == 1 else rows[1:] - rows[0]
