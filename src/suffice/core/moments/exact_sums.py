"""Exact sums: sums of integers on a grid, so that ``+`` and ``-`` never round.

``rounding_grid.py`` rounds a row to q, integer steps of the grid. ``halves`` splits q into hi and
lo, so that float64 adds the products of 2¹² rows without rounding. ``exact_products.py`` computes
the sums of products P and the sums s. ``ExactSums`` adds and subtracts P and s as integers modulo
2¹²⁸, and rounds the scatter M once:

    q = 2²⁰ hi + lo,  hi = round(q / 2²⁰)
    P = Σ w q qᵀ = Σ w (2⁴⁰ hi hiᵀ + 2²⁰ (hi loᵀ + lo hiᵀ) + lo loᵀ),  s = Σ w q
    hi loᵀ + lo hiᵀ = (hi + lo)(hi + lo)ᵀ − hi hiᵀ − lo loᵀ
    M = (n P − s sᵀ) / n

The digest is the SHA-256 of a canonical form: the schema, the sorted classes, the grid and the
integers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from suffice.core.moments.int128 import Int128, Integers, Pair
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.core.moments.scatter import PerClassScatter, PooledScatter, Storage
from suffice.core.table.labels import union
from suffice.errors import FeatureMismatchError, ForgetError, InvalidInputError
from suffice.typing import Array, Codes, Flags, Floats, Labels

HALF = 20  # number of bits in the lower half of q; |hi|, |lo| ≤ 2¹⁹
MOST_WEIGHT = 1 << 48  # largest Σ w for which sums of products fit into 127 bits
_DIGEST_NAME = "suffice exact sums 1"
_NUMBERS_AT_ONCE = 1 << 14  # numbers that are converted to floats together
# a pair of floats cannot resolve smaller relative distances from the middle of two floats
_NEARLY_HALF = 2.0**-95


def halves(q: Floats) -> tuple[Floats, Floats]:
    """Return hi and lo, integers up to ± 2¹⁹, of values in steps of the grid."""
    # q = 2²⁰ hi + lo,  hi = round(q / 2²⁰); compiled: ``exact_product_loops.split``
    upper = np.rint(q * 0.5**HALF)
    lower = q - upper * 2.0**HALF
    return upper, lower


@dataclass(frozen=True, slots=True, eq=False)
class ExactSums:
    """Σ w, Σ w q and Σ w q qᵀ of each class, where q are values in steps of a grid.

    ``+`` and ``-`` in any order give the same bits.
    """

    grid: RoundingGrid
    classes: Labels  # sorted  (K,)
    counts: Codes  # number of rows with positive weight  (K,)
    weights: Integers  # Σ w  (K,)
    sums: Int128  # s = Σ w q  (K, d)
    products: Int128  # P = Σ w q qᵀ  (K, d, d), or its sum over all classes (1, d, d)
    storage: Storage  # "per-class" or "pooled"

    def __add__(self, other: ExactSums) -> ExactSums:
        a, b = _aligned(self, other)
        weights = a.weights + b.weights
        refuse_large_weight(int(weights.sum()))
        return replace(
            a,
            counts=a.counts + b.counts,
            weights=weights,
            sums=a.sums + b.sums,
            products=a.products + b.products,
        )

    def __sub__(self, other: ExactSums) -> ExactSums:
        a, b = _aligned(self, other)
        rest = replace(
            a,
            counts=a.counts - b.counts,
            weights=a.weights - b.weights,
            sums=a.sums - b.sums,
            products=a.products - b.products,
        )
        _refuse_never_added(a, b, rest)
        return rest

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.grid.n_features

    def with_classes(self, classes: Labels) -> ExactSums:
        """Return the sums with more classes, in the given order; a new class has no rows."""
        if np.array_equal(classes, self.classes):
            return self
        places = np.searchsorted(classes, self.classes.astype(classes.dtype))

        def moved(values: Array) -> Array:
            out = np.zeros((len(classes), *values.shape[1:]), values.dtype)
            out[places] = values
            return out

        return replace(
            self,
            classes=classes,
            counts=moved(self.counts),
            weights=moved(self.weights),
            sums=_changed(self.sums, moved),
            products=(
                _changed(self.products, moved)
                if self.storage == "per-class"
                else self.products
            ),
        )

    def select(self, columns: Codes) -> ExactSums:
        """Return the sums of some features."""
        return replace(
            self,
            grid=self.grid.select(columns),
            sums=_changed(self.sums, lambda values: values[:, columns]),
            products=_changed(
                self.products, lambda values: values[:, columns[:, None], columns]
            ),
        )

    def digest(self, feature_names: tuple[str, ...] | None) -> str:
        """Return the SHA-256 of the canonical form, in hexadecimal digits.

        Sums of the same rows, on the same grid and with the same features, have the same digest:
        the order in which rows were added and removed does not matter. Classes without rows are
        ignored.
        """
        present = np.flatnonzero(self.counts)
        header = {
            "name": _DIGEST_NAME,
            "classes": [_plain_label(label) for label in self.classes[present].tolist()],
            "features": self.n_features if feature_names is None else feature_names,
            "grid": self.grid.to_json(),
            "storage": self.storage,
        }
        sha = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
        sha.update(Int128.of(self.counts[present]).to_bytes())
        sha.update(Int128.of(self.weights[present]).to_bytes())
        sha.update(self.sums[present].to_bytes())
        groups = present if self.storage == "per-class" else np.arange(1)
        lower = np.tril_indices(self.n_features)
        for g in groups.tolist():
            sha.update(self.products[(g, *lower)].to_bytes())
        return sha.hexdigest()

    # --- read-out ----------------------------------------------------------------------------

    def means(self) -> tuple[Floats, Floats]:
        """Return μ = origin + 2^e s / n, rounded, and its rounding error, both (K, d)."""
        has_rows = self.weights[:, None] > 0
        n = np.where(has_rows, self.weights[:, None], 1).astype(np.float64)
        offsets = self.sums.to_pair().divided(np.broadcast_to(n, self.sums.shape))
        offsets = offsets.scaled(np.broadcast_to(self.grid.exponents, self.sums.shape))
        means = Pair.of(np.broadcast_to(self.grid.origins, self.sums.shape).copy()) + offsets
        high = np.where(has_rows, means.high, 0.0)
        low = np.where(has_rows, means.low, 0.0)
        for k, j in np.argwhere(_is_near_tie(means) & has_rows).tolist():
            exact = _mean(self, k, j)
            high[k, j] = float(exact)
            low[k, j] = float(exact - Fraction(float(exact)))
        return high, low

    def scatter(self) -> PerClassScatter | PooledScatter:
        """Return M = P − s sᵀ / n in units of the features, rounded once; computed when read."""
        read_out = ExactScatter(self)
        if self.storage == "pooled":
            return PooledScatter(read_out)
        return PerClassScatter(read_out)

    def scatter_values(self) -> Floats:
        """Return M (K, d, d), or its sum over all classes (d, d), in the units of the features."""
        i, j = np.tril_indices(self.n_features)
        exponents = self.grid.exponents[i] + self.grid.exponents[j]
        n_groups = self.products.shape[0]
        values = np.zeros((n_groups, self.n_features, self.n_features))
        # convert a few classes at a time, so that intermediate results stay in the cache
        n_at_once = max(_NUMBERS_AT_ONCE // max(len(i), 1), 1)
        for lo in range(0, n_groups, n_at_once):
            some = slice(lo, lo + n_at_once)
            sums = self if self.storage == "pooled" else self._of_classes(some)
            rounded = np.ldexp(sums._scatter_in_steps(i, j).high, exponents)
            values[some][:, i, j] = rounded
            values[some][:, j, i] = rounded
        return values[0] if self.storage == "pooled" else values

    def _of_classes(self, some: slice) -> ExactSums:
        return replace(
            self,
            classes=self.classes[some],
            counts=self.counts[some],
            weights=self.weights[some],
            sums=self.sums[some],
            products=self.products[some],
        )

    def has_negative_squares(self) -> bool:
        """Return whether a sum of squares about the mean is negative, which is impossible."""
        j = np.arange(self.n_features)
        return bool(np.any(self._scatter_in_steps(j, j).high < 0))

    def _scatter_in_steps(self, i: Codes, j: Codes) -> Pair:
        """Return the elements (i, j) of M in steps of the grid, as pairs of floats."""
        centred, remainders = self._centred(i, j)
        n = np.maximum(self.weights, 1).astype(np.float64)
        # Σ w (q − c)(q − c)ᵀ − s sᵀ / n, where s = Σ w (q − c) is small
        s = Int128.of(remainders)
        corrections = (s[:, i] * s[:, j]).to_pair()
        corrections = corrections.divided(np.broadcast_to(n[:, None], corrections.high.shape))
        scatter = centred.to_pair()
        if self.storage == "pooled":
            for k in range(len(self.classes)):
                scatter = scatter - Pair(corrections.high[[k]], corrections.low[[k]])
            return scatter
        scatter = scatter - corrections
        self._round_ties(scatter, centred, remainders, i, j)
        return scatter

    def _centred(self, i: Codes, j: Codes) -> tuple[Int128, Integers]:
        """Return Σ w (q_i − c_i)(q_j − c_j) for integers c near the mean, and Σ w (q − c)."""
        n = np.maximum(self.weights, 1)[:, None]
        c = Int128.of(np.rint(self.sums.to_pair().high / n))
        s = self.sums
        remainder = s - Int128.of(np.broadcast_to(self.weights[:, None], s.shape)) * c
        # Σ w (q − c)(q − c)ᵀ = P − c sᵀ − s cᵀ + n c cᵀ = P − c sᵀ − (s − n c) cᵀ
        moved = c[:, i] * s[:, j] + remainder[:, i] * c[:, j]
        if self.storage == "pooled":
            moved = moved.sum(0)[None]
        return self.products[:, i, j] - moved, remainder.to_int64()

    def _round_ties(
        self, scatter: Pair, centred: Int128, remainders: Integers, i: Codes, j: Codes
    ) -> None:
        """Round the values that lie too close to the middle of two floats, with exact fractions."""
        for k, t in np.argwhere(_is_near_tie(scatter)).tolist():
            n = max(int(self.weights[k]), 1)
            # M = (n P − s sᵀ) / n, with P and s about the centre c
            top = n * centred.item(k, t) - int(remainders[k, i[t]]) * int(remainders[k, j[t]])
            scatter.high[k, t] = float(Fraction(top, n))


@dataclass(frozen=True, eq=False)
class ExactScatter:
    """The scatter of exact sums, computed when it is first read, since most sums are only added."""

    exact: ExactSums

    @cached_property
    def values(self) -> Floats:
        """M (K, d, d), or its sum over all classes (d, d)."""
        values = self.exact.scatter_values()
        values.flags.writeable = False
        return values


def refuse_large_weight(total: int) -> None:
    """Raise if sums of products with this total weight might not fit into 127 bits."""
    if total > MOST_WEIGHT:
        raise InvalidInputError(
            f"the weights add up to {total:,}, and exact sums hold at most {MOST_WEIGHT:,}: divide "
            "the weights by a common factor"
        )


def _plain_label(label: object) -> object:
    """Return a label, but 1 for the float 1.0, since sources may give either."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _changed(numbers: Int128, change: Callable[[Array], Array]) -> Int128:
    return Int128(high=change(numbers.high), low=change(numbers.low))


