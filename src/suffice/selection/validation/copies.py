"""Find rows with the same features, which belong in the same fold."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from suffice.core.table import Table
from suffice.typing import Array, Codes, Flags

MOST_COMPARED = 20_000_000  # limit on the cells read in the search for near copies
FEWEST_DISTINCT = 10  # with fewer distinct rows, equal rows are coincidences, not copies


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """Which rows have the same features, if this is not a coincidence."""

    set_of: Codes  # number of each row's set; the rows of a set have the same features (n,)
    n_rows: int  # number of rows that equal an earlier row
    n_distinct: int

    @classmethod
    def of(cls, table: Table) -> Self | None:
        """Return the sets of identical rows; None if there are none, or only coincidences.

        Rows with few possible values are equal by coincidence, for example in a table of counts. In
        such a table, even more pairs of rows are equal in all columns except one.
        """
        columns = _feature_columns(table)
        hashes = row_hashes(table)
        n_equal = _n_equal_pairs(hashes)
        if n_equal == 0 or n_equal <= _n_near_pairs(columns, hashes, n_equal):
            return None
        _, set_of = np.unique(hashes, return_inverse=True)
        n_distinct = int(set_of.max()) + 1
        if n_distinct < FEWEST_DISTINCT:
            return None
        return cls(set_of=set_of, n_rows=table.n_rows - n_distinct, n_distinct=n_distinct)

    def among(self, rows: Codes) -> Self:
        """Return the sets, restricted to some rows."""
        return type(self)(self.set_of[rows], self.n_rows, self.n_distinct)

    def has_copy(self, rows: Codes, others: Codes) -> Flags:
        """Return which of the rows (m,) have a copy among ``others``, (m,)."""
        return np.isin(self.set_of[rows], self.set_of[others])


def _feature_columns(table: Table) -> list[Array]:
    """Return the columns of all features: numbers, then codes of levels."""
    columns = list(np.asarray(table.x).T)
    if table.indicators is not None:
        columns += list(table.indicators.T)
    return columns


def row_hashes(table: Table) -> Array:
    """Return a hash of the features of each row, (n,)."""
    columns = _feature_columns(table)
    # The hash is Σ_j a_j b_j mod 2⁶⁴, where a_j is odd and b_j are the mixed bits. Distinct rows
    # have the same hash with a probability of about 10⁻¹⁹.
    hashes = np.zeros(table.n_rows, np.uint64)
    for factor, column in zip(_factors(len(columns)), columns, strict=True):
        hashes += factor * _mixed_bits(column)
    return hashes


def _factors(n_columns: int) -> Array:
    return np.random.default_rng(0).integers(1, 2**63, n_columns, np.uint64) * 2 + 1


def _mixed_bits(column: Array) -> Array:
    """Return 64 bits of each number; 0 and −0 have the same bits, and so does every NaN.

    As doubles, integers end in many zero bits, which multiplication would preserve. The last steps
    of SplitMix64 (Steele, Lea & Flood 2014) therefore first mix all bits, one to one.
    """
    numbers = np.asarray(column, np.float64) + 0.0
    numbers = np.where(np.isnan(numbers), np.nan, numbers)
    bits = numbers.view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _n_equal_pairs(hashes: Array) -> int:
    """Return the number of pairs of rows with the same hash."""
    _, sizes = np.unique(hashes, return_counts=True)
    return int((sizes * (sizes - 1) // 2).sum())


def _n_near_pairs(columns: list[Array], hashes: Array, enough: int) -> float:
    """Return the number of pairs of rows that differ in one column only; stop at ``enough``."""
    n_columns = len(columns)
    n_read = min(n_columns, max(MOST_COMPARED // len(hashes), 10))
    chosen = np.linspace(0, n_columns - 1, n_read).astype(int)
    factors = _factors(n_columns)
    n_equal = _n_equal_pairs(hashes)
    n_near = 0.0
    for j in chosen:
        # hash without column j: Σ_i a_i b_i − a_j b_j
        without = hashes - factors[j] * _mixed_bits(columns[j])
        n_near += (_n_equal_pairs(without) - n_equal) * n_columns / n_read
        if n_near >= enough:
            break
    return n_near
