"""The command ``suffice``: a module for each subcommand, imported when it is called.

``group.py`` lists the subcommands, and ``command.py`` runs one. ``options.py`` and ``models.py``
declare shared options, ``data.py`` reads rows and files, and ``terminal.py`` prints and writes.
This package may import every other one, and no other imports it. No module imports NumPy before a
subcommand runs, so that ``--help`` is fast.

Ctrl-C, a hangup and a termination signal end the command at once and leave no file behind.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNAL_EXIT = 128  # the exit code is this plus the number of the signal, as in shells
BROKEN_PIPE = SIGNAL_EXIT + 13  # SIGPIPE, which Python ignores: the reader closed the pipe
# number of new objects that triggers garbage collection; imports alone exceed the default
_GARBAGE_THRESHOLD = 200_000
_SIGNALS = [signal.SIGINT, signal.SIGTERM]
if hasattr(signal, "SIGHUP"):  # not on Windows
    _SIGNALS.append(signal.SIGHUP)


def main() -> None:
    """Run the command line and exit with its exit code; exit at once on a signal."""
    for number in _SIGNALS:
        # the parent process may have asked to ignore the signal
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    gc.set_threshold(_GARBAGE_THRESHOLD)
    # otherwise a file opened later could take the place of a closed stream
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        from suffice.cli.group import suffice

        suffice(prog_name="suffice")
    except SystemExit as leaving:
        if isinstance(leaving.code, int) and leaving.code > SIGNAL_EXIT:
            _leave_at_once(leaving.code)
        raise
    finally:
        gc.freeze()  # otherwise the interpreter would collect garbage once more on exit


class Stopped(KeyboardInterrupt):
    """A signal that ends the command after cleanup."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = SIGNAL_EXIT + number


@contextmanager
def cleaning_up() -> Iterator[None]:
    """While a command runs, let signals raise ``Stopped``, so that the command cleans up."""
    handled = [number for number in _SIGNALS if signal.getsignal(number) is _end]
    for number in handled:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, _end)


def _stop(number: int, _: FrameType | None) -> None:
    raise Stopped(number)


def _end(number: int, _: FrameType | None) -> None:
    os.write(2, b"suffice: interrupted: no output was written\n")
    _leave_at_once(SIGNAL_EXIT + number)


def _leave_at_once(exit_code: int) -> None:
    """Exit without waiting for compiled threads, which must not outlive the interpreter."""
    sys.stderr.flush()
    os._exit(exit_code)
