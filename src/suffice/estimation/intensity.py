"""How strongly to shrink: a number, or a closed form of the statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.regularise import parse_dial

if TYPE_CHECKING:
    from suffice.estimation.groups import GroupScatter
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


class Intensity(Protocol):
    """A rule for γ."""

    needs_fourth: bool

    def intensities(self, moments: Moments, groups: GroupScatter, group_of: Codes) -> Floats:
        """Return γ of each group, shape (G,)."""
        ...


@dataclass(frozen=True, slots=True)
class FixedIntensity:
    """The same number for every group."""

    gamma: float
    needs_fourth = False

    def intensities(self, moments: Moments, groups: GroupScatter, group_of: Codes) -> Floats:  # noqa: ARG002
        """Return γ of each group, shape (G,)."""
        return np.full(len(groups.weights), self.gamma)


def parse_shrinkage(shrinkage: Any) -> Intensity:
    """Return the rule that ``shrinkage`` names: None, or a number in [0, 1]."""
    if isinstance(shrinkage, str):
        msg = f"shrinkage must be None or a number in [0, 1], got {shrinkage!r}"
        raise InvalidParameterError(msg)
    return FixedIntensity(parse_dial(shrinkage, "shrinkage"))
