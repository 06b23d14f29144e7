"""Sums of unlabelled rows, collected in the same way as the moments of a fit."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.moments import Moments
from suffice.core.moments.higher_moments import HigherMoments
from suffice.core.table import Table
from suffice.typing import RowsLike, WeightsLike


@dataclass(frozen=True, slots=True, eq=False)
class RowSums:
    """The moments of rows, ignoring their classes."""

    moments: Moments

    @classmethod
    def like(cls, fit: Moments, X: RowsLike, sample_weight: WeightsLike = None) -> Self:
        """Return the sums of unlabelled rows, with the storage and power transform of a fit.

        Categories have the levels of these rows, which may differ from those of the fit.
        """
        table = _unlabelled_table(fit, X, sample_weight)
        moments = Moments.of_table(
            table, storage=fit.storage, power=fit.power, fourth=False, holes=True
        )
        if moments.higher is None and table.schema is None:
            moments = replace(moments, higher=_higher_moments(fit, table))
        return cls(moments)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.moments + other.moments)


def _higher_moments(fit: Moments, table: Table) -> HigherMoments:
    """Return third and fourth moments, which diagonal storage does not keep."""
    if table.has_absent_rows:
        table = table.take(table.weights > 0)
    if fit.power is not None:
        table = table.with_rows(fit.power.apply_observed(table.x), table.names)
    return HigherMoments.of_incomplete(table)


def number_names(rows: Moments | Table) -> list[str]:
    """Return the names of the numeric columns; unnamed columns are x0, x1, …."""
    if rows.schema is not None:
        return [column.name for column in rows.schema.numbers]
    names = rows.names if isinstance(rows, Table) else rows.feature_names
    if names:
        return list(names)
    return [f"x{j}" for j in range(rows.n_features)]


def _unlabelled_table(fit: Moments, X: Any, sample_weight: WeightsLike) -> Table:
    """Return the rows as a table with a placeholder label, the first class of the fit."""
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    labels = np.repeat(fit.classes[:1], n_rows)
    schema = fit.schema
    if schema is None:
        table = Table.of(X, labels, sample_weight, classes=fit.classes)
        # an array has the same columns as the fit, in the same order
        return table.with_rows(table.x, table.names or fit.feature_names)
    return Table.of(
        X,
        labels,
        sample_weight,
        classes=fit.classes,
        categorical=[category.name for category in schema.categories],
        missing="indicator" if len(schema.filled) else "marginal",
    )
