"""Remove rows from moments, or raise if rows were never added or too many digits are lost.

``merged`` of ``merging.py`` subtracts the sums of the part b from those of the total a:

    w = w_a − w_b,  δ = μ_b − μ_a,  μ = μ_a − (w_b/w) δ,  M = M_a − M_b − (w_a w_b/w) δ δᵀ

This file checks before the subtraction that b can be a part of a, and afterwards that enough
correct digits are left.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from suffice.core.linalg import EPS
from suffice.core.moments.collect import ratio
from suffice.core.moments.merging import merged, without_empty_classes
from suffice.core.moments.scatter import ROUNDING, DiagonalScatter, Scatter, as_columns
from suffice.core.moments.scatter_as_rows import RowScatter
from suffice.core.moments.validity import is_semidefinite
from suffice.core.table.matrix import column_name
from suffice.core.text.lists import counted
from suffice.errors import ForgetError
from suffice.typing import Flags, Floats

if TYPE_CHECKING:
    from suffice.core.moments.moments import Moments

FEWEST_DIGITS = 6  # correct digits that a variance must keep
FEWEST_FOURTH_DIGITS = 4
GROSS = 1e3  # a fall of a sum of squares by more than this factor is due to an outlier
_SLACK = 1e-8  # largest relative rounding error of sums of weights and squares


OTHER_CORRELATIONS = (
    "cannot forget these rows: the correlations of their columns differ from those of the rows "
    "that were added, so some of them were never added"
)


class _Digits(NamedTuple):
    """Largest rounding errors of a mean: one relative to the spread, one relative to the mean."""

    of_spread: float
    of_mean: float


_MEAN_DIGITS = _Digits(of_spread=1e-8, of_mean=1e-12)
_MEAN_DIGITS_AFTER_FORGETTING = _Digits(of_spread=1e-6, of_mean=1e-6)


def check_held(total: Moments, part: Moments) -> None:
    """Raise if more rows are removed than were added, or if the remaining weight loses digits."""
    has_more_rows = part.counts > total.counts
    if has_more_rows.any():
        k = int(np.argmax(has_more_rows))
        raise ForgetError(
            f"cannot forget {counted(part.counts[k], 'row')} of class "
            f"{total.classes[k].item()!r}: the sums have only {counted(total.counts[k], 'row')} of "
            "this class"
        )
    is_heavier = part.weights > total.weights * (1 + _SLACK)
    if is_heavier.any():
        k = int(np.argmax(is_heavier))
        raise ForgetError(
            f"cannot forget a weight of {part.weights[k]:g} of class "
            f"{total.classes[k].item()!r}: its rows have a weight of {total.weights[k]:g} in all"
        )
    left = total.weights - part.weights
    # sums of integers, such as numbers of rows, are exact
    is_exact = (total.weights == np.rint(total.weights)) & (total.weights < 1 / EPS)
    has_few_digits = left < 10.0**FEWEST_DIGITS * EPS * total.weights
    is_lost = has_few_digits & ~is_exact & (part.counts < total.counts)
    if is_lost.any():
        k = int(np.argmax(is_lost))
        raise ForgetError(
            "cannot forget these rows exactly: the weight of class "
            f"{total.classes[k].item()!r} was {total.weights[k]:.2g} and would be {left[k]:.2g}, "
            "with few correct digits left: fit again without them"
        )
    _check_emptied(total, part)


def _check_emptied(total: Moments, part: Moments) -> None:
    """Raise if a class would lose all its rows or weight by removing rows that it does not have."""
    is_emptied = (part.counts == total.counts) & (total.counts > 0)
    # if all rows go, all the weight must go; if rows remain, some weight must remain
    is_lighter = part.weights < total.weights * (1 - _SLACK)
    leaves_none = (part.counts < total.counts) & (part.weights >= total.weights)
    differs = (is_emptied & is_lighter) | leaves_none
    if differs.any():
        k = int(np.argmax(differs))
        raise ForgetError(
            f"cannot forget {counted(part.counts[k], 'row')} of weight {part.weights[k]:g} of "
            f"class {total.classes[k].item()!r}, which has {counted(total.counts[k], 'row')} of "
            f"weight {total.weights[k]:g}: some of them were never added"
        )
    if is_emptied.any() and total.patterns is None and part.patterns is None:
        difference = class_and_column_of_other_mean(total, part, is_emptied, total.peaks)
        if difference is not None:
            k, j = difference
            raise ForgetError(
                f"cannot forget {counted(part.counts[k], 'row')} of class "
                f"{total.classes[k].item()!r}: the sums also have "
                f"{counted(total.counts[k], 'row')} of this class, but with mean "
                f"{total.means[k, j]:.12g} in column {column_name(total.feature_names, j)} instead "
                f"of {part.means[k, j]:.12g}. Some of the rows to forget were never added: pass "
                "only rows that were added"
            )


def class_and_column_of_other_mean(
    total: Moments,
    part: Moments,
    is_emptied: Flags,
    peaks: Floats | None,
) -> tuple[int, int] | None:
    """Return a class and column that would lose all rows, but whose removed rows have another mean.

    Return None if there is none. ``is_emptied`` says which classes (K,), or which columns of each
    class (K, d), would lose all rows. ``peaks`` holds the largest sums of squares so far (K, d), or
    None if no row was ever forgotten.
    """
    distances = np.abs((part.means - total.means) + (part.means_low - total.means_low))
    w = np.broadcast_to(as_columns(total.weights), total.means.shape)
    grand_mean = ratio((w * total.means).sum(0), w.sum(0))
    between = w * np.square(total.means - grand_mean)
    squares = total.scatter.pooled_diagonal() + between.sum(0)
    digits = _MEAN_DIGITS
    if peaks is not None:
        # forgetting rows earlier has left rounding errors in proportion to their squares
        squares = squares + peaks.sum(0)
        digits = _MEAN_DIGITS_AFTER_FORGETTING
    spread = np.sqrt(ratio(squares, w.sum(0)))
    # a mean that suffice computed has an error proportional to the spread; a mean that a database
    # computed has an error proportional to the mean itself
    slack = digits.of_spread * spread + digits.of_mean * np.abs(total.means)
    differs = (distances > slack) & as_columns(is_emptied)
    if not differs.any():
        return None
    k, j = np.argwhere(differs)[0]
    return int(k), int(j)


def without(total: Moments, part: Moments) -> Moments:
    """Return ``total`` − ``part``, or raise if rows were never added or digits would be lost."""
    # w = w_a − w_b,  M = M_a − M_b − (w_a w_b/w) δ δᵀ,  δ = μ_b − μ_a
    rest = merged(total, part, -1.0)
    # stored rows are removed one by one, without rounding
    if isinstance(rest.scatter, RowScatter):
        means, means_low = rest.scatter.means()
        return without_empty_classes(replace(rest, means=means, means_low=means_low))
    spread = spread_left(total, rest)
    is_possible = not has_foreign_products(rest, peaks_of(total), spread.is_constant)
    # Σ z⁴ ≥ (Σ z²)² / n, and its rounding error is up to ε peak²: enough digits are left only if
    # Σ z² ≥ √(10^digits ε n) peak
    share = np.sqrt(10.0**FEWEST_FOURTH_DIGITS * EPS * rest.counts[:, None])
    has_few_digits = (_squares(rest) < share * spread.peaks) & ~spread.is_constant
    # if all remaining values of a column are zero, its mean may be a rounding error: set it to zero
    is_rounding = np.abs(rest.means) <= ROUNDING * np.sqrt(_squares(total))
    is_zero = spread.is_constant & is_rounding
    rest = replace(
        rest,
        means=np.where(is_zero, 0.0, rest.means),
        means_low=np.where(is_zero, 0.0, rest.means_low),
        scatter=_without_constant(rest.scatter, spread.is_constant),
        fourth=None if has_few_digits.any() else rest.fourth,
        peaks=spread.peaks,
        higher=None if rest.higher is None else rest.higher.without(has_few_digits.any(0)),
    )
    if not (is_possible and is_semidefinite(rest)):
        raise ForgetError(OTHER_CORRELATIONS)
    return without_empty_classes(rest)


class SpreadLeft(NamedTuple):
    """Spread of the rows that remain in each class and column, and their largest earlier spread."""

    is_constant: Flags  # (K, d)
    peaks: Floats  # largest Σ w (x − μ)² so far, before rows were removed  (K, d)


def spread_left(total: Moments, rest: Moments) -> SpreadLeft:
    """Return the spread of ``rest``, the rows left of ``total``, or raise for too few digits."""
    left = _squares(rest)
    peaks = peaks_of(total)
    is_single = as_columns(rest.counts <= 1)
    if rest.storage == "pooled":
        is_single = np.asarray(is_single.all(0, keepdims=True))
    is_impossible = np.where(
        is_single, np.abs(left) > _SLACK * peaks, left < -ROUNDING * peaks
    )
    if is_impossible.any():
        k, j = np.argwhere(is_impossible)[0]
        if left[k, j] > 0:
            raise ForgetError(
                f"cannot forget these rows: without them, at most 1 value {_place(rest, k, j)} "
                "would be left, but its variance would not be zero, so some of these rows were "
                "never added"
            )
        raise ForgetError(
            f"cannot forget these rows: without them, the variance {_place(rest, k, j)} would be "
            "negative, so some of these rows were never added"
        )
    is_constant = is_single | ((left <= ROUNDING * peaks) & _is_explained(rest, left, peaks))
    is_lost = (left < 10.0**FEWEST_DIGITS * EPS * peaks) & ~is_constant
    if is_lost.any():
        k, j = np.argwhere(is_lost)[0]
        noise = EPS * peaks[k, j]
        digits = np.log10(max(left[k, j], noise) / noise)
        raise ForgetError(
            f"cannot forget these rows exactly: {_place(rest, k, j)} the sum of squares was "
            f"{peaks[k, j]:.2g} and would be {left[k, j]:.2g}, with {digits:.1f} correct digits "
            "left: fit again without these rows"
        )
    return SpreadLeft(
        is_constant=np.broadcast_to(is_constant, left.shape),
        peaks=np.where(is_single, 0.0, peaks),
    )


def peaks_of(m: Moments) -> Floats:
    """Return the largest sums of squares that each class and column has had so far, (K, d)."""
    squares = _squares(m)
    return squares if m.peaks is None else np.maximum(m.peaks, squares)


def has_foreign_products(rest: Moments, peaks: Floats, is_constant: Flags) -> bool:
    """Return whether a constant column has products that the remaining rows cannot have."""
    if isinstance(rest.scatter, (DiagonalScatter, RowScatter)):
        return False
    scatters = rest.scatter.values
    squares = _squares(rest)
    if rest.storage == "pooled":
        scatters = scatters[None]
        squares = squares[:1]
        peaks = peaks.max(0, keepdims=True, initial=0.0)
        is_constant = np.asarray(is_constant.all(0, keepdims=True))
    # |S_ij| ≤ √(S_ii S_jj), where S_ii of a constant column is 0 up to a rounding error
    bounds = np.sqrt(np.abs(squares) + _SLACK * peaks)
    is_foreign = np.abs(scatters) > bounds[:, :, None] * bounds[:, None, :]
    return bool((is_foreign & (is_constant[:, :, None] | is_constant[:, None, :])).any())


def _squares(m: Moments) -> Floats:
    """Return sums of squares about the class means (K, d); if pooled, each row holds the total."""
    if m.storage == "pooled":
        return np.broadcast_to(m.scatter.pooled_diagonal(), m.means.shape)
    return m.scatter.diagonals()


def _is_explained(rest: Moments, left: Floats, peaks: Floats) -> Flags:
    """Return whether zero spread can only mean equal values, (K, d).

    It is False where the squares of a removed outlier may have hidden the spread.
    """
    w = np.broadcast_to(as_columns(rest.weights), left.shape)
    grand_mean = ratio((w * rest.means).sum(0), w.sum(0))
    between = w * np.square(rest.means - grand_mean)
    if rest.storage == "pooled":
        return np.asarray(peaks <= GROSS * (left + between.sum(0)))
    total = ratio(w, w.sum(0)) * (np.maximum(left, 0.0) + between).sum(0)
    # a column is constant if it varies in no class by more than rounding errors
    is_constant = (left <= ROUNDING * peaks).all(0) & (np.count_nonzero(w, axis=0) > 1)
    return np.asarray((peaks <= GROSS * total) | is_constant)


def _without_constant(scatter: Scatter, is_constant: Flags) -> Scatter:
    """Return the scatter with exact zeros for columns that are constant in their class, (K, d)."""
    if isinstance(scatter, RowScatter):
        return scatter
    varies = (~is_constant).astype(np.float64)
    if scatter.storage == "diagonal":
        mask = varies
    elif scatter.storage == "pooled":
        in_all = varies.min(0, initial=1.0)
        mask = np.outer(in_all, in_all)
    else:
        mask = varies[:, :, None] * varies[:, None, :]
    return replace(scatter, source=scatter.values * mask)


def _place(rest: Moments, k: int, j: int) -> str:
    column = column_name(rest.feature_names, j)
    if rest.storage == "pooled":
        return f"in column {column}"
    return f"in column {column} of class {rest.classes[k].item()!r}"
