"""What a solver is given: an objective, and its curvature known from moments."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from suffice.discriminative.design import Scaling, design_of, root_mean_squares, standard_deviations
from suffice.discriminative.logistic_loss import Objective
from suffice.estimation.divisors import total_variances
from suffice.linalg import dependent_columns
from suffice.moments import Moments
from suffice.table.table import Table
from suffice.typing import Codes, Floats


def coded_moments(table: Table, storage: str = "auto", *, fourth: bool = False) -> Moments:
    """Return the moments of a table, classes known by their codes."""
    coded = replace(table, classes=np.arange(table.n_classes))
    return Moments.of_table(coded, storage=storage, fourth=fourth)


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
        table: Table,
        moments: Moments,
        *,
        l2: float,
        standardize: bool = True,
        fit_intercept: bool = True,
        per_deviation: bool = True,
    ) -> Problem:
        """Return the problem of a table whose moments are known.

        The penalty is of coefficients per standard deviation of their features, or, if not
        ``per_deviation``, of the coefficients as they are.
        """
        s = standard_deviations(moments) if fit_intercept else root_mean_squares(moments)
        of = Scaling.of(moments, fit_intercept=fit_intercept)
        scaling = of if standardize else Scaling.raw(len(s), fit_intercept=fit_intercept)
        aliased = np.flatnonzero(s == 0)
        if l2 == 0:
            aliased = aliased_columns(moments, fit_intercept=fit_intercept)
        # λ (s_j w_j)² = λ_j φ_j²,  φ_j = w_j / inverse_j
        penalty = l2 * np.square((s if per_deviation else 1.0) * scaling.inverse)
        penalty = np.concatenate([[0.0 if fit_intercept else moments.total_weight], penalty])
        # any penalty holds a coefficient at zero whose work others can do as well
        penalty[1 + aliased] = moments.total_weight
        return cls(Objective(design_of(table, scaling), penalty), scaling, moments, aliased)

    @property
    def products(self) -> Floats:
        """Σ w z zᵀ of the rows with their leading 1, (D, D), or its diagonal (D,)."""
        m, v, lead = self.moments, self.scaling.inverse, self.scaling.lead
        shift = (m.grand_mean - self.scaling.centre) * v
        if m.storage == "diagonal":
            between = (m.weights[:, None] * m.centred_means**2).sum(0)
            squares = (m.diagonals.sum(0) + between) * v**2 + m.total_weight * shift**2
            return np.concatenate([[lead * m.total_weight], squares])
        # Σ w (x−c)(x−c)ᵀ = Σ w (x−m)(x−m)ᵀ + W (m−c)(m−c)ᵀ
        mean = np.concatenate([[lead], shift])
        products = m.total_weight * np.outer(mean, mean)
        products[1:, 1:] += (m.pooled_scatter + m.between_scatter) * v * v[:, None]
        return products

    @property
    def bound(self) -> Floats:
        """A with M ⊗ A no smaller than any Hessian of the objective, (D, D) or (D,).

        Böhning (1992), *Annals of the Institute of Statistical Mathematics* 44, 197–200.
        """
        # A = β Σ w z zᵀ + diag λ,  β = ½, or ¼ for two classes
        beta = 0.25 if self.moments.n_classes == 2 else 0.5
        products, penalty = self.products, self.objective.penalty
        return beta * products + (penalty if products.ndim == 1 else np.diag(penalty))


def aliased_columns(moments: Moments, *, fit_intercept: bool = True) -> Codes:
    """Return the columns that are constant, or combinations of the columns before them.

    Without an intercept a constant column tells something, unless it is zero.
    """
    squares = total_variances(moments) if fit_intercept else root_mean_squares(moments)
    constant, mean = squares == 0, moments.grand_mean
    if moments.storage == "diagonal":
        return np.flatnonzero(constant)
    scatter = moments.pooled_scatter + moments.between_scatter
    if not fit_intercept:
        scatter = scatter + moments.total_weight * np.outer(mean, mean)
    scatter[constant] = scatter[:, constant] = 0.0
    return dependent_columns(scatter)
