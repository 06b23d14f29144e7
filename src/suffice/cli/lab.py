"""``suffice lab``: the page to play with."""

from pathlib import Path

import click

from suffice.archive import replacing
from suffice.cli.command import subcommand
from suffice.cli.options import DataName, output
from suffice.cli.terminal import Terminal


@subcommand(
    "lab",
    "suffice lab --save lab.html",
    "suffice lab",
    "suffice lab iris",
    "suffice lab sales.parquet --target churned --no-browser",
)
@click.argument("data", type=DataName(), required=False)
@click.option("-t", "--target", metavar="COLUMN", help="The column of labels.")
@output("Write the page, less what needs Python, and serve nothing.", option="--save")
@click.option("--browser/--no-browser", default=True, help="Open it in a browser (default).")
def command(
    terminal: Terminal, /, data: str | None, target: str | None, save: Path | None,
    *, browser: bool,
) -> None:  # fmt: skip
    """Play with classifiers: paint points, see every model, descend, follow the course."""
    from suffice.lab import page

    if save is not None:
        with replacing(save) as file:
            file.write(page().encode())
        return terminal.written(save, "the lab; open it in a browser")
    from suffice.lab.server import Lab, serve
    from suffice.lab.table import LabTable

    def opened(address: str) -> None:
        terminal.result({"address": address}, address)
        terminal.note("press Ctrl-C to end")
        if browser:
            click.launch(address)

    try:
        serve(Lab(LabTable.opened(data, target) if data else None), opened)
    except KeyboardInterrupt:
        terminal.note("the lab has ended")
