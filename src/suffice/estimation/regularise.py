"""Friedman's two dials: pooling between groups, shrinkage within a covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.groups import GroupScatter

if TYPE_CHECKING:
    from suffice.typing import Floats

Target = Literal["diagonal", "sphere"]


def parse_dial(value: Any, name: str) -> float:
    """Return a number in [0, 1]; None is 0."""
    if value is None:
        return 0.0
    if isinstance(value, (bool, str)) or not np.isscalar(value) or not 0 <= float(value) <= 1:
        msg = f"{name} must be None or a number in [0, 1], got {value!r}"
        raise InvalidParameterError(msg)
    return float(value)


def pooled_groups(groups: GroupScatter, pooling: float) -> GroupScatter:
    """Return groups that borrow from all of them (Friedman 1989, eq. 14–16).

    S_g(λ) = (1 − λ) S_g + λ S,   w_g(λ) = (1 − λ) w_g + λ W
    """
    if pooling == 0:
        return groups
    whole = groups.pooled
    return GroupScatter(
        (1 - pooling) * groups.scatters + pooling * whole.scatters,
        (1 - pooling) * groups.weights + pooling * whole.weights,
        (1 - pooling) * groups.n_means + pooling * whole.n_means,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Shrinkage:
    """Pull each Σ_g towards a simpler matrix by an intensity per group."""

    intensities: Floats  # γ  (G,)
    target: Target
    scale: Floats  # √ of the pooled variances  (d,): the units of the sphere

    def apply(self, sigma: Floats) -> Floats:
        """Return (1 − γ) Σ + γ T, T = diag Σ or the sphere of equal trace in units of scale."""
        gamma = self.intensities[:, None, None]
        if not gamma.any():
            return sigma
        variances = np.diagonal(sigma, axis1=1, axis2=2)
        if self.target == "sphere":
            # T = (tr(D⁻¹ Σ D⁻¹) / d) D²,  D = diag(scale)
            variances = (variances / self.scale**2).mean(1, keepdims=True) * self.scale**2
        towards = variances[:, :, None] * np.eye(sigma.shape[1])
        shrunk: Floats = (1 - gamma) * sigma + gamma * towards
        return shrunk
