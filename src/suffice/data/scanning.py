"""Read scans as frames: in batches, ahead of their use, and interruptible by Ctrl-C."""

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import TypeVar

import polars as pl

from suffice.core.text.lists import quote, without_passwords
from suffice.data.source import MALFORMED, Scan
from suffice.errors import InvalidInputError

_TICK = 0.1  # seconds; waits are short, because a wait may continue after a signal handler
# Ids of processes that have read rows. A forked process inherits the set, with its parent's id.
_READERS: set[int] = set()
_CONVERSION = r"conversion from .* failed in column '(?P<column>.*?)' .*?values?: "
_UNREADABLE_VALUE = (
    r"could not parse `(?P<value>.*?)` as dtype `.*?` at column '(?P<column>.*?)'",
    _CONVERSION + r"\[\"(?P<value>.*?)\"[,\]]",
    _CONVERSION + r"\[\"?(?P<value>.*?)\"?[,\]]",
)

Result = TypeVar("Result")


def interruptibly(work: Callable[[], Result]) -> Result:
    """Return the result of ``work``, which runs in another thread; Ctrl-C abandons the thread."""
    # Called in the main thread, compiled readers ignore Ctrl-C, or raise it again during cleanup.
    return _result_of(_in_thread(work))


def _in_thread(work: Callable[[], Result]) -> Future[Result]:
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome


def _result_of(outcome: Future[Result]) -> Result:
    while not wait([outcome], timeout=_TICK).done:
        pass
    return outcome.result()


def read_ahead(items: Iterable[Result]) -> Iterator[Result]:
    """Yield items while another thread fetches the next one."""
    iterator = iter(items)

    def fetch() -> Result | None:
        return next(iterator, None)

    coming = _in_thread(fetch)
    while True:
        item = _result_of(coming)
        if item is None:
            return
        coming = _in_thread(fetch)
        yield item


def frames_of_scan(
    scan: Scan,
    skip: int = 0,
    n_rows: int | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield ``n_rows`` rows of a scan, after ``skip`` rows, in the reader's own batches."""
    reads_all = skip == 0 and n_rows is None
    with reading(scan.label):
        if scan.batches is not None:
            yield from scan.batches(skip, n_rows)
        else:
            yield from batches_of(scan.frame if reads_all else scan.frame.slice(skip, n_rows))


def batches_of(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows of a lazy table in the reader's own batches, in order, interruptibly."""
    batches = iter(frame.collect_batches(maintain_order=True))
    while True:
        batch = interruptibly(lambda: next(batches, None))
        if batch is None:
            return
        yield batch


def _refuse_after_fork() -> None:
    """Raise in a forked process, which lacks the reader's threads and would hang."""
    # In a forked process, the set has the id of the parent that has read rows.
    if not _READERS:
        _READERS.add(os.getpid())
    if os.getpid() not in _READERS:
        raise InvalidInputError(
            "this process was forked from one that had read files, and the threads that read are "
            'gone: start workers with multiprocessing.get_context("spawn"), or fork before reading'
        )


@contextmanager
def reading(label: str) -> Iterator[None]:
    """Convert an error while reading into one that names the source, ``label``."""
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
        # If the message was changed, the original error may contain a password from the address.
        cause = error if text == str(error) else None
        raise InvalidInputError(without_passwords(_explained(text, label))) from cause


def _explained(complaint: str, label: str) -> str:
    """Return a clearer message for an error of the reader."""
    for pattern in _UNREADABLE_VALUE:
        match = re.search(pattern, complaint)
        if match:
            column = match["column"]
            value = match["value"].rstrip(MALFORMED)
            return (
                f"{label}: column {column!r} holds {quote(value)} but values of another type in "
                f"its first rows: correct the cell, declare {quote(value)} as missing, or leave "
                "the column out"
            )
    if "invalid utf-8" in complaint:
        return (
            f"{label} is not UTF-8 text: name its encoding, such as --encoding latin-1 "
            "(TextFormat(encoding=…) in Python)"
        )
    if "found more fields" in complaint or "n_extra =" in complaint:
        return (
            f"{label} has a line with more fields than the first: quote cells that hold the "
            "separator, or name it with --delimiter (TextFormat(delimiter=…) in Python)"
        )
    if "empty CSV" in complaint:
        return f"{label} is empty: it needs a line of column names and rows"
    reason = complaint.splitlines()[0] if complaint else "no reason given"
    return (
        f"{label} cannot be read ({reason}): check that it is complete, and that its extension "
        "names its format"
    )
