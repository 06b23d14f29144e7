"""Ctrl-C while compiled threads write: noted at once, raised once they have been told.

The reader and writer raise ``KeyboardInterrupt`` themselves. Were Python's own handler left in
place a second one would follow and could fall into the cleaning up.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_noted = threading.Event()


@contextmanager
def deferred() -> Iterator[None]:
    """Within, Ctrl-C raises where ``heed`` is called and by the end, not in between."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _note)
    try:
        yield
        heed()
    finally:
        _noted.clear()
        signal.signal(signal.SIGINT, before)


def heed() -> None:
    """Raise ``KeyboardInterrupt`` if Ctrl-C was pressed since ``deferred`` began."""
    if _noted.is_set():
        raise KeyboardInterrupt


def _note(*_: Any) -> None:
    _noted.set()
