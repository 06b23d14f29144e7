"""The command ``suffice``: its modules are imported when a subcommand of theirs is called.

Ctrl-C, a hangup and a request to stop have the same end at every moment, with nothing left over.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_SIGNALLED = 128  # plus the number of the signal: the exit code, as shells have it
UNREAD = _SIGNALLED + 13  # SIGPIPE, which Python does not hear: nobody reads on
_GARBAGE = (
    100_000  # new objects before Python looks for cycles: imports alone make more than that
)
_HEARD = [getattr(signal, s) for s in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, s)]


def main() -> None:
    """Run the command line and leave with its exit code; at once when a signal comes."""
    for number in _HEARD:
        if (
            signal.getsignal(number) is not signal.SIG_IGN
        ):  # as whoever started the program said
            signal.signal(number, _end)
    gc.set_threshold(_GARBAGE)
    for name in ("stdout", "stderr"):
        if (
            getattr(sys, name) is None
        ):  # closed: no file that is opened later must take its place
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        from suffice.cli.group import suffice

        suffice(prog_name="suffice")
    except SystemExit as leaving:
        if isinstance(leaving.code, int) and leaving.code > _SIGNALLED:
            _leave_at_once(leaving.code)
        raise


class Stopped(KeyboardInterrupt):
    """A signal that ends the command once it has cleaned up."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = _SIGNALLED + number


@contextmanager
def cleaning_up() -> Iterator[None]:
    """While a command is at work, let a signal raise ``Stopped``, so that it cleans up."""
    ours = [number for number in _HEARD if signal.getsignal(number) is _end]
    for number in ours:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, _end)


def _stop(number: int, _: Any) -> None:
    raise Stopped(number)


def _end(number: int, _: Any) -> None:
    os.write(2, b"suffice: interrupted: no output was written\n")
    _leave_at_once(_SIGNALLED + number)


def _leave_at_once(exit_code: int) -> None:
    """Leave without waiting for compiled threads, which must not outlive the interpreter."""
    sys.stderr.flush()
    os._exit(exit_code)
