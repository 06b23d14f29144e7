"""Rows of counts, stored as their non-zero cells, from sparse matrices, arrays and frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from suffice.core.table.matrix import as_matrix, column_name, refuse_nonfinite
from suffice.errors import FeatureMismatchError, InvalidInputError
from suffice.typing import Array, Codes, Flags, Floats, RowsLike

# types that compiled loops can read; other numbers are converted to float64
_READ_AS_THEY_ARE = (np.dtype(t) for t in (np.float64, np.float32, np.int64, np.int32))
_COMPILED_TYPES = frozenset(_READ_AS_THEY_ARE)


@dataclass(frozen=True, slots=True, eq=False)
class CountRows:
    """The non-zero cells of n rows, sorted by row and column, each cell once."""

    values: Array  # (cells,)
    columns: Array  # feature of each cell, int32 or int64  (cells,)
    starts: Array  # cells of row i are starts[i] … starts[i + 1] − 1  (n + 1,)
    n_features: int

    @classmethod
    def of(cls, X: RowsLike) -> CountRows:
        """Return the cells of a sparse matrix, array or frame, or raise for non-numbers."""
        if is_sparse(X):
            return cls.of_sparse(X)
        from scipy.sparse import csr_array

        rows, names = as_matrix(X)
        refuse_nonfinite(rows, names)
        return cls.of_sparse(csr_array(rows))

    @classmethod
    def of_sparse(cls, X: Any) -> CountRows:
        """Return the cells of a sparse SciPy matrix of any format, with repeated cells added up."""
        if X.ndim != 2:
            raise InvalidInputError(
                f"X must have two dimensions (rows, features), found shape {X.shape}: "
                "use X.reshape((1, -1)) for one row"
            )
        csr = X.tocsr()
        _refuse_broken(csr)
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        values = csr.data
        if values.dtype.kind not in "fiub":
            raise InvalidInputError(
                f"X holds {values.dtype} cells, which are not counts: convert them to numbers"
            )
        if values.dtype not in _COMPILED_TYPES:
            values = values.astype(np.float64)
        return cls(values, csr.indices, csr.indptr, int(csr.shape[1]))

    @property
    def n_rows(self) -> int:
        return len(self.starts) - 1

    @property
    def n_cells(self) -> int:
        """Number of stored cells."""
        return int(self.starts[-1])

    @property
    def row_of_cell(self) -> Codes:
        """Row of each cell, (cells,)."""
        lengths = np.diff(self.starts)
        return np.repeat(np.arange(self.n_rows), lengths)

    def totals(self) -> Floats:
        """Return the sum of each row, (n,)."""
        return summed(self.row_of_cell, self.values, self.n_rows)

    def between(self, lo: int, hi: int) -> CountRows:
        """Return rows lo to hi − 1, as views."""
        first = self.starts[lo]
        last = self.starts[hi]
        return CountRows(
            values=self.values[first:last],
            columns=self.columns[first:last],
            starts=self.starts[lo : hi + 1] - first,
            n_features=self.n_features,
        )

    def take(self, rows: Codes | Flags) -> CountRows:
        """Return some of the rows."""
        return CountRows.of_sparse(self.matrix()[rows])

    def matrix(self) -> Any:
        """Return the rows as a sparse SciPy array (n, d) that shares the memory of the cells."""
        from scipy.sparse import csr_array

        cells = (self.values, self.columns, self.starts)
        return csr_array(cells, shape=(self.n_rows, self.n_features))

    def presence(self, threshold: float) -> CountRows:
        """Return rows with 1 in place of each count above the threshold, and no other cells."""
        is_present = self.values > threshold
        kept_before = np.concatenate([[0], np.cumsum(is_present)])
        return CountRows(
            values=np.ones(int(kept_before[-1])),
            columns=self.columns[is_present],
            starts=kept_before[self.starts],
            n_features=self.n_features,
        )

    def require_features(self, n_features: int) -> None:
        """Raise unless the rows have the number of features of a model."""
        if self.n_features != n_features:
            raise FeatureMismatchError(
                f"X has {self.n_features} features, but the model has {n_features}: count the same "
                "features in the same order"
            )

    def require_counts(self, names: Sequence[str] | None = None) -> None:
        """Raise unless every cell is a finite number that is not negative."""
        # min and max are NaN if a cell is NaN, so the comparisons below fail
        if not self.n_cells:
            return
        if self.values.min() >= 0 and self.values.max() < np.inf:
            return
        is_usable = np.isfinite(self.values) & (self.values >= 0)
        self.refuse_cell(int(np.argmin(is_usable)), names)

    def require_finite(self, w: Floats | None = None) -> None:
        """Raise if a cell is NaN or infinite, except in rows that have weight 0 in ``w``."""
        is_usable = np.isfinite(self.values)
        if is_usable.all():
            return
        row_of_cell = self.row_of_cell
        if w is not None:
            is_usable |= w[row_of_cell] == 0
            if is_usable.all():
                return
        cell = int(np.argmin(is_usable))
        value = "NaN" if np.isnan(self.values[cell]) else "infinity"
        raise InvalidInputError(
            f"Input X contains {value}: row {int(row_of_cell[cell])}, column "
            f"{int(self.columns[cell])}. Sparse rows cannot have missing values: drop such rows"
        )

    def refuse_cell(self, cell: int, names: Sequence[str] | None = None) -> NoReturn:
        """Raise an error that names the row and column of a cell that is not a count."""
        row = int(np.searchsorted(self.starts, cell, side="right")) - 1
        name = column_name(names, int(self.columns[cell]))
        value = self.values[cell]
        if np.isnan(value):
            raise InvalidInputError(
                f"Input X contains NaN: row {row}, column {name}. Drop such rows, or write 0 "
                "where nothing was counted"
            )
        if np.isinf(value):
            raise InvalidInputError(
                f"Input X contains infinity: row {row}, column {name}. Drop such rows"
            )
        raise InvalidInputError(
            f"Negative values in data passed to a model of counts: row {row}, column {name} holds "
            f"{value:g}. A count is at least 0: correct the value, or use GaussianNB for such "
            "columns"
        )


def summed(places: Codes, values: Array, n: int) -> Floats:
    """Return an array (n,) with the sum of the values that have each place."""
    return np.bincount(places, values, n).astype(np.float64)


def is_sparse(X: object) -> bool:
    """Return whether X is a sparse matrix or array with SciPy's interface."""
    return hasattr(X, "tocsr")


def _refuse_broken(csr: Any) -> None:
    """Raise if a column index lies outside the matrix; SciPy does not check this."""
    if not len(csr.indices):
        return
    # a negative index is very large as an unsigned integer: one comparison finds both faults
    unsigned = csr.indices.view(f"u{csr.indices.itemsize}")
    if int(unsigned.max()) >= csr.shape[1]:
        low = int(csr.indices.min())
        high = int(csr.indices.max())
        wrong = low if low < 0 else high
        raise InvalidInputError(
            f"a cell of the sparse matrix lies in column {wrong}, but there are {csr.shape[1]} "
            "columns: build the matrix again"
        )
