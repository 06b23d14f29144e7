"""Tables to files or to standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.core.text.lists import CONTROL, plural, printable
from suffice.core.text.tables import jsonable, rich_table
from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    import polars as pl

    from suffice.core.progress import Progress


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where the words of a command go; whatever data hold is made safe to print."""

    quiet: bool = False
    json: bool = False
    not_used: dict[str, int] = field(default_factory=dict)  # columns and rows, counted

    def note(self, text: str) -> None:
        if not self.quiet:
            click.secho(f"note: {printable(text)}", err=True, dim=True)

    def heed(self, warning: Any) -> None:
        """Show a warning of the library as a note, and count what it says is not used."""
        for what in self.not_used.keys() & {"columns", "rows"}:
            self.not_used[what] += getattr(warning, what, 0)
        self.note(str(warning))

    def error(self, text: str) -> None:
        click.echo(f"suffice: {printable(text)}", err=True)

    def result(self, document: dict[str, Any], text: str | None = None) -> None:
        """Print a result: as JSON if asked for, else as text."""
        if self.json:
            known = jsonable(document | ({"not_used": self.not_used} if self.not_used else {}))
            text = json.dumps(known, ensure_ascii=False, allow_nan=False)
            # no character that steers a terminal
            click.echo(CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))
        elif text is not None:
            click.echo(printable(text))

    def written(self, output: Path | str | None, text: str, **facts: Any) -> None:
        """Say what was written: a JSON result, or a note that is no part of any output."""
        if self.json:
            self.result({"output": None if output is None else str(output), **facts})
        elif not self.quiet:
            click.echo(
                printable(f"{output or 'standard output'}: {text}{self.closing}"), err=True
            )

    @property
    def closing(self) -> str:
        """What was not used, in words; empty where all was."""
        counts = [plural(n, what[:-1]) for what, n in self.not_used.items() if n]
        return f"; not used: {', '.join(counts)}" if counts else ""

    @contextmanager
    def progress(self, unit: str) -> Iterator[Progress]:
        """Show what is done while it is done, and its speed in the end."""
        from suffice.core.progress import Progress

        with Progress(False if self.quiet else None, unit=unit) as progress:
            yield progress
        if progress.speed:
            self.note(progress.speed)

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show on a terminal that work goes on whose end is not known, and for how long."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
        with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
            shown.add_task(what, total=None)
            yield

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Print a table, unless JSON is: text left, numbers right."""
        if self.json:
            return
        from rich.console import Console

        head = [printable(name) for name in columns]
        lines = [[printable(c) if isinstance(c, str) else c for c in row] for row in rows]
        Console(file=sys.stdout, highlight=False, markup=False).print(rich_table(head, lines))


FIGURES = (".pdf", ".png", ".svg")


def check_figure(path: Path | None, option: str = "") -> None:
    """Refuse a name that has no format of figures, before any work is done; open no window."""
    if path is None:
        return
    if path.suffix not in FIGURES:
        raise InvalidParameterError(
            f"{option}{path}: a figure is written to {', '.join(FIGURES)}"
        )
    import matplotlib as mpl

    mpl.use("Agg")


def write_figure(figure: Any, path: Path, ground: str = "white") -> None:
    """Write a figure in the format of its extension; the file is whole or as it was."""
    from suffice.persistence.archive import replacing

    with replacing(path) as file:
        figure.savefig(file, format=path.suffix.removeprefix("."), dpi=160, facecolor=ground)


def write_table(
    frame: pl.LazyFrame,
    output: Path | None,
    terminal: Terminal,
    rows: int,
) -> None:
    """Write a table by the extension of a file, or to standard output: CSV, or JSON if asked."""
    from suffice.data.formats import writing

    if output is None:
        (_write_json if terminal.json else write_to_standard_output)(frame)
    else:
        writing.write_table(frame, output)
        terminal.written(output, f"{rows:,} rows", rows=rows)


def write_to_standard_output(frame: pl.LazyFrame) -> None:
    """Write a table as CSV, batch by batch."""
    import polars as pl

    from suffice.data.scanning import batches_of

    stream = sys.stdout.buffer
    stream.write(pl.DataFrame(schema=frame.collect_schema()).write_csv().encode())
    for batch in batches_of(frame):
        stream.write(batch.write_csv(include_header=False).encode())
    stream.flush()


def _write_json(frame: pl.LazyFrame) -> None:
    from suffice.data.scanning import batches_of

    stream, mark = sys.stdout.buffer, b""
    stream.write(b'{"rows": [')
    for batch in batches_of(frame):
        for line in batch.write_ndjson().encode().splitlines():
            stream.write(mark + line)
            mark = b",\n"
    stream.write(b"]}\n")
    stream.flush()
