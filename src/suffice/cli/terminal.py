"""Print and write the output of a command: results, notes, errors, tables and figures."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.core.text.lists import CONTROL, counted, printable
from suffice.core.text.tables import json_value, rich_table
from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    import re

    import polars as pl
    from matplotlib.figure import FigureBase

    from suffice.core.progress import Progress


@dataclass(frozen=True, slots=True)
class Terminal:
    """Prints the output of a command; control characters in the data are escaped."""

    quiet: bool = False
    json: bool = False
    # numbers of columns and rows left out; None if the command does not report them
    unused: dict[str, int] | None = None

    def note(self, text: str) -> None:
        if not self.quiet:
            click.secho(f"note: {printable(text)}", err=True, dim=True)

    def warn(self, warning: Warning | str) -> None:
        """Show a warning of the library as a note, and count the columns and rows it leaves out."""
        if self.unused is not None:
            self.unused["columns"] += getattr(warning, "columns", 0)
            self.unused["rows"] += getattr(warning, "rows", 0)
        self.note(str(warning))

    def error(self, text: str) -> None:
        click.echo(f"suffice: {printable(text)}", err=True)

    def result(self, document: Mapping[str, object], text: str | None = None) -> None:
        """Print a result as text or, if the user asks for it, as JSON."""
        if self.json:
            content = dict(document)
            if self.unused is not None:
                content["not_used"] = self.unused
            line = json.dumps(json_value(content), ensure_ascii=False, allow_nan=False)
            # control characters in the data could change the terminal
            _print(CONTROL.sub(_escape, line))
        elif text is not None:
            _print(printable(text))

    def written(self, output: Path | str | None, text: str, **facts: object) -> None:
        """Report a written file, as a JSON result or on standard error."""
        if self.json:
            self.result({"output": None if output is None else str(output), **facts})
        elif not self.quiet:
            line = f"{output or 'standard output'}: {text}{self.unused_remark}"
            click.echo(printable(line), err=True)

    @property
    def unused_remark(self) -> str:
        """A phrase on the columns and rows left out; empty if there are none."""
        if self.unused is None:
            return ""
        counts = []
        if self.unused["columns"]:
            counts.append(counted(self.unused["columns"], "column"))
        if self.unused["rows"]:
            counts.append(counted(self.unused["rows"], "row"))
        return f"; not used: {', '.join(counts)}" if counts else ""

    @contextmanager
    def progress(self, unit: str) -> Iterator[Progress]:
        """Show a progress bar in the block, and the speed at its end."""
        from suffice.core.progress import Progress

        with Progress(False if self.quiet else None, unit=unit) as progress:
            yield progress
        if progress.speed:
            self.note(progress.speed)

    @contextmanager
    def working(self, task: str) -> Iterator[None]:
        """Show in a terminal, in the block, how long a task of unknown length has been running."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        from suffice.core.progress import without_bars

        spinner = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        with without_bars(), spinner:
            spinner.add_task(task, total=None)
            yield

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print a table with left-aligned text and right-aligned numbers, unless JSON is wanted."""
        if self.json:
            return
        from rich.console import Console

        head = [printable(name) for name in columns]
        lines = []
        for row in rows:
            line = [_printable_cell(cell) for cell in row]
            lines.append(line)
        console = Console(file=sys.stdout, highlight=False, markup=False)
        # rich prints to a buffer first, because it would flush sys.stdout after every line
        text = io.StringIO()
        printer = Console(
            file=text,
            highlight=False,
            markup=False,
            width=console.width,
            force_terminal=console.is_terminal,
            color_system=None,
        )
        printer.print(rich_table(head, lines))
        sys.stdout.write(text.getvalue())


def _print(line: str) -> None:
    """Print a line of the result; output to a pipe stays in a buffer until the end."""
    # So a reader such as head, which closes the pipe after a line, still gets the whole result.
    if sys.stdout.isatty():
        click.echo(line)
    else:
        sys.stdout.write(f"{line}\n")


def _escape(control: re.Match[str]) -> str:
    return f"\\u{ord(control[0]):04x}"


def _printable_cell(cell: object) -> object:
    return printable(cell) if isinstance(cell, str) else cell


FIGURE_FORMATS = (".pdf", ".png", ".svg")


def check_figure(path: Path | None) -> None:
    """Raise for an unknown figure format before any work is done; open no window for figures."""
    if path is None:
        return
    if path.suffix not in FIGURE_FORMATS:
        msg = f"{path}: a figure is written to {', '.join(FIGURE_FORMATS)}"
        raise InvalidParameterError(msg)
    import matplotlib as mpl

    mpl.use("Agg")


def write_figure(figure: FigureBase, path: Path, background: str = "white") -> None:
    """Write a figure in the format that the extension gives, completely or not at all."""
    from suffice.persistence.archive import replacing

    # axes belong to a Figure, which has savefig, or to a SubFigure, which has not
    whole: Any = figure
    with replacing(path) as file:
        whole.savefig(
            file, format=path.suffix.removeprefix("."), dpi=160, facecolor=background
        )


def write_table(
    frame: pl.LazyFrame,
    output: Path | None,
    terminal: Terminal,
    n_rows: int,
) -> None:
    """Write a table to a file in the format of its extension, or to standard output."""
    from suffice.data.formats import writing

    if output is not None:
        writing.write_table(frame, output)
        terminal.written(output, counted(n_rows, "row"), rows=n_rows)
    elif terminal.json:
        _write_json(frame)
    else:
        write_to_standard_output(frame)


def write_to_standard_output(frame: pl.LazyFrame) -> None:
    """Write a table to standard output as CSV, batch by batch."""
    import polars as pl

    from suffice.data.scanning import batches_of

    stream = sys.stdout.buffer
    header = pl.DataFrame(schema=frame.collect_schema()).write_csv()
    stream.write(header.encode())
    for batch in batches_of(frame):
        stream.write(batch.write_csv(include_header=False).encode())
    stream.flush()


def _write_json(frame: pl.LazyFrame) -> None:
    """Write a table as a single JSON document, batch by batch."""
    from suffice.data.scanning import batches_of

    stream = sys.stdout.buffer
    separator = b""
    stream.write(b'{"rows": [')
    for batch in batches_of(frame):
        for line in batch.write_ndjson().encode().splitlines():
            stream.write(separator + line)
            separator = b",\n"
    stream.write(b"]}\n")
    stream.flush()
