"""Class priors learned under a symmetric Dirichlet prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.niw.dirichlet import Dirichlet

if TYPE_CHECKING:
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True)
class SmoothedPriors:
    """π from class weights and α imagined rows of each class (α − 1 at the mode)."""

    concentration: float  # α
    at_mode: bool  # most probable π rather than its expectation

    def of(self, weights: Floats) -> Floats:
        """Return π, (K,)."""
        belief = Dirichlet.symmetric(len(weights), self.concentration).posterior(weights)
        return belief.mode if self.at_mode else belief.mean


def parse_smoothing(priors: Any, dirichlet: Any, *, at_mode: bool) -> Any:
    """Return ``priors``, or the rule that ``dirichlet`` names in their place."""
    if dirichlet is None:
        return priors
    if priors is not None:
        msg = (
            "priors fixes the class priors and dirichlet learns them: give one of the two, "
            f"found priors={priors!r} and dirichlet={dirichlet!r}"
        )
        raise InvalidParameterError(msg)
    number = isinstance(dirichlet, (int, float, np.number)) and not isinstance(dirichlet, bool)
    if not number or not 0 < float(dirichlet) < np.inf:
        msg = f"dirichlet must be None or a positive number, got {dirichlet!r}"
        raise InvalidParameterError(msg)
    if at_mode and dirichlet < 1:
        msg = (
            f"dirichlet={dirichlet!r} has no most probable priors: use at least 1 with "
            "estimate='map', or another estimate"
        )
        raise InvalidParameterError(msg)
    return SmoothedPriors(float(dirichlet), at_mode)
