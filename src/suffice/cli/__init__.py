"""The command ``suffice``: a module for each subcommand, imported when it is called.

``group.py`` lists the subcommands, ``command.py`` runs one of them, ``options.py`` and
``models.py`` declare the options they share, ``data.py`` reads rows and files, and
``terminal.py`` prints and writes. This package may import every other one; nothing imports it.
No module of it imports NumPy before a subcommand runs, so that ``--help`` is quick.

Ctrl-C, a hangup and a request to stop end the command at any moment and leave no file behind.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNAL_EXIT = 128  # plus the number of the signal: the exit code, as in shells
BROKEN_PIPE = SIGNAL_EXIT + 13  # SIGPIPE, which Python ignores: the reader closed the pipe
# new objects before Python looks for reference cycles: imports alone make more than the default
_GARBAGE_THRESHOLD = 200_000
_SIGNALS = [signal.SIGINT, signal.SIGTERM]
if hasattr(signal, "SIGHUP"):  # not on Windows
    _SIGNALS.append(signal.SIGHUP)


def main() -> None:
    """Run the command line and leave with its exit code; at once when a signal comes."""
    for number in _SIGNALS:
        # whoever started the program may have asked it to ignore the signal
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    gc.set_threshold(_GARBAGE_THRESHOLD)
    # a stream that is closed must not be replaced by a file that is opened later
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
        gc.freeze()  # the interpreter looks for cycles once more before it leaves


class Stopped(KeyboardInterrupt):
    """A signal that ends the command once it has cleaned up."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = SIGNAL_EXIT + number


@contextmanager
def cleaning_up() -> Iterator[None]:
    """While a command is at work, let a signal raise ``Stopped``, so that it cleans up."""
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
    """Leave without waiting for compiled threads, which must not outlive the interpreter."""
    sys.stderr.flush()
    os._exit(exit_code)
