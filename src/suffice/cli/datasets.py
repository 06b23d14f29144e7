"""``suffice datasets``: the built-in datasets."""

from dataclasses import asdict
from pathlib import Path

import click

from suffice.cli.command import subcommand
from suffice.cli.options import data_argument, output
from suffice.cli.terminal import Terminal, write_table

_FIELDS = ("name", "n_rows", "n_features", "n_classes", "target", "about")


@subcommand(
    "suffice datasets",
    "suffice datasets iris -o iris.csv",
    "suffice datasets penguins",
)
@data_argument("name", required=False)
@output("The file to write. By default, CSV goes to standard output.")
def datasets(terminal: Terminal, /, name: str | None, output: Path | None) -> None:
    """List the built-in datasets, or write one."""
    from suffice.data.datasets import DATASETS, load

    if name is not None:
        frame = load(name).frame()
        write_table(frame.lazy(), output, terminal, frame.height)
        return
    if output is not None:
        raise click.UsageError("-o needs the name of a dataset: add one, such as iris")
    cards = [asdict(card) for card in DATASETS.values()]
    columns = [field.removeprefix("n_") for field in _FIELDS]
    rows = []
    for card in cards:
        row = [card[field] for field in _FIELDS]
        rows.append(row)
    terminal.result({"datasets": cards})
    terminal.table(columns, rows)
