"""Masked sums: exact sums plus masks that cancel only in the total of all parties.

Party i has the sums s_i and publishes c_i = s_i + Σ_{j > i} N_ij − Σ_{j < i} N_ij modulo 2¹²⁸, with
masks N_ij = N_ji that only parties i and j know (``data/pairwise_masks.py``). In the total Σ_i c_i,
the masks cancel, so it equals Σ_i s_i.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.core.moments.exact_sums import MOST_WEIGHT, ExactSums
from suffice.core.moments.int128 import Int128
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.core.moments.scatter import Storage
from suffice.core.text.lists import quoted
from suffice.errors import InvalidInputError
from suffice.typing import Labels


@dataclass(frozen=True, slots=True, eq=False)
class SumLayout:
    """The meaning of the numbers in masked sums; all parties of a round share it."""

    grid: RoundingGrid
    classes: Labels  # sorted  (K,)
    feature_names: tuple[str, ...] | None
    storage: Storage

    @property
    def n_groups(self) -> int:
        """Number of matrices of products: K, or 1 if pooled."""
        return len(self.classes) if self.storage == "per-class" else 1

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Number of counts, number of weights, number of sums and number of products."""
        k = len(self.classes)
        d = self.grid.n_features
        return k, k, k * d, self.n_groups * (d * (d + 1) // 2)

    def equals(self, other: SumLayout) -> bool:
        """Return whether ``other`` is the same layout."""
        return (
            self.grid.equals(other.grid)
            and self.classes.tolist() == other.classes.tolist()
            and self.feature_names == other.feature_names
            and self.storage == other.storage
        )

    def flattened(self, sums: ExactSums) -> Int128:
        """Return counts, weights, sums and the lower triangles of products, one after another."""
        i, j = np.tril_indices(self.grid.n_features)
        counts = Int128.of(sums.counts)
        weights = Int128.of(sums.weights)
        products = sums.products[:, i, j]
        return Int128(
            high=np.concatenate(
                [counts.high, weights.high, sums.sums.high.ravel(), products.high.ravel()]
            ),
            low=np.concatenate(
                [counts.low, weights.low, sums.sums.low.ravel(), products.low.ravel()]
            ),
        )

    def restored(self, numbers: Int128) -> ExactSums:
        """Return the sums from the numbers of ``flattened``, or raise if no rows can have them."""
        k = len(self.classes)
        d = self.grid.n_features
        edges = np.cumsum((0, *self.sizes)).tolist()
        counts, weights, sums, lower = (
            numbers[edges[part] : edges[part + 1]] for part in range(4)
        )
        largest = Int128.of(np.full(k, MOST_WEIGHT))
        is_possible = np.ones(k, bool)
        # check each number before their differences, which may overflow if the numbers are noise
        for numbers_of_rows in (counts, weights):
            is_possible &= ~numbers_of_rows.is_negative
            is_possible &= ~(largest - numbers_of_rows).is_negative
        is_possible &= ~(weights - counts).is_negative
        if not is_possible.all():
            raise InvalidInputError(
                "the masks do not cancel, so that the total is noise: some party used another "
                "key, other peers or another round; start a new round"
            )
        products = Int128.zeros((self.n_groups, d, d))
        i, j = np.tril_indices(d)
        for half, values in ((products.high, lower.high), (products.low, lower.low)):
            half[:, i, j] = values.reshape(self.n_groups, -1)
            half[:, j, i] = values.reshape(self.n_groups, -1)
        return ExactSums(
            grid=self.grid,
            classes=self.classes,
            counts=counts.to_int64().astype(np.intp),
            weights=weights.to_int64(),
            sums=Int128(high=sums.high.reshape(k, d), low=sums.low.reshape(k, d)),
            products=products,
            storage=self.storage,
        )


@dataclass(frozen=True, slots=True, eq=False)
class MaskedSums:
    """The sums of one party, hidden by masks; only the total of all parties can be read."""

    layout: SumLayout
    party: str
    parties: tuple[str, ...]  # names of all parties, sorted
    round: str  # a name that is used for one round only
    numbers: Int128  # sums plus masks, modulo 2¹²⁸  (L,)

    def __repr__(self) -> str:
        return (
            f"MaskedSums(party {self.party!r} of {len(self.parties)}, round {self.round!r}, "
            f"{len(self.layout.classes)} classes × {self.layout.grid.n_features} features)"
        )


def unmasked(parts: Sequence[MaskedSums]) -> ExactSums:
    """Return the total of all parties of a round, or raise unless each party occurs once."""
    if not parts:
        raise InvalidInputError("there are no masked sums to add: pass one file of each party")
    first = parts[0]
    for part in parts[1:]:
        if part.round != first.round:
            raise InvalidInputError(
                f"party {part.party!r} sent sums of round {part.round!r}, but party "
                f"{first.party!r} of round {first.round!r}: add up the parts of one round"
            )
        if part.parties != first.parties:
            raise InvalidInputError(
                f"parties {first.party!r} and {part.party!r} name different peers: start a new "
                "round in which all parties name the same peers"
            )
        if not part.layout.equals(first.layout):
            raise InvalidInputError(
                f"parties {first.party!r} and {part.party!r} used different grids, classes or "
                "features: start a new round in which all parties use the same"
            )
    present = [part.party for part in parts]
    repeated = sorted({party for party in present if present.count(party) > 1})
    if repeated:
        raise InvalidInputError(
            f"{quoted(repeated)} sent sums more than once: name one file of each party"
        )
    absent = sorted(set(first.parties) - set(present))
    if absent:
        raise InvalidInputError(
            f"{quoted(absent)} sent no sums, and the masks of the others cancel only with theirs: "
            "wait for them, or start a new round without them"
        )
    total = functools.reduce(lambda a, b: a + b, (part.numbers for part in parts))
    return first.layout.restored(total)
