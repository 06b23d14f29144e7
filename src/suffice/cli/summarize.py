"""``suffice summarize``: rows to sums."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.command import Command
from suffice.cli.options import in_a_folder, learning_data, output

if TYPE_CHECKING:
    from suffice.cli.data import Data
    from suffice.cli.terminal import Terminal


@click.command(
    "summarize",
    cls=Command,
    examples=[
        "suffice summarize iris -o iris.moments",
        "suffice summarize 'site-a/*.parquet' --target label -o site-a.moments",
        "suffice summarize 'data/*.parquet' --target y --checkpoint scan.moments -o y.moments",
        "suffice summarize 'data/*.parquet' --target y --cluster tcp://HOST:8786 -o y.moments",
        "cat rows.csv | suffice summarize - --target label -o rows.moments",
    ],
)
@learning_data
@output("The moments file to write.", required=True)
@click.option(
    "--storage",
    type=click.Choice(["auto", "per-class", "pooled", "diagonal"]),
    default="auto",
    help="What scatter to keep; auto keeps one matrix per class where that is affordable.",
)
@click.option(
    "--checkpoint",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=in_a_folder,
    help="Remember in FILE what is counted, and resume from there.",
)
@click.option("--cluster", metavar="ADDRESS", help="Sum on the Dask cluster of this scheduler.")
@click.option("--fourth", is_flag=True, help="Also keep what Ledoit-Wolf shrinkage needs.")
@click.pass_obj
def command(terminal: Terminal, /, data: Data, output: Path, cluster: str, **options: Any) -> None:
    """Save the sums of labelled rows: all a Gaussian model needs.

    One pass in bounded memory. The file holds class weights, means and scatters, no rows.
    """
    moments = data.moments(terminal, client=cluster, **options)
    moments.save(output)
    terminal.done(
        {
            "output": str(output),
            "rows": int(moments.counts.sum()),
            "classes": moments.classes,
            "features": moments.feature_names,
        },
        f"{output}: {moments!r}",
    )
