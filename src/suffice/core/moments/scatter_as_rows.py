"""Scatter stored as the rows themselves, for tables with fewer rows than features.

A table of 63 rows and 2,308 features holds fewer numbers than its scatter matrix. Rows can be added
and removed exactly, and every model of such a table can be computed from the inner products of the
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from suffice.core.linalg import contrasts
from suffice.core.moments.two_sum import two_sum
from suffice.errors import ForgetError
from suffice.typing import Array, Codes, Floats

# stored rows become K matrices if these have at most this many numbers, otherwise one matrix
MOST_NUMBERS = 1 << 27


class CentredRows(NamedTuple):
    """Rows sorted by class, minus their class means."""

    rows: Floats  # z = x − μ_k  (r, d)
    weights: Floats  # w  (r,)
    codes: Codes  # class of each row  (r,)


class ClassSums(NamedTuple):
    """Means and sums of squares of the rows of each class; the arrays are read-only."""

    means: Floats  # μ, high part; zero without rows  (K, d)
    means_low: Floats  # μ, low part  (K, d)
    squares: Floats  # Σ w (x − μ)²  (K, d)


@dataclass(frozen=True, eq=False)
class RowScatter:
    """M_k = Σ w (x − μ_k)(x − μ_k)ᵀ, stored as the rows x of class k and their weights w.

    These sums contain the rows themselves, so they are not private.
    """

    rows: Array  # x, sorted by class  (r, d), float32 or float64
    row_weights: Floats  # w > 0  (r,)
    codes: Codes  # class of each row  (r,)
    n_classes: int
    storage: ClassVar[Literal["rows"]] = "rows"

    @classmethod
    def of(
        cls,
        rows: Array,
        row_weights: Floats,
        codes: Codes,
        n_classes: int,
    ) -> RowScatter:
        """Return the scatter of rows in any order."""
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        if np.any(codes[1:] < codes[:-1]):
            order = np.argsort(codes, kind="stable")
            rows = rows[order]
            row_weights = row_weights[order]
            codes = codes[order]
        return cls(rows, row_weights, codes, n_classes)

    @property
    def values(self) -> Array:
        """The rows, (r, d)."""
        return self.rows

    @property
    def n_features(self) -> int:
        return int(self.rows.shape[1])

    @property
    def has_few_rows(self) -> bool:
        """Whether there are fewer rows than features, so that the rows' Gram matrix is small."""
        return len(self.rows) < self.n_features

    @property
    def becomes(self) -> Literal["per-class", "pooled"]:
        """The dense storage that replaces the rows when the rows hold more numbers."""
        n_numbers = self.n_classes * self.n_features**2
        return "per-class" if n_numbers <= MOST_NUMBERS else "pooled"

    @property
    def is_outgrown(self) -> bool:
        """Whether the rows hold more numbers than the dense storage would."""
        n_matrices = self.n_classes if self.becomes == "per-class" else 1
        return len(self.rows) > n_matrices * self.n_features

    def rows_of(self, k: int) -> slice:
        """Return the slice of ``rows`` that holds the rows of class k."""
        lo, hi = np.searchsorted(self.codes, [k, k + 1])
        return slice(int(lo), int(hi))

    def centred(self, out: Floats | None = None) -> CentredRows:
        """Return the rows minus their class means, written to the start of ``out`` if given."""
        z = np.empty(self.rows.shape) if out is None else out[: len(self.rows)]
        for k in np.unique(self.codes):
            block = self.rows_of(int(k))
            self._centre(block, z[block])
        return CentredRows(z, self.row_weights, self.codes)

    def contrasts(self, out: Floats) -> Floats:
        """Return T with TᵀT = Σ_k M_k, for each class one row fewer than it has; uses ``out``."""
        start = 0
        for k in np.unique(self.codes):
            block = self.rows_of(int(k))
            roots = np.sqrt(self.row_weights[block])
            z = out[start : start + len(roots)]
            self._centre(block, z)
            z *= roots[:, None]
            start += len(contrasts(z, roots))
        return out[:start]

    def means(self) -> tuple[Floats, Floats]:
        """Return the class means (K, d) in two parts, high and low, or zero for empty classes."""
        return self._class_sums.means, self._class_sums.means_low

    @cached_property
    def _class_sums(self) -> ClassSums:
        """Means and sums of squares of each class, cached since a fit reads them repeatedly."""
        means = np.zeros((self.n_classes, self.n_features))
        means_low = np.zeros_like(means)
        squares = np.zeros_like(means)
        for k in np.unique(self.codes):
            block = self.rows_of(int(k))
            z = np.empty(self.rows[block].shape)
            offset = self._centre(block, z)
            first_row = np.asarray(self.rows[block.start], np.float64)
            means[k], means_low[k] = two_sum(first_row, offset)
            np.square(z, out=z)
            squares[k] = self.row_weights[block] @ z
        for array in (means, means_low, squares):
            array.flags.writeable = False
        return ClassSums(means, means_low, squares)

    def _centre(self, block: slice, out: Floats) -> Floats:
        """Write the rows of a class minus their mean; return the mean minus the first row, (d,)."""
        # subtract the first row before the mean, so that no digits are lost if the mean is large
        np.subtract(self.rows[block], self.rows[block.start], out=out, dtype=np.float64)
        weights = self.row_weights[block]
        if not weights.any():  # the divisor "averaged" gives no weight to a class with one row
            weights = np.ones(len(weights))
        share = weights / weights.sum()
        offset = np.zeros(self.n_features)
        for _ in range(2):  # the second pass corrects the rounding of the first
            correction = share @ out
            out -= correction
            offset += correction
        return offset

    def per_class(self) -> Floats:
        """Return M_k, shape (K, d, d)."""
        d = self.n_features
        scatters = np.zeros((self.n_classes, d, d))
        z, w, _ = self.centred()
        for k in range(self.n_classes):
            block = self.rows_of(k)
            scatters[k] = (w[block, None] * z[block]).T @ z[block]
        return scatters

    def pooled(self) -> Floats:
        """Return Σ_k M_k, shape (d, d)."""
        z, w, _ = self.centred()
        z *= np.sqrt(w)[:, None]
        return z.T @ z

    def diagonals(self) -> Floats:
        """Return diag M_k, shape (K, d), read-only."""
        return self._class_sums.squares

    def pooled_diagonal(self) -> Floats:
        """Return the diagonal of Σ_k M_k, shape (d,)."""
        return np.asarray(self.diagonals().sum(0))

    def by_class(self, change: Callable[[Array], Array]) -> RowScatter:
        """Return the scatter of other classes; ``change`` maps arrays with an entry per class."""
        # apply ``change`` to class numbers plus 1; a class without rows gets 0
        sources = change(np.arange(1, self.n_classes + 1)) - 1
        places = [np.flatnonzero(self.codes == k) for k in sources]
        taken = np.concatenate([np.zeros(0, np.intp), *places])
        sizes = [len(place) for place in places]
        return replace(
            self,
            rows=self.rows[taken],
            row_weights=self.row_weights[taken],
            codes=np.repeat(np.arange(len(sources)), sizes),
            n_classes=len(sources),
        )

    def select(self, columns: Codes) -> RowScatter:
        """Return the rows of some features only."""
        return replace(self, rows=self.rows[:, columns])

    def mapped(self, T: Floats) -> RowScatter:
        """Return the scatter of T x."""
        return replace(self, rows=self.rows @ T.T)

    def scaled_by_class(self, factors: Floats) -> RowScatter:
        """Return f_k M_k."""
        return replace(self, row_weights=factors[self.codes] * self.row_weights)

    def shifted(self, weights: Floats, deltas: Floats) -> RowScatter:  # noqa: ARG002
        """Return the rows unchanged, since their scatter includes the shift of the means."""
        return self

    def plus(self, other: RowScatter) -> RowScatter:
        """Return these rows together with the rows of ``other``."""
        return RowScatter.of(
            rows=np.concatenate([self.rows, other.rows]),
            row_weights=np.concatenate([self.row_weights, other.row_weights]),
            codes=np.concatenate([self.codes, other.codes]),
            n_classes=self.n_classes,
        )

    def minus(self, other: RowScatter) -> RowScatter:
        """Return the rows without the rows of ``other``, or raise if one of these is not found."""
        kept = np.ones(len(self.rows), bool)
        places: dict[bytes, list[int]] = {}
        precision = min(self.rows.dtype, other.rows.dtype)  # the lower of the two precisions
        for i, key in enumerate(self._keys(precision)):
            places.setdefault(key, []).append(i)
        for i, key in enumerate(other._keys(precision)):
            same = places.get(key)
            if not same:
                raise ForgetError(
                    f"cannot forget row {i} (counted from 0, in the order of the classes): no row "
                    "of its class has the same numbers and weight, so this row was never added. "
                    "Pass only rows that were added"
                )
            kept[same.pop()] = False
        return replace(
            self,
            rows=self.rows[kept],
            row_weights=self.row_weights[kept],
            codes=self.codes[kept],
        )

    def _keys(self, precision: np.dtype[np.floating]) -> list[bytes]:
        """Return a key for each row, which is the same for equal rows."""
        # adding zero turns −0 into 0
        rows = self.rows.astype(precision) + np.zeros(1, precision)
        keys = []
        for row, weight, code in zip(rows, self.row_weights, self.codes, strict=True):
            keys.append(b"%d %r " % (code, float(weight).hex()) + row.tobytes())
        return keys
