"""How well a model fits the data it was estimated from, by the moments alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.linalg import LOG_2PI

if TYPE_CHECKING:
    from suffice.model.covariance import Covariance
    from suffice.model.gaussian import GaussianModel
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


def log_likelihood(model: GaussianModel, moments: Moments) -> float:
    """Return Σ_n w_n (log p(x_n | y_n) + log π_{y_n}), exactly, without the rows."""
    seen = moments.weights > 0
    w = moments.weights[seen]
    log_dets = np.array([c.log_det for c in model.covariances])[model.group_of][seen]
    # Σ_k w_k (log π_k − ½ (d log 2π + log|Σ_k|)) − ½ Σ_g tr(Σ_g⁻¹ S_g)
    gaussian = model.log_priors[seen] - 0.5 * (model.n_features * LOG_2PI + log_dets)
    return float(w @ gaussian) - 0.5 * squared_distances(model, moments)


def squared_distances(model: GaussianModel, moments: Moments) -> float:
    """Return Σ_n w_n (x_n − m)ᵀ Σ⁻¹ (x_n − m), with m, Σ of each row's class."""
    total = 0.0
    drift = moments.centred_means + (moments.grand_mean - model.centre) - model.offsets
    for g, covariance in enumerate(model.covariances):
        members = np.flatnonzero(model.group_of == g)
        total += _trace(covariance, moments, members, len(model.covariances))
        moved = covariance.whiten(drift[members])
        total += float(moments.weights[members] @ np.square(moved).sum(1))
    return total


def _trace(covariance: Covariance, moments: Moments, members: Codes, n_groups: int) -> float:
    """Return tr(Σ⁻¹ Σ_{k∈g} S_k), from diagonals alone where Σ is diagonal."""
    if moments.storage == "diagonal":
        unit = covariance.whiten(np.eye(moments.n_features))
        return float(np.square(unit).sum(0) @ moments.diagonals[members].sum(0))
    scatter: Floats = moments.pooled_scatter if n_groups == 1 else moments.scatters[members].sum(0)
    # tr(Σ⁻¹ S) = Σ_j (L⁻¹ S L⁻ᵀ)_jj
    return float(np.trace(covariance.whiten(covariance.whiten(scatter).T)))
