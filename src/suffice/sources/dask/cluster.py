"""Many futures to one: merged pair by pair, in an order that the number of parts fixes.

So the sums have the same bits whichever worker ran what, and however often.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from suffice.errors import ClusterError, InvalidParameterError
from suffice.sources.source import Progress
from suffice.sources.summed import Summed, pairwise_sum

CONNECT = 10.0  # seconds to wait for an answer of the scheduler
PATIENCE = 60.0  # seconds without any worker, after which the cluster is taken for dead
_TICK = 0.5  # seconds


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """Give the client itself, or one of the scheduler at this address, closed at the end."""
    if not isinstance(client, str):
        yield client
        return
    distributed = require_distributed()
    try:
        opened = distributed.Client(client, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        msg = (
            f"no Dask scheduler answers at {client!r} ({error}): check the address, "
            "or start one with 'dask scheduler'"
        )
        raise ClusterError(msg) from error
    with opened:
        yield opened


def require_distributed() -> Any:
    """Return the module, or say how to install it."""
    try:
        import distributed
    except ImportError as error:
        msg = "a Dask cluster needs the extra 'dask': pip install 'suffice[dask]'"
        raise InvalidParameterError(msg) from error
    return distributed


def awaited(client: Any, future: Any, meanwhile: Callable[[], None]) -> Any:
    """Return the result of a future; raise if the cluster dies before it is there."""
    distributed = require_distributed()
    alive = time.monotonic()
    with failures_told(distributed):
        while not _done_soon(distributed, future):
            meanwhile()
            if client.nthreads():
                alive = time.monotonic()
            elif time.monotonic() - alive > PATIENCE:
                msg = f"the cluster has had no worker for {PATIENCE:.0f} s: start some workers"
                raise ClusterError(msg)
        result = future.result()
        meanwhile()
    return result


def _done_soon(distributed: Any, future: Any) -> bool:
    """Return whether a future is done within a moment."""
    with suppress(TimeoutError, distributed.TimeoutError):
        future.exception(timeout=_TICK)
    return bool(future.done())


@contextmanager
def failures_told(distributed: Any) -> Iterator[None]:
    """Turn failures of the cluster, but not those of the rows, into an error with a cure."""
    try:
        yield
    except distributed.KilledWorker as error:
        msg = (
            f"the cluster lost its workers too often ({error}): do they have enough memory for "
            "a partition? make partitions smaller, or workers larger"
        )
        raise ClusterError(msg) from error
    except (OSError, distributed.CancelledError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        msg = f"the Dask scheduler is gone ({error}): start it again, and run the scan again"
        raise ClusterError(msg) from error
    except ModuleNotFoundError as error:
        msg = f"the workers lack {error.name!r}: install the same suffice on every worker"
        raise ClusterError(msg) from error


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
