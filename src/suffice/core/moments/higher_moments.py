"""Third and fourth moments of each numeric column, over the rows of all classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.core.moments.scatter import as_columns
from suffice.core.table import Table
from suffice.core.table.matrix import is_by_column
from suffice.core.threads import over_chunks
from suffice.typing import Codes, Flags, Floats

_BLOCK_CELLS = 1 << 15  # numbers processed at once
_MANY_CELLS = 200_000  # with fewer numbers, NumPy is faster than loading the compiled loops


class PowerSums(NamedTuple):
    """Σ w zᵖ of G groups of rows, where z = x − shift, with one shift for each group."""

    weights: Floats  # p = 0  (G,), or one for each column (G, d)
    shifts: Floats  # (G, d)
    sums: Floats  # p = 1  (G, d)
    squares: Floats  # p = 2  (G, d)
    cubes: Floats  # p = 3  (G, d)
    fourths: Floats  # p = 4  (G, d)

    def of_observed(self, observed: Flags) -> PowerSums:
        """Return the sums of the first F groups, given the columns that their rows have, (F, d)."""
        first = slice(len(observed))
        return PowerSums(
            weights=self.weights[first, None] * observed,
            shifts=self.shifts[first],
            sums=self.sums[first],
            squares=self.squares[first],
            cubes=self.cubes[first],
            fourths=self.fourths[first],
        )


@dataclass(frozen=True, slots=True, eq=False)
class HigherMoments:
    """Sums of powers of each column about its mean, over the rows that have the column.

    Sums that are not known are NaN, and so is every total that includes such sums.
    Pébay (2008), *Sandia Report* SAND2008-6212, equations 2.1 and 3.1.
    """

    weights: Floats  # w = Σ w_i  (d,)
    means: Floats  # μ  (d,)
    squares: Floats  # Σ w (x − μ)²  (d,)
    cubes: Floats  # Σ w (x − μ)³  (d,)
    fourths: Floats  # Σ w (x − μ)⁴  (d,)

    @classmethod
    def unknown(cls, n_columns: int) -> HigherMoments:
        """Return moments of columns whose sums are not known: NaN."""
        return cls.of_powers(np.full((5, n_columns), np.nan), np.zeros(n_columns))

    @classmethod
    def of_powers(cls, powers: Floats, origin: Floats) -> HigherMoments:
        """Return the moments, given ``powers`` (5, d): Σ w zᵖ, p = 0 … 4, z = x − origin."""
        w, s1, s2, s3, s4 = powers
        # m = Σ w z / w
        m = np.divide(s1, w, out=np.zeros_like(w), where=w != 0)
        return cls(
            weights=w,
            means=origin + m,
            # Σ w (z − m)²
            squares=s2 - m * s1,
            # Σ w (z − m)³, by Horner's rule
            cubes=s3 - m * (3 * s2 - m * (2 * s1)),
            # Σ w (z − m)⁴
            fourths=s4 - m * (4 * s3 - m * (6 * s2 - m * (3 * s1))),
        )

    @classmethod
    def of_pooled(
        cls,
        weights: Floats,
        shifts: Floats,
        sums: Floats,
        squares: Floats,
        origin: Floats,
        cubes: Floats,
        fourths: Floats,
    ) -> HigherMoments:
        """Return the moments over all classes, given sums about the class shifts and an origin.

        ``sums`` (K, d) holds Σ w z with z = x − shift of the class, and ``squares`` (d,) holds
        Σ w z² over all classes. ``cubes`` and ``fourths`` (d,) are sums of powers of x − origin.
        """
        # a later check reports an overflow with its row and column
        with np.errstate(over="ignore", invalid="ignore"):
            w = weights[:, None]
            e = np.where(w > 0, shifts - origin, 0.0)
            we = w * e
            s0 = np.full(len(origin), weights.sum())
            # Σ w (z + e) and Σ w (z + e)², the sums about the origin, where e = shift − origin
            s1 = (sums + we).sum(0)
            s2 = squares + (e * (2 * sums + we)).sum(0)
            return cls.of_powers(np.stack([s0, s1, s2, cubes, fourths]), origin)

    @classmethod
    def of_chunks(
        cls, chunks: Sequence[HigherMoments | PowerSums | None]
    ) -> HigherMoments | None:
        """Return the moments of all rows from sums of chunks, or None if a chunk has no sums."""
        parts = [chunk for chunk in chunks if isinstance(chunk, HigherMoments)]
        groups = [chunk for chunk in chunks if isinstance(chunk, PowerSums)]
        if len(parts) + len(groups) < len(chunks):
            return None
        if groups:
            parts.append(cls.of_groups(groups))
        return cls.of_parts(parts)

    @classmethod
    def of_groups(cls, chunks: Sequence[PowerSums]) -> HigherMoments:
        """Return the moments of all rows, given the sums of groups of rows in each chunk."""
        w0, shifts, s1, s2, s3, s4 = (
            np.concatenate(sums) for sums in zip(*chunks, strict=True)
        )
        # a later check reports an overflow with its row and column
        with np.errstate(over="ignore", invalid="ignore"):
            w = as_columns(w0)
            total = w.sum(0)
            pivot = shifts[np.argmax(w, axis=0), np.arange(shifts.shape[1])]
            offsets = np.where(w > 0, shifts - pivot, 0.0)
            sums_about_pivot = (s1 + w * offsets).sum(0)
            mean = pivot + np.divide(
                sums_about_pivot, total, out=np.zeros_like(pivot), where=total > 0
            )
            # Σ w (z + e)ᵖ with e = shift − μ, by Horner's rule
            e = np.where(w > 0, shifts - mean, 0.0)
            we = w * e
            return cls(
                weights=np.broadcast_to(total, mean.shape).copy(),
                means=mean,
                squares=(s2 + e * (2 * s1 + we)).sum(0),
                cubes=(s3 + e * (3 * s2 + e * (3 * s1 + we))).sum(0),
                fourths=(s4 + e * (4 * s3 + e * (6 * s2 + e * (4 * s1 + we)))).sum(0),
            )

    @classmethod
    def of_rows(cls, x: Floats, w: Floats) -> HigherMoments:
        """Return the moments of complete rows (n, d), given their weights (n,)."""
        n_rows, n_columns = x.shape
        weight = np.add.reduce(w)
        means = w @ x / weight if weight > 0 else np.zeros(n_columns)
        sums = np.zeros((3, n_columns))
        step = max(_BLOCK_CELLS // max(n_columns, 1), 1)
        for lo in range(0, n_rows, step):
            z = x[lo : lo + step] - means
            sums += _power_sums(z, w[lo : lo + step])
        squares, cubes, fourths = sums
        return cls(
            weights=np.full(n_columns, weight),
            means=means,
            squares=squares,
            cubes=cubes,
            fourths=fourths,
        )

    @classmethod
    def of_incomplete(cls, table: Table) -> HigherMoments:
        """Return the moments of each numeric column, over the rows that have a value in it."""
        n_columns = table.x.shape[1]
        block = max(_BLOCK_CELLS // max(n_columns, 1), 1)
        sums_between = _compiled_sums if table.x.size > _MANY_CELLS else _numpy_sums
        chunks = over_chunks(lambda lo, hi: sums_between(table, lo, hi, block), table.n_rows)
        sums = np.concatenate([np.zeros((1, 5, n_columns)), *chunks])
        return cls.of_parts([cls(*of_block) for of_block in sums])

    @classmethod
    def of_parts(cls, parts: Sequence[HigherMoments]) -> HigherMoments:
        """Return the moments of all rows, given the moments of parts of the rows."""
        if len(parts) == 1:
            return parts[0]
        stacked = np.stack([part.as_array() for part in parts], axis=1)
        of_parts = cls(*stacked)  # each field (n_parts, d)
        w = of_parts.weights.sum(0)
        # μ = μ_1 + Σ_i w_i (μ_i − μ_1)/w, where part 1 is the first with rows
        first = of_parts.means[np.argmax(of_parts.weights > 0, axis=0), np.arange(len(w))]
        steps = np.where(of_parts.weights == 0, 0.0, of_parts.means - first)
        moved = (of_parts.weights * steps).sum(0)
        mean = first + np.divide(moved, w, out=np.zeros_like(w), where=w != 0)
        e = np.where(of_parts.weights == 0, 0.0, of_parts.means - mean)
        about_mean = of_parts._about(e)
        return cls(
            weights=w,
            means=mean,
            squares=about_mean.squares.sum(0),
            cubes=about_mean.cubes.sum(0),
            fourths=about_mean.fourths.sum(0),
        )

    def merged(self, other: HigherMoments, sign: float = 1.0) -> HigherMoments:
        """Return the moments of all rows, or, if ``sign`` is −1, without the rows of ``other``."""
        total = self.weights + sign * other.weights
        # μ = μ_a ± (w_b/w) (μ_b − μ_a); if a has no rows, start from the mean of b
        start = np.where(self.weights == 0, other.means, self.means)
        delta = np.where(other.weights == 0, 0.0, other.means - start)
        share = np.divide(other.weights, total, out=np.zeros_like(total), where=total != 0)
        shift = sign * share * delta
        mine = self._about(-shift)
        others = other._about(delta - shift)
        return HigherMoments(
            weights=total,
            means=start + shift,
            squares=mine.squares + sign * others.squares,
            cubes=mine.cubes + sign * others.cubes,
            fourths=mine.fourths + sign * others.fourths,
        )

    def _about(self, e: Floats) -> HigherMoments:
        """Return the sums of powers of z + e, where z = x − μ, by Horner's rule."""
        we = self.weights * e
        return HigherMoments(
            weights=self.weights,
            means=self.means,
            # Σ w (z + e)²
            squares=self.squares + e * we,
            # Σ w (z + e)³
            cubes=self.cubes + e * (3 * self.squares + e * we),
            # Σ w (z + e)⁴
            fourths=self.fourths + e * (4 * self.cubes + e * (6 * self.squares + e * we)),
        )

    def moved(self, steps: Floats) -> HigherMoments:
        """Return the moments after adding a constant to each column, (d,)."""
        return HigherMoments(
            weights=self.weights,
            means=self.means + steps,
            squares=self.squares,
            cubes=self.cubes,
            fourths=self.fourths,
        )

    def without_cells(self, weights: Floats, values: Floats) -> HigherMoments:
        """Return the moments without filled cells, which have the same value within a column.

        ``weights`` (d,) is the total weight of these cells, ``values`` (d,) their value.
        """
        zero = np.zeros_like(values)
        return self.merged(HigherMoments(weights, values, zero, zero, zero), -1.0)

    def as_array(self) -> Floats:
        """Return the five sums in the order of the fields, (5, d)."""
        return np.stack([self.weights, self.means, self.squares, self.cubes, self.fourths])

    def select(self, columns: Codes) -> HigherMoments:
        """Return columns by position; a position outside the range gives a column of NaN."""
        is_known = (columns >= 0) & (columns < len(self.weights))
        sources = np.where(is_known, columns, 0)

        def chosen(values: Floats) -> Floats:
            if not len(values):
                return np.full(len(columns), np.nan)
            return np.where(is_known, values[sources], np.nan)

        return HigherMoments(
            weights=chosen(self.weights),
            means=chosen(self.means),
            squares=chosen(self.squares),
            cubes=chosen(self.cubes),
            fourths=chosen(self.fourths),
        )

    def without(self, is_lost: Flags) -> HigherMoments:
        """Return the moments with NaN in the columns marked as lost, (d,)."""
        if not is_lost.any():
            return self
        return self.select(np.where(is_lost, -1, np.arange(len(is_lost))))


