"""The boundary between two Gaussian classes: a hyperplane or a quadric."""

from typing import TypeAlias

import numpy as np

from suffice.core.linalg import balanced
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.geometry.hyperplane import Hyperplane
from suffice.core.model.geometry.quadric import Quadric
from suffice.core.model.geometry.surface import Sides
from suffice.errors import InvalidParameterError
from suffice.typing import Floats

Boundary: TypeAlias = Hyperplane | Quadric


def boundary_between(
    model: GaussianModel,
    a: int,
    b: int,
    *,
    feature_names: tuple[str, ...] | None = None,
    labels: Sides | None = None,
) -> Boundary:
    """Return where two Gaussian classes are equally probable, positive on the side of a.

    Its ``evaluate`` is the log odds log p(a∣x) − log p(b∣x).
    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.3.
    """
    label_a, label_b = labels or (a, b)
    for k, label in ((a, label_a), (b, label_b)):
        if np.isneginf(model.log_priors[k]):
            msg = (
                f"class {label!r} has prior 0, so it has no boundary: give it a positive prior"
            )
            raise InvalidParameterError(msg)
    mu_a, mu_b = model.means[[a, b]]
    log_prior_a, log_prior_b = model.log_priors[[a, b]]
    sigma_a = model.covariance_of(a)
    sigma_b = model.covariance_of(b)
    P_a = sigma_a.dense_precision()
    P_b = sigma_b.dense_precision()
    m = _middle(mu_a, mu_b, P_a, P_b)
    u_a = mu_a - m
    u_b = mu_b - m
    if model.group_of[a] == model.group_of[b]:
        # w = P(μ_a − μ_b),  y(m) = log π_a/π_b − ½ wᵀ((μ_a − m) + (μ_b − m))
        w = P_a @ (mu_a - mu_b)
        value = log_prior_a - log_prior_b - 0.5 * w @ (u_a + u_b)
        return Hyperplane(
            normal=w,
            offset=float(value),
            feature_names=feature_names,
            labels=labels,
            anchor=m,
        )
    # δ_k(m) = log π_k − ½ (log|Σ_k| + (μ_k − m)ᵀP_k(μ_k − m))
    delta_a = log_prior_a - 0.5 * (sigma_a.log_det + u_a @ P_a @ u_a)
    delta_b = log_prior_b - 0.5 * (sigma_b.log_det + u_b @ P_b @ u_b)
    # A = ½(P_b − P_a),  ∇y(m) = P_a(μ_a − m) − P_b(μ_b − m),  y(m) = δ_a(m) − δ_b(m)
    return Quadric(
        A=0.5 * (P_b - P_a),
        b=P_a @ u_a - P_b @ u_b,
        c=float(delta_a - delta_b),
        feature_names=feature_names,
        labels=labels,
        anchor=m,
    )


def _middle(mu_a: Floats, mu_b: Floats, P_a: Floats, P_b: Floats) -> Floats:
    """Return the point least far from both classes, in their own units: the best anchor."""
    # m = (P_a + P_b)⁻¹ (P_a μ_a + P_b μ_b) = μ_a + (P_a + P_b)⁻¹ P_b (μ_b − μ_a)
    M, s = balanced(P_a + P_b)
    return mu_a + s * (np.linalg.pinv(M, hermitian=True) @ (s * (P_b @ (mu_b - mu_a))))
