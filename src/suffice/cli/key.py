"""``suffice key``: make the private key of a party, and print its public key."""

from __future__ import annotations

from pathlib import Path

import click

from suffice.cli.command import subcommand
from suffice.cli.options import OUTPUT, option
from suffice.cli.terminal import Terminal
from suffice.errors import InvalidParameterError


@subcommand("suffice key -o mine.key")
@option(
    "-o",
    "--output",
    section=OUTPUT,
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write the private key to; it must not exist.",
)
def key(terminal: Terminal, /, output: Path) -> None:
    """Create a private key for a party, and print its public key.

    Keep the file secret. Give the public key to all other parties.
    """
    from suffice.data.pairwise_masks import PrivateKey

    made = PrivateKey.generate()
    public = made.public
    try:
        made.save(output)
    except FileExistsError as error:
        raise InvalidParameterError(
            f"{output} exists, and a key that is replaced is lost: name another file"
        ) from error
    terminal.result({"public": public, "output": str(output)}, public)
