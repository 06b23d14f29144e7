"""Standard units: features centred and divided by their standard deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.estimation.degenerate import total_variances

if TYPE_CHECKING:
    from suffice.moments import Moments
    from suffice.typing import Floats


def standard_deviations(moments: Moments) -> Floats:
    """Return s_j of each feature over all rows, shape (d,); zero where it is constant.

    The divisor is Σw − 1, as R's ``sd``; never less than half of Σw, so that weights which sum
    to one or less have a standard deviation too.
    """
    weight = moments.total_weight
    deviations: Floats = np.sqrt(total_variances(moments) * weight / max(weight - 1, weight / 2))
    return deviations


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """The map z = (x − m) / s to the units a solver works in, and back."""

    centre: Floats  # m  (d,)
    inverse: Floats  # 1 / s  (d,); zero for a constant feature

    @classmethod
    def of(cls, moments: Moments) -> Scaling:
        """Return the map that gives every feature mean zero and deviation one."""
        s = standard_deviations(moments)
        inverse = np.divide(1.0, s, out=np.zeros(len(s)), where=s > 0)
        return cls(moments.grand_mean, inverse)

    @classmethod
    def raw(cls, n_features: int) -> Scaling:
        """Return the map that leaves every feature as it is."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def design(self, x: Any) -> Floats:
        """Return rows (1, z), shape (n, 1 + d)."""
        z = np.empty((x.shape[0], x.shape[1] + 1))
        z[:, 0] = 1.0
        np.subtract(x, self.centre, out=z[:, 1:])
        z[:, 1:] *= self.inverse
        return z

    def to_original(self, phi: Floats) -> Floats:
        """Return (w_0, w) of wᵀx + w_0 for (φ_0, φ) of φᵀz + φ_0, each (…, 1 + d)."""
        # w = φ / s,  w_0 = φ_0 − wᵀm
        slopes = phi[..., 1:] * self.inverse
        intercept = phi[..., :1] - slopes @ self.centre[:, None]
        return np.concatenate([intercept, slopes], axis=-1)

    def from_original(self, beta: Floats) -> Floats:
        """Return (φ_0, φ) for (w_0, w), each (…, 1 + d); a constant feature gets zero."""
        # φ = w s,  φ_0 = w_0 + wᵀm
        scale = np.divide(
            1.0, self.inverse, out=np.zeros(len(self.inverse)), where=self.inverse > 0
        )
        slopes = beta[..., 1:] * scale
        intercept = beta[..., :1] + beta[..., 1:] @ self.centre[:, None]
        return np.concatenate([intercept, slopes], axis=-1)
