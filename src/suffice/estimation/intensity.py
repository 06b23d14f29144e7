"""How strongly to shrink: a number, or a closed form of the statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.auto import Auto
from suffice.estimation.intensities import ledoit_wolf_intensity, oas_from_scatter
from suffice.estimation.regularise import parse_dial

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from suffice.estimation.groups import GroupScatter
    from suffice.typing import Floats


class Intensity(Protocol):
    """A rule for γ."""

    @property
    def needs_fourth(self) -> bool:
        """Whether it needs fourth moments."""
        ...

    def intensities(
        self, groups: GroupScatter, scales: Floats, fourths: Callable[[], Floats]
    ) -> Floats:
        """Return γ of each group (G,), from sums, the target's units (G, d) and Σ w z_i² z_j²."""
        ...


@dataclass(frozen=True, slots=True)
class FixedIntensity:
    """The same number for every group."""

    gamma: float
    needs_fourth = False

    def intensities(
        self,
        groups: GroupScatter,
        scales: Floats,  # noqa: ARG002
        fourths: Callable[[], Floats],  # noqa: ARG002
    ) -> Floats:
        """Return γ of each group, shape (G,)."""
        return np.full(len(groups.weights), self.gamma)


@dataclass(frozen=True, slots=True)
class OracleApproximating:
    """γ of least expected error for Gaussian rows (Chen et al. 2010)."""

    needs_fourth = False

    def intensities(
        self,
        groups: GroupScatter,
        scales: Floats,
        fourths: Callable[[], Floats],  # noqa: ARG002
    ) -> Floats:
        """Return γ of each group, shape (G,)."""
        sums = zip(groups.weights.tolist(), groups.scatters, scales, strict=True)
        return np.array([oas_from_scatter(w, s, scale) for w, s, scale in sums])


@dataclass(frozen=True, slots=True)
class LedoitWolf:
    """γ of least expected error, whatever the distribution (Ledoit & Wolf 2004)."""

    needs_fourth = True

    def intensities(
        self, groups: GroupScatter, scales: Floats, fourths: Callable[[], Floats]
    ) -> Floats:
        """Return γ of each group, shape (G,)."""
        sums = zip(groups.weights.tolist(), groups.scatters, fourths(), scales, strict=True)
        return np.array([ledoit_wolf_intensity(*each) for each in sums])


CLOSED_FORMS: Mapping[str, Intensity] = {
    "oas": OracleApproximating(),
    "ledoit-wolf": LedoitWolf(),
}


def parse_shrinkage(shrinkage: Any) -> Intensity:
    """Return the rule that ``shrinkage`` names."""
    if isinstance(shrinkage, str) and shrinkage in CLOSED_FORMS:
        return CLOSED_FORMS[shrinkage]
    if isinstance(shrinkage, str) and shrinkage != "auto":
        words = ", ".join(map(repr, ["auto", *CLOSED_FORMS]))
        msg = f"shrinkage must be None, a number in [0, 1], or one of {words}, got {shrinkage!r}"
        raise InvalidParameterError(msg)
    dial = parse_dial(shrinkage, "shrinkage")
    return dial if isinstance(dial, Auto) else FixedIntensity(dial)
