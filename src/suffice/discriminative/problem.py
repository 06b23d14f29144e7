"""The problem that a solver solves: an objective, its units, and the moments of the rows."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from suffice.core.linalg import dependent_columns
from suffice.core.moments import Moments
from suffice.core.moments.device import device_labels, device_weights
from suffice.core.moments.sparse_moments import moments_of_sparse_table
from suffice.core.table.count_rows import is_sparse
from suffice.core.table.foreign import is_on_device
from suffice.core.table.table import Table
from suffice.discriminative.design import design_of
from suffice.discriminative.logistic_loss import Objective
from suffice.discriminative.penalty import penalties
from suffice.discriminative.scaling import Scaling, feature_sizes
from suffice.typing import Codes, Floats, LabelsLike, RowsLike, WeightsLike

WIDEST_HESSIAN = 1500  # most parameters for which Hessians are affordable
MANY_FEATURES = 3000  # with more features, moments keep only variances


def coded_moments(table: Table, storage: str = "auto", *, fourth: bool = False) -> Moments:
    """Return the moments of a table, with class codes as labels."""
    coded = replace(table, classes=np.arange(table.n_classes))
    if is_sparse(table.x):
        if storage == "diagonal":
            return moments_of_sparse_table(coded, storage="diagonal")
        return moments_of_sparse_table(coded, storage="pooled")
    return Moments.of_table(coded, storage=storage, fourth=fourth)


def moments_to_fit(table: Table) -> Moments:
    """Return the moments that a fit needs, with variances only if there are very many features."""
    return coded_moments(table, "diagonal" if table.n_features > MANY_FEATURES else "auto")


def device_table(
    x: RowsLike, y: LabelsLike, weight: WeightsLike
) -> tuple[Table, Moments] | None:
    """Return a table of rows that stay on a device, and its moments, or None if that fails."""
    if not is_on_device(x) or not x.shape[0]:
        return None
    moments = Moments.of(x, y, weight, fourth=False)
    labels, codes = device_labels(x, y)
    n_parameters = (len(labels) - 1) * (x.shape[1] + 1)
    if n_parameters > WIDEST_HESSIAN or moments.storage != "per-class":
        return None
    if moments.patterns is not None or not moments.weights.all():
        return None
    table = Table(x, labels, codes, device_weights(x, weight))
    return table, replace(moments, classes=np.arange(len(labels)))


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """An objective in the units of ``scaling``, and the moments of the rows."""

    objective: Objective
    scaling: Scaling
    moments: Moments
    # columns whose coefficients are held at zero, since the rows cannot determine them
    aliased: Codes

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
    ) -> Self:
        """Return the problem, with a penalty on coefficients per deviation, or else per unit."""
        s = feature_sizes(moments, fit_intercept=fit_intercept)
        scaling = Scaling.of(moments, fit_intercept=fit_intercept, standardize=standardize)
        if l2 == 0:
            aliased = aliased_columns(moments, fit_intercept=fit_intercept)
        else:
            aliased = np.flatnonzero(s == 0)
        units = s if per_deviation else 1.0
        penalty = np.empty(1 + moments.n_features)
        penalty[1:] = penalties(l2, units, scaling.inverse)
        # a penalty of any size holds an unused intercept and aliased coefficients at zero: the loss
        # does not depend on these, or other coefficients have the same effect
        penalty[0] = 0.0 if fit_intercept else moments.total_weight
        penalty[1 + aliased] = moments.total_weight
        objective = Objective(design_of(table, scaling), penalty)
        return cls(objective, scaling, moments, aliased)

    @property
    def products(self) -> Floats:
        """Σ w z zᵀ of the rows z, which begin with 1, (D, D), or its diagonal (D,)."""
        m = self.moments
        v = self.scaling.inverse
        lead = self.scaling.lead
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
        """A, (D, D) or its diagonal (D,), for which M ⊗ A bounds every Hessian from above."""
        # Böhning (1992), *Annals of the Institute of Statistical Mathematics* 44, 197–200
        # A = β Σ w z zᵀ + diag λ,  β = ½, or ¼ for two classes
        beta = 0.25 if self.moments.n_classes == 2 else 0.5
        products = self.products
        penalty = self.objective.penalty
        return beta * products + (penalty if products.ndim == 1 else np.diag(penalty))


def aliased_columns(moments: Moments, *, fit_intercept: bool = True) -> Codes:
    """Return the columns that are constant, or combinations of the columns that remain.

    Pivoted Cholesky chooses which columns of a dependent set remain. The order of the columns does
    not matter.
    """
    constant = feature_sizes(moments, fit_intercept=fit_intercept) == 0
    if moments.storage == "diagonal":
        return np.flatnonzero(constant)
    scatter = moments.pooled_scatter + moments.between_scatter
    if not fit_intercept:
        mean = moments.grand_mean
        scatter = scatter + moments.total_weight * np.outer(mean, mean)
    scatter[constant] = 0.0
    scatter[:, constant] = 0.0
    return dependent_columns(scatter)
