"""Plug-in scores less the bias that estimated parameters bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from suffice.errors import InvalidInputError
from suffice.estimation.groups import full_groups
from suffice.estimation.learning import gaussian_model
from suffice.estimation.niw.debiased import debiased
from suffice.linalg import LOG_2PI
from suffice.model.covariance import FullCovariance
from suffice.model.debiased import DebiasedModel

if TYPE_CHECKING:
    from suffice.estimation.evidence import Evidence
    from suffice.estimation.structures import Dials, Structure
    from suffice.model.covariance import Covariance
    from suffice.typing import Codes, Floats


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
