"""The command ``suffice``: one module per subcommand, imported when it is called."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from suffice.cli.group import suffice

        suffice(prog_name="suffice")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


__all__ = ["main"]
