"""Moments of sparse rows, computed from their non-zero cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from suffice.core.moments.moments import Moments
from suffice.core.moments.scatter import DiagonalScatter, PooledScatter, Scatter
from suffice.core.table.count_rows import CountRows
from suffice.core.table.foreign import to_numpy
from suffice.core.table.labels import as_labels, codes_of, encode, union
from suffice.core.table.matrix import as_weights
from suffice.core.table.table import Table, require_as_many
from suffice.typing import Codes, Floats, LabelsLike, RowsLike, WeightsLike


def moments_of_sparse(
    X: RowsLike,
    y: LabelsLike,
    sample_weight: WeightsLike = None,
    *,
    classes: LabelsLike | None = None,
) -> Moments:
    """Return the diagonal moments of sparse rows, in two passes over their non-zero cells."""
    table = sparse_table(X, y, sample_weight, classes=classes)
    return moments_of_sparse_table(table, storage="diagonal")


def sparse_table(
    X: RowsLike,
    y: LabelsLike,
    sample_weight: WeightsLike = None,
    *,
    classes: LabelsLike | None = None,
) -> Table:
    """Return a checked table of sparse rows, labels and weights; ``x`` is a SciPy CSR array."""
    rows = CountRows.of_sparse(X)
    labels = as_labels(to_numpy(y))
    require_as_many(rows.n_rows, len(labels))
    weight = as_weights(sample_weight, rows.n_rows)
    rows.require_finite(weight)
    seen, codes = encode(labels)
    every = seen if classes is None else union(seen, np.unique(as_labels(to_numpy(classes))))
    return Table(rows.matrix(), every, codes_of(seen, every)[codes], weight)


def moments_of_sparse_table(
    table: Table, *, storage: Literal["pooled", "diagonal"]
) -> Moments:
    """Return moments of sparse rows with diagonal or pooled scatter."""
    rows = CountRows.of_sparse(table.x)
    codes = table.codes
    w = table.weights
    n_classes = table.n_classes
    weights = table.class_weights
    per_row = np.divide(1.0, weights, out=np.zeros(n_classes), where=weights > 0)[:, None]
    means = _class_sums(rows, codes, w, n_classes) * per_row
    # Σ w (x − μ)² = Σ over non-zero cells of w (x − μ)² + μ² Σ over zero cells of w
    about_means = rows.values - means[codes[rows.row_of_cell], rows.columns]
    squares = _class_sums(replace(rows, values=np.square(about_means)), codes, w, n_classes)
    ones = replace(rows, values=np.ones(rows.n_cells))
    weight_of_cells = _class_sums(ones, codes, w, n_classes)
    weight_of_zeros = np.maximum(weights[:, None] - weight_of_cells, 0.0)
    diagonals = squares + weight_of_zeros * np.square(means)
    scatter: Scatter = DiagonalScatter(diagonals)
    if storage == "pooled":
        scatter = _pooled_scatter(table, means, diagonals)
    return Moments(
        classes=table.classes,
        feature_names=None,
        counts=table.class_counts,
        weights=weights,
        means=means,
        means_low=np.zeros_like(means),
        scatter=scatter,
        fourth=None,
    )


def _pooled_scatter(table: Table, means: Floats, diagonals: Floats) -> PooledScatter:
    """Return Σ w (x − μ)(x − μ)ᵀ over all classes, (d, d), given its diagonal."""
    # Σ_i w_i x_i x_iᵀ − Σ_k w_k μ_k μ_kᵀ; the given diagonal has a smaller rounding error
    products = weighted_products(CountRows.of_sparse(table.x), table.weights)
    between = np.sqrt(table.class_weights)[:, None] * means
    scatter = products - between.T @ between
    np.fill_diagonal(scatter, diagonals.sum(0))
    return PooledScatter(scatter)


def weighted_products(rows: CountRows, w: Floats) -> Floats:
    """Return Σ w x xᵀ of all rows, (d, d)."""
    from suffice.core.compiled import read_only
    from suffice.core.moments.count_loops import add_products

    products = np.zeros((rows.n_features, rows.n_features))
    cells = read_only(rows.values, rows.columns, rows.starts, w)
    add_products(*cells, products)
    return products + np.tril(products, -1).T


def _class_sums(rows: CountRows, codes: Codes, w: Floats, n_classes: int) -> Floats:
    """Return Σ w x of each class, (K, d)."""
    from scipy.sparse import csr_array

    n = rows.n_rows
    indicators = csr_array((w, (codes, np.arange(n))), shape=(n_classes, n))
    return np.asarray((indicators @ rows.matrix()).toarray(), np.float64)
