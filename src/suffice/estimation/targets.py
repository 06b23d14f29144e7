"""What a covariance is pulled towards: a diagonal matrix that knows its units."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.linalg import unit_scale

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suffice.typing import Floats

Target = Literal["diagonal", "sphere", "identity"]


class ShrinkageTarget(Protocol):
    """A diagonal matrix T made of Σ."""

    def scales(self, variances: Floats, pooled: Floats) -> Floats:
        """Return the units in which T is a multiple of the identity, (G, d)."""
        ...

    def variances(self, variances: Floats, pooled: Floats) -> Floats:
        """Return the diagonal of T, (G, d), for the diagonals of Σ and pooled deviations (d,)."""
        ...


@dataclass(frozen=True, slots=True)
class OwnDiagonal:
    """T = diag Σ: correlations go, variances stay."""

    def scales(self, variances: Floats, pooled: Floats) -> Floats:  # noqa: ARG002
        """Return the standard deviations of each group."""
        return unit_scale(variances)

    def variances(self, variances: Floats, pooled: Floats) -> Floats:  # noqa: ARG002
        """Return the variances themselves."""
        return variances


@dataclass(frozen=True, slots=True)
class PooledSphere:
    """A sphere, once each feature is measured by its pooled standard deviation."""

    def scales(self, variances: Floats, pooled: Floats) -> Floats:
        """Return the pooled deviations."""
        return np.broadcast_to(pooled, variances.shape)

    def variances(self, variances: Floats, pooled: Floats) -> Floats:
        """Return the sphere of equal trace."""
        # T = (tr(D⁻¹ Σ D⁻¹) / d) D²,  D = diag(pooled deviations)
        mean: Floats = (variances / pooled**2).mean(1, keepdims=True)
        return mean * pooled**2


@dataclass(frozen=True, slots=True)
class RawSphere:
    """T = (tr Σ / d) I, in whatever units the features have: Friedman's own choice."""

    def scales(self, variances: Floats, pooled: Floats) -> Floats:  # noqa: ARG002
        """Return ones."""
        return np.ones_like(variances)

    def variances(self, variances: Floats, pooled: Floats) -> Floats:  # noqa: ARG002
        """Return the mean variance."""
        return np.broadcast_to(variances.mean(1, keepdims=True), variances.shape)


TARGETS: Mapping[str, ShrinkageTarget] = MappingProxyType(
    {"diagonal": OwnDiagonal(), "sphere": PooledSphere(), "identity": RawSphere()}
)


def parse_target(target: Any) -> Target:
    """Return the target, checked."""
    if not isinstance(target, str) or target not in TARGETS:
        msg = f"target must be one of {', '.join(map(repr, TARGETS))}, got {target!r}"
        raise InvalidParameterError(msg)
    return target  # type: ignore[return-value]
