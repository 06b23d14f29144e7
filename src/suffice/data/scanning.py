"""Read scans to frames: in batches, ahead of their use, so that Ctrl-C is heard."""

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

_TICK = 0.1  # seconds; some signal handlers restart a wait, so that it must end by itself
# This process once it has read anything, or the reading process that it was forked from.
_READERS: set[int] = set()
_CONVERSION = r"conversion from .* failed in column '(?P<column>.*?)' .*?values?: "
_UNREADABLE_VALUE = (
    r"could not parse `(?P<value>.*?)` as dtype `.*?` at column '(?P<column>.*?)'",
    _CONVERSION + r"\[\"(?P<value>.*?)\"[,\]]",
    _CONVERSION + r"\[\"?(?P<value>.*?)\"?[,\]]",
)

Result = TypeVar("Result")


def interruptibly(work: Callable[[], Result]) -> Result:
    """Return what ``work`` returns; it runs in a thread of its own, which Ctrl-C abandons."""
    # A compiled reader does not hear Ctrl-C, or raises it again while it cleans up.
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
    """Yield items while a thread of its own already fetches the next."""
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
    """Yield rows of one scan in the reader's own batches: all, or some after those skipped."""
    reads_all = skip == 0 and n_rows is None
    with reading(scan.label):
        if scan.batches is not None:
            yield from scan.batches(skip, n_rows)
        else:
            yield from batches_of(scan.frame if reads_all else scan.frame.slice(skip, n_rows))


def batches_of(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows of a lazy table in the reader's own batches, in order; Ctrl-C is heard."""
    batches = iter(frame.collect_batches(maintain_order=True))
    while True:
        batch = interruptibly(lambda: next(batches, None))
        if batch is None:
            return
        yield batch


def _refuse_after_fork() -> None:
    """Raise in a forked process, which would wait forever for the reader's lost threads."""
    # A forked process inherits the set, which holds the process that has read.
    if not _READERS:
        _READERS.add(os.getpid())
    if os.getpid() not in _READERS:
        raise InvalidInputError(
            "this process was forked from one that had read files, and the threads that read are "
            'gone: start workers with multiprocessing.get_context("spawn"), or fork before reading'
        )


@contextmanager
def reading(label: str) -> Iterator[None]:
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
        # The original error may show a password of the address.
        cause = error if text == str(error) else None
        raise InvalidInputError(without_passwords(_explained(text, label))) from cause


def _explained(complaint: str, label: str) -> str:
    """Return a message of the reader in our words."""
    for pattern in _UNREADABLE_VALUE:
        match = re.search(pattern, complaint)
        if match:
            column = match["column"]
            value = match["value"].rstrip(MALFORMED)
            return (
                f"{label}: column {column!r} holds {quote(value)} where its first rows hold "
                f"something else: correct it, declare {quote(value)} as missing, or ignore the "
                "column"
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
    return f"{label} cannot be read ({reason}): is it whole, and of the format its name says?"
