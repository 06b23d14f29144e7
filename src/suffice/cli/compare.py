"""``suffice compare``: the line-up in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from suffice.cli.command import Command
from suffice.cli.options import learning_data, output

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.cli.data import Data
    from suffice.cli.terminal import Terminal


@click.command(
    "compare",
    cls=Command,
    examples=[
        "suffice compare iris",
        "suffice compare wine --cv 5",
    ],
)
@learning_data
@click.option("--cv", type=click.IntRange(min=2), default=10, show_default=True, help="Folds.")
@output("Also write the table to this file.")
@click.pass_obj
def command(terminal: Terminal, /, data: Data, cv: int, output: Path | None) -> None:
    """Show a line-up of classifiers, cross-validated."""
    from suffice.cli.rest import evaluation

    compare = evaluation("compare", "suffice.evaluation.compare")
    rows = data.rows()
    frame = compare(rows.frame, rows.y, cv=cv).to_frame()
    records = frame.reset_index().to_dict("records")
    if output is not None:
        import polars as pl

        from suffice.cli import tables

        tables.write(pl.DataFrame(records).lazy(), output)
    if terminal.json:
        terminal.result({"models": records})
        return
    columns = list(records[0])
    terminal.table(columns, [[record[name] for name in columns] for record in records])
