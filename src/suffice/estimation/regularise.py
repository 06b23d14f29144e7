"""Friedman's two dials: pooling between groups, shrinkage within a covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import InvalidParameterError
from suffice.estimation.auto import AUTO
from suffice.estimation.groups import GroupScatter

if TYPE_CHECKING:
    from suffice.estimation.targets import ShrinkageTarget
    from suffice.typing import Floats


def parse_dial(value: Any, name: str) -> float:
    """Return a number in [0, 1], or the mark of one yet to be chosen; None is 0."""
    if value is None:
        return 0.0
    if isinstance(value, str) and value == "auto":
        return AUTO
    if isinstance(value, (bool, str)) or not np.isscalar(value) or not 0 <= float(value) <= 1:  # type: ignore[arg-type]
        msg = f"{name} must be None, 'auto' or a number in [0, 1], got {value!r}"
        raise InvalidParameterError(msg)
    return float(value)  # type: ignore[arg-type]


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
    target: ShrinkageTarget
    scale: Floats  # √ of the pooled variances  (d,)

    def apply(self, sigma: Floats) -> Floats:
        """Return (1 − γ) Σ + γ T, shape (G, d, d)."""
        gamma = self.intensities[:, None, None]
        if not gamma.any():
            return sigma
        variances = np.diagonal(sigma, axis1=1, axis2=2)
        towards = self.target.variances(variances, self.scale)
        shrunk: Floats = (1 - gamma) * sigma + gamma * towards[:, :, None] * np.eye(len(self.scale))
        return shrunk

    def apply_to_variances(self, variances: Floats) -> Floats:
        """Return the same of diagonal matrices, given and returned by their diagonals (G, d)."""
        gamma = self.intensities[:, None]
        if not gamma.any():
            return variances
        towards = self.target.variances(variances, self.scale)
        shrunk: Floats = (1 - gamma) * variances + gamma * towards
        return shrunk
