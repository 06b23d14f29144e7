"""Ridge-penalised logistic regression of fewer rows than features, in the span of the rows.

With y = (x − m) / s, the penalty is (λ/2) |φ|², so the best φ is a combination of rows. In
coordinates along an orthonormal basis Q of the span of the rows, φ = Q β and |φ|² = |β|², and the
problem has as many features as rows. The right singular vectors of the rows would be such a basis;
the basis used here comes from a pivoted Cholesky factor of the rows' Gram matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from suffice.core.linalg import EPS, lapack, solve_lower_transposed
from suffice.core.moments import Moments
from suffice.core.table.count_rows import is_sparse
from suffice.core.table.foreign import is_foreign
from suffice.core.table.table import Table
from suffice.discriminative.problem import WIDEST_HESSIAN
from suffice.discriminative.scaling import Scaling
from suffice.typing import Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class RowSpan:
    """Rows in standard units, and their coordinates along orthonormal axes Q of their span.

    The rows with the numbers p form a basis of the span. For these rows, Y_p = L_p Qᵀ with a lower
    triangular L_p, so that Q = Y_pᵀ L_p⁻ᵀ.
    """

    scaling: Scaling  # y = (x − m) / s
    rows: Floats  # Y  (n, d)
    basis: Codes  # p  (r,)
    table: Table  # the labelled rows in coordinates L, where Y = L Qᵀ  (n, r)

    @classmethod
    def of(cls, table: Table, moments: Moments, *, fit_intercept: bool) -> RowSpan:
        """Return the span of the rows of a table, given the moments of these rows."""
        scaling = Scaling.of(moments, fit_intercept=fit_intercept)
        rows = np.subtract(table.x, scaling.centre, dtype=np.float64)
        rows *= scaling.inverse
        lower, pivots, rank = _pivoted_cholesky(rows @ rows.T)
        if rank == 0:  # all rows are equal: use one coordinate, which is 0
            zeros = np.zeros((len(rows), 1))
            return cls(scaling, rows, pivots[:0], replace(table, x=zeros, names=None))
        coordinates = np.empty((len(rows), rank))
        coordinates[pivots] = lower
        basis = pivots[:rank]
        return cls(scaling, rows, basis, replace(table, x=coordinates, names=None))

    def slopes(self, beta: Floats) -> Floats:
        """Return φ of φᵀy + w_0, given the coefficients β of coordinates, (C, d)."""
        along = np.zeros((len(self.rows), len(beta)))
        if len(self.basis):
            # φ = Q β = Y_pᵀ L_p⁻ᵀ β
            lower = self.table.x[self.basis]
            along[self.basis] = solve_lower_transposed(lower, beta[:, 1:].T)
        return along.T @ self.rows

    def to_original(self, beta: Floats) -> Floats:
        """Return (w_0, w) of wᵀx + w_0, (C, 1 + d), given (w_0, β) of coordinates, (C, 1 + r)."""
        phi = np.column_stack([beta[:, 0], self.slopes(beta)])
        return self.scaling.to_original(phi)


def _pivoted_cholesky(gram: Floats) -> tuple[Floats, Codes, int]:
    """Return L (n, r), the pivots p and the rank r of a Gram matrix G.

    G = L Lᵀ if the rows and columns of G are taken in the order of the pivots.
    """
    tolerance = len(gram) * EPS * float(np.diagonal(gram).max())
    factor, pivots, rank, _ = lapack.dpstrf(gram, lower=1, tol=tolerance)
    if not np.diagonal(gram).any():
        rank = 0
    return np.tril(factor)[:, :rank], pivots - 1, rank


def is_solved_in_span(table: Table) -> bool:
    """Return whether there are fewer rows than features, and too many features for a Hessian."""
    if is_sparse(table.x) or is_foreign(table.x):
        return False
    n_parameters = (table.n_classes - 1) * (table.n_features + 1)
    return table.n_rows < table.n_features and n_parameters > WIDEST_HESSIAN
