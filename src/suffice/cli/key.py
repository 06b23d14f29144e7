"""``suffice key``: make the private key of a party, and print its public key."""

from __future__ import annotations

from pathlib import Path

from suffice.cli.command import subcommand
from suffice.cli.options import output
from suffice.cli.terminal import Terminal
from suffice.errors import InvalidParameterError


@subcommand("suffice key -o mine.key")
@output("The file to write the private key to; it must not exist.", required=True)
def key(terminal: Terminal, /, output: Path) -> None:
    """Make the private key of a party, and print its public key.

    Keep the file secret. Give the public key to all other parties.
    """
    from suffice.data.masking import PrivateKey

    made = PrivateKey.generate()
    public = made.public
    try:
        made.save(output)
    except FileExistsError as error:
        raise InvalidParameterError(
            f"{output} exists, and a key that is replaced is lost: name another file"
        ) from error
    terminal.result({"public": public, "output": str(output)}, public)
