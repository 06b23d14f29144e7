"""Sums of some rows together with what was left out of them: what travels and adds up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from suffice.moments import Moments
from suffice.sources.chunks import Loader, blocks_of, rows_per_block
from suffice.sources.rules import LeftOut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    from suffice.sources.roles import Roles


@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """The sums of usable rows, and how many rows were read and left out."""

    moments: Moments = field(default_factory=Moments.empty)
    left_out: LeftOut = field(default_factory=LeftOut)

    @property
    def n_rows(self) -> int:
        """Number of rows read, usable or not."""
        return self.left_out.rows

    def __add__(self, other: Summed) -> Summed:
        return Summed(self.moments + other.moments, self.left_out + other.left_out)


def running_sums(
    frames: Iterable[pl.DataFrame], roles: Roles, start: Summed | None = None, **options: Any
) -> Iterator[Summed]:
    """Yield the sums so far after every block of rows; blocks have one size whatever the frames."""
    n_rows = rows_per_block(len(roles.features))
    loader, total = Loader(roles, n_rows, options.get("n_threads")), start or Summed()
    for pieces in blocks_of(frames, n_rows):
        chunk, left_out = loader.load(pieces)
        part = chunk.moments(**options) if len(chunk.codes) else Moments.empty()
        total += Summed(part, left_out)
        yield total


def sums_of(frames: Iterable[pl.DataFrame], roles: Roles, **options: Any) -> Summed:
    """Return the sums of all rows of some frames."""
    total = Summed()
    for total in running_sums(frames, roles, **options):  # noqa: B007
        pass
    return total


def pairwise_sum(parts: Sequence[Summed]) -> Summed:
    """Return ((0 + 1) + (2 + 3)) and so on: their number alone fixes the order."""
    while len(parts) > 1:
        merged = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = [*merged, *parts[2 * len(merged) :]]
    return parts[0] if parts else Summed()
