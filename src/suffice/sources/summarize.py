"""Rows of any number, from anywhere, to sums: one pass, bounded memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from suffice.errors import InvalidInputError
from suffice.moments import Moments
from suffice.sources.chunks import Loader, blocks_of, rows_per_block
from suffice.sources.failures import reading_of
from suffice.sources.interrupts import each_interruptibly
from suffice.sources.opening import open_source
from suffice.sources.pairs import is_pairs, pairs_of
from suffice.sources.roles import Roles, Wishes, roles_for_learning
from suffice.sources.rules import LeftOut
from suffice.sources.source import MISSING, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from suffice.sources.source import Progress, Scan, Source


def summarize(
    source: Any,
    target: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    *,
    ignore: Sequence[str] = (),
    ids: Sequence[str] | None = None,
    delimiter: str | None = None,
    missing: Sequence[str] = MISSING,
    storage: str = "auto",
    fourth: bool = False,
    progress: Progress | None = None,
    n_threads: int | None = None,
) -> Moments:
    """Return the sums of every usable row of a source, read once in bounded memory.

    Parameters
    ----------
    source : path, glob, "-", data set name, list of paths, frame, or iterable of (X, y)
        CSV, TSV, Parquet, Feather or JSON Lines files; ``"-"`` for standard input; a built-in
        data set such as ``"iris"``; a pandas, polars (eager or lazy) or pyarrow table; or an
        iterable of chunks ``(X, y)`` or ``(X, y, sample_weight)``.
    target : str, optional
        The label column. Where it is left out the obvious column is taken, with a warning.
    features : list of str, optional
        The columns to sum; by default every numeric column that has no other role.
    weight : str, optional
        The column of row weights.
    ignore, ids : lists of str, optional
        Columns to leave out. Ids are found by themselves unless they are named.
    delimiter : str, optional
        Separator of text files; by default found from the first lines.
    missing : list of str
        What stands for a missing value in text files.
    storage, n_threads
        As in ``Moments.of``.
    fourth : bool
        Whether to collect the fourth moments of ``shrinkage="ledoit-wolf"``; they double the
        time of the sums.
    progress : callable, optional
        Called after each block with the number of rows read and of rows in all, or None.

    Notes
    -----
    Columns that are not numeric, and rows that lack a value, are left out with one warning each.
    The order of files and rows changes nothing beyond rounding.

    Examples
    --------
    >>> from suffice.sources import summarize
    >>> summarize("iris")
    Moments(3 classes × 4 features, 150 rows, weight 150, per-class scatter)
    """
    options = {"storage": storage, "fourth": fourth, "n_threads": n_threads}
    if is_pairs(source):
        return _total(pairs_of(source, **options))
    opened = open_source(source, Reading(delimiter, tuple(missing)))
    roles = roles_for_learning(opened, Wishes(target, features, weight, ignore, ids))
    return summarize_source(opened, roles, progress=progress, **options)


def summarize_source(
    source: Source,
    roles: Roles,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Moments:
    """Return the sums of an opened source under known roles."""
    roles, n_rows = replace(roles, kept=()), rows_per_block(len(roles.features))
    total, left_out = Moments.empty(), LeftOut()
    known_rows = source.n_rows if progress else None
    loader = Loader(roles, n_rows)
    for pieces in blocks_of(frames_of(source, roles), n_rows):
        chunk, gaps = loader.load(pieces)
        left_out += gaps
        if len(chunk.codes):
            total += chunk.moments(**options)
        if progress:
            progress(left_out.rows, known_rows)
    left_out.say()
    return _refuse_nothing(total, source.label)


def frames_of(source: Source, roles: Roles) -> Iterator[pl.DataFrame]:
    """Yield the rows of a source in the reader's own batches, in order."""
    for scan in source.scans(roles.columns(source.sample)):
        with reading_of(scan.label):
            yield from _batches(scan)


def _batches(scan: Scan) -> Iterator[pl.DataFrame]:
    """Yield the rows of a scan; where a value fails to parse, the rest is read with care."""
    done = 0
    try:
        for frame in batches_of(scan.frame):
            yield frame
            done += frame.height
    except pl.exceptions.ComputeError:
        if scan.careful is None:
            raise
        yield from batches_of(scan.careful.slice(done))


def batches_of(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows of a lazy table in the reader's own batches, in order."""
    return each_interruptibly(frame.collect_batches(maintain_order=True))


def _total(parts: Iterator[Moments]) -> Moments:
    total = Moments.empty()
    for part in parts:
        total += part
    return _refuse_nothing(total, "the iterable")


def _refuse_nothing(total: Moments, label: str) -> Moments:
    if total.counts.sum():
        return total
    msg = f"{label} has no row that can be used: each lacks its label or a number"
    raise InvalidInputError(msg)
