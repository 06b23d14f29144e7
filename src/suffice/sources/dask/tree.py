"""Many futures to one: merged pair by pair, in an order that the number of parts fixes.

So the sums have the same bits whichever worker ran what, and however often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.sources.dask.cluster import awaited
from suffice.sources.summed import pairwise_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from suffice.sources.source import Progress
    from suffice.sources.summed import Summed

_FAN = 8  # parts merged by one task; a power of two, so that the tree stays the pairwise one


def merged_pairwise(client: Any, futures: Sequence[Any]) -> Any:
    """Return the future of the pairwise sum of some futures; a task merges three levels of it."""
    while len(futures) > 1:
        groups = [futures[lo : lo + _FAN] for lo in range(0, len(futures), _FAN)]
        futures = [client.submit(pairwise_sum, g, pure=False, priority=1) for g in groups]
    return futures[0]


class Watch:
    """How many rows of how many the parts that are done hold, told to a progress callback."""

    def __init__(
        self, client: Any, progress: Progress | None, n_rows: int | None, before: int = 0
    ) -> None:
        self._client, self._progress, self._n_rows = client, progress, n_rows
        self._pending: list[Any] = []
        self._rows = before

    def over(self, groups: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        """Yield groups of parts, and watch them."""
        for futures in groups:
            if self._progress:
                self._pending += [self._client.submit(_rows, f, pure=False) for f in futures]
            yield futures

    def tell(self) -> None:
        """Tell how many rows are done by now, if that has changed."""
        done = [future for future in self._pending if future.status == "finished"]
        if not done or not self._progress:
            return
        self._pending = [future for future in self._pending if future not in done]
        self._rows += sum(self._client.gather(done))
        self._progress(self._rows, self._n_rows)


def results(
    client: Any, groups: Iterable[Sequence[Any]], meanwhile: Callable[[], None]
) -> Iterator[Summed]:
    """Yield the sums of each group of futures in turn, all groups being worked on at once.

    Only the roots of the trees are held, so that a worker may drop a part once it is merged.
    """
    roots = [merged_pairwise(client, group) for group in groups]
    while roots:
        yield awaited(client, roots.pop(0), meanwhile)


def _rows(part: Summed) -> int:
    return part.n_rows