def _is_near_tie(pair: Pair) -> Flags:
    """Return whether each pair is too close to the middle of two floats to round safely."""
    half = 0.5 * np.spacing(np.abs(pair.high))
    distance = np.abs(np.abs(pair.low) - half)
    return np.asarray((distance <= _NEARLY_HALF * np.abs(pair.high)) & (pair.low != 0))


def _mean(sums: ExactSums, k: int, j: int) -> Fraction:
    step = Fraction(2) ** int(sums.grid.exponents[j])
    offset = Fraction(sums.sums.item(k, j), int(sums.weights[k]))
    return Fraction(float(sums.grid.origins[j])) + step * offset


def _aligned(a: ExactSums, b: ExactSums) -> tuple[ExactSums, ExactSums]:
    """Return both sums with the union of their classes, or raise if the sums cannot be added."""
    if a.n_features != b.n_features:
        raise FeatureMismatchError(
            f"exact sums of {a.n_features} and {b.n_features} features cannot be combined: "
            "collect the same columns on both sides"
        )
    if not a.grid.equals(b.grid):
        differs = (a.grid.origins != b.grid.origins) | (a.grid.exponents != b.grid.exponents)
        j = int(np.argmax(differs))
        origin = float(a.grid.origins[j])
        other_origin = float(b.grid.origins[j])
        raise FeatureMismatchError(
            f"exact sums on different grids cannot be combined (feature {j} has steps of "
            f"2^{a.grid.exponents[j]} from {origin!r} on one side and "
            f"2^{b.grid.exponents[j]} from {other_origin!r} on the other): collect all parts "
            "with one grid"
        )
    if a.storage != b.storage:
        raise FeatureMismatchError(
            f"exact sums with {a.storage} and {b.storage} scatter cannot be combined: collect "
            "all parts with the same storage"
        )
    classes = union(a.classes, b.classes)
    return a.with_classes(classes), b.with_classes(classes)


