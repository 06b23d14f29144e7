"""Sums of unlabelled rows, collected in the same form as the moments of a fit."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.moments import Moments
from suffice.core.moments.higher_moments import HigherMoments
from suffice.core.table import Table
from suffice.core.table.schema import Category, Column, Schema
from suffice.errors import LostDetailWarning
from suffice.typing import RowsLike, WeightsLike


@dataclass(frozen=True, slots=True, eq=False)
class RowSums:
    """The moments of rows, ignoring their classes."""

    moments: Moments

    @classmethod
    def like(cls, fit: Moments, X: RowsLike, sample_weight: WeightsLike = None) -> Self:
        """Return the sums of unlabelled rows, with the storage and power transform of a fit.

        Categories have the levels of the new rows, which may differ from those of the fit. If the
        fit has merged rare levels of a column, the same levels are merged here.
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
        # an array has the columns of the fit, in the same order
        return table.with_rows(table.x, table.names or fit.feature_names)
    with warnings.catch_warnings():
        if any(category.other for category in schema.categories):
            # The rows are read again below, with the levels of the fit.
            warnings.simplefilter("ignore", LostDetailWarning)
        table = Table.of(
            X,
            labels,
            sample_weight,
            classes=fit.classes,
            categorical=[category.name for category in schema.categories],
            missing="indicator" if len(schema.filled) else "marginal",
        )
    assert table.schema is not None
    comparable = _with_levels_of_fit(table.schema, schema)
    if comparable == table.schema:
        return table
    return Table.of(X, labels, sample_weight, classes=fit.classes, schema=comparable)


def _with_levels_of_fit(schema: Schema, fit: Schema) -> Schema:
    """Return the schema of new rows, in which the levels that the fit merged are merged."""
    # The new rows may have other frequent levels. Merging by these would look like a change.
    merged = {category.name: category for category in fit.categories if category.other}
    columns: list[Column] = []
    for column in schema.columns:
        if isinstance(column, Category) and column.name in merged:
            known = merged[column.name]
            columns.append(replace(known, missing=known.missing or column.missing))
        else:
            columns.append(column)
    return Schema(tuple(columns))
