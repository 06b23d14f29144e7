"""``suffice summarize``: save the sums of labelled rows."""

from pathlib import Path

from suffice.cli.command import subcommand
from suffice.cli.data import Data
from suffice.cli.grid import grid_named
from suffice.cli.options import (
    OUTPUT,
    learning_data,
    option,
    other_output,
    output,
    sums_options,
)
from suffice.cli.terminal import Terminal


@subcommand(
    "suffice summarize iris -o iris.moments",
    "suffice summarize 'site-a/*.parquet' --target label -o site-a.moments",
    "suffice summarize 'data/*.parquet' --target y --checkpoint scan.moments -o y.moments",
    "suffice summarize 'data/*.parquet' --target y --cluster tcp://HOST:8786 -o y.moments",
    "suffice summarize rows.csv --target label --exact grid.json -o rows.moments",
    "cat rows.csv | suffice summarize - --target label -o rows.moments",
    may_overwrite=("moments",),
    reports_unused=True,
)
@learning_data
@output("The moments file to write.", required=True)
@sums_options
@other_output("--checkpoint", "Record progress in FILE, and resume from it if it exists.")
@option(
    "--exact",
    section=OUTPUT,
    metavar="GRID",
    help="Use exact integer sums, so that every order of the rows gives the same bits. GRID is a "
    "file written by suffice grid, or auto.",
)
@option(
    "--cluster",
    section=OUTPUT,
    metavar="ADDRESS",
    help="Compute on the Dask cluster with this scheduler.",
)
@option(
    "--device",
    section=OUTPUT,
    metavar="NAME",
    help="Compute on this PyTorch device, such as cuda.",
)
def summarize(
    terminal: Terminal,
    /,
    data: Data,
    output: Path,
    storage: str,
    checkpoint: Path | None,
    exact: str | None,
    cluster: str | None,
    device: str | None,
    *,
    fourth: bool,
) -> None:
    """Save the statistics (moments) of labelled rows, for Gaussian models.

    The data are read once, in bounded memory. The file holds the weight, mean and scatter matrix of
    each class. With fewer rows than features, and for rare patterns of missing values, it holds the
    rows themselves.
    """
    moments = data.moments(
        terminal,
        storage=storage,
        fourth=fourth,
        checkpoint=checkpoint,
        client=cluster,
        device=device,
        exact=None if exact is None else grid_named(exact),
    )
    moments.save(output)
    terminal.written(
        output,
        repr(moments),
        rows=int(moments.counts.sum()),
        classes=moments.classes,
        features=moments.feature_names,
    )
