"""Tables to files or to standard output."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from suffice.progress import Progress


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where the words of a command go."""

    quiet: bool = False
    json: bool = False

    def note(self, text: str) -> None:
        """Say something beside the result, unless told to be quiet."""
        if not self.quiet:
            click.secho(f"note: {text}", err=True, dim=True)

    def error(self, text: str) -> None:
        """Say why there is no result."""
        click.echo(f"suffice: {text}", err=True)

    def result(self, document: dict[str, Any], text: str | None = None) -> None:
        """Print a result: as JSON if asked for, else as text."""
        if self.json:
            click.echo(json.dumps(document, ensure_ascii=False, default=plain))
        elif text is not None:
            click.echo(text)

    def written(self, output: Path | None, text: str, **facts: Any) -> None:
        """Say what was written: a JSON result, or a note that is no part of any output."""
        if self.json:
            self.result({"output": None if output is None else str(output), **facts})
        elif not self.quiet:
            click.echo(f"{output or 'standard output'}: {text}", err=True)

    @contextmanager
    def progress(self, unit: str) -> Iterator[Progress]:
        """Show what is done while it is done, and its speed in the end."""
        from suffice.progress import Progress

        with Progress(False if self.quiet else None, unit=unit) as progress:
            yield progress
        if progress.speed:
            self.note(progress.speed)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Print a table: text left, numbers right."""
        from rich.console import Console

        from suffice.text.tables import rich_table

        Console(file=sys.stdout, highlight=False, markup=False).print(rich_table(columns, rows))


def plain(value: Any) -> Any:
    """Return arrays and their numbers as JSON can hold them."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def known(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a table with None in the place of NaN, which JSON lacks."""
    return {name: None if value != value else value for name, value in row.items()}


def write_table(frame: pl.LazyFrame, output: Path | None) -> None:
    """Write a table by the extension of a file, or as CSV to standard output."""
    from suffice.sources import formats

    if output is None:
        write_to_standard_output(frame)
    else:
        formats.write_table(frame, output)


def write_to_standard_output(frame: pl.LazyFrame) -> None:
    """Write a table as CSV, batch by batch."""
    import polars as pl

    from suffice.sources.reading import batches_of

    stream = sys.stdout.buffer
    stream.write(pl.DataFrame(schema=frame.collect_schema()).write_csv().encode())
    for batch in batches_of(frame):
        stream.write(batch.write_csv(include_header=False).encode())
    stream.flush()
