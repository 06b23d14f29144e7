"""Scans to frames, in the reader's own batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from suffice.sources.failures import reading_of
from suffice.sources.files import FileSource
from suffice.sources.interrupts import each_interruptibly, fetched_ahead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suffice.sources.roles import Roles
    from suffice.sources.source import Scan, Source


def frames_of(source: Source, roles: Roles) -> Iterator[pl.DataFrame]:
    """Yield the rows of a source in the reader's own batches, in order; of files, read ahead."""
    scans = source.scans(roles.columns(source.sample))
    frames = (frame for scan in scans for frame in frames_of_scan(scan))
    return fetched_ahead(frames) if isinstance(source, FileSource) else frames


def expected_rows(source: Source) -> int | None:
    """Return how many rows a source will give, as far as that is known or can be guessed."""
    return source.expected_rows if isinstance(source, FileSource) else source.n_rows


def frames_of_scan(scan: Scan, skip: int = 0, n_rows: int | None = None) -> Iterator[pl.DataFrame]:
    """Yield rows of one scan in the reader's own batches: all, or some after those skipped."""
    with reading_of(scan.label, scan.where):
        yield from scan.batches() if scan.batches else _batches(scan, skip, n_rows)


def _batches(scan: Scan, skip: int, n_rows: int | None) -> Iterator[pl.DataFrame]:
    """Yield the rows of a scan; where a value fails to parse, the rest is read with care."""
    done = 0
    try:
        for frame in batches_of(_cut(scan.frame, skip, n_rows)):
            yield frame
            done += frame.height
    except pl.exceptions.ComputeError:
        if scan.careful is None:
            raise
        yield from batches_of(_cut(scan.careful, skip, n_rows).slice(done))


def _cut(frame: pl.LazyFrame, skip: int, n_rows: int | None) -> pl.LazyFrame:
    return frame.slice(skip, n_rows) if skip or n_rows is not None else frame


def batches_of(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows of a lazy table in the reader's own batches, in order."""
    return each_interruptibly(frame.collect_batches(maintain_order=True))
