"""Tables to files or to standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl


def write(frame: pl.LazyFrame, output: Path | None) -> None:
    """Write a table by the extension of a file, or as CSV to standard output."""
    from suffice.sources.sinks import write_table

    if output is None:
        write_to_standard_output(frame)
    else:
        write_table(frame, output)


def write_to_standard_output(frame: pl.LazyFrame) -> None:
    """Write a table as CSV, batch by batch."""
    import polars as pl

    from suffice.sources.reading import batches_of

    stream = sys.stdout.buffer
    stream.write(pl.DataFrame(schema=frame.collect_schema()).write_csv().encode())
    for batch in batches_of(frame):
        stream.write(batch.write_csv(include_header=False).encode())
    stream.flush()
