"""``suffice datasets``: what comes with the library."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from suffice.cli.command import Command
from suffice.cli.options import DataName, output

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.cli.terminal import Terminal


@click.command(
    "datasets",
    cls=Command,
    examples=["suffice datasets", "suffice datasets iris -o iris.csv", "suffice datasets penguins"],
)
@click.argument("name", required=False, type=DataName())
@output("The file to write; without it CSV goes to standard output.")
@click.pass_obj
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
    from suffice.cli import terminal as tables

    frame = load(name).frame()
    tables.write(frame.lazy(), output)
    if output is not None:
        terminal.done(
            {"output": str(output), "rows": frame.height}, f"{output}: {frame.height} rows"
        )
