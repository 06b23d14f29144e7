"""``suffice mask``: hide the sums of one party, so that only the total can be read."""

from __future__ import annotations

import json
from pathlib import Path

import click

from suffice.cli.command import subcommand
from suffice.cli.data import load_moments
from suffice.cli.options import OUTPUT, file_argument, option, output
from suffice.cli.terminal import Terminal
from suffice.errors import InvalidParameterError


@subcommand(
    "suffice mask exact.moments --party a --key a.key --peers peers.json --round 2026-11 "
    "-o site-a.masked",
    may_overwrite=("masked sums",),
)
@file_argument("moments")
@option(
    "--party", section=OUTPUT, metavar="NAME", required=True, help="The name of this party."
)
@option(
    "--key",
    section=OUTPUT,
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path, exists=True),
    help="The private key of this party, from suffice key.",
)
@option(
    "--peers",
    section=OUTPUT,
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path, exists=True),
    help="JSON object that maps the name of each party to its public key.",
)
@option(
    "--round",
    "round_name",
    section=OUTPUT,
    metavar="NAME",
    required=True,
    help="A name for this total; all parties use the same name, and only once.",
)
@option(
    "--classes",
    section=OUTPUT,
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True),
    help="JSON list of the classes of all parties, if these differ.",
)
@output("The file to write.", required=True)
def mask(
    terminal: Terminal,
    /,
    moments: Path,
    party: str,
    key: Path,
    peers: Path,
    round_name: str,
    classes: Path | None,
    output: Path,
) -> None:
    """Mask the exact sums of one party, so that only totals can be read.

    Add the files of all parties with suffice merge --masked.
    """
    from suffice.data import pairwise_masks
    from suffice.persistence.masked_file import save_masked

    public_keys = _json(peers)
    if not isinstance(public_keys, dict):
        raise InvalidParameterError(
            f"{peers} must hold a JSON object that maps the name of each party to its public key"
        )
    labels = None if classes is None else _json(classes)
    if labels is not None and not isinstance(labels, list):
        raise InvalidParameterError(f"{classes} must hold a JSON list of labels")
    private = pairwise_masks.PrivateKey.load(key)
    if public_keys.pop(party, private.public) != private.public:
        raise InvalidParameterError(
            f"{peers} and {key} hold different public keys for {party!r}: use the private key of "
            "this party, or correct the list of peers"
        )
    masked = pairwise_masks.mask(
        load_moments(moments),
        party=party,
        key=private,
        peers=public_keys,
        round=round_name,
        classes=labels,
    )
    save_masked(masked, output)
    terminal.written(output, repr(masked), party=party, parties=masked.parties)


def _json(path: Path) -> object:
    try:
        document: object = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise InvalidParameterError(f"{path} is not JSON: {error}") from error
    return document
