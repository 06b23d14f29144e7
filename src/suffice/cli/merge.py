"""``suffice merge``: sums to their sum."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

import click

from suffice.cli.command import Command
from suffice.cli.options import file_argument, output

if TYPE_CHECKING:
    from pathlib import Path

    from suffice.cli.terminal import Terminal


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
def command(terminal: Terminal, /, files: tuple[Path, ...], output: Path) -> None:
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
