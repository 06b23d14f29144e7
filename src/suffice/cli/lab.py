"""``suffice lab``: a page for trying out classifiers, written to a file or served."""

import sys
from pathlib import Path

import click

from suffice.cli.command import subcommand
from suffice.cli.options import OUTPUT, data_argument, flag, other_output, target_option
from suffice.cli.terminal import Terminal


@subcommand(
    "suffice lab --save lab.html",
    "suffice lab",
    "suffice lab iris",
    "suffice lab sales.parquet --target churned --no-browser",
)
@data_argument(required=False)
@target_option
@other_output(
    "--save",
    "Write the page to FILE instead of starting a server; parts that need Python are left "
    "out.",
)
@flag(
    "--browser/--no-browser",
    section=OUTPUT,
    default=True,
    help="Whether to open the page in a browser. By default it is opened.",
)
def lab(
    terminal: Terminal,
    /,
    data: str | None,
    target: str | None,
    save: Path | None,
    *,
    browser: bool,
) -> None:
    """Open a page for trying out classifiers: paint points and see the models change."""
    if save is not None:
        if data or target:
            msg = "--save writes the page without a table: leave out DATA and --target"
            raise click.UsageError(msg)
        _save_page(terminal, save)
        return
    if target is not None and data is None:
        raise click.UsageError("--target needs DATA: name a table that has this column")
    from suffice.present.lab.server import Lab, LabTable, serve

    def announce(address: str) -> None:
        terminal.result({"address": address}, address)
        sys.stdout.flush()  # the server runs until it is interrupted
        terminal.note("press Ctrl-C to end")
        if browser:
            click.launch(address)

    table = LabTable.opened(data, target) if data else None
    try:
        serve(Lab(table), announce)
    except KeyboardInterrupt:
        terminal.note("the lab has ended")


def _save_page(terminal: Terminal, path: Path) -> None:
    from suffice.persistence.archive import replacing
    from suffice.present.lab import page

    with replacing(path) as file:
        file.write(page().encode())
    terminal.written(path, "the lab; open it in a browser")
