"""What is left once rows are taken out: checked by its result, for subtraction loses digits.

The greatest sums of squares ever held, ``peaks``, say how much of a difference is rounding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import ForgetError
from suffice.linalg import EPS
from suffice.moments.merging import merged, without_gone
from suffice.moments.patterns import combined
from suffice.table.matrix import column_name
from suffice.typing import Flags, Floats

if TYPE_CHECKING:
    from suffice.moments.moments import Moments

ROUNDING = 1e3 * EPS  # of a peak: below it a sum of squares cannot be told from zero
FEWEST_DIGITS = 6  # of a variance that may be left
FEWEST_FOURTH_DIGITS = 4
GROSS = 1e3  # a peak above so many times the squares of all rows that are left is an outlier's


def without(total: Moments, part: Moments) -> Moments:
    """Return ``total`` − ``part``, or say that the rows were never added, or what would be lost."""
    more = (part.counts > total.counts) | (part.weights > total.weights * (1 + 1e-8))
    for k in np.flatnonzero(more)[:1]:
        raise ForgetError(
            f"cannot forget {part.counts[k]} rows of class {total.classes[k].item()!r}: only "
            f"{total.counts[k]} were ever added (weight {part.weights[k]:g} of "
            f"{total.weights[k]:g})"
        )
    if total.patterns is not None or part.patterns is not None:
        return without_gone(combined(total, part, -1.0))  # each pattern is checked there
    rest, peaks = merged(total, part, -1.0), _squares(total)
    if total.peaks is not None:
        peaks = np.maximum(total.peaks, peaks)
    left, few = _squares(rest), rest.counts <= 1
    single = few[:, None] if rest.storage != "pooled" else np.full((1, 1), few.all())
    never = np.where(single, np.abs(left) > 1e-8 * peaks, left < -ROUNDING * peaks)
    for k, j in np.argwhere(never)[:1]:
        raise ForgetError(
            f"cannot forget these rows: {_where(rest, k, j)} they vary more, or otherwise, "
            "than the rows that were added, so some of them were never added"
        )
    constant = single | ((left <= ROUNDING * peaks) & _explained(rest, left, peaks))
    blurred = left < 10.0**FEWEST_DIGITS * EPS * peaks
    for k, j in np.argwhere(blurred & ~constant)[:1]:
        digits = np.log10(max(left[k, j], EPS * peaks[k, j]) / (EPS * peaks[k, j]))
        raise ForgetError(
            f"cannot forget these rows exactly: {_where(rest, k, j)} the sum of squares was "
            f"{peaks[k, j]:.2g} and would be {left[k, j]:.2g}, with {digits:.1f} correct digits "
            "left: fit again without these rows"
        )
    # of Σ z⁴ ≥ (Σ z²)² / n, which was at most peak², rounding leaves this little
    share = np.sqrt(10.0**FEWEST_FOURTH_DIGITS * EPS * rest.counts[:, None])
    coarse = left < share * peaks
    scatter = replace(rest.scatter, values=rest.scatter.values * _kept(rest, constant))
    fourth = None if (coarse & ~constant).any() else rest.fourth
    peaks = np.where(single, 0.0, peaks)
    return without_gone(replace(rest, scatter=scatter, fourth=fourth, peaks=peaks))


def _squares(m: Moments) -> Floats:
    """Return sums of squares about the class means (K, d), those of all classes if pooled."""
    if m.storage == "pooled":
        return np.broadcast_to(m.scatter.pooled_diagonal(), m.means.shape)
    return m.scatter.diagonals()


def _explained(rest: Moments, left: Floats, peaks: Floats) -> Flags:
    """Return where no spread is left because rows agree, not because an outlier took its digits."""
    if rest.storage == "pooled":
        total = left + (rest.weights[:, None] * rest.centred_means**2).sum(0)
        return np.asarray(peaks <= GROSS * total)
    share = rest.weights[:, None] / max(rest.total_weight, np.finfo(float).tiny)
    between = rest.weights[:, None] * rest.centred_means**2
    total = share * (np.maximum(left, 0.0) + between).sum(0)
    # no class varies beyond its own rounding: a column that is constant now
    nowhere = (left <= ROUNDING * peaks).all(0) & (np.count_nonzero(rest.weights) > 1)
    return np.asarray((peaks <= GROSS * total) | nowhere)


def _kept(rest: Moments, constant: Flags) -> Floats:
    """Return 0 for the entries of the scatter that belong to constant columns, else 1."""
    kept = np.broadcast_to(~constant, rest.means.shape).astype(np.float64)
    if rest.storage == "diagonal":
        return kept
    if rest.storage == "pooled":
        return np.outer(kept.min(0, initial=1.0), kept.min(0, initial=1.0))
    return kept[:, :, None] * kept[:, None, :]


def _where(rest: Moments, k: Any, j: Any) -> str:
    of_class = "" if rest.storage == "pooled" else f" of class {rest.classes[k].item()!r}"
    return f"in column {column_name(rest.feature_names, j)}{of_class}"
