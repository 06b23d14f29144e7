"""The command ``suffice``, with a module for each subcommand.

``group.py`` lists the subcommands and imports the module of the one that is called, and
``command.py`` runs it. ``options.py`` and ``models.py`` declare shared options, ``data.py`` reads
rows and files, and ``terminal.py`` prints and writes. The package may import every other package,
and no other package imports it. No module imports NumPy before a subcommand runs, so that
``--help`` is fast.

Ctrl-C, a hangup and a termination signal end the command at once, without a partial file.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNAL_EXIT = 128  # exit code = this + the number of the signal, as in shells
# exit code for SIGPIPE, which Python ignores: the reader has closed the pipe
BROKEN_PIPE = SIGNAL_EXIT + 13
# Number of new objects that triggers garbage collection. Imports alone exceed the default.
_GARBAGE_THRESHOLD = 200_000
_SIGNALS = [signal.SIGINT, signal.SIGTERM]
if hasattr(signal, "SIGHUP"):  # Windows has no SIGHUP
    _SIGNALS.append(signal.SIGHUP)


def main() -> None:
    """Run the command line and exit with its exit code; exit at once on a signal."""
    for number in _SIGNALS:
        # a signal that the parent process ignores stays ignored
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    gc.set_threshold(_GARBAGE_THRESHOLD)
    # Otherwise a file opened later could get the number of the closed stream.
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
        gc.freeze()  # prevents another garbage collection when the interpreter exits


class Stopped(KeyboardInterrupt):
    """A signal that ends the command after cleanup."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = SIGNAL_EXIT + number


@contextmanager
def cleaning_up() -> Iterator[None]:
    """Let signals raise ``Stopped`` in the block, so that the command cleans up."""
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
    """Exit without waiting for threads in compiled code, which could crash at shutdown."""
    sys.stderr.flush()
    os._exit(exit_code)
