"""Folds judged side by side, where they are large enough for threads to pay."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from threadpoolctl import threadpool_limits

from suffice.model.tiles import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Result = TypeVar("Result")

_CHUNKS = 32
_FEWEST_ROWS = 4096


def blas_alone(n_numbers: int, few: int) -> AbstractContextManager[Any]:
    """Return a limit to one thread of BLAS for tables that our own threads sum.

    What is left to BLAS is small there, and its threads would wait for ours.
    """
    if n_numbers <= few:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, "blas")
    return limits


def chunk_edges(n_rows: int) -> list[tuple[int, int]]:
    """Return (lo, hi) of consecutive chunks; how rows are cut depends on their number only."""
    size = max(_FEWEST_ROWS, -(-n_rows // _CHUNKS))
    return [(lo, min(lo + size, n_rows)) for lo in range(0, n_rows, size)]


def over_chunks(work: Callable[[int, int], Result], n_rows: int) -> Iterator[Result]:
    """Yield work(lo, hi) of each chunk, in the order of the rows."""
    edges = chunk_edges(n_rows)
    workers = min(os.cpu_count() or 1, len(edges))
    if workers < 2:
        yield from (work(lo, hi) for lo, hi in edges)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda edge: work(*edge), edges)


SMALL = 50_000  # numbers under which threads mostly wait for the interpreter


@contextmanager
def mapping(n_numbers: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """Give a ``map`` that uses all cores for rows of so many numbers, or none for few."""
    if n_numbers < SMALL:
        yield map
        return
    # one BLAS thread for each of ours: more would wait for each other
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(usable_cores()) as pool:
        yield pool.map
