"""``suffice verify``: check a receipt of forgetting against the remaining rows."""

from __future__ import annotations

from pathlib import Path

import suffice
from suffice.cli.command import subcommand
from suffice.cli.data import Data, load_moments, refuse_target_of_sums
from suffice.cli.options import COLUMNS, file_argument, option, target_option
from suffice.cli.terminal import Terminal
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.errors import InvalidInputError
from suffice.persistence.receipt import Receipt


@subcommand(
    "suffice verify receipt.json --from remaining.csv --target species",
    "suffice verify receipt.json --from remaining.csv --removed withdrawn.csv --target species",
    "suffice verify receipt.json --from remaining.csv --model left.moments --target species",
)
@file_argument("receipt")
@option(
    "--from",
    "remaining",
    section=COLUMNS,
    metavar="DATA",
    required=True,
    help="The rows that should remain.",
)
@option("--removed", section=COLUMNS, metavar="DATA", help="The rows that were removed.")
@option(
    "--model",
    section=COLUMNS,
    metavar="FILE",
    help="A model or moments file that should hold the remaining rows only.",
)
@target_option
def verify(
    terminal: Terminal,
    /,
    receipt: Path,
    remaining: str,
    removed: str | None,
    model: str | None,
    target: str | None,
) -> None:
    """Check that removed rows left no trace in the sums.

    The remaining rows are summed again, and the result must have the digest in the receipt.
    """
    refuse_target_of_sums([name for name in (remaining, removed) if name is not None], target)
    stated = Receipt.load(receipt)
    sums = _sums(remaining, stated, target, terminal)
    sums_removed = None if removed is None else _sums(removed, stated, target, terminal)
    stated.verify(sums, sums_removed)
    if model is not None:
        digest = load_moments(Path(model)).digest()
        if digest != stated.after:
            raise InvalidInputError(
                f"{model} does not hold the sums of the receipt: its digest is {digest}, but "
                f"the receipt has {stated.after}"
            )
    terminal.result(
        {"verified": True, "digest": stated.after, "rows": stated.rows_left},
        f"The receipt holds: the sums of the {stated.rows_left:,} remaining rows have the digest "
        f"{stated.after}.",
    )


def _sums(
    name: str, stated: Receipt, target: str | None, terminal: Terminal
) -> suffice.Moments:
    """Return the sums of rows, or the sums in a moments file, on the receipt's grid."""
    data = Data(name)
    if data.holds_sums:
        return load_moments(Path(name))
    data = Data(name, {"target": target, "features": stated.features})
    return data.moments(
        terminal, storage=stated.storage, exact=RoundingGrid.from_json(stated.grid)
    )
