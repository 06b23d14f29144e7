"""The command ``suffice``: one module per subcommand, imported when it is called."""

from __future__ import annotations

import os
import sys

from suffice.cli.terminal import INTERRUPTED


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from suffice.cli.group import suffice

        suffice(prog_name="suffice")
    except KeyboardInterrupt:
        _leave_at_once()
    except SystemExit as leaving:
        if leaving.code == INTERRUPTED:
            _leave_at_once()
        raise


def _leave_at_once() -> None:
    """Leave without waiting for compiled threads, which must not outlive the interpreter."""
    sys.stderr.flush()
    os._exit(INTERRUPTED)


__all__ = ["main"]
