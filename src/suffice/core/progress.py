"""The progress bar of the library and of the command line."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias

from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from rich import progress as rich_progress

# Whether to show a bar: None means on a terminal only, True always, False never. A function, given
# instead, is called with the number done and the total, or 0 if the total is not known.
Wish: TypeAlias = "bool | Callable[[int, int], object] | None"
_PATIENCE = 1.0  # seconds before the bar appears
_MANY = 10_000  # the speed is reported only if at least this many items were counted


class Progress:
    """Count the items that a task has done, and show a bar if it takes longer than a second.

    A task within another task shows a bar only if ``wish`` is True.
    """

    _n_open: ClassVar[int] = 0  # number of tasks of this process that have begun and not ended
    _lock: ClassVar[threading.Lock] = threading.Lock()  # guards ``_n_open``

    # ``unit`` names the items, such as "rows"; without a unit, no rate is shown
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
        self._wish = wish
        self._total = total
        self._what = what
        self._unit = unit
        self._done = 0
        self._is_inner = False  # whether this task runs within another task
        self._bar: rich_progress.Progress | None = None

    def __enter__(self) -> Self:
        self._started = time.perf_counter()
        with Progress._lock:
            self._is_inner = Progress._n_open > 0
            Progress._n_open += 1
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
        """Text with the number of items, the time and the rate, empty for short tasks."""
        seconds = time.perf_counter() - self._started
        if seconds <= _PATIENCE or self._done < _MANY:
            return ""
        return f"{self._done:,} {self._unit} in {seconds:.1f} s, {self._rate(seconds)}"

    def _rate(self, seconds: float) -> str:
        return f"{self._done / seconds:,.0f} {self._unit}/s" if self._unit else ""

    def _show(self) -> None:
        if not self._shows_bar():
            return
        seconds = time.perf_counter() - self._started
        if seconds < _PATIENCE:
            return
        if self._bar is None:
            self._bar = _bar(always=self._wish is True)
            self._task = self._bar.add_task(self._what, total=self._total, rate="")
            self._bar.start()
        self._bar.update(
            self._task,
            description=self._what,
            completed=self._done,
            total=self._total,
            rate=self._rate(seconds),
        )

    def _shows_bar(self) -> bool:
        if self._wish is None:
            return not self._is_inner and sys.stderr is not None and sys.stderr.isatty()
        return self._wish is True

    def __exit__(self, *_: object) -> None:
        with Progress._lock:
            Progress._n_open -= 1
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def without_bars() -> Iterator[None]:
    """Show no bars for tasks that begin in this context, unless a task has the wish True."""
    with Progress(wish=False):
        yield


def _bar(*, always: bool) -> "rich_progress.Progress":
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
