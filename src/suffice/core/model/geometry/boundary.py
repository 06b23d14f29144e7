"""The boundary between two Gaussian classes: a hyperplane or a quadric."""

from typing import TypeAlias

import numpy as np

from suffice.core.linalg import balanced
from suffice.core.model.covariance import Covariance
from suffice.core.model.gaussian import GaussianModel
from suffice.core.model.geometry.hyperplane import Hyperplane
from suffice.core.model.geometry.quadric import Quadric, quadric_between
from suffice.core.model.geometry.surface import ClassTerms, Sides
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
    """Return the surface on which two Gaussian classes are equally probable.

    ``evaluate`` of the surface returns the log odds log p(a∣x) − log p(b∣x), which are positive on
    the side of a. The boundary of tied classes is the hyperplane
    (w_a − w_b)ᵀx + (w_a0 − w_b0) = 0. The boundary of other classes is the quadric
    xᵀAx + bᵀx + c = 0.

    Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 4.3.
    """
    label_a, label_b = labels or (a, b)
    for k, label in ((a, label_a), (b, label_b)):
        if np.isneginf(model.log_priors[k]):
            raise InvalidParameterError(
                f"class {label!r} has prior 0, so it has no boundary: give it a positive prior"
            )
    mu_a, mu_b = model.means[[a, b]]
    if model.group_of[a] == model.group_of[b]:
        return hyperplane_between(
            mu_a,
            mu_b,
            model.covariance_of(a),
            log_prior_ratio=float(model.log_priors[a] - model.log_priors[b]),
            feature_names=feature_names,
            labels=labels,
        )
    # ``quadric_between`` computes A = −½ (Σ_a⁻¹ − Σ_b⁻¹)
    P_a, P_b = _precisions(model, a, b)
    m = _middle(mu_a, mu_b, P_a, P_b)
    terms_a = ClassTerms(
        log_prior=float(model.log_priors[a]),
        offset=mu_a - m,
        precision=P_a,
        log_det=model.covariance_of(a).log_det,
    )
    terms_b = ClassTerms(
        log_prior=float(model.log_priors[b]),
        offset=mu_b - m,
        precision=P_b,
        log_det=model.covariance_of(b).log_det,
    )
    return quadric_between(
        terms_a,
        terms_b,
        anchor=m,
        feature_names=feature_names,
        labels=labels,
    )


def hyperplane_between(
    mu_a: Floats,
    mu_b: Floats,
    covariance: Covariance,
    *,
    log_prior_ratio: float,
    feature_names: tuple[str, ...] | None,
    labels: Sides | None,
) -> Hyperplane:
    """Return the hyperplane on which two tied Gaussian classes are equally probable."""
    # (w_a − w_b)ᵀx + (w_a0 − w_b0) = 0 with w_a − w_b = Σ⁻¹(μ_a − μ_b)
    # at the midpoint m = ½ (μ_a + μ_b) of the means, the left side is log π_a/π_b
    w = covariance.precision_times((mu_a - mu_b)[None])[0]
    return Hyperplane.about(
        point=mu_b + 0.5 * (mu_a - mu_b),
        w=w,
        value=log_prior_ratio,
        feature_names=feature_names,
        labels=labels,
    )


def _precisions(model: GaussianModel, a: int, b: int) -> tuple[Floats, Floats]:
    """Return the precisions P_a = Σ_a⁻¹ and P_b = Σ_b⁻¹, each (d, d)."""
    try:
        P_a = model.covariance_of(a).dense_precision()
        P_b = model.covariance_of(b).dense_precision()
    except MemoryError:
        d = model.means.shape[1]
        raise InvalidParameterError(
            f"the boundary between classes with different covariances holds matrices of {d:,} × "
            f"{d:,} numbers, {8 * d**2 / 2**30:,.0f} GiB each, which do not fit in memory: "
            "select fewer features, or read decision_function"
        ) from None
    return P_a, P_b


def _middle(mu_a: Floats, mu_b: Floats, P_a: Floats, P_b: Floats) -> Floats:
    """Return the point with the smallest sum of squared Mahalanobis distances to both classes."""
    # m = (P_a + P_b)⁻¹ (P_a μ_a + P_b μ_b) = μ_a + (P_a + P_b)⁻¹ P_b (μ_b − μ_a)
    M, s = balanced(P_a + P_b)
    return mu_a + s * (np.linalg.pinv(M, hermitian=True) @ (s * (P_b @ (mu_b - mu_a))))
