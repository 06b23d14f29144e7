"""Rows with missing values, sorted by pattern, which is the set of the observed features.

``missing_values.py`` computes the density of the observed features, log N(x_o; μ_o, Σ_oo).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from suffice.core.table.matrix import missing_bits
from suffice.typing import Codes, Flags, Floats

# most rows of a run, the rows of one pattern that a compiled loop scores together
LONGEST_RUN = 32
# a pattern with n rows is scored in runs if n·d³ is below this, otherwise by one factorisation
COMMON = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class MissingPatterns:
    """The patterns of missing features, from complete to empty, and the rows of each pattern."""

    patterns: Flags  # whether each feature was observed  (P, d), distinct
    order: Codes  # the rows, sorted by pattern  (n,)
    starts: Codes  # position in ``order`` at which each pattern begins  (P + 1,)

    @classmethod
    def of(cls, x: Floats) -> MissingPatterns:
        """Return the patterns of rows (n, d), in which NaN is a missing value."""
        # 16-bit integers, which NumPy sorts quickly by counting
        words = missing_bits(x, "<u2")
        order = np.lexsort(words.T)
        sorted_words = words.take(order, axis=0)
        is_new = np.zeros(max(len(x) - 1, 0), bool)
        for word in sorted_words.T:
            is_new |= word[1:] != word[:-1]
        changes = np.flatnonzero(is_new) + 1
        starts = np.zeros(1, np.intp)
        if len(x):
            starts = np.concatenate([[0], changes, [len(x)]])
        first_rows = order[starts[:-1]]
        return cls(~np.isnan(x[first_rows]), order, starts)

    def rows_of(self, p: int) -> Codes:
        """Return the rows of pattern p."""
        return self.order[self.starts[p] : self.starts[p + 1]]

    @property
    def counts(self) -> Codes:
        """Number of rows of each pattern, (P,)."""
        return np.diff(self.starts)

    def places(self) -> Codes:
        """Return the position of each row in ``order``, (n,)."""
        places = np.empty(len(self.order), np.intp)
        places[self.order] = np.arange(len(self.order))
        return places

    def n_observed(self) -> Codes:
        """Return the number of features observed in each row, (n,)."""
        n_observed = np.empty(len(self.order), np.intp)
        n_observed[self.order] = np.repeat(self.patterns.sum(1), self.counts)
        return n_observed

    def runs(self) -> tuple[Codes, Codes]:
        """Return the starts in ``order`` and the lengths of the runs, longest first."""
        n_runs = -(-self.counts // LONGEST_RUN)
        n_before = np.repeat(np.cumsum(n_runs) - n_runs, n_runs)
        number_in_pattern = np.arange(n_runs.sum()) - n_before
        firsts = np.repeat(self.starts[:-1], n_runs) + LONGEST_RUN * number_in_pattern
        lengths = np.minimum(np.repeat(self.starts[1:], n_runs) - firsts, LONGEST_RUN)
        longest_first = np.argsort(-lengths, kind="stable")
        return firsts[longest_first], lengths[longest_first]

    def rare(self) -> MissingPatterns:
        """Return the patterns with few rows, and these rows."""
        counts = self.counts
        is_rare = counts * self.patterns.shape[1] ** 3 < COMMON
        return MissingPatterns(
            patterns=self.patterns[is_rare],
            order=self.order[np.repeat(is_rare, counts)],
            starts=np.concatenate([[0], np.cumsum(counts[is_rare])]),
        )


def incomplete_rows(x: Floats) -> Iterator[tuple[Codes, Codes, Codes]]:
    """Yield, for each incomplete pattern, its rows, its observed and its missing features."""
    patterns = MissingPatterns.of(x)
    for p, observed in enumerate(patterns.patterns):
        if not observed.all():
            yield patterns.rows_of(p), np.flatnonzero(observed), np.flatnonzero(~observed)
