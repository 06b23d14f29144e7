"""A way to estimate a model from moments: every choice named, checked once, frozen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError, TooFewClassesError
from suffice.estimation.gaps import warn_of_gaps
from suffice.estimation.groups import parse_divisor
from suffice.estimation.intensity import parse_shrinkage
from suffice.estimation.priors import parse_priors
from suffice.estimation.regularise import parse_dial
from suffice.estimation.structures import (
    DiagonalStructure,
    Dials,
    FullStructure,
    SphericalStructure,
    Structure,
)
from suffice.estimation.tying import parse_tied
from suffice.model.gaussian import GaussianModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suffice.moments import Moments

STRUCTURES: Mapping[str, Structure] = {
    "full": FullStructure(),
    "diagonal": DiagonalStructure(),
    "spherical": SphericalStructure(),
}


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """Structure, tying, dials and priors of a Gaussian model."""

    structure: Structure
    tied: Any
    dials: Dials
    priors: Any

    @classmethod
    def parse(
        cls,
        *,
        covariance: str = "full",
        tied: Any = False,
        divisor: str = "mle",
        pooling: Any = None,
        shrinkage: Any = None,
        target: str = "diagonal",
        priors: Any = None,
    ) -> Recipe:
        """Return the recipe that users' words name."""
        if covariance not in STRUCTURES:
            msg = f"covariance must be one of {', '.join(map(repr, STRUCTURES))}, got {covariance!r}"
            raise InvalidParameterError(msg)
        if target not in ("diagonal", "sphere"):
            msg = f"target must be 'diagonal' or 'sphere', got {target!r}"
            raise InvalidParameterError(msg)
        dials = Dials(
            parse_divisor(divisor),
            parse_dial(pooling, "pooling"),
            parse_shrinkage(shrinkage),
            target,  # type: ignore[arg-type]
        )
        return cls(STRUCTURES[covariance], tied, dials, priors)

    @property
    def storage(self) -> str:
        """The storage of moments that suffices for this recipe."""
        tied = isinstance(self.tied, (bool, np.bool_)) and bool(self.tied)
        return self.structure.storage(tied=tied)

    @property
    def needs_fourth(self) -> bool:
        """Whether fourth moments must be collected."""
        return self.dials.shrinkage.needs_fourth

    def estimate(self, moments: Moments, *, quiet: bool = False) -> GaussianModel:
        """Return the model of these sums; classes without weight get prior 0.

        Directions without variance are warned of, unless ``quiet``.
        """
        present = moments.weights > 0
        if present.sum() < 2:
            found = moments.classes[present].tolist()
            msg = (
                f"a classifier needs at least 2 classes with rows, found {len(found)} class"
                f"{'' if len(found) == 1 else 'es'} {found}: check the labels"
            )
            raise TooFewClassesError(msg)
        group_of = parse_tied(self.tied, moments.classes)
        priors = parse_priors(self.priors, moments.classes, moments.weights)
        covariances, gaps = self.structure.covariances(moments, group_of, self.dials)
        told = [g for g in gaps if present[group_of == g.group].any() and not quiet]
        warn_of_gaps(told, moments, group_of)
        centre = moments.grand_mean
        return GaussianModel.of(
            priors=np.where(present, priors, 0.0),
            centre=centre,
            offsets=moments.centred_means,
            covariances=covariances,
            group_of=group_of,
            n_covariance_parameters=self.structure.n_parameters(
                len(covariances), moments.n_features
            ),
        )
