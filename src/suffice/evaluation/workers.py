"""Folds judged side by side, where they are large enough for threads to pay."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from suffice.model.tiles import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
