"""Rows that arrive in batches, once: Arrow streams, and iterables of frames or of (X, y)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from suffice.errors import InvalidInputError
from suffice.sources.kinds import EMPTY, kinds_of
from suffice.sources.source import SAMPLE_ROWS, Scan, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True, slots=True, eq=False)
class BatchSource:
    """Frames that come one after another and can be read once; all have the same columns."""

    label: str
    sample: pl.DataFrame
    frames: Iterator[pl.DataFrame]
    target: str | None = None
    n_rows: int | None = None

    @classmethod
    def of(cls, frames: Iterable[pl.DataFrame], label: str) -> BatchSource:
        """Return the source of some frames, after a look at the first of them."""
        rest, first, n_rows = iter(frames), [], 0
        for frame in rest:
            first.append(frame)
            n_rows += frame.height
            if n_rows >= SAMPLE_ROWS:
                break
        if not first:
            msg = f"{label} gives no rows: nothing to learn from"
            raise InvalidInputError(msg)
        sample = pl.concat(_alike(first, label), how="vertical_relaxed").head(SAMPLE_ROWS)
        return cls(label, sample, chain(first, rest))

    def scans(self, columns: Mapping[str, Any]) -> Iterator[Scan]:
        """Yield the batches as one table."""
        yield scan_of(self.frames, self.sample, self.label, columns)


def scan_of(
    frames: Iterable[pl.DataFrame], sample: pl.DataFrame, label: str, columns: Mapping[str, Any]
) -> Scan:
    """Return frames that come one after another as one table of some columns."""

    def batches(*_: Any) -> Iterator[pl.DataFrame]:
        for frame in _alike(frames, label, sample):
            yield frame.select(cast(columns))

    schema = sample.select(cast(columns)).schema
    return Scan(label, register_io_source(batches, schema=schema), batches=batches)


def _alike(
    frames: Iterable[pl.DataFrame], label: str, first: pl.DataFrame | None = None
) -> Iterator[pl.DataFrame]:
    """Yield frames in the order of the first one's columns; refuse other columns by name."""
    for at, frame in enumerate(frames):
        first = frame if first is None else first
        refuse_other_columns(first, frame, f"batch {at} of {label}")
        yield frame.select(pl.selectors.by_name(*first.columns))


def refuse_other_columns(expected: pl.DataFrame, frame: pl.DataFrame, label: str) -> None:
    """Raise unless a frame has the columns of another, of the same kinds, in any order."""
    ours, theirs = kinds_of(expected.schema), kinds_of(frame.schema)
    for name, kind in ours.items():
        if name not in theirs:
            msg = f"{label} lacks the column {name!r} that the first rows have"
            raise InvalidInputError(msg)
        if theirs[name] != kind and EMPTY not in (kind, theirs[name]):
            msg = (
                f"{label}: column {name!r} holds {theirs[name]} where the first rows hold {kind}: "
                "make them alike, or ignore the column"
            )
            raise InvalidInputError(msg)
