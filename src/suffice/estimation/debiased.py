"""Plug-in scores less the bias that estimated parameters bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import digamma

from suffice.errors import InvalidInputError
from suffice.estimation.groups import full_groups
from suffice.estimation.normal_inverse_wishart import DebiasedGaussian, each_class
from suffice.estimation.plug_in import gaussian_model
from suffice.linalg import LOG_2PI, scaled_cholesky
from suffice.model.covariance import FullCovariance
from suffice.model.debiased import DebiasedModel

if TYPE_CHECKING:
    from suffice.estimation.plug_in import Evidence
    from suffice.estimation.structures import Dials, Structure
    from suffice.model.covariance import Covariance
    from suffice.typing import Codes, Floats


def debiased_classes(
    weights: Floats, means: Floats, scatters: Floats
) -> tuple[DebiasedGaussian, ...]:
    """Return the unbiased log density of each class, each with its own covariance."""
    n = weights.tolist()
    return each_class(debiased, n, means, scatters, [n_k - 1 for n_k in n])


def tied_debiased_classes(
    weights: Floats, means: Floats, pooled: Floats
) -> tuple[DebiasedGaussian, ...]:
    """Return the unbiased log density of each class, all sharing one covariance (Σ_k S_k)."""
    k, n = len(weights), float(weights.sum())
    return each_class(debiased, weights.tolist(), means, [pooled] * k, [n - k] * k)


def debiased(weight: float, mean: Floats, scatter: Floats, degrees: float) -> DebiasedGaussian:
    """Return the unbiased log density of a class.

    Parameters
    ----------
    weight, mean : float, (d,) array
        Rows of the class, and their mean.
    scatter, degrees : (d, d) array, float
        Scatter S and its degrees of freedom ν: of the class and n_k − 1, or pooled and n − K.

    References
    ----------
    Moran & Murphy (1979), Applied Statistics 28; Ripley (1996), Pattern Recognition and Neural
    Networks, section 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> found = debiased(10.0, np.zeros(1), np.array([[18.0]]), 9.0)
    >>> found.shape.round(4).tolist(), round(found.log_constant, 4)
    ([[2.5714]], -1.2731)
    """
    d = len(mean)
    factor = scaled_cholesky(scatter)
    if not (weight > 0 and degrees > d + 1) or factor is None:
        msg = (
            f"no debiased density of {d} features from weight {weight:g} and {degrees:g} "
            f"degrees of freedom (more than {d + 1} are needed, and a scatter of full rank): "
            "collect more rows, drop constant or duplicated columns, or use the predictive one"
        )
        raise InvalidInputError(msg)
    # E log|S| = log|Σ| + d log 2 + Σ_{j=1…d} ψ((ν + 1 − j) / 2)
    psi = digamma((degrees - np.arange(d)) / 2).sum()
    log_det = 2 * np.log(np.diagonal(factor)).sum() - d * np.log(2) - psi
    # E[(ν − d − 1) (x − x̄)ᵀ S⁻¹ (x − x̄)] = (x − μ)ᵀ Σ⁻¹ (x − μ) + d / n_k
    log_constant = -0.5 * float(d * LOG_2PI + log_det - d / weight)
    return DebiasedGaussian(log_constant, mean, scatter / (degrees - d - 1))


@dataclass(frozen=True, slots=True)
class Debiased:
    """Plug-in log densities less their bias."""

    def model(self, evidence: Evidence, structure: Structure, dials: Dials) -> DebiasedModel:  # noqa: ARG002
        """Return the model of unbiased log densities."""
        moments = evidence.moments
        groups = full_groups(moments, evidence.group_of)
        covariances: list[Covariance] = []
        corrections = np.zeros(moments.n_classes)
        for g, scatter in enumerate(groups.scatters):
            members = evidence.members(g)
            seen = members[evidence.present[members]]
            covariance, constants = _debiased_group(evidence, seen, scatter)
            covariances.append(covariance)
            corrections[seen] = constants
        plain = gaussian_model(evidence, structure, moments.centred_means, covariances, [])
        return DebiasedModel(plain, corrections)


def _debiased_group(
    evidence: Evidence, seen: Codes, scatter: Floats
) -> tuple[FullCovariance, Floats]:
    """Return V of a group of tied classes, and what each adds to log N(x; x̄, V)."""
    d = evidence.moments.n_features
    if not len(seen):
        return FullCovariance.of(np.eye(d)), np.zeros(0)
    w = evidence.moments.weights[seen]
    try:
        first = debiased(float(w[0]), np.zeros(d), scatter, float(w.sum()) - len(seen))
    except InvalidInputError as error:
        msg = f"{evidence.named(seen)}: {error}"
        raise InvalidInputError(msg) from error
    covariance = FullCovariance.of(first.shape)
    normal = -0.5 * (d * LOG_2PI + covariance.log_det)
    # the constants of tied classes differ by d / (2 w_k)
    return covariance, first.log_constant - normal + d / 2 * (1 / w - 1 / w[0])
