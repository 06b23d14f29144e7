"""What a solver is given: the objective, and what moments know about its curvature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from suffice.discriminative.objective import Objective
from suffice.discriminative.rows import rows_of
from suffice.estimation.degenerate import total_variances
from suffice.linalg import dependent_columns

if TYPE_CHECKING:
    from suffice.discriminative.descent import Solution, Stopping
    from suffice.moments import Moments
    from suffice.typing import Codes, Floats


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


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """An objective in the units of ``scaling``, and the moments of its rows."""

    objective: Objective
    scaling: Scaling
    moments: Moments
    aliased: Codes  # columns whose coefficients the rows cannot tell, held at zero

    @classmethod
    def of(
        cls,
        x: Any,
        codes: Codes,
        weight: Floats | None,
        moments: Moments,
        *,
        l2: float,
        standardize: bool = True,
    ) -> Problem:
        """Return the problem of rows ``x`` (n, d) whose moments are known."""
        s = standard_deviations(moments)
        scaling = Scaling.of(moments) if standardize else Scaling.raw(len(s))
        aliased = np.flatnonzero(s == 0) if l2 > 0 else aliased_columns(moments)
        # λ (s_j w_j)² = λ_j φ_j²,  φ_j = w_j / inverse_j
        penalty = np.concatenate([[0.0], l2 * np.square(s * scaling.inverse)])
        # any penalty holds a coefficient at zero whose work others can do as well
        penalty[1 + aliased] = moments.total_weight
        rows = rows_of(x, codes, weight, moments.n_classes, scaling)
        return cls(Objective(rows, penalty), scaling, moments, aliased)

    @property
    def products(self) -> Floats:
        """Σ w z zᵀ of the rows with their leading 1, (D, D), or its diagonal (D,)."""
        m, v = self.moments, self.scaling.inverse
        shift = (m.grand_mean - self.scaling.centre) * v
        if m.storage == "diagonal":
            between = (m.weights[:, None] * m.centred_means**2).sum(0)
            squares = (m.diagonals.sum(0) + between) * v**2 + m.total_weight * shift**2
            return np.concatenate([[m.total_weight], squares])
        # Σ w (x−c)(x−c)ᵀ = Σ w (x−m)(x−m)ᵀ + W (m−c)(m−c)ᵀ
        mean = np.concatenate([[1.0], shift])
        products = m.total_weight * np.outer(mean, mean)
        products[1:, 1:] += (m.pooled_scatter + m.between_scatter) * v * v[:, None]
        return products

    @property
    def bound(self) -> Floats:
        """A with M ⊗ A no smaller than any Hessian of the objective, (D, D) or (D,).

        A = β Σ w z zᵀ + diag λ, β = ½, or ¼ for two classes.

        References
        ----------
        Böhning (1992), *Annals of the Institute of Statistical Mathematics* 44, 197–200.
        """
        beta = 0.25 if self.moments.n_classes == 2 else 0.5
        products, penalty = self.products, self.objective.penalty
        return beta * products + (penalty if products.ndim == 1 else np.diag(penalty))


def aliased_columns(moments: Moments) -> Codes:
    """Return the columns that are constant, or combinations of the columns before them."""
    constant = total_variances(moments) == 0
    if moments.storage == "diagonal":
        return np.flatnonzero(constant)
    scatter = moments.pooled_scatter + moments.between_scatter
    scatter[constant] = scatter[:, constant] = 0.0
    return dependent_columns(scatter)


class Solver(Protocol):
    """A way to the minimum, and when it stops unless told otherwise."""

    @property
    def default(self) -> Stopping:
        """The rule to stop by."""
        ...

    def solve(
        self, problem: Problem, start: Floats, stopping: Stopping, *, record: bool = False
    ) -> Solution[Any]:
        """Return where the descent from ``start`` (C, D) ends."""
        ...