def _numpy_sums(table: Table, lo: int, hi: int, block: int) -> Floats:
    """Return w, μ and Σ w (x − μ)ᵖ of each block of rows lo … hi−1, over the observed numbers."""
    starts = range(lo, hi, block)
    sums = np.zeros((len(starts), 5, table.x.shape[1]))
    for of_block, start in zip(sums, starts, strict=True):
        end = min(start + block, hi)
        x = table.x[start:end].astype(np.float64)
        w = np.ones(len(x)) if table.weight is None else table.weight[start:end]
        is_missing = np.isnan(x)
        weights = w @ ~is_missing
        totals = w @ np.where(is_missing, 0.0, x)
        means = np.divide(totals, weights, out=np.zeros_like(totals), where=weights != 0)
        of_block[0] = weights
        of_block[1] = means
        of_block[2:] = _power_sums(np.where(is_missing, 0.0, x - means), w)
    return sums


def _compiled_sums(table: Table, lo: int, hi: int, block: int) -> Floats:
    """Return the sums of ``_numpy_sums``, computed by a compiled loop."""
    from suffice.core.compiled import read_only
    from suffice.core.moments.loops import observed_powers

    sums = np.zeros((-(-(hi - lo) // block), 5, table.x.shape[1]))
    x, w = read_only(table.x, np.zeros(0) if table.weight is None else table.weight)
    observed_powers(x, w, lo, hi, block, is_by_column(x), sums)
    return sums


def _power_sums(z: Floats, w: Floats) -> Floats:
    """Return Σ w zᵖ for p = 2, 3, 4, (3, d), of rows z (n, d) with weights w (n,)."""
    sums = np.empty((3, z.shape[1]))
    powers = z * z
    np.matmul(w, powers, out=sums[0])
    powers *= z
    np.matmul(w, powers, out=sums[1])
    powers *= z
    np.matmul(w, powers, out=sums[2])
    return sums


def merged_higher(
    a: HigherMoments | None,
    b: HigherMoments | None,
    sign: float,
) -> HigherMoments | None:
    """Return a + b, or a − b if ``sign`` is −1, or None if either is None."""
    if a is None or b is None:
        return None
    # if a fourth power overflows, the column becomes unknown
    with np.errstate(over="ignore", invalid="ignore"):
        return a.merged(b, sign)
