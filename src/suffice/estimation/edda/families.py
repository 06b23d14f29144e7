"""The fourteen families: a volume, a pattern and a frame each."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from suffice.errors import InvalidParameterError
from suffice.estimation.edda.frames import (
    AnyAxes,
    CommonForm,
    FeatureAxes,
    OwnAxes,
    OwnForm,
    Sphere,
)
from suffice.estimation.edda.shared_axes import SharedAxes
from suffice.estimation.edda.volumes import EqualVolume, OwnVolume

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suffice.estimation.edda.problem import Frame, Parts, Pattern, Task, Volume
    from suffice.typing import Floats


@dataclass(frozen=True, slots=True)
class Family:
    """Σ_k = λ_k D_k A_k D_kᵀ, each of λ, A, D equal (E), varying (V) or the identity (I)."""

    code: str
    volume: Volume
    pattern: Pattern
    frame: Frame

    def fit(self, task: Task, w: Floats) -> Parts:
        """Return the parts of greatest likelihood."""
        return self.frame.fit(task, self.volume, self.pattern, w)

    def n_parameters(self, n_classes: int, n_features: int) -> int:
        """Return the number of free covariance parameters."""
        d, copies = n_features, {"E": 1, "V": n_classes, "I": 0}
        sizes = (1, d - 1, d * (d - 1) // 2)  # of λ, A and D
        return sum(copies[letter] * size for letter, size in zip(self.code, sizes, strict=True))


_VOLUMES: dict[str, Volume] = {"E": EqualVolume(), "V": OwnVolume()}
_FORMS: dict[str, tuple[Pattern, Frame]] = {
    "II": (CommonForm(), Sphere()),
    "EI": (CommonForm(), FeatureAxes()),
    "VI": (OwnForm(), FeatureAxes()),
    "EE": (CommonForm(), AnyAxes()),
    "VE": (OwnForm(), SharedAxes()),
    "EV": (CommonForm(), OwnAxes()),
    "VV": (OwnForm(), AnyAxes()),
}
FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        first + rest: Family(first + rest, volume, pattern, frame)
        for rest, (pattern, frame) in _FORMS.items()
        for first, volume in _VOLUMES.items()
    }
)


def family(code: str) -> Family:
    """Return the family of a code such as ``"VEV"``."""
    if code not in FAMILIES:
        msg = f"unknown EDDA family {code!r}: choose one of {', '.join(FAMILIES)}"
        raise InvalidParameterError(msg)
    return FAMILIES[code]
