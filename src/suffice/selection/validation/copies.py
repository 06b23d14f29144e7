"""Rows with the same features: none may be both a training row and a held-out row of a fold."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from suffice.core.table import Table
from suffice.typing import Array, Codes, Flags

MOST_COMPARED = 20_000_000  # numbers that a search for near copies reads
FEWEST_DISTINCT = 10  # different rows, below which equal rows are values that recur


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """Which rows have the same features, where that is more than coincidence."""

    set_of: Codes  # rows of one set have the same features  (n,)
    n_rows: int  # rows that repeat an earlier one
    n_distinct: int

    @classmethod
    def of(cls, table: Table) -> Self | None:
        """Return the sets of identical rows, None where rows differ or agree by coincidence.

        Rows of few values agree by coincidence, as those of a table of counts do. Then still more
        pairs of rows agree in all columns but one. Copies agree in every column.
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
        """Return the sets among some of the rows."""
        return type(self)(self.set_of[rows], self.n_rows, self.n_distinct)

    def is_seen(self, train: Codes, test: Codes) -> Flags:
        """Return which rows of a test have a copy among the training rows, (m,)."""
        return np.isin(self.set_of[test], self.set_of[train])


def joined_groups(groups: Codes | None, sets: Codes) -> Codes:
    """Return codes of rows that share a group or a set of copies, also by way of others, (n,)."""
    if groups is None:
        return sets
    n_groups = int(groups.max()) + 1
    n_sets = int(sets.max()) + 1
    # a graph of groups and sets, with an edge for each row
    edges = coo_array(
        (np.ones(len(sets)), (groups, n_groups + sets)), shape=(n_groups + n_sets,) * 2
    )
    _, parts = connected_components(edges, directed=False)
    _, joined = np.unique(parts[groups], return_inverse=True)
    return np.asarray(joined, np.intp)


def _feature_columns(table: Table) -> list[Array]:
    """Return the columns of all features: numbers, then codes of levels."""
    columns = list(np.asarray(table.x).T)
    if table.indicators is not None:
        columns += list(table.indicators.T)
    return columns


def row_hashes(table: Table) -> Array:
    """Return a hash of the features of each row, (n,)."""
    columns = _feature_columns(table)
    # The hash Σ_j a_j b_j mod 2⁶⁴ of the mixed bits b_j, with a_j odd, differs between different
    # rows but for one pair in 10¹⁹.
    hashes = np.zeros(table.n_rows, np.uint64)
    for factor, column in zip(_factors(len(columns)), columns, strict=True):
        hashes += factor * _mixed_bits(column)
    return hashes


def _factors(n_columns: int) -> Array:
    return np.random.default_rng(0).integers(1, 2**63, n_columns, np.uint64) * 2 + 1


def _mixed_bits(column: Array) -> Array:
    """Return 64 bits of each number, the same for 0 and −0, and for every NaN.

    Integers end in 52 bits of zero, which a product would keep: each bit is first spread over all,
    one to one, by the last steps of SplitMix64 (Steele, Lea & Flood 2014).
    """
    numbers = np.asarray(column, np.float64) + 0.0
    numbers = np.where(np.isnan(numbers), np.nan, numbers)
    bits = numbers.view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _n_equal_pairs(hashes: Array) -> int:
    """Return how many pairs of rows have the same hash."""
    _, sizes = np.unique(hashes, return_counts=True)
    return int((sizes * (sizes - 1) // 2).sum())


def _n_near_pairs(columns: list[Array], hashes: Array, enough: int) -> float:
    """Return how many pairs of rows differ in one column only, counted up to ``enough``."""
    n_columns = len(columns)
    n_read = min(n_columns, max(MOST_COMPARED // len(hashes), 10))
    chosen = np.linspace(0, n_columns - 1, n_read).astype(int)
    factors = _factors(n_columns)
    n_equal = _n_equal_pairs(hashes)
    n_near = 0.0
    for j in chosen:
        # the hash without column j: Σ_i a_i b_i − a_j b_j
        without = hashes - factors[j] * _mixed_bits(columns[j])
        n_near += (_n_equal_pairs(without) - n_equal) * n_columns / n_read
        if n_near >= enough:
            break
    return n_near
