"""``suffice datasets``: what comes with the library."""

from dataclasses import asdict
from pathlib import Path

import click

from suffice.cli.command import subcommand
from suffice.cli.options import DataName, output
from suffice.cli.terminal import Terminal, write_table


@subcommand(
    "datasets", "suffice datasets", "suffice datasets iris -o iris.csv", "suffice datasets penguins"
)
@click.argument("name", required=False, type=DataName())
@output("The file to write; without it CSV goes to standard output.")
def command(terminal: Terminal, /, name: str | None, output: Path | None) -> None:
    """List the built-in data sets, or write one."""
    from suffice.datasets import DATASETS, load

    if name is None:
        cards = DATASETS.values()
        if terminal.json:
            terminal.result({"datasets": [asdict(card) for card in cards]})
            return
        columns = ["name", "rows", "features", "classes", "target", "about"]
        rows = [(c.name, c.n_rows, c.n_features, c.n_classes, c.target, c.about) for c in cards]
        terminal.table(columns, rows)
        return
    frame = load(name).frame()
    write_table(frame.lazy(), output, terminal)
    if output is not None:
        terminal.written(output, f"{frame.height} rows", rows=frame.height)
