"""Rows done and rows a second, once a command has taken over a second."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from suffice.cli.terminal import Terminal

Wish: TypeAlias = "bool | Callable[[int, int], Any] | None"
_PATIENCE = 1.0  # seconds


class Steps:
    """Counts steps of known number, and shows them to whoever asked.

    ``None`` shows a bar on a terminal, ``True`` anywhere, ``False`` never; a function is called
    with the steps done and their number.
    """

    def __init__(self, total: int, wish: Wish, what: str) -> None:
        if not (wish is None or isinstance(wish, bool) or callable(wish)):
            msg = f"progress must be None, True, False or a function, got {wish!r}"
            raise InvalidParameterError(msg)
        self._total, self._wish, self._what = total, wish, what
        self._done = 0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._started = time.perf_counter()
        return self

    def begin(self, what: str) -> None:
        """Name what is under way."""
        self._what = what
        self._show()

    def step(self, n: int = 1) -> None:
        """Take note that one more step is done."""
        self.reach(self._done + n)

    def reach(self, done: int) -> None:
        """Take note of how many steps are done."""
        self._done = done
        if callable(self._wish):
            self._wish(self._done, self._total)
        self._show()

    def _show(self) -> None:
        if callable(self._wish) or self._wish is False or not (self._wish or _on_terminal()):
            return
        if time.perf_counter() - self._started < _PATIENCE:
            return
        if self._bar is None:
            self._bar = _steps_bar(always=self._wish is True)
            self._task = self._bar.add_task(self._what, total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=self._done, description=self._what)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _steps_bar(*, always: bool) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    console = Console(stderr=True, force_terminal=True if always else None)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeLeft())
    return Progress(*columns, console=console, transient=True)


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
