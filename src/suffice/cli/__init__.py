"""The command ``suffice``: one module per subcommand, imported when it is called."""

from suffice.cli.signals import SIGNALLED, leave_at_once, listen


def main() -> None:
    """Run the command line and leave with its exit code."""
    listen()
    try:
        from suffice.cli.group import suffice

        suffice(prog_name="suffice")
    except SystemExit as leaving:
        if isinstance(leaving.code, int) and leaving.code > SIGNALLED:
            leave_at_once(leaving.code)
        raise


__all__ = ["main"]
