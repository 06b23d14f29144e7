"""The log-likelihood of labelled rows under class-conditional Gaussians, from their moments.

    log L = Σ_n (log p(x_n | y_n) + log π_{y_n})
          = Σ_k w_k (log π_k − ½ (d log 2π + log|Σ_k|)) − ½ Σ_k D_k
    D_k   = Σ_n w_n (x_n − μ_k)ᵀ Σ_k⁻¹ (x_n − μ_k),  the sum over the rows of class k
          = tr(Σ_k⁻¹ M_k) + w_k (x̄_k − μ_k)ᵀ Σ_k⁻¹ (x̄_k − μ_k)

M_k is the scatter of class k about its own mean x̄_k, and w_k its weight.
``information_criteria.py`` compares models by log L.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suffice.core.linalg import LOG_2PI
from suffice.core.missing.em import observed_log_likelihood
from suffice.core.moments import Moments
from suffice.core.moments.scatter_as_rows import RowScatter

if TYPE_CHECKING:
    from suffice.core.model.gaussian import GaussianModel


def gaussian_log_likelihood(model: GaussianModel, moments: Moments) -> float:
    """Return log L of the summed rows, or of their observed cells if values are missing."""
    present = moments.weights > 0
    w = moments.weights[present]
    log_priors = model.log_priors[present]
    if moments.patterns is not None:
        return float(w @ log_priors) + observed_log_likelihood(moments, model)
    log_dets = model.log_dets[present]
    # Σ_k w_k (log π_k − ½ (d log 2π + log|Σ_k|)) − ½ Σ_k D_k
    constants = log_priors - 0.5 * (model.n_features * LOG_2PI + log_dets)
    return float(w @ constants) - 0.5 * _squared_distances(model, moments)


def _squared_distances(model: GaussianModel, moments: Moments) -> float:
    """Return Σ_k D_k."""
    total = 0.0
    drift = moments.centred_means + (moments.grand_mean - model.centre) - model.offsets
    for g, covariance in enumerate(model.covariances):
        members = np.flatnonzero(model.group_of == g)
        # w_k (x̄_k − μ_k)ᵀ Σ⁻¹ (x̄_k − μ_k)
        whitened_drift = covariance.whiten(drift[members])
        total += float(moments.weights[members] @ np.square(whitened_drift).sum(1))
        if moments.storage == "diagonal":
            whitened_axes = covariance.whiten(np.eye(moments.n_features))
            precisions = np.square(whitened_axes).sum(0)
            total += float(precisions @ moments.diagonals[members].sum(0))
            continue
        if isinstance(moments.scatter, RowScatter):
            # tr(Σ⁻¹ M) = Σ_n w_n z_nᵀ Σ⁻¹ z_n
            z, w, codes = moments.scatter.centred()
            is_member = np.isin(codes, members)
            total += float(w[is_member] @ covariance.squared_distances(z[is_member]))
            continue
        scatter = moments.pooled_scatter if model.is_tied else moments.scatters[members].sum(0)
        # tr(Σ⁻¹ M) = Σ_j (L⁻¹ M L⁻ᵀ)_jj
        total += float(np.trace(covariance.whiten(covariance.whiten(scatter).T)))
    return total
