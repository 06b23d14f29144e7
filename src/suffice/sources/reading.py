"""Scans to frames, interruptibly; failures of the reader told with file, column and cure."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import polars as pl

from suffice.errors import InvalidInputError
from suffice.sources.source import Scan
from suffice.sources.spelling import ODD
from suffice.text.lists import without_passwords

Result = TypeVar("Result")
_TICK = 0.1  # seconds; some signal handlers restart a wait, which then hears nothing by itself


def interruptibly(work: Callable[[], Result]) -> Result:
    """Return what ``work`` returns; it runs in a thread of its own, which Ctrl-C abandons.

    A compiled reader or writer that waits does not hear Ctrl-C, and one that does raises it a
    second time, maybe into the cleaning up. So the calling thread only waits.
    """
    return _awaited(_begun(work))


def _begun(work: Callable[[], Result]) -> Future[Result]:
    """Return what will be the outcome of work that a thread of its own does."""
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome


def _awaited(outcome: Future[Result]) -> Result:
    while not wait([outcome], timeout=_TICK).done:
        pass
    return outcome.result()


def fetched_ahead(items: Iterable[Result]) -> Iterator[Result]:
    """Yield items while a thread of its own already fetches the next."""
    rest = iter(items)

    def fetch() -> Result | None:
        return next(rest, None)

    coming = _begun(fetch)
    while (item := _awaited(coming)) is not None:
        coming = _begun(fetch)
        yield item


def frames_of_scan(scan: Scan, skip: int = 0, n_rows: int | None = None) -> Iterator[pl.DataFrame]:
    """Yield rows of one scan in the reader's own batches: all, or some after those skipped."""
    with reading_of(scan.label), _checked(scan):
        yield from (scan.batches or partial(_batches, scan))(skip, n_rows)


@contextmanager
def _checked(scan: Scan) -> Iterator[None]:
    """Check a scan while it is read; what the check finds is told before any other failure."""
    outcome = _begun(scan.check or (lambda: None))
    try:
        yield
    except pl.exceptions.PolarsError:
        _awaited(outcome)
        raise
    _awaited(outcome)


def _batches(scan: Scan, skip: int, n_rows: int | None) -> Iterator[pl.DataFrame]:
    """Yield the rows of a scan; where a value fails to parse, the rest is read with care."""
    done, all_rows = 0, not skip and n_rows is None
    try:
        for frame in batches_of(scan.frame if all_rows else scan.frame.slice(skip, n_rows)):
            yield frame
            done += frame.height
    except pl.exceptions.ComputeError:
        if scan.careful is None:
            raise
        yield from batches_of(scan.careful.slice(skip, n_rows).slice(done))


def batches_of(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows of a lazy table in the reader's own batches, in order.

    Ctrl-C is heard while waiting for the next.
    """
    rest = iter(frame.collect_batches(maintain_order=True))
    while (batch := interruptibly(lambda: next(rest, None))) is not None:
        yield batch


_FAILED = r"conversion from .* failed in column '(?P<column>.*?)' .*?values?: "
_ODD_VALUE = (
    r"could not parse `(?P<value>.*?)` as dtype `.*?` at column '(?P<column>.*?)'",
    _FAILED + r"\[\"(?P<value>.*?)\"[,\]]",
    _FAILED + r"\[\"?(?P<value>.*?)\"?[,\]]",
)
_KNOWN = {
    "invalid utf-8": "is not UTF-8 text: name it, such as --encoding latin-1 (encoding= in Python)",
    "found more fields": "has a line with more fields than the first: check delimiter and quotes",
    "empty CSV": "is empty: it needs a line of column names and rows",
}


_READERS: set[int] = set()  # this process, once it has read anything, or one it was forked from


def _refuse_after_fork() -> None:
    """Raise where the threads of a compiled reader did not survive a fork: they would be awaited.

    A process that is forked remembers the reader that it was forked from.
    """
    _READERS.update([] if _READERS else [os.getpid()])
    if os.getpid() not in _READERS:
        cure = 'start workers with multiprocessing.get_context("spawn"), or fork before reading'
        msg = f"this process was forked from one that had read files: its threads are gone; {cure}"
        raise InvalidInputError(msg)


@contextmanager
def reading_of(label: str) -> Iterator[None]:
    """Turn a failure to read ``label`` into an error that names it."""
    _refuse_after_fork()
    try:
        yield
    except UnicodeDecodeError as error:
        msg = f"{label} is not {error.encoding} text ({error.reason}): name another encoding"
        raise InvalidInputError(msg) from error
    except (pl.exceptions.PolarsError, OSError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        text = without_passwords(str(error))
        cause = error if text == str(error) else None  # its text may hold a secret of the address
        raise InvalidInputError(without_passwords(_told(text, label))) from cause


def _told(complaint: str, label: str) -> str:
    """Return the complaint of the reader in our words."""
    for pattern in _ODD_VALUE:
        if found := re.search(pattern, complaint):
            value, column = found["value"].rstrip(ODD), found["column"]
            cure = f"correct it, declare {value!r} as missing, or ignore the column"
            holds = f"column {column!r} holds {value!r} where its first rows hold something else"
            return f"{label}: {holds}: {cure}"
    for sign, meaning in _KNOWN.items():
        if sign in complaint:
            return f"{label} {meaning}"
    reason = complaint.splitlines()[0] if complaint else "no reason given"
    return f"{label} cannot be read ({reason}): is it whole, and of the format its name says?"
