"""The units in which solvers work: features minus their means, divided by their deviations."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from suffice.core.moments import Moments
from suffice.core.table.table import Table
from suffice.typing import Floats


def feature_sizes(moments: Moments, *, fit_intercept: bool = True) -> Floats:
    """Return the standard deviation s_j of each feature over all rows, (d,).

    Without an intercept, s_j is the root mean square, since the rows are not centred.
    """
    if not fit_intercept:
        return np.hypot(np.sqrt(moments.total_variances), moments.grand_mean)
    weight = moments.total_weight
    # the divisor is Σw − 1, as in R's sd, or ½ Σw if that is larger, since Σw may be one or less
    divisor = max(weight - 1, weight / 2)
    return np.sqrt(moments.total_variances * weight / divisor)


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """The map z = (x − m) / s to the units in which a solver works, and the inverse map."""

    centre: Floats  # m  (d,)
    inverse: Floats  # 1 / s, zero for a constant feature  (d,)
    # the first number of a row (1, z), which the intercept multiplies; 0 without an intercept
    lead: float = 1.0

    @classmethod
    def of(
        cls,
        moments: Moments,
        *,
        fit_intercept: bool = True,
        standardize: bool = True,
    ) -> Self:
        """Return the map to features with deviation 1 and, if there is an intercept, mean 0."""
        origin = np.zeros(moments.n_features)
        lead = float(fit_intercept)
        if not standardize:
            return cls(origin, np.ones(moments.n_features), lead)
        inverse = reciprocals(feature_sizes(moments, fit_intercept=fit_intercept))
        return cls(moments.grand_mean if fit_intercept else origin, inverse, lead)

    def standardised(self, table: Table) -> Table:
        """Return the table with rows (1, z), shape (n, 1 + d), and a weight for each row."""
        z = np.empty((table.n_rows, table.n_features + 1))
        z[:, 0] = self.lead
        np.subtract(table.x, self.centre, out=z[:, 1:])
        z[:, 1:] *= self.inverse
        return replace(table, x=z, weight=table.weights, names=None)

    def to_original(self, phi: Floats) -> Floats:
        """Return (w_0, w) of wᵀx + w_0 for (φ_0, φ) of φᵀz + φ_0, each (…, 1 + d)."""
        # w = φ / s,  w_0 = φ_0 − wᵀm
        slopes = phi[..., 1:] * self.inverse
        intercept = phi[..., :1] - slopes @ self.centre[:, None]
        return np.concatenate([intercept, slopes], axis=-1)

    def from_original(self, beta: Floats) -> Floats:
        """Return (φ_0, φ) for (w_0, w), each (…, 1 + d); a constant feature gets zero."""
        # φ = w s,  φ_0 = w_0 + wᵀm
        slopes = beta[..., 1:] * reciprocals(self.inverse)
        intercept = self.lead * (beta[..., :1] + beta[..., 1:] @ self.centre[:, None])
        return np.concatenate([intercept, slopes], axis=-1)


def reciprocals(s: Floats) -> Floats:
    """Return 1 / s, and zero where s is zero."""
    return np.divide(1.0, s, out=np.zeros(len(s)), where=s > 0)
