"""``suffice grid``: propose a grid for exact sums, which all sites then use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from suffice.cli.command import subcommand
from suffice.cli.data import Data
from suffice.cli.options import OUTPUT, learning_data, option, output
from suffice.cli.terminal import Terminal
from suffice.core.text.lists import counted
from suffice.errors import InvalidParameterError

if TYPE_CHECKING:
    from suffice.core.moments.rounding_grid import RoundingGrid


@subcommand(
    "suffice grid iris -o iris-grid.json",
    "suffice grid rows.csv --target label --headroom 12 -o wide-grid.json",
)
@learning_data
@output("The JSON file to write.", required=True)
@option(
    "--headroom",
    section=OUTPUT,
    metavar="BITS",
    type=click.IntRange(0, 30),
    default=8,
    help="Allow for rows that lie 2^BITS times further out than the first rows of DATA.",
)
def grid(terminal: Terminal, /, data: Data, output: Path, headroom: int) -> None:
    """Propose the rounding grid that exact sums need.

    The grid is computed from the first rows. Values are rounded to multiples of a power of two.
    Sums on the same grid can be added.
    """
    from suffice.core.moments.rounding_grid import RoundingGrid
    from suffice.data.summarize import first_numbers
    from suffice.persistence import archive

    source, roles = data.opened("a grid is made from rows")
    proposed = RoundingGrid.around(first_numbers(source, roles), headroom=headroom)
    with archive.replacing(output) as file:
        file.write((json.dumps(proposed.to_json(), indent=1) + "\n").encode())
    n_features = counted(proposed.n_features, "feature")
    terminal.written(output, f"a grid of {n_features}", features=roles.numbers)


def grid_named(name: str) -> RoundingGrid | Literal["auto"]:
    """Return the grid in a file that ``suffice grid`` has written, or the word ``auto``."""
    from suffice.core.moments.rounding_grid import RoundingGrid

    if name == "auto":
        return "auto"
    try:
        fields = json.loads(Path(name).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidParameterError(
            f"--exact names {name!r}, which is not a readable grid ({error}): write one with "
            "suffice grid, or give the word auto"
        ) from error
    return RoundingGrid.from_json(fields)
