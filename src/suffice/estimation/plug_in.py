"""From evidence to a model: a protocol, and estimates plugged in for parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from suffice.errors import TooFewClassesError
from suffice.estimation.degenerate import warn_of_gaps
from suffice.estimation.groups import parse_tied
from suffice.estimation.priors import parse_priors
from suffice.estimation.structures import FullStructure
from suffice.model.gaussian import GaussianModel
from suffice.text.lists import noun, plural, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from suffice.estimation.degenerate import Gap
    from suffice.estimation.structures import Dials, Structure
    from suffice.model.covariance import Covariance
    from suffice.model.protocol import ClassModel
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Moments with at least two classes, read as a recipe says."""

    moments: Moments
    group_of: Codes  # group of each class  (K,)
    priors: Floats  # π  (K,); not yet zero for classes without rows
    quiet: bool  # whether to keep silent about directions without variance

    @classmethod
    def of(cls, moments: Moments, tied: Any, priors: Any, *, quiet: bool) -> Evidence:
        """Return the evidence, after checking that there is something to tell apart."""
        present = moments.weights > 0
        if present.sum() < 2:
            found = moments.classes[present].tolist()
            msg = (
                "a classifier needs at least 2 classes with rows, found "
                f"{plural(len(found), 'class')} {found}: check the labels"
            )
            raise TooFewClassesError(msg)
        pi = parse_priors(priors, moments.classes, moments.weights)
        return cls(moments, parse_tied(tied, moments.classes), pi, quiet)

    @property
    def present(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which classes have rows, (K,)."""
        return self.moments.weights > 0

    @property
    def n_groups(self) -> int:
        """Number of covariances G."""
        return int(self.group_of.max(initial=0)) + 1

    def members(self, g: int) -> Codes:
        """Return the classes of a group."""
        return np.flatnonzero(self.group_of == g)

    def named(self, classes: Codes) -> str:
        """Return how messages call some classes."""
        return f"{noun(len(classes), 'class')} {quoted(self.moments.classes[classes])}"


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