def _refuse_never_added(total: ExactSums, part: ExactSums, rest: ExactSums) -> None:
    """Raise if the rows of ``part`` cannot all be rows of ``total``."""
    has_more = (rest.counts < 0) | (rest.weights < rest.counts)
    if has_more.any():
        k = int(np.argmax(has_more))
        raise ForgetError(
            f"class {total.classes[k].item()!r} has {total.counts[k]} rows of weight "
            f"{total.weights[k]}, so {part.counts[k]} rows of weight {part.weights[k]} cannot be "
            "forgotten: forget only rows that were added"
        )
    has_no_rows = rest.counts == 0
    is_impossible = has_no_rows & (~rest.sums.is_zero.all(1) | (rest.weights != 0))
    if rest.storage == "per-class":
        is_left = ~rest.products[has_no_rows].is_zero.all((1, 2))
        is_impossible[has_no_rows] |= is_left
    elif has_no_rows.all():
        is_impossible |= not rest.products.is_zero.all()
    if is_impossible.any():
        k = int(np.argmax(is_impossible))
        raise ForgetError(
            f"all rows of class {total.classes[k].item()!r} would be forgotten, but their sums "
            "differ from those that were added: forget only rows that were added"
        )
    if rest.has_negative_squares():
        raise ForgetError(
            "the rows that would remain have a negative sum of squares, so some of the rows to "
            "forget were never added: forget only rows that were added"
        )
