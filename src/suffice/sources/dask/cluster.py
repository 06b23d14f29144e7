"""A connection to a Dask cluster, and what is said when the cluster fails."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from suffice.errors import ClusterError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
