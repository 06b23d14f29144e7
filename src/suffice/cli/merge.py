"""``suffice merge``: add up the sums of several files."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

import suffice
from suffice.cli.command import subcommand
from suffice.cli.data import load_sums
from suffice.cli.options import OUTPUT, file_argument, flag, output
from suffice.cli.terminal import Terminal
from suffice.data.pairwise_masks import unmask
from suffice.errors import InvalidParameterError
from suffice.persistence.masked_file import load_masked

Sums: TypeAlias = "suffice.Moments | suffice.CountSums"


@subcommand(
    "suffice merge site-a.moments site-b.moments -o all.moments",
    "suffice merge site-*.moments -o all.moments",
    "suffice merge --masked a.masked b.masked c.masked -o all.moments",
    may_overwrite=("moments",),
)
@file_argument("files", nargs=-1)
@output("The moments file to write.", required=True)
@flag(
    "--masked",
    section=OUTPUT,
    help="FILES are masked sums, one file from each party of a round.",
)
def merge(
    terminal: Terminal, /, files: tuple[Path, ...], output: Path, *, masked: bool
) -> None:
    """Add the moments of several files.

    FILES are moments or model files with the same columns; their order does not matter.
    """
    _refuse_same_file(files)
    if masked:
        moments = unmask([load_masked(file) for file in files])
        moments.save(output)
        terminal.written(
            output, repr(moments), files=len(files), rows=int(moments.counts.sum())
        )
        return
    parts = [load_sums(file) for file in files]
    _point_out_copies(files, parts, terminal)
    total = _total(files, parts)
    total.save(output)
    terminal.written(output, repr(total), files=len(files), rows=int(total.counts.sum()))


def _total(files: tuple[Path, ...], parts: Sequence[Sums]) -> Sums:
    numbers = [part for part in parts if isinstance(part, suffice.Moments)]
    counts = [part for part in parts if isinstance(part, suffice.CountSums)]
    if len(numbers) == len(parts):
        return functools.reduce(operator.add, numbers)
    if len(counts) == len(parts):
        return functools.reduce(operator.add, counts)
    of_numbers = next(f for f, p in zip(files, parts, strict=True) if p is numbers[0])
    of_counts = next(f for f, p in zip(files, parts, strict=True) if p is counts[0])
    raise InvalidParameterError(
        f"{of_numbers} holds sums of numbers and {of_counts} holds sums of counts, which cannot be "
        "added: merge files of one kind"
    )


def _refuse_same_file(files: tuple[Path, ...]) -> None:
    first_names: dict[Path, Path] = {}
    for file in files:
        first = first_names.setdefault(file.resolve(), file)
        if first is not file:
            spelling = "" if str(file) == str(first) else f", also as {first}"
            raise InvalidParameterError(
                f"{file} is named twice{spelling}, and its rows would count twice: name it once"
            )


def _point_out_copies(
    files: tuple[Path, ...],
    parts: Sequence[Sums],
    terminal: Terminal,
) -> None:
    """Print notes on files with the same sums, and on models, whose training rows are added."""
    first_files: dict[bytes, Path] = {}
    for file, part in zip(files, parts, strict=True):
        if part.counts.any():
            first = first_files.setdefault(_digest(part), file)
            if first is not file:
                terminal.note(
                    f"{file} holds the same sums as {first}, so its rows are counted twice: if "
                    "they are the same rows, leave out one file"
                )
        if file.suffix == ".suffice":
            terminal.note(f"{file} is a model: the sums of its training rows are added")


def _digest(sums: Sums) -> bytes:
    """Return a digest that is equal for two files only if they have sums of the same rows."""
    digest = sha256()
    arrays = [sums.classes, sums.counts, sums.weights]
    if isinstance(sums, suffice.CountSums):
        arrays += [sums.sums]
    else:
        arrays += [sums.means, sums.means_low]
    for array in arrays:
        digest.update(array.tobytes())
    return digest.digest()
