"""Sums of unlabelled rows, collected in the same way as the moments of a fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from suffice.core.linalg import unit_scale
from suffice.core.moments import Moments
from suffice.core.table import Table
from suffice.typing import Floats, RowsLike, WeightsLike


@dataclass(frozen=True, slots=True, eq=False)
class RowSums:
    """The moments of rows of all classes together, and the sums that their kurtosis needs."""

    moments: Moments
    # Σ w zᵖ of each number, p = 0 … 4, z in standard deviations of the fit. It is empty where only
    # the moments are left, as in a saved model.
    powers: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def like(cls, fit: Moments, X: RowsLike, sample_weight: WeightsLike = None) -> Self:
        """Return the sums of unlabelled rows, with the storage and transform of a fit.

        Categories keep the levels of these rows, which may differ from those of the fit.
        """
        table = _unlabelled_table(fit, X, sample_weight)
        moments = Moments.of_table(
            table, storage=fit.storage, power=fit.power, fourth=False, holes=True
        )
        return cls(moments, _power_sums(fit, table))

    def __add__(self, other: Self) -> Self:
        powers = {name: sums + other.powers[name] for name, sums in self.powers.items()}
        return type(self)(self.moments + other.moments, powers)


def number_names(rows: Moments | Table) -> list[str]:
    """Return the names of the columns of numbers, x0, x1 … where they have none."""
    if rows.schema is not None:
        return [column.name for column in rows.schema.numbers]
    names = rows.names if isinstance(rows, Table) else rows.feature_names
    if names:
        return list(names)
    return [f"x{j}" for j in range(rows.n_features)]


def pooled_kurtosis(samples: Sequence[Floats]) -> float:
    """Return E(x − μ)⁴ / σ⁴ of samples with power sums (5,), each about its own mean."""
    weight = 0.0
    second = 0.0
    fourth = 0.0
    for sums in samples:
        w = sums[0]
        m1, m2, m3, m4 = sums[1:] / max(w, 1e-300)
        weight += w
        second += w * (m2 - m1**2)
        fourth += w * (m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4)
    # A few rows underestimate the kurtosis. Where the new rows stand alone, it is at least that of
    # a Gaussian.
    least = 2.0 if len(samples) > 1 else 3.0
    return float(np.fmax(fourth * weight / max(second**2, 1e-300), least))


def _unlabelled_table(fit: Moments, X: Any, sample_weight: WeightsLike) -> Table:
    """Return rows as a table in which every row has the first class of the fit."""
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    labels = np.repeat(fit.classes[:1], n_rows)
    schema = fit.schema
    if schema is None:
        table = Table.of(X, labels, sample_weight, classes=fit.classes)
        # an array has the columns of the fit, in the same order
        return table.with_rows(table.x, table.names or fit.feature_names)
    return Table.of(
        X,
        labels,
        sample_weight,
        classes=fit.classes,
        categorical=[category.name for category in schema.categories],
        missing="indicator" if len(schema.filled) else "marginal",
    )


def _power_sums(fit: Moments, table: Table) -> dict[str, Floats]:
    """Return Σ w zᵖ of the observed cells, p = 0 … 4, by column of numbers."""
    positions = {name: j for j, name in enumerate(number_names(fit))}
    x = table.x
    if fit.power is not None:
        x = fit.power.select(np.arange(len(positions))).apply_observed(x)
    scale = unit_scale(fit.total_variances)
    sums = {}
    for name, column in zip(number_names(table), x.T, strict=False):
        if name not in positions:
            continue
        j = positions[name]
        observed = np.isfinite(column)
        z = (column[observed] - fit.grand_mean[j]) / scale[j]
        sums[name] = np.vander(z, 5, increasing=True).T @ table.weights[observed]
    return sums
