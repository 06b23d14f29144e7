"""The penalty of softmax regression, (λ/2) Σ_j (s_j w_j)², in the parameters of the solvers.

w_j are the coefficients of feature j in the units of the data, and s_j is the size of the feature
(``feature_sizes`` of ``scaling.py``). A solver works with φ_j = w_j / inverse_j, relative to the
first class. In these parameters, the penalty is

    ½ Σ_j λ_j φ_jᵀ M φ_j,  λ_j = λ (s_j inverse_j)²

``choose_penalty`` of ``penalty_choice.py`` chooses λ.
"""

import numpy as np

from suffice.typing import Floats


def gram(n_classes: int) -> Floats:
    """Return M (C, C) with Σ_k |w_k|² = tr φᵀMφ; for two classes, w = φ is a single vector."""
    c = n_classes - 1
    if c == 1:
        return np.ones((1, 1))
    # φ_k = w_k − w_1, Σ w_k = 0:  Σ |w_k|² = Σ |φ_k|² − K |φ̄|²,  φ̄ = Σ φ_k / K
    return np.eye(c) - 1.0 / n_classes


def penalties(l2: float, sizes: Floats | float, inverse: Floats) -> Floats:
    """Return λ_j = λ (s_j inverse_j)² of each feature, (d,)."""
    # λ (s_j w_j)² = λ_j φ_j²,  w_j = inverse_j φ_j
    return np.asarray(l2 * np.square(sizes * inverse))


def penalty_value(phi: Floats, penalty: Floats) -> float:
    """Return the penalty ½ Σ_j λ_j φ_jᵀ M φ_j."""
    return 0.5 * float(np.vdot(phi, penalty_gradient(phi, penalty)))


def penalty_gradient(phi: Floats, penalty: Floats) -> Floats:
    """Return M φ diag(λ), the gradient of ½ Σ_j λ_j φ_jᵀ M φ_j, shape (C, D)."""
    return np.asarray(gram(len(phi) + 1) @ phi * penalty)
