"""``suffice summarize``, ``merge`` and ``forget``: rows to moments, and moments to moments."""

from __future__ import annotations

import functools
import operator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.command import Command
from suffice.cli.options import file_argument, in_a_folder, learning_data, output

if TYPE_CHECKING:
    from suffice.cli.data import Data
    from suffice.cli.terminal import Terminal
    from suffice.moments import Moments


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
def summarize(
    terminal: Terminal, /, data: Data, output: Path, cluster: str, **options: Any
) -> None:
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


@click.command(
    "merge",
    cls=Command,
    examples=[
        "suffice merge site-a.moments site-b.moments -o all.moments",
        "suffice merge site-*.moments -o all.moments",
    ],
)
@file_argument("files", nargs=-1, required=True)
@output("The moments file to write.", required=True)
@click.pass_obj
def merge(terminal: Terminal, /, files: tuple[Path, ...], output: Path) -> None:
    """Add up the sums of several files.

    FILES are moments or models of the same columns; the order does not matter.
    """
    from suffice.cli.data import load_moments

    total = functools.reduce(operator.add, map(load_moments, files))
    total.save(output)
    terminal.done(
        {"output": str(output), "files": len(files), "rows": int(total.counts.sum())},
        f"{output}: {total!r}",
    )


@click.command(
    "forget",
    cls=Command,
    examples=[
        "suffice forget all.moments site-a.moments -o rest.moments",
        "suffice forget model.suffice withdrawn.csv --target species -o model.suffice",
    ],
)
@file_argument("total")
@click.argument("parts", nargs=-1, required=True)
@click.option("-t", "--target", metavar="COLUMN", help="The label column of rows to forget.")
@output("The file to write, of the same kind as TOTAL.", required=True)
@click.pass_obj
def forget(
    terminal: Terminal, /, total: Path, parts: tuple[str, ...], target: str | None, output: Path
) -> None:
    """Take rows out of sums or of a model, as if never seen.

    TOTAL is a moments or model file; PARTS are moments files, or rows in any data format.
    """
    from suffice.cli.data import able
    from suffice.files import load
    from suffice.moments import Moments

    whole = load(total)
    known = isinstance(whole, Moments)
    sums = whole if known else able(whole, "moments_", total, "fit it again").moments_
    gone = [_sums(part, sums, target, terminal) for part in parts]
    rest = functools.reduce(operator.sub, gone, sums)
    left: Any = rest if known else whole.fit_moments(rest)
    left.save(output)
    rows = [int(m.counts.sum()) for m in (sums, rest)]
    terminal.done(
        {"output": str(output), "forgotten": rows[0] - rows[1], "rows": rows[1]},
        f"{output}: {rows[0] - rows[1]:,} rows forgotten, {rows[1]:,} left",
    )


def _sums(part: str, total: Moments, target: str | None, terminal: Terminal) -> Moments:
    """Return the sums of a part: as they are, or of its rows in the columns of the total."""
    from suffice.cli.data import Data

    data = Data(part, target, feature=total.feature_names or ())
    return data.sums(terminal, storage=total.storage, fourth=total.fourth is not None)
