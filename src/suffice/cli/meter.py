"""Rows done and rows a second, once a command has taken over a second."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from suffice.cli.terminal import Terminal

_PATIENCE = 1.0  # seconds
_MANY = 10_000  # rows; with fewer the speed says nothing


class Meter:
    """A progress callback that draws a bar on a terminal and says the speed at the end."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._rows = 0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._start = time.perf_counter()
        return self

    def __call__(self, rows: int, total: int | None) -> None:
        """Take note that ``rows`` of ``total`` are done."""
        self._rows = rows
        seconds = time.perf_counter() - self._start
        if seconds < _PATIENCE or self._terminal.quiet or not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = _bar()
            self._task = self._bar.add_task("", total=total, rate="")
            self._bar.start()
        self._bar.update(self._task, completed=rows, rate=f"{rows / seconds:,.0f} rows/s")

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._bar is not None:
            self._bar.stop()
        seconds = time.perf_counter() - self._start
        if kind is None and seconds > _PATIENCE and self._rows >= _MANY:
            rate = f"{self._rows / seconds:,.0f} rows/s"
            self._terminal.note(f"{self._rows:,} rows in {seconds:.1f} s, {rate}")


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeLeft())
    return Progress(*columns, console=Console(stderr=True), transient=True)
