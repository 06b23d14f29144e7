"""The one progress bar, of the library and of the command line."""

import sys
import time
from collections.abc import Callable
from typing import Any, Self, TypeAlias

from suffice.errors import InvalidParameterError

Wish: TypeAlias = "bool | Callable[[int, int], Any] | None"
_PATIENCE = 1.0  # seconds under which nothing is shown
_MANY = 10_000  # with fewer done, the speed says nothing


class Progress:
    """Counts what is done, and shows it once it takes longer than a second."""

    # ``wish`` None shows a bar on a terminal, True anywhere, False never; a function is called with
    # the number done and of all. ``unit`` is what is counted, where its speed matters: "rows"
    def __init__(
        self,
        wish: Wish = None,
        total: int | None = None,
        what: str = "",
        unit: str = "",
    ) -> None:
        if not (wish is None or isinstance(wish, bool) or callable(wish)):
            msg = f"progress must be None, True, False or a function, got {wish!r}"
            raise InvalidParameterError(msg)
        self._wish, self._total, self._what, self._unit = wish, total, what, unit
        self._done = 0
        self._bar: Any = None

    def __enter__(self) -> Self:
        self._started = time.perf_counter()
        return self

    def __call__(self, done: int, total: int | None) -> None:
        self._total = total
        self.reach(done)

    def begin(self, what: str) -> None:
        self._what = what
        self._show()

    def step(self, n: int = 1) -> None:
        self.reach(self._done + n)

    def reach(self, done: int) -> None:
        self._done = done
        if callable(self._wish):
            self._wish(done, self._total or 0)
        self._show()

    @property
    def speed(self) -> str:
        """How many were done in which time; empty where that says nothing."""
        seconds = time.perf_counter() - self._started
        if seconds <= _PATIENCE or self._done < _MANY:
            return ""
        return f"{self._done:,} {self._unit} in {seconds:.1f} s, {self._rate(seconds)}"

    def _rate(self, seconds: float) -> str:
        return f"{self._done / seconds:,.0f} {self._unit}/s" if self._unit else ""

    def _show(self) -> None:
        on_terminal = sys.stderr is not None and sys.stderr.isatty()
        if callable(self._wish) or self._wish is False or not (self._wish or on_terminal):
            return
        if (seconds := time.perf_counter() - self._started) < _PATIENCE:
            return
        if self._bar is None:
            self._bar = _bar(always=self._wish is True)
            self._task = self._bar.add_task(self._what, total=self._total, rate="")
            self._bar.start()
        news = {"description": self._what, "rate": self._rate(seconds)}
        self._bar.update(self._task, completed=self._done, total=self._total, **news)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar(*, always: bool) -> Any:
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeRemainingColumn(),
        transient=True,
        console=Console(stderr=True, force_terminal=True if always else None),
    )
