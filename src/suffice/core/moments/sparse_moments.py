"""Moments of sparse rows with a variance for each feature, from the non-zero cells alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suffice.core.moments.moments import Moments
from suffice.core.moments.scatter import DiagonalScatter
from suffice.core.table.count_rows import CountRows, summed
from suffice.core.table.foreign import to_numpy
from suffice.core.table.labels import as_labels, codes_of, encode, union
from suffice.core.table.matrix import as_weights
from suffice.core.table.table import require_as_many
from suffice.errors import InvalidInputError
from suffice.typing import Codes, Floats, LabelsLike, RowsLike, WeightsLike


def moments_of_sparse(
    X: RowsLike,
    y: LabelsLike,
    sample_weight: WeightsLike = None,
    *,
    classes: LabelsLike | None = None,
) -> Moments:
    """Return the diagonal moments of sparse rows, in two passes over their non-zero cells."""
    rows = CountRows.of_sparse(X)
    labels = as_labels(to_numpy(y))
    require_as_many(rows.n_rows, len(labels))
    weight = as_weights(sample_weight, rows.n_rows)
    w = np.ones(rows.n_rows) if weight is None else weight
    _refuse_nonfinite_cells(rows, w)
    seen, codes = encode(labels)
    every = seen if classes is None else union(seen, np.unique(as_labels(to_numpy(classes))))
    codes = codes_of(seen, every)[codes]
    n_classes = len(every)
    weights = summed(codes, w, n_classes)
    per_row = np.divide(1.0, weights, out=np.zeros(n_classes), where=weights > 0)[:, None]
    means = _class_sums(rows, codes, w, n_classes) * per_row
    # Σ w (x − μ)² = Σ over non-zero cells of w (x − μ)², and μ² for the weight of the others
    about_means = rows.values - means[codes[rows.row_of_cell], rows.columns]
    squares = _class_sums(replace(rows, values=np.square(about_means)), codes, w, n_classes)
    ones = replace(rows, values=np.ones(rows.n_cells))
    weight_of_cells = _class_sums(ones, codes, w, n_classes)
    weight_of_zeros = np.maximum(weights[:, None] - weight_of_cells, 0.0)
    return Moments(
        classes=every,
        feature_names=None,
        counts=np.bincount(codes[w > 0], minlength=n_classes).astype(np.intp),
        weights=weights,
        means=means,
        means_low=np.zeros_like(means),
        scatter=DiagonalScatter(squares + weight_of_zeros * np.square(means)),
        fourth=None,
    )


def _class_sums(rows: CountRows, codes: Codes, w: Floats, n_classes: int) -> Floats:
    """Return Σ w x of each class, (K, d)."""
    from scipy.sparse import csr_array

    n = rows.n_rows
    indicators = csr_array((w, (codes, np.arange(n))), shape=(n_classes, n))
    return np.asarray((indicators @ rows.matrix()).toarray(), np.float64)


def _refuse_nonfinite_cells(rows: CountRows, w: Floats) -> None:
    is_usable = np.isfinite(rows.values) | (w[rows.row_of_cell] == 0)
    if is_usable.all():
        return
    cell = int(np.argmin(is_usable))
    value = "NaN" if np.isnan(rows.values[cell]) else "infinity"
    raise InvalidInputError(
        f"Input X contains {value}: row {int(rows.row_of_cell[cell])}, column "
        f"{int(rows.columns[cell])}; sparse rows cannot have missing values, so drop such rows"
    )
