"""Checks of moments: the sums must be finite, and there must be rows that can have such sums.

``refuse_overflow`` checks the result of every operation. ``refuse_impossible`` checks moments from
files, and moments after rows were forgotten.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from suffice.core.moments.scatter import (
    ROUNDING,
    DiagonalScatter,
    PerClassScatter,
    PooledScatter,
)
from suffice.core.moments.scatter_as_rows import RowScatter
from suffice.core.table.matrix import column_name
from suffice.errors import InvalidInputError
from suffice.typing import Array, Floats

if TYPE_CHECKING:
    from suffice.core.moments.moments import Moments

_SLACK = 1e-6  # largest relative error of a sum after rows were added and forgotten
_RANK_SLACK = 1e-4  # largest error of an eigenvalue, relative to the variances


def refuse_overflow(m: Moments) -> Moments:
    """Return the moments if their sums are finite, or raise if some sum overflows.

    If only the fourth moments overflow, they are dropped, since few models use them.
    """
    refuse_weights(m)
    with np.errstate(over="ignore", invalid="ignore"):
        if not is_finite(m):
            _refuse_column(m)
    return without_overflown_fourth(m)


def refuse_weights(m: Moments) -> None:
    """Raise if the sum of the weights overflows."""
    with np.errstate(over="ignore"):
        total = m.weights.sum()
    if not np.isfinite(total):
        k = int(np.argmax(m.weights))
        raise InvalidInputError(
            f"the sum of the weights overflows (it is {m.weights[k]:.3g} in class "
            f"{m.classes[k].item()!r}): divide all sample weights by a constant"
        )


def without_overflown_fourth(m: Moments) -> Moments:
    """Return the moments without fourth moments that are not finite."""
    fourth = m.fourth
    if fourth is None or all(np.isfinite(sums).all() for sums in fourth):
        return m
    return replace(m, fourth=None)


def is_finite(m: Moments) -> bool:
    """Return whether all sums, except fourth moments, and the squares of the means are finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = _squares_about_zero(m)
        finite = (
            np.isfinite(squares.sum(0)).all()
            and np.isfinite(m.means).all()
            and np.isfinite(m.means_low).all()
            and np.isfinite(m.scatter.values).all()
            and np.isfinite(m.scatter.pooled_diagonal()).all()
        )
        if m.log_slopes is not None:
            finite = finite and np.isfinite(m.log_slopes).all()
        return bool(finite)


def _squares_about_zero(m: Moments) -> Floats:
    """Return 4 w_k μ_k², (K, d), whose sum over classes bounds the scatter between classes."""
    return m.weights[:, None] * np.square(2 * m.means)


def _refuse_column(m: Moments) -> None:
    """Raise an error that names the class and the column whose sums overflow."""
    squares = _squares_about_zero(m)
    if m.storage != "pooled":
        squares = squares + m.scatter.diagonals()
    squares = np.where(np.isnan(squares), np.inf, squares)
    is_usable = np.isfinite(squares.sum(0)) & np.isfinite(m.scatter.pooled_diagonal())
    j = int(np.argmin(is_usable))
    k = int(np.argmax(squares[:, j]))
    raise InvalidInputError(
        f"the sums of squares of column {column_name(m.feature_names, j)} overflow with the rows "
        f"of class {m.classes[k].item()!r}: leave out rows with such large numbers, or rescale "
        "the column"
    )


def refuse_impossible(m: Moments) -> None:
    """Raise if no rows can have these sums."""
    _refuse_counts(m)
    if isinstance(m.scatter, RowScatter):
        _refuse_other_rows(m, m.scatter)
    else:
        _refuse_scatter(m, m.scatter)


def _refuse_scatter(
    m: Moments,
    scatter: PerClassScatter | PooledScatter | DiagonalScatter,
) -> None:
    """Raise if no rows can have this scatter."""
    if isinstance(scatter, DiagonalScatter):
        diagonals: Floats = scatter.values
    else:
        diagonals = np.diagonal(scatter.values, axis1=-2, axis2=-1)
    sizes = np.abs(diagonals)
    if diagonals.ndim > 1 and len(diagonals):
        sizes = np.broadcast_to(sizes.max(0), diagonals.shape)
    if np.any(diagonals < -_SLACK * sizes):
        raise InvalidInputError("field 'scatter' holds a negative sum of squares")
    # moments of given parameters have one row in each class and a scatter that is not zero
    is_stated = not np.any(m.counts > 1)
    if m.storage != "pooled" and m.patterns is None and not is_stated:
        is_single = (m.counts == 1)[:, None]
        if np.any(is_single & (diagonals > _SLACK * sizes)):
            raise InvalidInputError("field 'scatter' is not zero in a class with one row")
    if isinstance(scatter, DiagonalScatter):
        return
    _refuse_asymmetry(scatter.values, sizes)
    # with missing numbers, pairs of columns are summed over different rows, so that the scatter
    # may be indefinite
    if m.patterns is None and not is_semidefinite(m):
        raise InvalidInputError(
            "field 'scatter' holds a matrix that is not positive semi-definite"
        )


def _refuse_other_rows(m: Moments, scatter: RowScatter) -> None:
    """Raise unless the stored rows have the counts and means of the moments."""
    counts = np.bincount(scatter.codes, minlength=m.n_classes)
    if not np.array_equal(counts, m.counts):
        raise InvalidInputError("field 'counts' does not agree with the rows")
    means, _ = scatter.means()
    sizes = np.abs(means).max(0, initial=0.0)
    if np.any(np.abs(means - m.means) > _SLACK * sizes):
        raise InvalidInputError("field 'means' does not agree with the rows")


def _refuse_counts(m: Moments) -> None:
    """Raise unless the classes with rows are those with positive weight."""
    if np.any(m.counts < 0) or np.any(m.weights < 0):
        raise InvalidInputError("field 'counts' or 'weights' holds negative numbers")
    if np.any((m.counts > 0) != (m.weights > 0)):
        raise InvalidInputError(
            "field 'counts' does not agree with the weights: a class has rows but no weight, or "
            "a weight but no rows"
        )


def _refuse_asymmetry(scatter: Array, sizes: Floats) -> None:
    # |M_ij − M_ji| ≤ ε √(M_ii M_jj) up to rounding
    roots = np.sqrt(sizes)
    slack = _SLACK * roots[..., :, None] * roots[..., None, :]
    asymmetry = np.abs(scatter - np.swapaxes(scatter, -1, -2))
    if np.any(asymmetry > slack + _SLACK * np.abs(scatter)):
        raise InvalidInputError("field 'scatter' holds a matrix that is not symmetric")


def is_semidefinite(m: Moments) -> bool:
    """Return whether the scatter of every class is positive semi-definite up to rounding."""
    if isinstance(m.scatter, (DiagonalScatter, RowScatter)):
        return True
    scatters = m.scatter.values
    peaks = np.zeros(m.means.shape) if m.peaks is None else m.peaks
    if isinstance(m.scatter, PooledScatter):
        scatters = scatters[None]
        peaks = peaks.max(0, keepdims=True, initial=0.0)
    variances = np.diagonal(scatters, axis1=1, axis2=2)
    # the largest rounding errors on the diagonal
    slack = _RANK_SLACK * np.abs(variances) + m.n_features * ROUNDING * peaks
    scale = 1 / np.sqrt(np.maximum(variances, 0.0) + slack + np.finfo(np.float64).tiny)
    j = np.arange(m.n_features)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            # D (M + slack) D with a diagonal of ones
            scaled = scatters * scale[:, :, None] * scale[:, None, :]
            scaled[:, j, j] = 1.0
            factors = np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(factors).all())
