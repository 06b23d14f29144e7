"""Outlier scores: squared Mahalanobis distances of rows, to the nearest class or relative.

    nearest     min_k Δ_k²,  Δ_k² = (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k)
    relative    min_k Δ_k² − Δ_0²,  Δ_0² under one Gaussian of all rows

``gaussian.py`` states the scores of classes, which contain these distances.
"""

from __future__ import annotations

import numpy as np

from suffice.core.model.covariance import Covariance
from suffice.core.model.gaussian import GaussianModel
from suffice.typing import Floats


def nearest_class_distances(model: GaussianModel, x: Floats) -> Floats:
    """Return min_k (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) over the classes with rows, shape (n,)."""
    nearest = np.full(len(x), np.inf)
    has_rows = np.isfinite(model.log_priors)
    for g, covariance in enumerate(model.covariances):
        members = np.flatnonzero((model.group_of == g) & has_rows)
        if not len(members):
            continue
        z = covariance.whiten(x - model.centre)
        for mean in covariance.whiten(model.offsets[members]):
            # |L⁻¹(x − μ_k)|²,  Σ_k = L Lᵀ
            np.minimum(nearest, np.square(z - mean).sum(1), out=nearest)
    return nearest


def relative_distances(
    model: GaussianModel,
    within: Covariance,
    weights: Floats,
    x: Floats,
) -> Floats:
    """Return min_k (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) − (x − μ)ᵀ Σ_0⁻¹ (x − μ), shape (n,).

    ``overall_distances`` computes the second term. Ren et al. (2021), arXiv:2106.09022.
    """
    return nearest_class_distances(model, x) - overall_distances(model, within, weights, x)


def overall_distances(
    model: GaussianModel,
    within: Covariance,
    weights: Floats,
    x: Floats,
) -> Floats:
    """Return (x − μ)ᵀ Σ_0⁻¹ (x − μ) under one Gaussian of all rows, shape (n,).

    Σ_0 = Σ + Σ_k (w_k / W) (μ_k − μ)(μ_k − μ)ᵀ, where Σ is the covariance within classes, and W the
    weight of all classes. Σ_0 itself is never formed.
    """
    share = weights / weights.sum()
    grand_offset = share @ model.offsets
    z = within.whiten(x - model.centre - grand_offset)
    between = within.whiten(model.offsets - grand_offset) * np.sqrt(share)[:, None]
    # zᵀ (I + BᵀB)⁻¹ z = |z|² − (B z)ᵀ (I + B Bᵀ)⁻¹ (B z),  rows of B: √(w_k / W) L⁻¹(μ_k − μ)
    along = z @ between.T
    small = np.eye(len(share)) + between @ between.T
    explained = np.einsum("nk,nk->n", along, np.linalg.solve(small, along.T).T)
    return np.asarray(np.square(z).sum(1) - explained)
