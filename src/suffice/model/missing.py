"""Rows in which NaN means "not observed", by patterns of what was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from suffice.errors import InvalidInputError
from suffice.moments.patterns import hole_words
from suffice.table.matrix import refuse_unusable
from suffice.typing import Codes, Floats

MOST = 16  # rows of a run
# n·d³ from which a pattern's rows are better scored together than each with a factor of its own
COMMON = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class IncompleteRows:
    """Which rows have the same holes."""

    patterns: npt.NDArray[np.bool_]  # what was observed  (P, d), distinct
    order: Codes  # rows that are meant, by pattern  (n,)
    starts: Codes  # where each pattern begins there  (P + 1,)

    @classmethod
    def of(cls, x: Floats) -> IncompleteRows:
        """Return the rows (n, d), sorted out; NaN is a hole."""
        words = hole_words(x, "<u8")
        order = (
            np.argsort(words[:, 0], kind="stable") if words.shape[1] == 1 else np.lexsort(words.T)
        )
        ahead = words[order]
        new = np.flatnonzero((ahead[1:] != ahead[:-1]).any(1)) + 1
        starts = np.concatenate([[0], new, [len(x)]]) if len(x) else np.zeros(1, np.intp)
        return cls(~np.isnan(x[order[starts[:-1]]]), order, starts)

    def of_pattern(self, p: int) -> Codes:
        """Return the rows of a pattern."""
        return self.order[self.starts[p] : self.starts[p + 1]]

    @property
    def counts(self) -> Codes:
        """Rows of each pattern, (P,)."""
        return np.diff(self.starts)

    def runs(self) -> tuple[Codes, Codes]:
        """Return the places in ``order`` where runs begin, and their lengths: longest first."""
        n_runs = -(-self.counts // MOST)
        n_before = np.repeat(np.cumsum(n_runs) - n_runs, n_runs)
        firsts = np.repeat(self.starts[:-1], n_runs) + MOST * (np.arange(n_runs.sum()) - n_before)
        counts = np.minimum(np.repeat(self.starts[1:], n_runs) - firsts, MOST)
        longest_first = np.argsort(-counts, kind="stable")
        return firsts[longest_first], counts[longest_first]


@dataclass(frozen=True, eq=False)
class ObservedRows:
    """Rows about a centre, sorted by their holes only if somebody asks."""

    y: Floats  # (n, d), NaN is a hole

    @cached_property
    def rare(self) -> IncompleteRows:
        """The rows of patterns that few rows have."""
        rows = IncompleteRows.of(self.y)
        few = rows.counts * self.y.shape[1] ** 3 < COMMON
        starts = np.concatenate([[0], np.cumsum(rows.counts[few])])
        return IncompleteRows(rows.patterns[few], rows.order[np.repeat(few, rows.counts)], starts)


def refuse_unread(read: Callable[[Any], object], x: Floats, lo: int, hi: int) -> NoReturn:
    """Raise the error that names the first infinity, or the first of rows lo to hi that fails."""
    if np.isinf(x).any():
        refuse_unusable(np.where(np.isnan(x), 0.0, x), None)
    while hi - lo > 1:
        middle = (lo + hi) // 2
        try:
            read(x[lo:middle])
            lo = middle
        except InvalidInputError:
            hi = middle
    msg = f"row {lo} is so far from every class that it overflows: check its units"
    raise InvalidInputError(msg)
