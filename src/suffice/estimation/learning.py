"""From evidence to a model: a protocol, and estimates plugged in for parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from suffice.estimation.gaps import warn_of_gaps
from suffice.estimation.structures import FullStructure
from suffice.model.gaussian import GaussianModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.estimation.evidence import Evidence
    from suffice.estimation.gaps import Gap
    from suffice.estimation.structures import Dials, Structure
    from suffice.model.covariance import Covariance
    from suffice.model.protocol import ClassModel
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


class Learning(Protocol):
    """A way to turn evidence into a model."""

    def model(self, evidence: Evidence, structure: Structure, dials: Dials) -> ClassModel:
        """Return the model."""
        ...


@dataclass(frozen=True, slots=True)
class PlugIn:
    """Estimates in the place of parameters."""

    def model(self, evidence: Evidence, structure: Structure, dials: Dials) -> GaussianModel:
        """Return the Gaussian model of means and structured covariances."""
        return plug_in(evidence, structure, dials)[0]


@dataclass(frozen=True, slots=True)
class LearntStructure:
    """Any positive definite matrix, learnt together with the means."""

    def covariances(
        self, moments: Moments, group_of: Codes, dials: Dials
    ) -> tuple[list[Covariance], list[Gap]]:
        """Return the plug-in estimates."""
        return FullStructure().covariances(moments, group_of, dials)

    def n_parameters(self, n_groups: int, n_features: int) -> int:
        """Return G d (d + 1) / 2."""
        return FullStructure().n_parameters(n_groups, n_features)

    def storage(self, *, tied: bool) -> str:
        """Return the storage of moments that suffices."""
        return FullStructure().storage(tied=tied)


def plug_in(
    evidence: Evidence, structure: Structure, dials: Dials
) -> tuple[GaussianModel, list[Gap]]:
    """Return the model of means and structured covariances, and which variance was missing."""
    moments = evidence.moments
    covariances, gaps = structure.covariances(moments, evidence.group_of, dials)
    means = moments.centred_means
    return gaussian_model(evidence, structure, means, covariances, gaps), gaps


def gaussian_model(
    evidence: Evidence,
    structure: Structure,
    offsets: Floats,
    covariances: Sequence[Covariance],
    gaps: Sequence[Gap],
) -> GaussianModel:
    """Return the model, and say which groups with rows lacked variance."""
    present, group_of = evidence.present, evidence.group_of
    if not evidence.quiet:
        told = [gap for gap in gaps if present[group_of == gap.group].any()]
        warn_of_gaps(told, evidence.moments, group_of)
    return GaussianModel.of(
        priors=np.where(present, evidence.priors, 0.0),
        centre=evidence.moments.grand_mean,
        offsets=offsets,
        covariances=covariances,
        group_of=group_of,
        n_covariance_parameters=structure.n_parameters(
            len(covariances), evidence.moments.n_features
        ),
    )
