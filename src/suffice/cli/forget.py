"""``suffice forget``: sums without those of some rows."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.command import Command
from suffice.cli.options import file_argument, output

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.cli.terminal import Terminal
    from suffice.moments import Moments


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
def command(
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
