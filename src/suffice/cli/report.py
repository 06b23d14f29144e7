"""``suffice report``: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from suffice.cli.command import Command
from suffice.cli.options import learning_data, output

if TYPE_CHECKING:
    from suffice.cli.data import Data
    from suffice.cli.terminal import Terminal


@click.command(
    "report",
    cls=Command,
    examples=[
        "suffice report iris",
        "suffice report sales.parquet --target churned -o churn.html",
    ],
)
@learning_data
@output("The page to write; by default report-DATA.html.")
@click.pass_obj
def command(terminal: Terminal, /, data: Data, output: Path | None) -> None:
    """Write a page that says which classifier to trust, and why."""
    from suffice.cli.rest import evaluation

    report = evaluation("report", "suffice.report")
    rows = data.rows()
    path = output or Path(f"report-{Path(data.name).stem}.html")
    report(rows.frame, rows.y, path)
    terminal.done({"output": str(path), "rows": len(rows.codes)}, f"{path}: report written")
