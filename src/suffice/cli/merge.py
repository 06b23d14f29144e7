"""``suffice merge``: add up the sums of several files."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import suffice
from suffice.cli.command import subcommand
from suffice.cli.data import load_moments
from suffice.cli.options import file_argument, output
from suffice.cli.terminal import Terminal
from suffice.errors import InvalidParameterError


@subcommand(
    "suffice merge site-a.moments site-b.moments -o all.moments",
    "suffice merge site-*.moments -o all.moments",
    replaces=("moments",),
)
@file_argument("files", nargs=-1)
@output("The moments file to write.", required=True)
def merge(terminal: Terminal, /, files: tuple[Path, ...], output: Path) -> None:
    """Add up the sums of several files.

    FILES are moments or models of the same columns; the order does not matter.
    """
    _refuse_same_file(files)
    parts = [load_moments(file) for file in files]
    _point_out_copies(files, parts, terminal)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    total.save(output)
    terminal.written(output, repr(total), files=len(files), rows=int(total.counts.sum()))


def _refuse_same_file(files: tuple[Path, ...]) -> None:
    first_names: dict[Path, Path] = {}
    for file in files:
        first = first_names.setdefault(file.resolve(), file)
        if first is not file:
            msg = f"{file} is named twice ({first}), and its rows would count twice: name it once"
            raise InvalidParameterError(msg)


def _point_out_copies(
    files: tuple[Path, ...],
    parts: list[suffice.Moments],
    terminal: Terminal,
) -> None:
    """Note files that hold the same sums, and models, whose rows are added."""
    first_files: dict[bytes, Path] = {}
    for file, part in zip(files, parts, strict=True):
        if part.counts.any():
            first = first_files.setdefault(_digest(part), file)
            if first is not file:
                terminal.note(f"{file} holds the same sums as {first}: its rows count twice")
        if file.suffix == ".suffice":
            terminal.note(
                f"{file} is a model: the sums of the rows it was fitted to are added"
            )


def _digest(sums: suffice.Moments) -> bytes:
    """Return a digest that two sums share only if they are of the same rows."""
    digest = sha256()
    for array in (sums.classes, sums.counts, sums.weights, sums.means, sums.means_low):
        digest.update(array.tobytes())
    return digest.digest()
